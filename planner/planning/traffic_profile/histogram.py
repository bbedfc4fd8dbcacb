"""Whole numbers counted in bounded memory: each value by itself to 131,071, beyond in bins of 1 %."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

EXACT = 1 << 17
_RATIO = 1.01
_WIDE = int(np.ceil(np.log(10_000_001 / EXACT) / np.log(_RATIO))) + 1


class LengthHistogram:
    """Counts of lengths in tokens; mean, deviation and extremes are exact, quantiles to 1 % beyond 131,071."""

    def __init__(self) -> None:
        self._counts = np.zeros(EXACT + _WIDE, dtype=np.int64)
        self._values = np.concatenate((np.arange(EXACT), EXACT * _RATIO ** (np.arange(_WIDE) + 0.5)))
        self.count = 0
        self._sum = 0
        self._squares = 0.0
        self.least = 0
        self.most = 0

    def add(self, lengths: IntArray) -> None:
        """Counts more lengths."""
        if not len(lengths):
            return
        place = lengths
        if lengths.max() >= EXACT:
            wide = np.log(np.maximum(lengths, EXACT) / EXACT) / np.log(_RATIO)
            place = np.where(lengths < EXACT, lengths, EXACT + wide.astype(np.int64))
        self._counts += np.bincount(place, minlength=len(self._counts))
        self.least = int(lengths.min()) if not self.count else min(self.least, int(lengths.min()))
        self.most = max(self.most, int(lengths.max()))
        self.count += len(lengths)
        self._sum += int(lengths.sum())
        self._squares += float((lengths.astype(np.float64) ** 2).sum())

    @property
    def mean(self) -> float:
        return self._sum / self.count

    @property
    def total(self) -> int:
        return self._sum

    @property
    def std(self) -> float:
        return float(np.sqrt(max(0.0, self._squares / self.count - self.mean**2)))

    def quantile(self, ratio: float) -> float:
        """Linear between the two values in order around (count − 1) × ratio, as numpy's default."""
        below = np.cumsum(self._counts)
        rank = (self.count - 1) * ratio
        low, high = (
            self._values[int(np.searchsorted(below, place, side="right"))] for place in (np.floor(rank), np.ceil(rank))
        )
        return float(low + (high - low) * (rank - np.floor(rank)))

    def shares(self, bins: int, until_ratio: float) -> dict[str, object]:
        """For a picture: `mean`, `p95`, and the share of lengths in each of `bins` equal bins from 0 to `until`, the
        quantile `until_ratio`; longer ones are left out."""
        until = max(1, int(self.quantile(until_ratio)))
        counts, _ = np.histogram(self._values, bins=bins, range=(0, until), weights=self._counts)
        shares = [float(share) for share in counts / self.count]
        return {"mean": self.mean, "p95": self.quantile(0.95), "until": until, "shares": shares}

    def points(self) -> tuple[FloatArray, FloatArray]:
        """Values that occur, and the share of lengths up to each."""
        there = np.flatnonzero(self._counts)
        return self._values[there], np.cumsum(self._counts[there]) / self.count
