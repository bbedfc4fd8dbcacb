"""Rates that change with time: curves by bins, their growth, and the time change that makes arrivals follow them."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.checks import check_fields, checked, number_array
from simulator.errors import SimulatorError, require_number
from simulator.steptime import PS_PER_S, IntArray
from simulator.traffic.gaps import FloatArray
from simulator.workload import MAX_TIME_PS, ROWS_AT_A_TIME, whole_numbers

HOUR_S = 3600.0
WEEK_S = 168 * HOUR_S
MONTH_S = 730 * HOUR_S
MAX_TIME_S = MAX_TIME_PS / PS_PER_S
MAX_BINS = 10**7
NO_RATE_RPS = 1e-200
"""A rate below it counts as 0: seconds per request would leave the range of floats."""


@dataclass(frozen=True, slots=True, eq=False)
class RateCurve:
    """`rates_rps[i]` requests per second from i·bin_s to (i + 1)·bin_s seconds, then again (`repeats`) or never more.

    A day is 24 hourly rates, a week `mean_rps * weekly_shape(...)`, a steady rate one bin. With Λ(t) the requests
    expected up to t, a renewal process with mean gap 1 whose arrivals u are moved to Λ⁻¹(u) has this rate: exponential
    gaps give the Poisson process with the moving rate (Çinlar's inversion), others keep their CV in operational time.

    Raises SimulatorError for rates that are negative, not finite, or 0 throughout.
    """

    rates_rps: FloatArray
    bin_s: float = HOUR_S
    repeats: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        rates = number_array("rates_rps", self.rates_rps)
        if rates.ndim != 1 or not 1 <= rates.size <= MAX_BINS:
            raise SimulatorError("shape", "rates_rps", f"must be a list of 1 to {MAX_BINS} rates")
        counted = np.where(rates < NO_RATE_RPS, 0.0, rates)
        if not np.isfinite(rates).all() or (rates < 0).any() or rates.max() > 1e9 or not counted.any():
            raise SimulatorError("out_of_range", "rates_rps", "must be finite, not negative, and somewhere above 0")
        object.__setattr__(self, "rates_rps", counted)
        object.__setattr__(self, "bin_s", require_number("bin_s", self.bin_s, 0.0, 1e9, exclusive=True))

    @property
    def period_s(self) -> float:
        return self.rates_rps.size * self.bin_s

    @property
    def period_requests(self) -> float:
        """Requests expected in one pass through the curve."""
        return float(self.rates_rps.sum() * self.bin_s)

    @property
    def mean_rps(self) -> float:
        return float(self.rates_rps.mean())

    def expected(self, time_s: npt.ArrayLike) -> FloatArray:
        """Λ(t): the requests expected from 0 to each time."""
        times = number_array("time_s", time_s)
        passes = np.floor(times / self.period_s) if self.repeats else np.zeros_like(times)
        within = np.interp(times - passes * self.period_s, *self._knots())
        return np.asarray(passes * self.period_requests + within, np.float64)

    def time_s(self, expected: npt.ArrayLike) -> FloatArray:
        """Λ⁻¹(u), the later end where the rate is 0; infinite beyond the end of a curve that does not repeat."""
        requests = number_array("expected", expected)
        seconds, sums = self._knots()
        if not self.repeats:
            return np.interp(requests, sums, seconds, right=np.inf)
        if seconds.size == 2:
            return np.asarray(requests / self.rates_rps[0], np.float64)
        passes = np.floor(requests / sums[-1])
        within = np.interp(requests - passes * sums[-1], sums, seconds)
        return np.asarray(passes * self.period_s + within, np.float64)

    def rates_until(self, end_s: float) -> FloatArray:
        """The rate of every bin that begins before `end_s`."""
        bins = int(np.ceil(require_number("end_s", end_s, 0.0, MAX_TIME_S, exclusive=True) / self.bin_s))
        if bins > MAX_BINS:
            raise SimulatorError("too_large", "end_s", f"more than {MAX_BINS} bins of {self.bin_s} s")
        place = np.arange(bins)
        inside = place < self.rates_rps.size
        return np.where(inside | self.repeats, self.rates_rps[place % self.rates_rps.size], 0.0)

    def _knots(self) -> tuple[FloatArray, FloatArray]:
        seconds = np.arange(self.rates_rps.size + 1, dtype=np.float64) * self.bin_s
        return seconds, np.concatenate((np.zeros(1), np.cumsum(self.rates_rps * self.bin_s)))


def whole_ps(times_s: FloatArray, out: FloatArray | None = None) -> IntArray:
    """Seconds as the nearest whole picoseconds; `out`, which may be `times_s` itself, becomes the result."""
    times_ps = np.multiply(times_s, PS_PER_S, out=out)
    whole: IntArray = np.rint(times_ps, out=times_ps).view(np.int64)
    for first in range(0, times_ps.size, ROWS_AT_A_TIME):
        rows = slice(first, first + ROWS_AT_A_TIME)
        whole[rows] = times_ps[rows].astype(np.int64)
    return whole


@checked
def steady_rate(rate_rps: float) -> RateCurve:
    """The same rate for ever."""
    return RateCurve(np.array([require_number("rate_rps", rate_rps, 0.0, 1e9, exclusive=True)]))


@checked
def growing_rates(curve: RateCurve, end_s: float, growth_ratio: float, per_s: float = WEEK_S) -> RateCurve:
    """`curve` up to `end_s`, each bin multiplied by (1 + growth_ratio)^(its start / per_s): 0.1 is 10 % a week.

    `per_s` is the time in which the rate grows by the ratio (WEEK_S, MONTH_S). The curve begins at its own rate; the
    result does not repeat.
    """
    growth = require_number("growth_ratio", growth_ratio, -1.0, 1e3, exclusive=True)
    period = require_number("per_s", per_s, 0.0, 1e12, exclusive=True)
    rates = curve.rates_until(end_s)
    with np.errstate(over="ignore", invalid="ignore"):  # what grows beyond all bounds is refused as a rate
        grown = rates * (1.0 + growth) ** (np.arange(rates.size) * curve.bin_s / period)
    return RateCurve(grown, curve.bin_s, False)


@checked
def measured_rates(arrival_ps: IntArray, bin_s: float = HOUR_S) -> RateCurve:
    """The rate of recorded arrivals in each bin from 0 to the bin of the last one; it does not repeat."""
    arrivals = whole_numbers("arrival_ps", arrival_ps, 0, MAX_TIME_PS)
    bins = arrivals / PS_PER_S / require_number("bin_s", bin_s, 0.0, 1e9, exclusive=True)
    if bins.size == 0 or bins.max() >= MAX_BINS:
        raise SimulatorError("out_of_range", "arrival_ps", f"must fill 1 to {MAX_BINS} bins of {bin_s} s")
    return RateCurve(np.bincount(bins.astype(np.int64)) / bin_s, bin_s, False)
