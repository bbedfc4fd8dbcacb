"""AIPerf and genai-perf (JSON, CSV, records), LLMPerf, inference-perf and llm-d benchmark reports."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from typing import Any

from planner.planning.measurements.result import Run, first_number, limit, num, scaled, section, statistics_ms, whole

_UNITS_MS = {"ms": 1.0, "s": 1e3, "sec": 1e3, "seconds": 1e3, "us": 1e-3, "ns": 1e-6, "s/token": 1e3, "ms/token": 1.0}
_STATISTICS = {
    name: name for name in ("mean", "std", "min", "max", "p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")
}
_AIPERF = _STATISTICS | {"mean": "avg"}
_LLMD = _STATISTICS | {"p999": "p99p9"}
_INFERENCE_PERF = _LLMD | {"p50": "median"}


def is_aiperf(document: Any) -> bool:
    """Whether an object is a summary of AIPerf or genai-perf."""
    return isinstance(document, dict) and all(
        "avg" in section(document, name) for name in ("request_latency", "request_throughput")
    )


def aiperf_tool(document: Mapping[str, Any]) -> str:
    """genai_perf where throughputs are counted a request, aiperf where a user."""
    return "genai_perf" if "output_token_throughput_per_request" in document else "aiperf"


def aiperf_run(document: Mapping[str, Any]) -> Run:
    """A summary. Their inter_token_latency is (latency − TTFT) / (output − 1) of a request, which is TPOT here."""

    def average(name: str) -> float | None:
        return num(section(document, name).get("avg"))

    def latency(name: str) -> dict[str, float]:
        entry = section(document, name)
        return scaled(entry, _AIPERF, _UNITS_MS.get(str(entry.get("unit", "ms")), 1.0))

    completed = average("request_count")
    config = section(document, "input_config")
    endpoint = section(config, "endpoint")
    names = endpoint.get("model_names") or config.get("model_names") or config.get("model")
    lengths = average("input_sequence_length"), average("output_sequence_length")
    names_of = {
        "ttft": "time_to_first_token",
        "tpot": "inter_token_latency",
        "itl": "inter_chunk_latency",
        "e2e": "request_latency",
    }
    latencies = {ours: latency(theirs) for ours, theirs in names_of.items()}
    return Run(
        model=str(names[0] if isinstance(names, list) and names else names or ""),
        duration_s=average("benchmark_duration"),
        completed=whole(completed),
        failed=whole(average("error_request_count")),
        input_tokens=None if lengths[0] is None or completed is None else lengths[0] * completed,
        output_tokens=None if lengths[1] is None or completed is None else lengths[1] * completed,
        max_concurrency=first_number(section(config, "loadgen"), ("concurrency",)) or num(config.get("concurrency")),
        offered_rps=num(section(config, "loadgen").get("request_rate")),
        request_rps=average("request_throughput"),
        goodput_rps=average("goodput"),
        output_tokens_per_s=average("output_token_throughput"),
        total_tokens_per_s=average("total_token_throughput"),
        latencies_ms={name: stats for name, stats in latencies.items() if stats},
    )


def is_aiperf_csv(head: str) -> bool:
    """Whether a text begins with the first section of an AIPerf CSV."""
    first = head.lstrip("\ufeff \r\n").split("\n", 1)[0].strip().lower().replace('"', "")
    return first.startswith(("metric,avg,", "metric,average,"))


def aiperf_csv_document(text: str) -> dict[str, Any]:
    """The two sections of an AIPerf CSV as its JSON would have them."""
    document: dict[str, Any] = {}
    header: list[str] = []
    for cells in csv.reader(text.splitlines()):
        if not cells or not cells[0].strip():
            header = []
            continue
        if not header:
            header = [cell.strip().lower() for cell in cells]
            continue
        name, _, unit = cells[0].strip().partition("(")
        key = name.strip().lower().replace(" ", "_").replace("-", "_")
        columns = ["avg" if column in {"value", "average"} else column for column in header[1:]]
        values = {column: cell for column, cell in zip(columns, cells[1:], strict=False) if cell.strip()}
        document.setdefault(key, {"unit": unit.rstrip(") "), **values})
    return document


def is_aiperf_record(document: Any) -> bool:
    """Whether an object is one request of AIPerf's records."""
    return "request_start_ns" in section(document, "metadata") and isinstance(document.get("metrics"), dict)


def aiperf_records_run(records: Iterable[Mapping[str, Any]]) -> Run:
    """All requests of a records file as one run; cancelled and failed ones are counted apart."""
    values: dict[str, list[float]] = {name: [] for name in ("ttft", "tpot", "itl", "e2e", "input", "output")}
    names = {
        "ttft": "time_to_first_token", "tpot": "inter_token_latency", "e2e": "request_latency",
        "input": "input_sequence_length", "output": "output_sequence_length", "itl": "inter_chunk_latency",
    }  # fmt: skip
    run = Run(completed=0, failed=0)
    starts, ends = [], []
    for record in records:
        metadata, metrics = section(record, "metadata"), section(record, "metrics")
        if record.get("error") or metadata.get("was_cancelled"):
            run.failed = (run.failed or 0) + 1
            continue
        run.completed = (run.completed or 0) + 1
        starts.append(num(metadata.get("request_start_ns")) or 0.0)
        ends.append(num(metadata.get("request_end_ns")) or 0.0)
        for ours, theirs in names.items():
            entry = section(metrics, theirs)
            scale = 1.0 if ours in {"input", "output"} else _UNITS_MS.get(str(entry.get("unit", "ms")), 1.0)
            found = entry.get("value")
            parts = found if isinstance(found, list) else [found]
            values[ours].extend(part * scale for part in map(num, parts) if part is not None)
    if starts:
        run.duration_s = (max(ends) - min(starts)) / 1e9 or None
    run.input_tokens, run.output_tokens = sum(values.pop("input")), sum(values.pop("output"))
    run.latencies_ms = {name: statistics_ms(each) for name, each in values.items() if each}
    return run


def is_llmperf(document: Any) -> bool:
    """Whether an object is a summary of LLMPerf."""
    return isinstance(document, dict) and "results_ttft_s_mean" in document


def llmperf_run(document: Mapping[str, Any]) -> Run:
    """A summary. Its inter-token latency is the whole latency over all tokens, the first with its wait included."""

    def latency(name: str) -> dict[str, float]:
        quantiles = {f"p{p}": f"results_{name}_s_quantiles_p{p}" for p in (25, 50, 75, 90, 95, 99)}
        moments = {"mean": f"results_{name}_s_mean", "std": f"results_{name}_s_stddev", "min": f"results_{name}_s_min"}
        return scaled(document, quantiles | moments | {"max": f"results_{name}_s_max"}, 1e3)

    completed = whole(document.get("results_num_completed_requests"))
    lengths = [num(document.get(f"results_number_{side}_tokens_mean")) for side in ("input", "output")]
    totals = [None if length is None or completed is None else length * completed for length in lengths]
    per_minute = num(document.get("results_num_completed_requests_per_min"))
    return Run(
        label=str(document.get("name") or ""),
        model=str(document.get("model") or ""),
        completed=completed,
        failed=whole(document.get("results_number_errors")),
        input_tokens=totals[0],
        output_tokens=totals[1],
        nominal_input_tokens=num(document.get("mean_input_tokens")),
        nominal_output_tokens=num(document.get("mean_output_tokens")),
        max_concurrency=num(document.get("num_concurrent_requests")),
        duration_s=60 * completed / per_minute if completed and per_minute else None,
        request_rps=None if per_minute is None else per_minute / 60,
        output_tokens_per_s=num(document.get("results_mean_output_throughput_token_per_s")),
        latencies_ms={
            "ttft": latency("ttft"),
            "tpot_with_first": latency("inter_token_latency"),
            "e2e": latency("end_to_end_latency"),
        },
    )


def is_inference_perf(document: Any) -> bool:
    """Whether an object is a lifecycle report of inference-perf."""
    return bool(section(document, "load_summary")) and "request_latency" in section(document, "successes", "latency")


def inference_perf_run(document: Mapping[str, Any]) -> Run:
    """A lifecycle report, in seconds."""
    successes, load = section(document, "successes"), section(document, "load_summary")
    latency, throughput = section(successes, "latency"), section(successes, "throughput")
    completed = whole(successes.get("count"))
    lengths = [num(section(successes, name).get("mean")) for name in ("prompt_len", "output_len")]
    totals = [None if length is None or completed is None else length * completed for length in lengths]
    return Run(
        completed=completed,
        failed=whole(section(document, "failures").get("count")),
        input_tokens=totals[0],
        output_tokens=totals[1],
        offered_rps=num(load.get("requested_rate")),
        request_rps=num(throughput.get("requests_per_sec")),
        input_tokens_per_s=num(throughput.get("input_tokens_per_sec")),
        output_tokens_per_s=num(throughput.get("output_tokens_per_sec")),
        total_tokens_per_s=num(throughput.get("total_tokens_per_sec")),
        latencies_ms=_seconds(latency, _INFERENCE_PERF),
    )


def is_llmd_report(document: Any) -> bool:
    """Whether an object is a benchmark report of llm-d, version 0.1 or 0.2."""
    metrics = section(document, "results", "request_performance", "aggregate") or section(document, "metrics")
    return "version" in (document if isinstance(document, dict) else {}) and "request_latency" in section(
        metrics, "latency"
    )


def llmd_run(document: Mapping[str, Any]) -> Run:
    """A benchmark report; every quantity names its unit."""
    metrics = section(document, "results", "request_performance", "aggregate") or section(document, "metrics")
    requests, throughput = section(metrics, "requests"), section(metrics, "throughput")
    stack = section(document, "scenario").get("stack")
    parts = [section(part, "standardized") for part in stack] if isinstance(stack, list) else []
    engines = [part for part in parts if part.get("kind") == "inference_engine"]
    load = section(document, "scenario", "load", "standardized")
    total, failures = whole(requests.get("total")), whole(requests.get("failures")) or 0
    lengths = [num(section(requests, name).get("mean")) for name in ("input_length", "output_length")]
    completed = None if total is None else total - failures
    totals = [None if length is None or completed is None else length * completed for length in lengths]
    latencies = {}
    for ours, theirs in _SECONDS_OF.items():
        entry = section(metrics, "latency", theirs)
        latencies[ours] = scaled(entry, _LLMD, _UNITS_MS.get(str(entry.get("units", "s")), 1e3))

    def rate(name: str) -> float | None:
        entry = throughput.get(name)
        return num(entry.get("mean")) if isinstance(entry, dict) else num(entry)

    return Run(
        label=str(section(document, "run").get("description") or "")[:120],
        model=str(section(engines[0], "model").get("name") or "") if engines else "",
        engine=str(engines[0].get("tool_version") or engines[0].get("tool") or "") if engines else "",
        gpus=sum(
            (whole(section(e, "accelerator").get("count")) or 0) * (whole(e.get("replicas")) or 1) for e in engines
        )
        or None,
        duration_s=_iso_duration_s(section(document, "run", "time").get("duration")),
        completed=completed,
        failed=failures,
        input_tokens=totals[0],
        output_tokens=totals[1],
        offered_rps=limit(load.get("rate_qps")),
        max_concurrency=limit(load.get("concurrency")),
        request_rps=rate("request_rate"),
        input_tokens_per_s=rate("input_token_rate"),
        output_tokens_per_s=rate("output_token_rate"),
        total_tokens_per_s=rate("total_token_rate"),
        latencies_ms={name: stats for name, stats in latencies.items() if stats},
    )


_SECONDS_OF = {
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "tpot_with_first": "normalized_time_per_output_token",
    "itl": "inter_token_latency",
    "e2e": "request_latency",
}


def _seconds(latency: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, dict[str, float]]:
    found = {ours: scaled(section(latency, theirs), names, 1e3) for ours, theirs in _SECONDS_OF.items()}
    return {name: stats for name, stats in found.items() if stats}


def _iso_duration_s(value: Any) -> float | None:
    """Seconds of a text such as PT1H2M3.5S."""
    text = str(value or "").upper()
    if not text.startswith("PT"):
        return num(value)
    total, digits = 0.0, ""
    for char in text[2:60]:
        if char in "HMS":
            total += (num(digits) or 0.0) * {"H": 3600, "M": 60, "S": 1}[char]
            digits = ""
        else:
            digits += char
    return total or None
