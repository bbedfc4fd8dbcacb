"""Nearest-rank percentiles, and intervals from batch means."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# A percentile needs as many samples as put one of them beyond it.
SAMPLES_NEEDED = {50: 2, 90: 10, 95: 20, 99: 100}
PERCENTILES = (50, 90, 95, 99)
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
    rank = max(1, math.ceil(percentile * sorted_values.size / 100 - 1e-9))
    return float(sorted_values[rank - 1])


def weighted_nearest_rank(sorted_values: FloatArray, weights: npt.NDArray[np.int64], percentile: float) -> float:
    """`nearest_rank` where each value stands for as many samples as its weight says."""
    cumulated = np.cumsum(weights)
    rank = max(1, math.ceil(percentile * int(cumulated[-1]) / 100 - 1e-9))
    return float(sorted_values[int(np.searchsorted(cumulated, rank))])


def batch_intervals(values: FloatArray, figures: Mapping[str, float | None]) -> dict[str, Interval | None]:
    """Intervals around `figures` ("mean", "p95", ...) of `values`, from their spread over ten successive batches.

    `values` in order of arrival. None where a batch would have fewer samples than the figure needs. Successive values
    of a queue are correlated, so an interval that treats them as independent would be far too narrow. (Sectioning:
    deviations of the batches' figures are taken from the figure of all values, which the interval is centred on.)
    """
    batches = [np.sort(batch) for batch in np.array_split(values, BATCHES)]
    return {name: _interval(batches, name, middle) for name, middle in figures.items()}


def _interval(batches: list[FloatArray], name: str, middle: float | None) -> Interval | None:
    percentile = None if name == "mean" else int(name[1:])
    needed = 10 if percentile is None else SAMPLES_NEEDED[percentile]
    if middle is None or batches[-1].size < needed:
        return None
    figures = [float(b.mean()) if percentile is None else nearest_rank(b, percentile) for b in batches]
    spread = sum((figure - middle) ** 2 for figure in figures) / (BATCHES - 1)
    half = T_975_BY_BATCHES * math.sqrt(spread / BATCHES)
    return Interval(max(0.0, middle - half), middle + half)
