"""What errors of the model and of the inputs mean, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.planning.report.names import amount, likely
from planner.planning.search.intervals import Sized


def slo_sentence(size: Sized) -> str:
    """The targets with slow steps, in words."""
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


def sure_sentence(rows: Sequence[dict[str, Any]], serving: int, asked_ratio: float | None) -> str:
    """How likely the planned fleet meets its targets, what was asked for, and what more replicas make of that."""
    planned = next(row for row in rows if row["serving"] == serving)
    more = next((row for row in rows if row["serving"] > serving), None)
    start = f"Model error included, the targets hold with a probability of {likely(planned['slo_probability_ratio'])}"
    if asked_ratio is not None:
        start += f", where {100 * asked_ratio:.4g}% is asked for"
    if more is None:
        return f"{start}."
    return f"{start}; {more['serving']:,} serving replicas make it {likely(more['slo_probability_ratio'])}."


def flip_sentence(drivers: Sequence[dict[str, Any]], probability: float | None) -> str:
    """How likely the verdict turns, and which input alone turns it first."""
    if probability is None:
        return "Without an API to compare with there is no verdict to turn."
    turns = likely(probability) if probability else "0%"
    start = f"All uncertain inputs drawn together, the verdict turns in {turns} of the draws."
    first = next((row for row in drivers if row["flip_at"] is not None), None)
    if first is None:
        return f"{start} No single input turns it within four standard deviations."
    unit = f" {first['unit']}" if first["unit"] else ""
    return (
        f"{start} {first['label']} turns it first: at {amount(first['flip_at'])}{unit} instead of "
        f"{amount(first['p50'])}, which alone has a probability of {likely(first['flip_probability_ratio'])}."
    )
