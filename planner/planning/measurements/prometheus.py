"""Histograms and counters of vLLM and SGLang, from /metrics text or the JSON of a Prometheus query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from planner.planning.measurements.result import Run, limit, num, section

MAX_SAMPLES = 200_000
_LINE = re.compile(r"((?:vllm|sglang)[:_][a-z0-9_:]+)(?:\{(.*)\})?\s+(\S+)(?:\s+\d+)?\s*")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_HISTOGRAMS = {
    "ttft": ("time_to_first_token_seconds",),
    "tpot": ("request_time_per_output_token_seconds",),
    "itl": ("inter_token_latency_seconds", "time_per_output_token_seconds"),
    "e2e": ("e2e_request_latency_seconds",),
    "queue": ("request_queue_time_seconds", "queue_time_seconds"),
}
_PROMPTS = ("prompt_tokens_total", "request_prompt_tokens_sum")
_OUTPUTS = ("generation_tokens_total", "request_generation_tokens_sum")


@dataclass(slots=True)
class Series:
    """Values by name (without the engine's prefix), added up over labels; histograms by upper bound of the bucket."""

    engine: str = ""
    model: str = ""
    span_s: float | None = None
    values: dict[str, float] = field(default_factory=dict)
    buckets: dict[str, dict[float, float]] = field(default_factory=dict)

    def add(self, name: str, labels: Mapping[str, str], value: float) -> None:
        prefix, _, bare = name.replace("_", ":", 1).partition(":") if ":" not in name else name.partition(":")
        self.engine = self.engine or prefix
        self.model = self.model or labels.get("model_name", "")[:120]
        if bare.endswith("_bucket"):
            bound = limit(labels.get("le", "").replace("+Inf", "inf"))
            if bound is not None:
                bucket = self.buckets.setdefault(bare[: -len("_bucket")], {})
                bucket[bound] = bucket.get(bound, 0.0) + value
        else:
            self.values[bare] = self.values.get(bare, 0.0) + value


def is_metrics_text(text: str) -> bool:
    """Whether a text is an exposition of either engine."""
    return any(_LINE.fullmatch(line) for line in text.split("\n", 4000)[:4000] if line.startswith(("vllm", "sglang")))


def metrics_text(text: str) -> Series:
    """An exposition: everything since the server started."""
    series = Series()
    for line in text.split("\n", MAX_SAMPLES)[:MAX_SAMPLES]:
        match = _LINE.fullmatch(line) if line.startswith(("vllm", "sglang")) else None
        value = num(match.group(3)) if match else None
        if match and value is not None:
            series.add(match.group(1), dict(_LABEL.findall(match.group(2) or "")), value)
    return series


def is_query_result(document: Any) -> bool:
    """Whether an object is the answer to a Prometheus query about either engine."""
    data = section(document, "data")
    results = data.get("result")
    names = (
        [str(section(entry, "metric").get("__name__", "")) for entry in results[:50]]
        if isinstance(results, list)
        else []
    )
    return data.get("resultType") in {"matrix", "vector"} and any(n.startswith(("vllm", "sglang")) for n in names)


def query_result(document: Mapping[str, Any]) -> Series:
    """What counters and buckets grew by over a range (restarts allowed for); of gauges the mean."""
    series = Series()
    times: list[float] = []
    for entry in section(document, "data")["result"][:MAX_SAMPLES]:
        labels = {str(k): str(v) for k, v in section(entry, "metric").items()}
        name = labels.pop("__name__", "")
        samples = entry.get("values") if isinstance(entry.get("values"), list) else [entry.get("value")]
        points = [(num(s[0]), num(s[1])) for s in samples if isinstance(s, list) and len(s) == 2]
        known = [(t, v) for t, v in points if t is not None and v is not None]
        if name and known:
            times += [known[0][0], known[-1][0]]
            series.add(name, labels, _grown([v for _, v in known], name))
    series.span_s = max(times) - min(times) if times and max(times) > min(times) else None
    return series


def _grown(values: list[float], name: str) -> float:
    if not name.endswith(("_bucket", "_sum", "_count", "_total")):
        return sum(values) / len(values)
    if len(values) == 1:
        return values[0]
    return sum(now - before if now >= before else now for before, now in pairwise(values))


def prometheus_run(series: Series) -> Run:
    """Latencies from histograms: means exact, percentiles straight lines inside a bucket as Prometheus draws them."""
    run = Run(label="since the server started" if series.span_s is None else "range query", model=series.model)
    run.engine, run.duration_s = series.engine, series.span_s
    for metric, names in _HISTOGRAMS.items():
        name = next((each for each in names if each in series.buckets), None)
        if name:
            statistics = histogram_ms(series, name)
            if statistics:
                run.latencies_ms[metric] = statistics
    finished = [v for name, v in series.values.items() if name.startswith("request_success")]
    count = sum(finished) if finished else series.values.get("e2e_request_latency_seconds_count")
    run.completed = None if count is None else round(count)
    run.input_tokens = next((series.values[name] for name in _PROMPTS if name in series.values), None)
    run.output_tokens = next((series.values[name] for name in _OUTPUTS if name in series.values), None)
    run.notes.append("percentiles are read from buckets and are no finer than these")
    run.notes.append("times are the engine's: the way to the client is not in them")
    return run


def histogram_ms(series: Series, name: str) -> dict[str, float]:
    """Mean and percentiles of a histogram in seconds, as ms; empty without samples."""
    bounds = sorted(series.buckets[name].items())
    total = bounds[-1][1]
    if total <= 0:
        return {}
    statistics = {}
    count, added = series.values.get(f"{name}_count", total), series.values.get(f"{name}_sum")
    if added is not None and count:
        statistics["mean"] = 1e3 * added / count
    for percent in (50, 90, 95, 99):
        value = _quantile(bounds, total * percent / 100)
        if value is not None:
            statistics[f"p{percent}"] = 1e3 * value
    return statistics


def _quantile(bounds: Iterable[tuple[float, float]], rank: float) -> float | None:
    low, below = 0.0, 0.0
    for bound, count in bounds:
        if count >= rank and count > below:
            return None if bound == float("inf") else low + (bound - low) * (rank - below) / (count - below)
        low, below = bound, count
    return None
