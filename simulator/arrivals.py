"""When requests arrive: whole picoseconds, sorted, from one generator passed in."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simulator.errors import SimulatorError, require_int, require_number
from simulator.steptime import PS_PER_S, IntArray

MAX_TIME_PS = 2**61  # 26 days: the last arrival; the rest of 64 bits is left for the run itself
HOUR_PS = 3600 * PS_PER_S


def poisson_arrivals_ps(rate_rps: float, count: int, rng: np.random.Generator) -> IntArray:
    """`count` arrivals of a Poisson process of `rate_rps` requests per second, int64 picoseconds from 0."""
    return _from_gaps_s(rng.standard_exponential(_count(count)) / _rate(rate_rps))


def gamma_arrivals_ps(rate_rps: float, cv: float, count: int, rng: np.random.Generator) -> IntArray:
    """`count` arrivals whose gaps are gamma distributed with mean 1/rate and coefficient of variation `cv`.

    The shape is 1/cv²; cv = 1 is Poisson, above 1 burstier. (vLLM's `burstiness` is the shape.)
    """
    shape = 1.0 / require_number("cv", cv, 0.0, 100.0, exclusive=True) ** 2
    return _from_gaps_s(rng.standard_gamma(shape, _count(count)) / (shape * _rate(rate_rps)))


def constant_arrivals_ps(rate_rps: float, count: int) -> IntArray:
    """`count` arrivals at equal gaps of 1/rate seconds, the first after one gap."""
    return _from_s(np.arange(1, _count(count) + 1) / _rate(rate_rps))


def burst_arrivals_ps(count: int, at_s: float = 0.0) -> IntArray:
    """`count` arrivals at once, `at_s` seconds after the start."""
    return np.full(_count(count), round(require_number("at_s", at_s, 0.0, MAX_TIME_PS / PS_PER_S) * PS_PER_S), np.int64)


def replay_arrivals_ps(times_s: Sequence[float] | npt.NDArray[np.float64], rate_scale: float = 1.0) -> IntArray:
    """Recorded times in seconds, moved so that the first is 0, at `rate_scale` times their rate.

    Times must be finite and sorted (SimulatorError otherwise).
    """
    times = np.asarray(times_s, dtype=np.float64)
    if times.ndim != 1 or times.size == 0:
        raise SimulatorError("empty", "times_s", "must hold at least one time")
    if not np.isfinite(times).all():
        raise SimulatorError("not_finite", "times_s", "must be finite")
    if (np.diff(times) < 0).any():
        raise SimulatorError("not_sorted", "times_s", "must be sorted")
    return _from_s((times - times[0]) / require_number("rate_scale", rate_scale, 0.0, 1e9, exclusive=True))


def shaped_arrivals_ps(arrival_ps: IntArray, hourly_multipliers: npt.NDArray[np.float64]) -> IntArray:
    """Move arrivals of a constant mean rate so that the rate follows `hourly_multipliers` (mean 1, repeated).

    With Λ(t) the integral of the multipliers, an arrival at mean-rate time u moves to Λ⁻¹(u): a Poisson process stays
    Poisson with the moving rate, gamma gaps keep their CV in operational time.
    """
    multipliers = np.asarray(hourly_multipliers, dtype=np.float64)
    if (
        multipliers.ndim != 1
        or multipliers.size == 0
        or not (multipliers >= 0).all()
        or not np.isfinite(multipliers).all()
    ):
        raise SimulatorError("out_of_range", "hourly_multipliers", "must be finite and not negative")
    if abs(multipliers.mean() - 1.0) > 1e-6:
        raise SimulatorError("out_of_range", "hourly_multipliers", "must have mean 1")
    hours = np.concatenate(([0.0], np.cumsum(multipliers)))
    period = float(hours[-1])
    operational = arrival_ps / HOUR_PS
    whole, rest = np.divmod(operational, period)
    clock_hours = whole * multipliers.size + np.interp(rest, hours, np.arange(multipliers.size + 1.0))
    return _from_s(np.maximum.accumulate(clock_hours * 3600.0))


def _count(count: int) -> int:
    return require_int("count", count, 1, 10**9)


def _rate(rate_rps: float) -> float:
    return require_number("rate_rps", rate_rps, 0.0, 1e9, exclusive=True)


def _from_gaps_s(gaps_s: npt.NDArray[np.float64]) -> IntArray:
    return _from_s(np.cumsum(gaps_s))


def _from_s(times_s: npt.NDArray[np.float64]) -> IntArray:
    if not math.isfinite(times_s[-1]) or times_s[-1] * PS_PER_S > MAX_TIME_PS:
        raise SimulatorError(
            "out_of_range", "arrivals", f"the last arrival lies beyond {MAX_TIME_PS / PS_PER_S / 86400:.0f} days"
        )
    return np.rint(times_s * PS_PER_S).astype(np.int64)
