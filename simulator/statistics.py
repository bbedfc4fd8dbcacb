"""Nearest-rank percentiles, and intervals from batch means."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simulator.selection import rank, ranks_by_batch

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
    return float(sorted_values[rank(sorted_values.size, percentile) - 1])


def weighted_nearest_rank(sorted_values: FloatArray, weights: npt.NDArray[np.int64], percentile: float) -> float:
    """`nearest_rank` where each value stands for as many samples as its weight says."""
    cumulated = np.cumsum(weights)
    return float(sorted_values[int(np.searchsorted(cumulated, rank(int(cumulated[-1]), percentile)))])


def figures_of(values: FloatArray) -> tuple[dict[str, float | None], dict[str, Interval]]:
    """Mean and percentiles of `values` ("mean", "p95", ...; None from too few samples), and intervals around them from
    their spread over ten successive batches.

    `values` in order of arrival. No interval is given where a batch has fewer samples than the figure needs. Successive
    values of a queue are correlated, so an interval that treats them as independent would be far too narrow.
    (Sectioning: deviations of the batches' figures are taken from the figure of all values, which the interval is
    centred on.)
    """
    enough = _enough(values.size)
    enough_by_batch = _enough(values.size // BATCHES)
    ranked = ranks_by_batch(values, BATCHES, enough, enough_by_batch)
    figures: dict[str, float | None] = {"mean": float(values.mean()) if values.size else None}
    figures |= {f"p{percentile}": None for percentile in PERCENTILES}
    figures |= {f"p{percentile}": value for percentile, value in zip(enough, ranked.whole, strict=True)}
    of_batches = {f"p{p}": [row[place] for row in ranked.batches] for place, p in enumerate(enough_by_batch)}
    if values.size // BATCHES >= SAMPLES_FOR_MEAN:
        of_batches["mean"] = [float(batch.mean()) for batch in np.array_split(values, BATCHES)]
    intervals = {
        name: _interval(of_batches[name], middle)
        for name, middle in figures.items()
        if middle is not None and name in of_batches
    }
    return figures, intervals


def _enough(samples: int) -> list[int]:
    """The percentiles that so many samples are enough for."""
    return [percentile for percentile in PERCENTILES if samples >= SAMPLES_NEEDED[percentile]]


def _interval(figures: list[float], middle: float) -> Interval:
    spread = sum((figure - middle) ** 2 for figure in figures) / (BATCHES - 1)
    half = T_975_BY_BATCHES * math.sqrt(spread / BATCHES)
    return Interval(max(0.0, middle - half), middle + half)
