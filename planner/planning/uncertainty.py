"""What the errors of the step-time model mean for the targets."""

from __future__ import annotations

from typing import Any

from planner.planning.intervals import Sized


def uncertainty_section(size: Sized) -> dict[str, Any]:
    """The `uncertainty` part of the report."""
    covered = size.coverage
    return {
        "step_time_p10_ratio": covered.step_time_p10_ratio,
        "step_time_p90_ratio": covered.step_time_p90_ratio,
        "basis": covered.basis,
        "slo_probability_sentence": _sentence(size),
    }


def _sentence(size: Sized) -> str:
    slow = size.slow_run
    if slow is None:
        return "The fleet was not simulated with other step times."
    ratio = f"{size.coverage.step_time_p90_ratio:.3g}"
    start = f"With steps {ratio} × as long, the slow end of the interval,"
    if slow.ok:
        return f"{start} every target still holds."
    more = size.serving_high - size.serving
    replicas = "replica" if more == 1 else "replicas"
    return f"{start} {slow.failure()}; {more} more serving {replicas} would be needed."
