"""Sums over time in a bounded number of bins: the width doubles as the run grows."""

from dataclasses import dataclass, field

import numpy as np

from simulator.records import SERIES_BINS, SERIES_SHIFT, Series


@dataclass(slots=True)
class Bin:
    """Sums of the steps that began in one bin."""

    steps: int = 0
    busy_ps: int = 0
    prefill_tokens: int = 0
    decode_tokens: int = 0
    seat_ps: int = 0
    kv_block_ps: int = 0

    def add(self, other: "Bin") -> "Bin":
        """Add another bin's sums to this one's."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        return self


@dataclass(slots=True)
class Bins:
    """The fleet's bins; bin i covers [i, i + 1) << shift picoseconds."""

    shift: int = SERIES_SHIFT
    bins: list[Bin] = field(default_factory=lambda: [Bin() for _ in range(SERIES_BINS)])
    used: int = 0

    def at(self, begin_ps: int) -> Bin:
        """The bin of a step that begins at `begin_ps`."""
        while begin_ps >> self.shift >= SERIES_BINS:
            half = [one.add(other) for one, other in zip(self.bins[::2], self.bins[1::2], strict=True)]
            self.bins = half + [Bin() for _ in half]
            self.used = -(-self.used // 2)
            self.shift += 1
        index = begin_ps >> self.shift
        self.used = max(self.used, index + 1)
        return self.bins[index]

    def series(self) -> Series:
        """The bins in use, as columns."""

        def column(name: str, dtype: type) -> np.ndarray:
            return np.array([getattr(one, name) for one in self.bins[: self.used]], dtype)

        return Series(
            bin_ps=1 << self.shift,
            steps=column("steps", np.int64),
            busy_ps=column("busy_ps", np.int64),
            prefill_tokens=column("prefill_tokens", np.int64),
            decode_tokens=column("decode_tokens", np.int64),
            seat_ps=column("seat_ps", np.float64),
            kv_block_ps=column("kv_block_ps", np.float64),
        )
