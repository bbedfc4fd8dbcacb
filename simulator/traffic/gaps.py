"""Gaps between arrivals, with mean 1: a stream of them, scaled to a rate, is a renewal process."""

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from simulator.checks import checked
from simulator.errors import require_int, require_number

FloatArray = npt.NDArray[np.float64]
Gaps = Callable[[int, np.random.Generator], FloatArray]
"""(count, rng) -> that many independent gaps with mean 1."""

MIN_CV, MAX_CV = 0.001, 100.0


@checked
def exponential_gaps(count: int, rng: np.random.Generator) -> FloatArray:
    """Gaps of a Poisson process (CV 1)."""
    return rng.standard_exponential(_count(count))


@checked
def constant_gaps(count: int, rng: np.random.Generator) -> FloatArray:
    """Equal gaps (CV 0)."""
    return np.ones(_count(count))


@checked
def gamma_gaps(cv: float) -> Gaps:
    """Gamma gaps of coefficient of variation `cv`: shape 1/cv², which is what vLLM's benchmark calls burstiness."""
    shape = gamma_shape(cv)
    return lambda count, rng: rng.standard_gamma(shape, count) / shape


@checked
def weibull_gaps(cv: float) -> Gaps:
    """Weibull gaps of coefficient of variation `cv` (`weibull_shape`), scale 1/Γ(1 + 1/k)."""
    shape = weibull_shape(cv)
    mean = math.gamma(1.0 + 1.0 / shape)
    return lambda count, rng: rng.weibull(shape, count) / mean


def _count(count: int) -> int:
    return require_int("count", count, 0, 10**9)


def gamma_shape(cv: float) -> float:
    """The gamma shape 1/cv²; cv from 0.001 to 100."""
    return 1.0 / require_number("cv", cv, MIN_CV, MAX_CV) ** 2


@checked
def weibull_shape(cv: float) -> float:
    """The shape k for which a Weibull distribution has this coefficient of variation (0.01 to 100).

    cv² = Γ(1 + 2/k) / Γ(1 + 1/k)² - 1 falls as k rises; bisected on ln k to machine precision.
    """
    target = math.log1p(require_number("cv", cv, 0.01, MAX_CV) ** 2)
    low, high = math.log(0.05), math.log(1000.0)
    for _ in range(100):
        middle = (low + high) / 2.0
        inverse = math.exp(-middle)
        spread = math.lgamma(1.0 + 2.0 * inverse) - 2.0 * math.lgamma(1.0 + inverse)
        low, high = (middle, high) if spread > target else (low, middle)
    return math.exp(high)
