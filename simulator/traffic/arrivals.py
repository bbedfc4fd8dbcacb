"""When requests arrive: whole picoseconds, sorted, from one generator passed in."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from simulator.checks import checked, number_array
from simulator.errors import SimulatorError, require_int, require_number
from simulator.steptime import PS_PER_S, IntArray
from simulator.traffic.bursts import BurstPath, OnOff
from simulator.traffic.gaps import FloatArray, Gaps, exponential_gaps, gamma_gaps, weibull_gaps
from simulator.traffic.rates import MAX_TIME_S, RateCurve, steady_rate, whole_ps
from simulator.workload import MAX_TIME_PS, ROWS_AT_A_TIME, whole_numbers

HOUR_PS = 3600 * PS_PER_S
BLOCK_REQUESTS = 65_536

Arrivals = Callable[[np.random.Generator], Iterator[IntArray]]
"""rng -> blocks of sorted arrival times that continue each other: all the memory that a stream of arrivals needs."""


@checked
def renewal_arrivals(curve: RateCurve, gaps: Gaps = exponential_gaps, bursts: OnOff | None = None) -> Arrivals:
    """Arrivals with independent gaps that follow a rate curve, in blocks of BLOCK_REQUESTS; Poisson unless `gaps` say
    otherwise. They end with a curve that does not repeat, or at the last time a workload can hold.

    Sums of unit gaps become seconds at the mean rate, are moved by the path of bursts, then by the curve: with a curve
    that is not steady, bursts last their time at the mean rate, longer at night and shorter at noon.
    """
    if bursts is not None:
        bursts.check_rate(curve.mean_rps)

    def blocks(rng: np.random.Generator) -> Iterator[IntArray]:
        path = None if bursts is None else BurstPath(bursts, rng.spawn(1)[0])
        expected = 0.0
        while True:
            sums = expected + np.cumsum(gaps(BLOCK_REQUESTS, rng))
            expected = float(sums[-1])
            if path is not None:
                sums = path.time_s(sums / curve.mean_rps) * curve.mean_rps
            times_s = curve.time_s(sums)
            inside = times_s[: int(np.searchsorted(times_s, MAX_TIME_S))]
            if inside.size:
                yield whole_ps(inside)
            if inside.size < times_s.size:
                return

    return blocks


@checked
def poisson_arrivals_ps(rate_rps: float, count: int, rng: np.random.Generator) -> IntArray:
    """`count` arrivals of a Poisson process of `rate_rps` requests per second, int64 picoseconds from 0."""
    return _renewal_ps(rate_rps, exponential_gaps, count, rng)


@checked
def gamma_arrivals_ps(rate_rps: float, cv: float, count: int, rng: np.random.Generator) -> IntArray:
    """`count` arrivals whose gaps are gamma distributed with mean 1/rate and coefficient of variation `cv`.

    The shape is 1/cv²; cv = 1 is Poisson, above 1 burstier. (vLLM's `burstiness` is the shape.)
    """
    return _renewal_ps(rate_rps, gamma_gaps(cv), count, rng)


@checked
def weibull_arrivals_ps(rate_rps: float, cv: float, count: int, rng: np.random.Generator) -> IntArray:
    """`count` arrivals whose gaps are Weibull distributed with mean 1/rate and coefficient of variation `cv`."""
    return _renewal_ps(rate_rps, weibull_gaps(cv), count, rng)


@checked
def constant_arrivals_ps(rate_rps: float, count: int) -> IntArray:
    """`count` arrivals at equal gaps of 1/rate seconds, the first after one gap."""
    return _from_s(np.arange(1, _count(count) + 1) / steady_rate(rate_rps).mean_rps)


@checked
def on_off_arrivals_ps(rate_rps: float, count: int, rng: np.random.Generator, bursts: OnOff) -> IntArray:
    """`count` arrivals of a Poisson process that switches between two rates; `rate_rps` is the mean (see OnOff)."""
    rate = steady_rate(rate_rps).mean_rps
    bursts.check_rate(rate)
    path = BurstPath(bursts, rng.spawn(1)[0])
    return _from_s(path.time_s(np.cumsum(exponential_gaps(_count(count), rng)) / rate))


@checked
def burst_arrivals_ps(count: int, at_s: float = 0.0) -> IntArray:
    """`count` arrivals at once, `at_s` seconds after the start."""
    return np.full(_count(count), round(require_number("at_s", at_s, 0.0, MAX_TIME_S) * PS_PER_S), np.int64)


@checked
def replay_arrivals_ps(times_s: Sequence[float] | FloatArray, rate_scale: float = 1.0) -> IntArray:
    """Recorded times in seconds, moved so that the first is 0, at `rate_scale` times their rate by squeezing time.

    Times must be finite and sorted (SimulatorError otherwise). See `scaled_rate` for more requests in the same time.
    """
    times = number_array("times_s", times_s)
    if times.ndim != 1 or times.size == 0:
        raise SimulatorError("empty", "times_s", "must hold at least one time")
    if not np.isfinite(times).all():
        raise SimulatorError("not_finite", "times_s", "must be finite")
    if (np.diff(times) < 0).any():
        raise SimulatorError("not_sorted", "times_s", "must be sorted")
    return _from_s((times - times[0]) / require_number("rate_scale", rate_scale, 0.0, 1e9, exclusive=True))


@checked
def curve_arrivals_ps(
    curve: RateCurve, rng: np.random.Generator, count: int | None = None, gaps: Gaps = exponential_gaps
) -> IntArray:
    """Arrivals that follow a rate curve: the first `count`, or all of a curve that does not repeat.

    Raises SimulatorError where the curve ends before `count` (`too_few`), repeats without a count, or brings nothing.
    """
    if count is None and curve.repeats:
        raise SimulatorError("ambiguous", "count", "a curve that repeats has no end: say how many requests")
    wanted = None if count is None else _count(count)
    blocks: list[IntArray] = []
    found = 0
    for block in renewal_arrivals(curve, gaps)(rng):
        blocks.append(block)
        found += block.size
        if wanted is not None and found >= wanted:
            break
    if found < (wanted or 1):
        raise SimulatorError("too_few", "count", f"the curve ends after {found} requests")
    return np.concatenate(blocks)[:wanted]


@checked
def shaped_arrivals_ps(arrival_ps: IntArray, hourly_multipliers: npt.NDArray[np.float64]) -> IntArray:
    """Move arrivals of a constant mean rate so that the rate follows `hourly_multipliers` (mean 1, repeated).

    With Λ(t) the integral of the multipliers, an arrival at mean-rate time u moves to Λ⁻¹(u): a Poisson process stays
    Poisson with the moving rate, gamma gaps keep their CV in operational time.
    """
    arrivals = whole_numbers("arrival_ps", arrival_ps, 0, MAX_TIME_PS)
    if arrivals.size == 0 or (np.diff(arrivals) < 0).any():
        raise SimulatorError("not_sorted", "arrival_ps", "must hold at least one time, and be sorted")
    multipliers = number_array("hourly_multipliers", hourly_multipliers)
    if (
        multipliers.ndim != 1
        or multipliers.size == 0
        or not (multipliers >= 0).all()
        or not np.isfinite(multipliers).all()
    ):
        raise SimulatorError("out_of_range", "hourly_multipliers", "must be finite and not negative")
    if abs(multipliers.mean() - 1.0) > 1e-6:
        raise SimulatorError("out_of_range", "hourly_multipliers", "must have mean 1")
    curve, times_s = RateCurve(multipliers), arrivals / PS_PER_S
    for first in range(0, times_s.size, ROWS_AT_A_TIME):
        times_s[first : first + ROWS_AT_A_TIME] = curve.time_s(times_s[first : first + ROWS_AT_A_TIME])
    return _from_s(np.maximum.accumulate(times_s, out=times_s))


def _count(count: int) -> int:
    return require_int("count", count, 1, 10**9)


def _renewal_ps(rate_rps: float, gaps: Gaps, count: int, rng: np.random.Generator) -> IntArray:
    rate = steady_rate(rate_rps).mean_rps
    times_s = gaps(_count(count), rng)
    np.cumsum(times_s, out=times_s)
    times_s /= rate
    return _from_s(times_s)


def _from_s(times_s: FloatArray) -> IntArray:
    """As whole picoseconds; the array is used up."""
    if not times_s[-1] <= MAX_TIME_S:
        raise SimulatorError("out_of_range", "arrivals", f"the last arrival lies beyond {MAX_TIME_S / 86400:.0f} days")
    return whole_ps(times_s, out=times_s)
