"""Histograms and counters of vLLM and SGLang: scrapes of /metrics one after the other, or a Prometheus query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from planner.planning.measurements.histograms import Buckets, quantile_range, statistics_of
from planner.planning.measurements.rates import merged_steps
from planner.planning.measurements.result import Run, limit, num, section

MAX_SAMPLES = 200_000
_LINE = re.compile(r"((?:vllm|sglang)[:_][a-z0-9_:]+)(?:\{(.*)\})?\s+(\S+)(?:\s+(\d+))?\s*")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_WHEN = re.compile(r"#\s*(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?|\d{9,10}(?:\.\d+)?)\s*")
_HISTOGRAMS = {
    "ttft": ("time_to_first_token_seconds",),
    "tpot": ("request_time_per_output_token_seconds",),
    "itl": ("inter_token_latency_seconds", "time_per_output_token_seconds"),
    "e2e": ("e2e_request_latency_seconds",),
    "queue": ("request_queue_time_seconds", "queue_time_seconds"),
}
_PROMPTS = ("prompt_tokens_total", "request_prompt_tokens_sum")
_OUTPUTS = ("generation_tokens_total", "request_generation_tokens_sum")
_LENGTHS = {"input": ("request_prompt_tokens",), "output": ("request_generation_tokens",)}
_FINISHED = ("request_success_total", "request_success", "num_requests_total", "e2e_request_latency_seconds_count")
_IN_FLIGHT = ("num_requests_running", "num_requests_waiting", "num_running_reqs", "num_queue_reqs")
_COUNTED = ("_bucket", "_sum", "_count", "_total", "request_success")
_CACHE = (
    ("prefix_cache_hits_total", "prefix_cache_queries_total"),
    ("gpu_prefix_cache_hits_total", "gpu_prefix_cache_queries_total"),
    ("cached_tokens_total", "prompt_tokens_total"),
)
LEAST_GAUGES = 10
"""Of fewer samples a gauge of requests in flight has no mean worth a check."""
PERCENTS = (50, 90, 95, 99)

Points = dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[float | None, float]]]
"""Samples of each series, by name and labels, in order: when (s), and the value."""


@dataclass(slots=True)
class Series:
    """Values by name (without the engine's prefix), added up over labels; histograms by upper bound of the bucket.

    span_s: from the first sample to the last, where the times are known. samples: of each series, at most.
    grown: name -> time -> what a counter of requests grew by since the sample before.
    """

    engine: str = ""
    model: str = ""
    span_s: float | None = None
    samples: int = 1
    values: dict[str, float] = field(default_factory=dict)
    buckets: dict[str, Buckets] = field(default_factory=dict)
    grown: dict[str, dict[float, float]] = field(default_factory=dict)

    def add(self, name: str, labels: Mapping[str, str], points: list[tuple[float | None, float]]) -> None:
        """One series: what a counter grew by, of a gauge the mean."""
        prefix, _, bare = name.replace("_", ":", 1).partition(":") if ":" not in name else name.partition(":")
        self.engine = self.engine or prefix
        self.model = self.model or labels.get("model_name", "")[:120]
        self.samples = max(self.samples, len(points))
        value = _grown([v for _, v in points], bare)
        if bare.endswith("_bucket"):
            bound = limit(labels.get("le", "").replace("+Inf", "inf"))
            if bound is not None:
                bucket = self.buckets.setdefault(bare[: -len("_bucket")], {})
                bucket[bound] = bucket.get(bound, 0.0) + value
            return
        self.values[bare] = self.values.get(bare, 0.0) + value
        if bare in _FINISHED:
            found = self.grown.setdefault(bare, {})
            for (_, before), (at_s, now) in pairwise(points):
                if at_s is not None:
                    found[at_s] = found.get(at_s, 0.0) + _since(before, now)


def is_metrics_text(text: str) -> bool:
    """Whether a text is an exposition of either engine."""
    return any(_LINE.fullmatch(line.strip()) for line in text.split("\n", 4000)[:4000] if _of_engine(line))


def metrics_text(text: str) -> Series:
    """Scrapes one after the other, told apart by a series that comes again or by a comment with the time.

    Of several what counters grew by from each to the next, of one what they have counted since the server started. The
    time is that of the samples, or of a comment above the scrape: `# 2026-11-30T10:00:00Z`, or seconds since 1970.
    """
    points: Points = {}
    here: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    at_s: float | None = None
    for line in text.split("\n", MAX_SAMPLES)[:MAX_SAMPLES]:
        line = line.strip()
        if line.startswith("#"):
            when = _WHEN.fullmatch(line)
            if when:
                at_s, here = _seconds(when.group(1)), set()
            continue
        match = _LINE.fullmatch(line) if _of_engine(line) else None
        value = num(match.group(3)) if match else None
        if match is None or value is None:
            continue
        key = (match.group(1), tuple(sorted(_LABEL.findall(match.group(2) or ""))))
        if key in here:
            at_s, here = None, set()
        here.add(key)
        points.setdefault(key, []).append((float(match.group(4)) / 1e3 if match.group(4) else at_s, value))
    return _series(points)


def _of_engine(line: str) -> bool:
    return line.lstrip().startswith(("vllm", "sglang"))


def _seconds(text: str) -> float:
    if "-" not in text:
        return float(text)
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return 0.0
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()


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
    points: Points = {}
    for entry in section(document, "data")["result"][:MAX_SAMPLES]:
        labels = {str(k): str(v) for k, v in section(entry, "metric").items()}
        name = labels.pop("__name__", "")
        samples = entry.get("values") if isinstance(entry.get("values"), list) else [entry.get("value")]
        known = [
            (at_s, value)
            for at_s, value in ((num(s[0]), num(s[1])) for s in samples if isinstance(s, list) and len(s) == 2)
            if at_s is not None and value is not None
        ]
        if name.startswith(("vllm", "sglang")) and known:
            points.setdefault((name, tuple(sorted(labels.items()))), []).extend(sorted(known))
    return _series(points)


def _series(points: Points) -> Series:
    series = Series()
    for (name, labels), samples in points.items():
        series.add(name, dict(labels), samples)
    times = [at_s for samples in points.values() for at_s, _ in samples if at_s is not None]
    series.span_s = max(times) - min(times) if times and max(times) > min(times) else None
    return series


def _grown(values: list[float], name: str) -> float:
    if not name.endswith(_COUNTED):
        return sum(values) / len(values)
    return values[0] if len(values) == 1 else sum(_since(before, now) for before, now in pairwise(values))


def _since(before: float, now: float) -> float:
    """What a counter grew by; one that fell began anew."""
    return now - before if now >= before else now


def prometheus_run(series: Series) -> Run:
    """Latencies from histograms: means exact, percentiles straight lines inside a bucket as Prometheus draws them."""
    run = Run(label=_label(series), model=series.model)
    run.engine, run.duration_s = series.engine, series.span_s
    for metric, names in _HISTOGRAMS.items():
        for name in names:
            statistics = histogram_ms(series, name)
            if statistics:
                run.latencies_ms[metric] = statistics
                run.bounds_ms[metric] = dict(_bounds_ms(series.buckets[name]))
                break
    finished = next((name for name in _FINISHED if name in series.values), None)
    run.completed = None if finished is None else round(series.values[finished])
    run.input_tokens = next((series.values[name] for name in _PROMPTS if name in series.values), None)
    run.output_tokens = next((series.values[name] for name in _OUTPUTS if name in series.values), None)
    for what, names in _LENGTHS.items():
        found = next((series.buckets[name] for name in names if name in series.buckets), None)
        if found and max(found.values()) > 0:
            run.lengths[what] = [[bound, count] for bound, count in sorted(found.items()) if bound != float("inf")]
    if finished:
        run.rate_steps = merged_steps(_steps(series, finished))
    _in_flight(run, series)
    run.cached_prompt_ratio = _cached(series)
    run.notes.append("percentiles are read from buckets and are no finer than these")
    run.notes.append("times are the engine's: the way to the client is not in them")
    if series.span_s is None and series.samples == 1:
        run.notes.append(
            "counted since the server started: say over how many seconds (counted_over_s), or put two scrapes into one "
            "file"
        )
    elif series.span_s is None:
        run.notes.append("the scrapes have no times: say how many seconds lie between them (counted_over_s)")
    return run


def _label(series: Series) -> str:
    if series.samples == 1:
        return "since the server started"
    return f"{series.samples} samples"


def _steps(series: Series, name: str) -> Iterator[tuple[float, float]]:
    """(seconds, requests that ended) from each sample to the next; the first sample is where counting begins."""
    grown = sorted(series.grown.get(name, {}).items())
    if not grown or series.span_s is None:
        return
    before_s = grown[-1][0] - series.span_s
    for at_s, requests in grown:
        if at_s > before_s:
            yield at_s - before_s, requests
            before_s = at_s


def _in_flight(run: Run, series: Series) -> None:
    """Requests in flight, where gauges were sampled often enough."""
    gauges = [series.values[name] for name in _IN_FLIGHT if name in series.values]
    if gauges and series.samples >= LEAST_GAUGES:
        run.mean_concurrency = sum(gauges)


def _cached(series: Series) -> float | None:
    """Share of the prompt tokens that the prefix cache held."""
    for hits, asked in _CACHE:
        if series.values.get(asked, 0.0) > 0 and hits in series.values:
            return min(1.0, max(0.0, series.values[hits] / series.values[asked]))
    return None


def histogram_ms(series: Series, name: str) -> dict[str, float]:
    """Mean and percentiles of a histogram in seconds, as ms; empty without samples."""
    if name not in series.buckets:
        return {}
    found = statistics_of(
        series.buckets[name], series.values.get(f"{name}_count"), series.values.get(f"{name}_sum"), PERCENTS
    )
    return {key: 1e3 * value for key, value in found.items()}


def _bounds_ms(buckets: Buckets) -> Iterable[tuple[str, list[float]]]:
    for percent in PERCENTS:
        found = quantile_range(buckets, percent / 100)
        if found is not None:
            yield f"p{percent}", [1e3 * found[0], 1e3 * found[1]]
