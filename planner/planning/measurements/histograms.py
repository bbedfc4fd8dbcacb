"""Cumulative histograms as Prometheus keeps them: what can be read from buckets, and how finely."""

from __future__ import annotations

from collections.abc import Sequence

Buckets = dict[float, float]
"""Upper bound -> how many were at most that; the last bound may be infinite."""


def statistics_of(
    buckets: Buckets, count: float | None, total: float | None, percents: Sequence[int]
) -> dict[str, float]:
    """The exact mean, and percentiles as straight lines inside a bucket; empty without samples. No percentile that lies
    beyond the last finite bound."""
    samples = max(buckets.values(), default=0.0)
    if samples <= 0:
        return {}
    found = {}
    if total is not None and (count or samples) > 0:
        found["mean"] = total / (count or samples)
    for percent in percents:
        inside = _inside(buckets, samples * percent / 100)
        if inside is not None:
            low, high, below, upto = inside
            found[f"p{percent}"] = low + (high - low) * (samples * percent / 100 - below) / (upto - below)
    return found


def quantile_range(buckets: Buckets, share: float) -> tuple[float, float] | None:
    """The bucket that a quantile lies in: all that is known of it. None beyond the last finite bound."""
    inside = _inside(buckets, share * max(buckets.values(), default=0.0))
    return None if inside is None else inside[:2]


def _inside(buckets: Buckets, rank: float) -> tuple[float, float, float, float] | None:
    """(lower bound, upper bound, samples below, samples up to it) of the bucket with this rank."""
    low, below = 0.0, 0.0
    for bound, count in sorted(buckets.items()):
        if count >= rank and count > below:
            return None if bound == float("inf") else (low, bound, below, count)
        low, below = bound, max(below, count)
    return None
