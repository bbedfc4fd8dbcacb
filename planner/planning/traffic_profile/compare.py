"""The fitted traffic beside the record: the same figures of both, so that one sees what a fit does not have."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np

from planner.planning.traffic_profile.arrivals import NS_PER_S, RateCounter
from planner.planning.traffic_profile.histogram import LengthHistogram
from simulator.traffic.lengths import lognormal_parameters

MOST_DRAWN = 200_000
PERCENTILES = (50, 90, 99)


def compared(
    traffic: Mapping[str, Any], rates: RateCounter, rows: int, lengths: Mapping[str, LengthHistogram]
) -> list[dict[str, object]]:
    """Rows {what, recorded, fitted}; values are None where the record is too short for them.

    Burstiness is variance over mean of the counts in windows of 1 s and 1 min; the fit's is that of as many requests
    drawn from it (at most 200,000, always the same).
    """
    drawn = _drawn(traffic["arrival"], min(rows, MOST_DRAWN))
    table: list[dict[str, object]] = [
        {"what": f"dispersion_{scale}_s", "recorded": rates.dispersion(scale), "fitted": drawn.dispersion(scale)}
        for scale in (1, 60)
    ]
    table.append({"what": "peak_minute_to_mean", "recorded": rates.peak_to_mean(60), "fitted": drawn.peak_to_mean(60)})
    for name, counted in lengths.items():
        table += [
            {
                "what": f"{name}_p{percentile}",
                "recorded": counted.quantile(percentile / 100),
                "fitted": _quantile(traffic[name], percentile / 100),
            }
            for percentile in PERCENTILES
        ]
    return table


def _drawn(arrival: Mapping[str, Any], count: int) -> RateCounter:
    shape = 1.0 / arrival["cv"] ** 2 if arrival["kind"] == "gamma" else 1.0
    gaps_s = np.random.default_rng(1).standard_gamma(shape, count) / shape / arrival["mean_rps"]
    counter = RateCounter()
    counter.add(np.cumsum(gaps_s * NS_PER_S).astype(np.int64))
    return counter


def _quantile(terms: Mapping[str, Any], ratio: float) -> float:
    if terms["kind"] == "empirical":
        points = np.array(terms["quantiles"])
        return float(np.interp(ratio, points[:, 0], points[:, 1]))
    known = {name: terms[name] for name in ("p95", "p50") if name in terms}
    mu, sigma = lognormal_parameters(terms["mean"], **known)
    return float(np.exp(mu + sigma * NormalDist().inv_cdf(ratio)))
