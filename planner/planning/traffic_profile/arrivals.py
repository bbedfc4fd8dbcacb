"""When requests came: rates by second and hour, gaps, and how much burstier than chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

NS_PER_S = 1_000_000_000
MAX_BINS = 1 << 23
HOUR_S = 3_600
HOURS_OF_WEEK = 168
MONDAY_OFFSET_H = 72
"""1 January 1970 was a Thursday: three days after a Monday."""
SCALES_S = (1, 10, 60, 600, 3_600)
LONG_GAP_S = 10.0
GAP_BINS_PER_DECADE = 50
_GAP_EDGES_S = 10.0 ** np.arange(-9, 7 + 1 / GAP_BINS_PER_DECADE, 1 / GAP_BINS_PER_DECADE)


class RateCounter:
    """Arrivals by second from the first one's; beyond 97 days by 2, 4, 8, ... s, so that memory stays under 64 MiB."""

    def __init__(self) -> None:
        self._start_ns: int | None = None
        self.bin_s = 1
        self._counts = np.zeros(0, dtype=np.int64)

    def add(self, arrival_ns: IntArray) -> None:
        """Counts arrivals; the first ever must be the earliest."""
        if self._start_ns is None:
            self._start_ns = int(arrival_ns[0])
        seconds = (arrival_ns - self._start_ns) // NS_PER_S
        while int(seconds[-1]) // self.bin_s >= MAX_BINS:
            self.bin_s *= 2
            padded = np.append(self._counts, 0) if len(self._counts) % 2 else self._counts
            self._counts = padded.reshape(-1, 2).sum(axis=1)
        place = seconds // self.bin_s
        first, last = int(place[0]), int(place[-1])
        if last >= len(self._counts):
            grown = np.zeros(max(last + 1, min(MAX_BINS, 2 * len(self._counts))), dtype=np.int64)
            grown[: len(self._counts)] = self._counts
            self._counts = grown
        self._counts[first : last + 1] += np.bincount(place - first, minlength=last - first + 1)
        self._last = last

    def counts(self, scale_s: int) -> IntArray:
        """Arrivals in whole windows of `scale_s` from the first second on; the last, incomplete one is left out."""
        step = max(1, scale_s // self.bin_s)
        whole = (self._last + 1) // step
        return np.asarray(self._counts[: whole * step].reshape(whole, step).sum(axis=1))

    def dispersion(self, scale_s: int) -> float | None:
        """Variance over mean of the counts in windows; 1 for a Poisson process. None below 10 windows."""
        counts = self.counts(scale_s)
        if len(counts) < 10 or scale_s < self.bin_s or not counts.any():
            return None
        return float(counts.var() / counts.mean())

    def peak_to_mean(self, scale_s: int) -> float | None:
        """The busiest whole window over the mean of all. None below 2 windows."""
        counts = self.counts(scale_s)
        return float(counts.max() / counts.mean()) if len(counts) > 1 and counts.any() else None

    def series(self, most: int) -> dict[str, object]:
        """The rate over the whole time in at most `most` equal windows: `window_s` and `rps`."""
        seconds = (self._last + 1) * self.bin_s
        window_s = max(self.bin_s, -(-seconds // most))
        counts = self.counts(window_s)
        return {"window_s": window_s, "rps": [float(count / window_s) for count in counts]}

    def week_rps(self) -> list[float | None]:
        """Mean rate in each hour of the week from Monday 0:00 UTC; None where no whole hour was seen."""
        assert self._start_ns is not None
        start_s = -(-self._start_ns // NS_PER_S)
        lead = -start_s % HOUR_S // self.bin_s
        step = HOUR_S // self.bin_s
        body = self._counts[lead : self._last + 1]
        hours = body[: len(body) // step * step].reshape(-1, step).sum(axis=1)
        first = (start_s + lead * self.bin_s) // HOUR_S + MONDAY_OFFSET_H
        place = (first + np.arange(len(hours))) % HOURS_OF_WEEK
        seen = np.bincount(place, minlength=HOURS_OF_WEEK)
        total = np.bincount(place, hours, minlength=HOURS_OF_WEEK)
        return [float(t / (n * HOUR_S)) if n else None for t, n in zip(total, seen, strict=True)]

    def daily_growth(self) -> float | None:
        """Growth of the rate a week, by least squares on the logarithms of whole days; None below 14 of them."""
        days = self.counts(86_400)
        if len(days) < 14 or not (days > 0).all():
            return None
        slope = float(np.polyfit(np.arange(len(days)), np.log(days), 1)[0])
        return float(np.expm1(7 * slope))


@dataclass(frozen=True, slots=True, eq=False)
class GapDistribution:
    """Shares of gaps up to each of `edges_s`, those of zero length in front."""

    edges_s: FloatArray
    ratio: FloatArray


class GapCounter:
    """Gaps between arrivals: moments, and a histogram of 50 bins a decade."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._bins = np.zeros(len(_GAP_EDGES_S) + 1, dtype=np.int64)
        self.count = self.zero = self.long = 0
        self._sum_s = self._squares = self._short_sum_s = self._short_squares = 0.0
        self.resolution_ns = 0

    def add(self, arrival_ns: IntArray) -> None:
        """Arrivals in order."""
        gaps = np.diff(arrival_ns) if self._last is None else np.diff(arrival_ns, prepend=self._last)
        self._last = int(arrival_ns[-1])
        if not len(gaps):
            return
        seconds = gaps / NS_PER_S
        short = seconds[seconds <= LONG_GAP_S]
        self.count += len(gaps)
        self.zero += int(np.count_nonzero(gaps == 0))
        self.long += len(seconds) - len(short)
        self._sum_s += float(seconds.sum())
        self._squares += float((seconds**2).sum())
        self._short_sum_s += float(short.sum())
        self._short_squares += float((short**2).sum())
        self._bins += np.bincount(np.searchsorted(_GAP_EDGES_S, seconds), minlength=len(self._bins))
        self.resolution_ns = int(np.gcd(int(np.gcd.reduce(gaps)), self.resolution_ns))

    def cv(self) -> float | None:
        """Standard deviation over mean of all gaps."""
        return _cv(self.count, self._sum_s, self._squares)

    def short_cv(self) -> float | None:
        """The same without gaps of more than 10 s, which are often outages of the recording."""
        return _cv(self.count - self.long, self._short_sum_s, self._short_squares)

    @property
    def mean_s(self) -> float:
        return self._sum_s / self.count

    @property
    def is_quantised(self) -> bool:
        """Whether stamps are so coarse that gaps say little: a tenth of them are zero."""
        return self.count > 0 and self.zero > 0.1 * self.count

    def distribution(self) -> GapDistribution:
        """The histogram as a distribution function, from twice the resolution of the stamps on."""
        used = np.flatnonzero((self._bins[:-1] > 0) & (2 * self.resolution_ns / NS_PER_S <= _GAP_EDGES_S))
        return GapDistribution(_GAP_EDGES_S[used], np.cumsum(self._bins[:-1])[used] / self.count)


def _cv(count: int, total: float, squares: float) -> float | None:
    if count < 2 or total <= 0:
        return None
    mean = total / count
    return float(np.sqrt(max(0.0, squares / count - mean**2)) / mean)
