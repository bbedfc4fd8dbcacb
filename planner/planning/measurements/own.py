"""Load tests of `manage.py measure`: one run for each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.planning.measurements.result import Run, length_counts, limit, num, scaled, section, whole

_STATISTICS = {name: name for name in ("mean", "std", "min", "max", "p50", "p90", "p95", "p99")}
_NUMBERS = (
    "duration_s", "input_tokens", "output_tokens", "max_concurrency", "mean_concurrency", "request_rps",
    "goodput_rps", "input_tokens_per_s", "output_tokens_per_s",
)  # fmt: skip


def is_own(document: Any) -> bool:
    """Whether an object is a load test of ours."""
    return isinstance(document, dict) and document.get("format") == "staircase-measurement"


def own_runs(document: Mapping[str, Any]) -> list[Run]:
    """Every step, with the definitions of `Run`; rates and latencies are of what the document says they are."""
    steps = document.get("steps")
    server = section(document, "server")
    warm_up_s = num(section(document, "settings").get("warm_up_s"))
    return (
        [_run(step, server, warm_up_s) for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    )


def _run(step: Mapping[str, Any], server: Mapping[str, Any], warm_up_s: float | None) -> Run:
    latencies = section(step, "latencies_ms")
    run = Run(
        label=str(step.get("label") or ""),
        model=str(server.get("model") or ""),
        engine=str(server.get("engine") or ""),
        completed=whole(step.get("completed")),
        failed=whole(step.get("failed")),
        warm_up_s=warm_up_s,
        offered_rps=limit(step.get("offered_rps")),
        latencies_ms={
            name: found
            for name in ("ttft", "tpot", "itl", "e2e")
            if (found := scaled(section(latencies, name), _STATISTICS, 1.0))
        },
    )
    for name in _NUMBERS:
        setattr(run, name, num(step.get(name)))
    requests = section(step, "requests")
    sides = {
        "input": length_counts(requests.get("input_tokens")),
        "output": length_counts(requests.get("output_tokens")),
    }
    run.lengths = {side: counts for side, counts in sides.items() if counts}
    if step.get("saturated") is True:
        run.notes.append("more was sent than the server could take: latencies grow with the length of the step")
    limited = section(step, "client").get("limited")
    if isinstance(limited, list) and limited:
        run.notes.append(f"the load generator was the bottleneck: {str(limited[0])[:200]}")
    return run
