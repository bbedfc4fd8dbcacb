"""Percentiles of a column and of its batches at once: exact, without sorting.

Values are counted in cells of equal width, batch by batch. The counts tell in which cell a rank lies, so that only the
few values in these cells have to be put in order.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

COUNTED_FROM = 4_096  # values; counting fewer in cells takes longer than to select among all of them
MOST_CELLS = 4_096
SAMPLE = 1_000


class Ranked(NamedTuple):
    """Nearest ranks of all values, and of each batch."""

    whole: list[float]
    batches: list[list[float]]


def nearest_ranks(values: FloatArray, percentiles: Sequence[float]) -> list[float]:
    """`statistics.nearest_rank` of rising percentiles, of values in any order: each is looked for among what lies above
    the last. So the values need not be sorted, which takes several times as long.
    """
    found: list[float] = []
    above, below = values, 0
    for percentile in percentiles:
        place = rank(values.size, percentile) - 1 - below
        above, below = np.partition(above, place)[place:], below + place
        found.append(float(above[0]))
    return found


def rank(size: int, percentile: float) -> int:
    """The nearest rank of a percentile among `size` values, from 1."""
    return max(1, math.ceil(percentile * size / 100 - 1e-9))


def ranks_by_batch(
    values: FloatArray, batches: int, percentiles: Sequence[float], batch_percentiles: Sequence[float]
) -> Ranked:
    """`nearest_ranks` of all values, and of each of `batches` successive parts as `np.array_split` makes them."""
    if values.size < COUNTED_FROM:
        parts = np.array_split(values, batches)
        return Ranked(nearest_ranks(values, percentiles), [nearest_ranks(part, batch_percentiles) for part in parts])
    return _Cells(values, batches).select(percentiles, batch_percentiles)


class _Cells:
    """The values' cells. Cell 0 holds the least value and nothing else, as many columns are mostly zeros; the last one
    all beyond a sample's greatest value, so that a few huge values do not widen all others.
    """

    def __init__(self, values: FloatArray, batches: int) -> None:
        self.parts = np.array_split(values, batches)
        self.count = min(MOST_CELLS, values.size // (4 * batches))
        self.least = float(values.min())
        sampled = float(values[:: max(1, values.size // SAMPLE)].max())
        # A sample of equal values says nothing about the others: they may differ in step with it.
        spread = (sampled if sampled > self.least else float(values.max())) - self.least
        self.per_unit = (self.count - 1) / spread if spread > 0 else 0.0
        self.cells = [self._cells_of(part) for part in self.parts]
        counts = [np.bincount(cells, minlength=self.count) for cells in self.cells]
        self.up_to: list[IntArray] = [np.cumsum(row) for row in counts]

    def _cells_of(self, part: FloatArray) -> npt.NDArray[np.int16]:
        """Rising with the values, as each operation is monotone."""
        place = part - self.least
        place *= self.per_unit
        np.ceil(place, out=place)
        np.minimum(place, self.count - 1, out=place)
        return place.astype(np.int16)

    def select(self, percentiles: Sequence[float], batch_percentiles: Sequence[float]) -> Ranked:
        """See `ranks_by_batch`."""
        up_to: IntArray = np.sum(self.up_to, axis=0)
        whole = self._wanted(up_to, percentiles)
        rows, kept, kept_cells = [], [], []
        for part, cells, own in zip(self.parts, self.cells, self.up_to, strict=True):
            wanted = self._wanted(own, batch_percentiles)
            looked_at = np.zeros(self.count, np.bool_)
            looked_at[[cell for cell, _ in wanted + whole]] = True
            looked_at[0] = False
            found = np.flatnonzero(looked_at[cells])
            kept.append(part[found])
            kept_cells.append(cells[found])
            rows.append(self._pick(kept[-1], kept_cells[-1], wanted))
        return Ranked(self._pick(np.concatenate(kept), np.concatenate(kept_cells), whole), rows)

    def _wanted(self, up_to: IntArray, percentiles: Sequence[float]) -> list[tuple[int, int]]:
        """For each percentile the cell in which its rank lies, and its place from 0 among the values there."""
        ranks = [rank(int(up_to[-1]), percentile) for percentile in percentiles]
        cells = up_to.searchsorted(ranks).tolist()
        return [(cell, at - 1 - (int(up_to[cell - 1]) if cell else 0)) for cell, at in zip(cells, ranks, strict=True)]

    def _pick(self, values: FloatArray, cells: npt.NDArray[np.int16], wanted: Sequence[tuple[int, int]]) -> list[float]:
        picked = []
        for cell, place in wanted:
            if cell == 0:
                picked.append(self.least)
                continue
            inside = values[cells == cell]
            inside.partition(place)
            picked.append(float(inside[place]))
        return picked
