"""Lengths of requests by quantile: one ordered sample stands for the whole distribution.

A sample of n lengths takes the distribution at (i + ½) / n, so that its mean and percentiles are those of the
distribution and not of a lucky draw; only the order is random.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from planner.planning.schema.lengths import Empirical, Fixed, Lengths, Lognormal

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Z95 = NormalDist().inv_cdf(0.95)


def ordered_lengths(spec: Lengths, count: int, prefix_tokens: int = 0) -> IntArray:
    """`count` whole lengths (prefix included), rising, each at least 1 token beyond the prefix."""
    ratios = (np.arange(count) + 0.5) / count
    if isinstance(spec, Fixed):
        values = np.full(count, float(spec.tokens))
    elif isinstance(spec, Lognormal):
        values = prefix_tokens + _lognormal(spec, ratios, prefix_tokens)
    else:
        values = _empirical(spec, ratios)
    whole: IntArray = np.maximum(np.rint(values), prefix_tokens + 1).astype(np.int64)
    return whole


def lognormal_sigma(spec: Lognormal, prefix_tokens: int = 0) -> float:
    """σ of ln(length − prefix): the smaller root of z·σ − σ²/2 = ln(p95 / mean), or √(2 ln(mean / p50))."""
    mean = spec.mean - prefix_tokens
    if spec.p95 is not None:
        ratio = math.log((spec.p95 - prefix_tokens) / mean)
        return Z95 - math.sqrt(max(0.0, Z95**2 - 2 * ratio))
    assert spec.p50 is not None
    return math.sqrt(2 * math.log(mean / (spec.p50 - prefix_tokens)))


def _lognormal(spec: Lognormal, ratios: FloatArray, prefix_tokens: int) -> FloatArray:
    """The middle of each slice of the distribution; slices are equally likely, so their mean is close to the mean."""
    sigma = lognormal_sigma(spec, prefix_tokens)
    mean = spec.mean - prefix_tokens
    normal = NormalDist()
    z = np.array([normal.inv_cdf(ratio) for ratio in ratios.tolist()])
    return np.asarray(mean * np.exp(sigma * z - sigma**2 / 2))


def _empirical(spec: Empirical, ratios: FloatArray) -> FloatArray:
    if spec.values is not None:
        values = np.sort(np.array(spec.values, dtype=np.float64))
        return np.asarray(values[(ratios * len(values)).astype(np.int64)])
    assert spec.quantiles is not None
    points = np.array(spec.quantiles, dtype=np.float64)
    return np.asarray(np.interp(ratios, points[:, 0], points[:, 1]))
