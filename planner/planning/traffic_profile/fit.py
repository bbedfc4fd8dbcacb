"""Few numbers for a trace: the arrivals and lengths of a scenario that come closest, and how close they come.

Closeness is the Kolmogorov-Smirnov distance: the largest difference of two distribution functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, exp, lgamma, log, sqrt

import numpy as np
import numpy.typing as npt

from planner.planning.traffic_profile.arrivals import GapDistribution
from planner.planning.traffic_profile.histogram import LengthHistogram
from simulator.traffic.lengths import lognormal_parameters

FloatArray = npt.NDArray[np.float64]

GOOD_DISTANCE = 0.05
MOST_P95_TO_MEAN = 3.868
QUANTILE_RATIOS = (
    0.0, 0.001, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8,
    0.85, 0.9, 0.925, 0.95, 0.975, 0.99, 0.995, 0.999, 1.0,
)  # fmt: skip
_CV_GRID = np.geomspace(0.05, 20, 241)


@dataclass(frozen=True, slots=True)
class Fit:
    """Terms of the scenario schema, and their distance from the trace (None: cannot be told)."""

    terms: dict[str, object]
    ks_distance: float | None


def fit_arrivals(gaps: GapDistribution, mean_gap_s: float, mean_rps: float) -> tuple[Fit, Fit]:
    """The best of gamma gaps, and Poisson; both with the trace's mean rate."""
    x = gaps.edges_s / mean_gap_s
    distances = [_distance(gamma_cdf(1 / cv**2, x / cv**2), gaps.ratio) for cv in _CV_GRID]
    best = int(np.argmin(distances))
    gamma = Fit({"kind": "gamma", "mean_rps": mean_rps, "cv": round(float(_CV_GRID[best]), 3)}, distances[best])
    poisson = Fit({"kind": "poisson", "mean_rps": mean_rps}, _distance(1 - np.exp(-x), gaps.ratio))
    return gamma, poisson


def fit_lengths(lengths: LengthHistogram) -> tuple[Fit | None, Fit]:
    """The best lognormal by mean and one percentile (None where none exists), and the empirical quantiles."""
    values, ratio = lengths.points()
    lognormals = [_lognormal_fit(lengths, at, values, ratio) for at in ("p95", "p50")]
    known = [fit for fit in lognormals if fit is not None]
    best = min(known, key=lambda fit: fit.ks_distance or 0.0) if known else None
    return best, _empirical_fit(lengths, values, ratio)


def _lognormal_fit(lengths: LengthHistogram, at: str, values: FloatArray, ratio: FloatArray) -> Fit | None:
    mean = lengths.mean
    point = lengths.quantile(0.95 if at == "p95" else 0.5)
    fits = 1.0 < point / mean <= MOST_P95_TO_MEAN if at == "p95" else 0 < point < mean
    if not fits or mean < 1:
        return None
    terms = {"kind": "lognormal", "mean": round(mean, 1), at: round(point, 1)}
    rounded_mean, rounded_point = round(mean, 1), round(point, 1)
    if at == "p95":
        mu, sigma = lognormal_parameters(rounded_mean, p95=rounded_point)
    else:
        mu, sigma = lognormal_parameters(rounded_mean, p50=rounded_point)
    z = (np.log(values + 0.5) - mu) / max(sigma, 1e-9)
    model = np.array([0.5 * (1 + erf(each / sqrt(2))) for each in z.tolist()])
    return Fit(terms, _distance(model, ratio))


def _empirical_fit(lengths: LengthHistogram, values: FloatArray, ratio: FloatArray) -> Fit:
    points = [[r, max(1.0, round(lengths.quantile(r), 1))] for r in QUANTILE_RATIOS]
    table = np.array(points)
    keep = np.append(np.diff(table[:, 1]) > 0, True)  # the last of equal values, so that the function is one
    model = np.interp(values, table[keep, 1], table[keep, 0])
    return Fit({"kind": "empirical", "quantiles": points}, _distance(model, ratio))


def _distance(model: FloatArray, ratio: FloatArray) -> float:
    """Largest difference at the points where the trace's function is known."""
    return float(np.abs(model - ratio).max())


def gamma_cdf(shape: float, x: FloatArray) -> FloatArray:
    """Regularised lower incomplete gamma function P(shape, x) for x of at least 0.

    Series below shape + 1, continued fraction (modified Lentz) above; Press et al., Numerical Recipes, section 6.2.
    """
    return np.array([_gamma_cdf(shape, value) for value in x.tolist()])


def _gamma_cdf(shape: float, x: float) -> float:
    if x <= 0:
        return 0.0
    front = exp(-x + shape * log(x) - lgamma(shape)) if -x + shape * log(x) - lgamma(shape) > -700 else 0.0
    if x < shape + 1:
        term = total = 1.0 / shape
        for n in range(1, 1_000):
            term *= x / (shape + n)
            total += term
            if term < total * 1e-10:
                break
        return min(1.0, total * front)
    tiny = 1e-300
    b = x + 1.0 - shape
    c, d = 1.0 / tiny, 1.0 / b
    value = d
    for n in range(1, 1_000):
        a = -n * (n - shape)
        b += 2.0
        d = 1.0 / (a * d + b or tiny)
        c = b + a / c or tiny
        value *= d * c
        if abs(d * c - 1.0) < 1e-10:
            break
    return 1.0 - front * value
