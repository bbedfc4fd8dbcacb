"""The rate of requests over the time of a measurement, as steps of (seconds, requests per second)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

MOST_STEPS = 1_000
Steps = list[list[float]]


def merged_steps(counted: Iterable[tuple[float, float]]) -> Steps:
    """Steps of (seconds, requests) as rates; neighbours are put together where there are more than MOST_STEPS."""
    steps = list(counted)
    each = -(-len(steps) // MOST_STEPS) or 1
    groups = [steps[first : first + each] for first in range(0, len(steps), each)]
    totals = [(sum(s for s, _ in group), sum(n for _, n in group)) for group in groups]
    return [[round(seconds, 3), round(requests / seconds, 6)] for seconds, requests in totals if seconds > 0]


def requests_in(steps: Sequence[Sequence[float]]) -> float:
    """Requests that these steps bring."""
    return sum(seconds * rps for seconds, rps in steps)


def thinned(steps: Sequence[Sequence[float]], share: float, parts: int) -> list[tuple[float, float]]:
    """The beginning of each of so many equal parts of the time, this share of it, one after the other.

    Rates stay as they are, and so do queues within a part; a long time is looked at in places, not played faster.
    """
    if share >= 1.0:
        return [(seconds, rps) for seconds, rps in steps]
    span_s = sum(seconds for seconds, _ in steps)
    kept: list[tuple[float, float]] = []
    at_s = 0.0
    for seconds, rps in steps:
        for part in range(int(at_s / span_s * parts), parts):
            begins_s = part * span_s / parts
            low, high = max(at_s, begins_s), min(at_s + seconds, begins_s + share * span_s / parts)
            if high > low:
                kept.append((high - low, rps))
            if begins_s > at_s + seconds:
                break
        at_s += seconds
    return [(sum(s for s, _ in run), rps) for rps, run in ((k, list(g)) for k, g in groupby(kept, key=lambda x: x[1]))]


def spread_ratio(steps: Sequence[Sequence[float]]) -> float:
    """The highest rate over the mean; 1 for a steady one."""
    span_s = sum(seconds for seconds, _ in steps)
    mean_rps = requests_in(steps) / span_s if span_s else 0.0
    return max(rps for _, rps in steps) / mean_rps if mean_rps else 1.0
