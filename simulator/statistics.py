"""Nearest-rank percentiles, and intervals from batch means."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# A percentile needs as many samples as put one of them beyond it.
SAMPLES_NEEDED = {50: 2, 90: 10, 95: 20, 99: 100}
PERCENTILES = (50, 90, 95, 99)
SAMPLES_FOR_MEAN = 10
BATCHES = 10
T_975_BY_BATCHES = 2.2622  # two-sided 95 % Student t with BATCHES - 1 = 9 degrees of freedom


@dataclass(frozen=True, slots=True)
class Interval:
    """Confidence interval of 95 % from batch means, in the unit of the figure it belongs to."""

    low: float
    high: float
    batches: int = BATCHES


def nearest_rank(sorted_values: FloatArray, percentile: float) -> float:
    """The smallest value that at least `percentile` % of the values do not exceed."""
    return float(sorted_values[_rank(sorted_values.size, percentile) - 1])


def nearest_ranks(values: FloatArray, percentiles: Sequence[float]) -> list[float]:
    """`nearest_rank` of rising percentiles, of values in any order: each is looked for among what lies above the last.

    So the values need not be sorted, which takes several times as long.
    """
    found: list[float] = []
    above, below = values, 0
    for percentile in percentiles:
        place = _rank(values.size, percentile) - 1 - below
        above, below = np.partition(above, place)[place:], below + place
        found.append(float(above[0]))
    return found


def _rank(size: int, percentile: float) -> int:
    return max(1, math.ceil(percentile * size / 100 - 1e-9))


def weighted_nearest_rank(sorted_values: FloatArray, weights: npt.NDArray[np.int64], percentile: float) -> float:
    """`nearest_rank` where each value stands for as many samples as its weight says."""
    cumulated = np.cumsum(weights)
    rank = max(1, math.ceil(percentile * int(cumulated[-1]) / 100 - 1e-9))
    return float(sorted_values[int(np.searchsorted(cumulated, rank))])


def batch_intervals(values: FloatArray, figures: Mapping[str, float | None]) -> dict[str, Interval]:
    """Intervals around `figures` ("mean", "p95", ...) of `values`, from their spread over ten successive batches.

    `values` in order of arrival. None is given where a batch has fewer samples than the figure needs. Successive values
    of a queue are correlated, so an interval that treats them as independent would be far too narrow. (Sectioning:
    deviations of the batches' figures are taken from the figure of all values, which the interval is centred on.)
    """
    batches = np.array_split(values, BATCHES)
    smallest = batches[-1].size
    percentiles = [percentile for percentile in PERCENTILES if smallest >= SAMPLES_NEEDED[percentile]]
    ranks = [nearest_ranks(batch, percentiles) for batch in batches]
    of_batches = {f"p{p}": [row[place] for row in ranks] for place, p in enumerate(percentiles)}
    if smallest >= SAMPLES_FOR_MEAN:
        of_batches["mean"] = [float(batch.mean()) for batch in batches]
    return {
        name: _interval(of_batches[name], middle)
        for name, middle in figures.items()
        if middle is not None and name in of_batches
    }


def _interval(figures: list[float], middle: float) -> Interval:
    spread = sum((figure - middle) ** 2 for figure in figures) / (BATCHES - 1)
    half = T_975_BY_BATCHES * math.sqrt(spread / BATCHES)
    return Interval(max(0.0, middle - half), middle + half)
