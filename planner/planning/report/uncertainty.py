"""What the errors of the step-time model mean for the targets."""

from __future__ import annotations

from typing import Any

from planner.planning.search.intervals import Sized


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
        return f"{start} every target still holds.{_ttft_doubt(size)}"
    if size.low_rps == 0:
        return f"{start} {slow.failure()}, and no number of serving replicas would mend it."
    more = size.serving_high - size.serving
    if more == 0:
        return f"{start} {slow.failure()}."
    replicas = "replica" if more == 1 else "replicas"
    return f"{start} {slow.failure()}; {more} more serving {replicas} would be needed."


def _ttft_doubt(size: Sized) -> str:
    """Measured TTFT strays farther from predicted than step times do."""
    assert size.candidate.fleet is not None
    ratio = size.coverage.ttft_p90_ratio
    for item in size.candidate.fleet.run.judged:
        target = item.target
        if target.metric == "ttft" and item.predicted is not None and not target.met_by(item.predicted * ratio):
            value = target.show(item.predicted * ratio)
            return f" At {ratio:.3g} × the predicted TTFT, as in one measured case of ten, {target.label} is {value}."
    return ""
