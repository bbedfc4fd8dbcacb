"""When enough was simulated: each target's share of misses told from the share that it allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from planner.planning.search.targets import FloatArray, Latencies, Target, Targets, latencies
from simulator import EventLog

BATCHES = 10
"""Of one lane, in the order of arrival; requests of a batch are alike, batches hardly."""
DECIDED = 2.0
"""Standard errors between seen and allowed."""


def undecided(targets: Targets, logs: Sequence[EventLog]) -> bool:
    """Whether some target may as well be met as missed, by the batch means of the share of requests beyond it.

    Gaps between tokens are not looked at: a run has hundreds for each request.
    """
    pooled = [latencies([log], steady=True) for log in logs]
    return any(
        _within_noise(np.concatenate([_shares(_missed(target, targets, lane)) for lane in pooled]), _allowed(target))
        for target in targets.all
        if target.metric != "itl"
    )


def _allowed(target: Target) -> float:
    return 1 - target.limit if target.percentile is None else 1 - target.percentile / 100


def _missed(target: Target, targets: Targets, lane: Latencies) -> FloatArray:
    """1 for a request beyond the target, 0 within; those that have no value of it are left out."""
    lane = lane.asked_by(target)
    if target.percentile is not None:
        values = lane.of(target.metric)
        return np.asarray(values[~np.isnan(values)] > target.limit, np.float64)
    missed = np.zeros(len(lane.ttft_ms), dtype=bool)
    for metric, limit in targets.limits_of(target).items():
        missed |= lane.of(metric) > limit
    return missed.astype(np.float64)


def _shares(missed: FloatArray) -> FloatArray:
    return np.array([batch.mean() for batch in np.array_split(missed, BATCHES) if len(batch)])


def _within_noise(shares: FloatArray, allowed: float) -> bool:
    if len(shares) < 2:
        return False
    error = float(shares.std(ddof=1)) / math.sqrt(len(shares))
    return abs(float(shares.mean()) - allowed) < DECIDED * error
