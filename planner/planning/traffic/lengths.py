"""Lengths of requests by quantile: one ordered sample stands for the whole distribution.

A sample of n lengths takes the distribution at (i + ½) / n, so that its mean and percentiles are those of the
distribution and not of a lucky draw; only the order is random.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from planner.planning.schema.lengths import Empirical, Fixed, Lengths, Lognormal
from simulator.traffic.lengths import lognormal_parameters

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


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


def _lognormal(spec: Lognormal, ratios: FloatArray, prefix_tokens: int) -> FloatArray:
    """The middle of each slice of the distribution; slices are equally likely, so their mean is close to the mean."""
    mean = spec.mean - prefix_tokens
    p95, p50 = (None if value is None else value - prefix_tokens for value in (spec.p95, spec.p50))
    _, sigma = lognormal_parameters(mean, p95=p95, p50=p50)
    z = normal_quantiles(len(ratios))
    return np.asarray(mean * np.exp(sigma * z - sigma**2 / 2))


@lru_cache(maxsize=8)
def normal_quantiles(count: int) -> FloatArray:
    """Standard normal values at (i + ½) / count; not to be changed by who gets them."""
    normal = NormalDist()
    return np.array([normal.inv_cdf((place + 0.5) / count) for place in range(count)])


def _empirical(spec: Empirical, ratios: FloatArray) -> FloatArray:
    if spec.values is not None:
        values = np.sort(np.array(spec.values, dtype=np.float64))
        return np.asarray(values[(ratios * len(values)).astype(np.int64)])
    assert spec.quantiles is not None
    points = np.array(spec.quantiles, dtype=np.float64)
    return np.asarray(np.interp(ratios, points[:, 0], points[:, 1]))
