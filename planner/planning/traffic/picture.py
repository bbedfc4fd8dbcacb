"""Small pictures of a load: the week hour by hour, and how long prompts and outputs are."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.planning.traffic.lengths import IntArray
from planner.planning.traffic.load import Load

BINS = 40
SHOWN_RATIO = 0.98
"""Lengths beyond this quantile would only stretch the axis."""


def traffic_picture(load: Load) -> dict[str, Any]:
    """`week_rps`: 168 hours, Monday first. `prompt_tokens` and `output_tokens`: mean, p95, and the share of requests in
    each of 40 equal bins from 0 to `until`, longer ones left out."""
    return {
        "week_rps": [float(rate) for rate in load.week_rps],
        "prompt_tokens": _lengths(load.mix.prompt_tokens),
        "output_tokens": _lengths(load.mix.output_tokens),
    }


def _lengths(tokens: IntArray) -> dict[str, Any]:
    until = max(1, int(np.quantile(tokens, SHOWN_RATIO)))
    counts, _ = np.histogram(tokens, bins=BINS, range=(0, until))
    return {
        "mean": float(tokens.mean()),
        "p95": float(np.quantile(tokens, 0.95, method="inverted_cdf")),
        "until": until,
        "shares": [float(share) for share in counts / len(tokens)],
    }
