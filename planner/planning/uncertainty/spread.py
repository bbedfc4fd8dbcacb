"""Uncertain factors: lognormal with a spread of its own on each side of the median.

A factor of 1 is the planned value. Below and above it the logarithm is normal, each side with the scale that puts the
10th and 90th percentile where they were measured or assumed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from planner.planning.search.replica import FloatArray

NORMAL = NormalDist()
Z90 = NORMAL.inv_cdf(0.9)
Z75 = NORMAL.inv_cdf(0.75)


@dataclass(frozen=True, slots=True)
class Spread:
    """A factor around 1. down and up: standard deviations of its logarithm below and above, 0 where it is known."""

    down: float
    up: float

    @property
    def known(self) -> bool:
        return self.down == 0 and self.up == 0

    def at(self, z: FloatArray) -> FloatArray:
        """The factor at standard normal values."""
        return np.asarray(np.exp(np.where(z < 0, self.down, self.up) * z))

    def value_at(self, probability: float) -> float:
        """The factor that is not exceeded with this probability."""
        return float(self.at(np.array([NORMAL.inv_cdf(probability)]))[0])

    def below(self, factor: float) -> float:
        """Probability that the factor is at most this one."""
        if factor <= 0:
            return 0.0
        if math.isinf(factor):
            return 1.0
        scale = self.down if factor < 1 else self.up
        if scale == 0:
            return 1.0 if factor >= 1 else 0.0
        return NORMAL.cdf(math.log(factor) / scale)


CERTAIN = Spread(0.0, 0.0)


def from_p10_p90(p10_ratio: float, p90_ratio: float) -> Spread:
    """A spread by its 10th and 90th percentile; an end on the wrong side of 1 counts as 1."""
    return Spread(max(0.0, -math.log(p10_ratio)) / Z90, max(0.0, math.log(p90_ratio)) / Z90)


def from_quartiles(p25_ratio: float, p75_ratio: float) -> Spread:
    """A spread by its quartiles."""
    return Spread(max(0.0, -math.log(p25_ratio)) / Z75, max(0.0, math.log(p75_ratio)) / Z75)


def within(factor: float) -> Spread:
    """Between 1 / factor and factor with a probability of 80 %."""
    return from_p10_p90(1 / factor, factor)


def beyond(whole: Spread, part: Spread) -> Spread:
    """What is left of an error when an independent part of it is taken out: variances subtract, on each side."""

    def left(a: float, b: float) -> float:
        return math.sqrt(max(0.0, a * a - b * b))

    return Spread(left(whole.down, part.down), left(whole.up, part.up))
