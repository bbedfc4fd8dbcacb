"""Base load on a fleet of one's own, what is beyond its capacity at an API: how many replicas make that cheapest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from costmodel.pricing.money import Number, exact


@dataclass(frozen=True, slots=True)
class HybridPoint:
    """A month with so many replicas, USD, exact. self_hosted_ratio: share of the requests that the fleet serves;
    overflow_hours_ratio: share of the hours in which some go to the API."""

    replicas: int
    self_host_usd: Fraction
    api_usd: Fraction
    self_hosted_ratio: float
    overflow_hours_ratio: float

    @property
    def usd(self) -> Fraction:
        return self.self_host_usd + self.api_usd


def most_replicas(rates_rps: Sequence[float], capacity_rps: Number) -> int:
    """Replicas with which no hour sends anything on. Raises ValueError as `hybrid_points`."""
    rates, capacity = _checked(rates_rps, capacity_rps)
    return int(np.ceil(float(rates.max()) / capacity * (1 - 1e-9)))


def hybrid_points(
    rates_rps: Sequence[float],
    *,
    capacity_rps: Number,
    month_usd: Callable[[int], Number],
    usd_per_request: Number,
    requests_per_month: Number,
    replicas: Sequence[int] | None = None,
    closed_hours: Sequence[int] = (),
) -> tuple[HybridPoint, ...]:
    """One point for each number of replicas (left out: from none to enough for every hour).

    rates_rps: equally long hours of which the month is made. With n replicas of capacity C an hour at rate λ sends
    max(0, λ - nC) on, one of closed_hours all of it. month_usd: a month of so many replicas. Where that is n times a
    replica's month, or follows the hours, the sum is convex in n: the newsvendor's answer is the last replica whose
    month costs less than the API's bill for what it takes over, P(λ > nC) x C x seconds x price at its margin.
    Raises ValueError unless the capacity is above zero and there is load.
    """
    rates, capacity = _checked(rates_rps, capacity_rps)
    all_usd = exact(usd_per_request) * exact(requests_per_month)
    is_open = np.ones(rates.size)
    is_open[list(closed_hours)] = 0.0
    counts = range(most_replicas(rates_rps, capacity_rps) + 1) if replicas is None else replicas
    return tuple(_point(count, rates, capacity * count * is_open, exact(month_usd(count)), all_usd) for count in counts)


def overflow_ratio(rates_rps: Sequence[float], carried_rps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Share of the requests beyond each of these rates, all hours alike: the mean of max(0, λ - carried) over λ's."""
    rates = np.sort(np.asarray(rates_rps, dtype=np.float64))
    above = np.append(np.cumsum(rates[::-1])[::-1], 0.0)
    place = np.searchsorted(rates, carried_rps, side="right")
    return np.asarray(np.maximum(0.0, above[place] - carried_rps * (rates.size - place)) / rates.sum())


def _checked(rates_rps: Sequence[float], capacity_rps: Number) -> tuple[NDArray[np.float64], float]:
    rates = np.asarray(rates_rps, dtype=np.float64)
    capacity = float(exact(capacity_rps))
    if capacity <= 0 or rates.size == 0 or float(rates.sum()) <= 0 or float(rates.min()) < 0:
        raise ValueError("capacity and load must be above zero")
    return rates, capacity


def _point(
    count: int, rates: NDArray[np.float64], carried: NDArray[np.float64], self_host_usd: Fraction, api_usd: Fraction
) -> HybridPoint:
    beyond = np.maximum(0.0, rates - carried)
    beyond[beyond < 1e-9 * rates] = 0.0  # rounding of the rates is no overflow
    share = float(beyond.sum() / rates.sum())
    return HybridPoint(
        replicas=count,
        self_host_usd=self_host_usd,
        api_usd=exact(share) * api_usd,
        self_hosted_ratio=1 - share,
        overflow_hours_ratio=float(np.count_nonzero(beyond) / rates.size),
    )


def cheapest_hybrid(points: Sequence[HybridPoint]) -> HybridPoint:
    """The lowest total; of equal ones the fewest replicas."""
    return min(points, key=lambda point: (point.usd, point.replicas))
