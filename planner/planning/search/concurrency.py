"""Little's law in the open: from an arrival rate to the sequences in flight, and to the seats and KV they need."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.planning.search.closed_form import Form, mean_times

MAX_ITERATIONS = 500
RELATIVE_CHANGE = 1e-7
SHOWN = 6


@dataclass(frozen=True, slots=True)
class Iteration:
    """One turn: with so many in flight a request takes so long, so that λ times it are in flight."""

    concurrency: float
    e2e_s: float


@dataclass(frozen=True, slots=True)
class FixedPoint:
    """N = λ · E2E(N). iterations: the first turns and the last one; turns: how many there were.

    concurrency_p95: of a Poisson number with that mean, which is what arrivals without bursts make of it.
    """

    arrival_rps: float
    e2e_s: float
    concurrency: float
    concurrency_p95: int
    turns: int
    iterations: tuple[Iteration, ...]


def fixed_point(form: Form, rate_rps: float) -> FixedPoint | None:
    """From an idle replica upwards: every turn has more in flight and slower steps, until both agree.

    None where they never do: the rate is beyond what the replica can serve.
    """
    concurrency, shown = 0.0, []
    most = float(form.seats[-1])
    for turn in range(1, MAX_ITERATIONS + 1):
        times = mean_times(form, rate_rps, min(concurrency, most))
        if times is None:
            return None
        then = rate_rps * times.e2e_s
        shown.append(Iteration(concurrency, times.e2e_s))
        if abs(then - concurrency) <= RELATIVE_CHANGE * then:
            return _found(rate_rps, times.e2e_s, turn, shown)
        concurrency = then
    return None


def _found(rate_rps: float, e2e_s: float, turns: int, shown: list[Iteration]) -> FixedPoint:
    concurrency = rate_rps * e2e_s
    last = Iteration(concurrency, e2e_s)
    return FixedPoint(
        arrival_rps=rate_rps,
        e2e_s=e2e_s,
        concurrency=concurrency,
        concurrency_p95=poisson_quantile(concurrency, 0.95),
        turns=turns,
        iterations=(*shown[: SHOWN - 1], last),
    )


def poisson_quantile(mean: float, share: float) -> int:
    """The smallest k with P(N ≤ k) ≥ share for a Poisson number N: 22 for a mean of 15.35 and 95 %.

    ValueError: the mean is negative or not finite, or the share is not within (0, 1).
    """
    if not (0 <= mean < 1e12 and 0 < share < 1):
        raise ValueError(f"no Poisson quantile for mean {mean} and share {share}")
    if mean == 0:
        return 0
    reach = 10 * math.sqrt(mean) + 20
    low = max(0, math.floor(mean - reach))
    counts = np.arange(low, math.ceil(mean + reach) + 1, dtype=np.float64)
    steps = np.log(mean) - np.log(counts[1:])
    logs = low * math.log(mean) - mean - math.lgamma(low + 1) + np.concatenate(([0.0], np.cumsum(steps)))
    return low + int(np.searchsorted(np.cumsum(np.exp(logs)), share))
