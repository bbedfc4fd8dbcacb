"""GuideLLM reports, version 1 and 2: one run for each benchmark, statistics of successful requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.planning.measurements.result import Run, num, scaled, section, whole

_PERCENTILES = {f"p{p}": f"p{p:02d}" for p in (1, 5, 10, 25, 50, 75, 90, 95, 99)} | {"p999": "p999"}
_MOMENTS = {"mean": "mean", "std": "std_dev", "min": "min", "max": "max"}


def is_guidellm(document: Any) -> bool:
    """Whether an object is a GuideLLM report."""
    runs = document.get("benchmarks") if isinstance(document, dict) else None
    return isinstance(runs, list) and bool(runs) and "request_latency" in section(runs[0], "metrics")


def guidellm_runs(document: Mapping[str, Any]) -> list[Run]:
    """Every benchmark of a report. request_latency is in seconds; time_per_output_token_ms counts the first token."""
    return [_run(bench, document) for bench in document["benchmarks"] if isinstance(bench, dict)]


def _run(bench: Mapping[str, Any], document: Mapping[str, Any]) -> Run:
    metrics = section(bench, "metrics")
    strategy = section(bench, "config", "strategy") or section(bench, "args", "strategy")
    backend = section(bench, "config", "backend") or section(document, "config", "spec", "backend")
    totals = section(metrics, "request_totals")
    counts = {name: section(metrics, f"{name}_token_count", "successful") for name in ("prompt", "output")}
    failures = [whole(totals.get(name)) for name in ("errored", "incomplete")]
    limit = num(strategy.get("streams")) if strategy.get("type_") in {"concurrent", "synchronous"} else None
    latencies = {
        "ttft": _statistics(metrics, "time_to_first_token_ms", 1.0),
        "tpot_with_first": _statistics(metrics, "time_per_output_token_ms", 1.0),
        "tpot": _statistics(metrics, "inter_token_latency_ms", 1.0),
        "e2e": _statistics(metrics, "request_latency", 1e3),
    }
    return Run(
        label=str(strategy.get("type_") or ""),
        model=str(backend.get("model") or ""),
        engine=str(backend.get("kind") or ""),
        duration_s=num(bench.get("duration")),
        completed=whole(totals.get("successful")),
        failed=sum(value for value in failures if value) if any(value is not None for value in failures) else None,
        input_tokens=num(counts["prompt"].get("total_sum")),
        output_tokens=num(counts["output"].get("total_sum")),
        offered_rps=num(strategy.get("rate")),
        max_concurrency=limit,
        mean_concurrency=num(section(metrics, "request_concurrency", "successful").get("mean")),
        request_rps=num(section(metrics, "requests_per_second", "successful").get("mean")),
        output_tokens_per_s=num(section(metrics, "output_tokens_per_second", "successful").get("mean")),
        latencies_ms={name: stats for name, stats in latencies.items() if stats},
    )


def _statistics(metrics: Mapping[str, Any], name: str, scale: float) -> dict[str, float]:
    successful = section(metrics, name, "successful")
    if not whole(successful.get("count")):
        return {}
    return scaled(successful, _MOMENTS, scale) | scaled(section(successful, "percentiles"), _PERCENTILES, scale)
