"""Whether a calibration may be taken into use by itself: what speaks against it, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from planner.planning.calibration.fit import LOG_SCALE, Evidence
from planner.planning.calibration.runs import MeasuredRun

Floats = NDArray[np.float64]
Ratios = tuple[float, float]

WORSE_SCALES = 0.1
"""A median error that grows by no more than this part of LOG_SCALE is as good as before. Assumed."""
MOST_WIDER = 1.5
"""An interval that grows to more than so many times its width, in the logarithm, is of no use to a plan. Assumed."""
WORDS = {"ttft": "TTFT", "tpot": "TPOT", "e2e": "E2E", "throughput": "throughput"}
PARTS = {"step_time": "step time", "closed_ttft": "TTFT of closed loops", "open_ttft": "TTFT at a rate"}


def objections(
    runs: Sequence[MeasuredRun],
    before: Evidence,
    after: Evidence,
    judged: Floats,
    shipped: Mapping[str, Ratios],
    stated: Mapping[str, Ratios],
) -> list[str]:
    """Every reason not to take it into use by itself.

    judged: float64 [figures of `after`], logarithms of the predictions by factors fitted without the run, or by the
    calibration itself where too few runs could be held out. shipped, stated: intervals before and after.
    """
    was, now = figure_errors(runs, before, before.predicted), figure_errors(runs, after, judged)
    found = []
    for metric, word in WORDS.items():
        both = sorted(run for run, name in was if name == metric and (run, name) in now)
        if not both:
            continue
        old, new = (float(np.median([errors[run, metric] for run in both])) for errors in (was, now))
        if new > old + WORSE_SCALES * LOG_SCALE[metric]:
            found.append(f"{word} is off by {_pct(new)} with it and by {_pct(old)} without")
    for name, word in PARTS.items():
        old, new = (math.log(high / low) for low, high in (shipped[name], stated[name]))
        if new > MOST_WIDER * old:
            low, high = stated[name]
            found.append(f"the interval of {word} would reach from {low:.2f} to {high:.2f} of the prediction")
    return found


def figure_errors(runs: Sequence[MeasuredRun], evidence: Evidence, predicted: Floats) -> dict[tuple[int, str], float]:
    """(run, metric) -> size of the logarithm of predicted over measured.

    E2E is put together from mean TTFT and mean TPOT where all requests of a run have the same lengths: of others long
    answers weigh more in it than in the mean TPOT, by which it would seem off.
    """
    found: dict[tuple[int, str], float] = {}
    parts: dict[tuple[int, str], float] = {}
    for run, figure, value in zip(evidence.run.tolist(), evidence.figures, predicted.tolist(), strict=True):
        found[run, figure.metric] = abs(value - math.log(figure.measured))
        if figure.statistic == "mean":
            parts[run, figure.metric] = math.exp(value)
    for number, run in enumerate(runs):
        first, gap = parts.get((number, "ttft")), parts.get((number, "tpot"))
        whole = next((each.measured for each in run.figures if (each.metric, each.statistic) == ("e2e", "mean")), None)
        if first and gap and whole and run.setup.load.lengths == "fixed":
            there = first + gap * (run.setup.load.output_tokens - 1)
            found[number, "e2e"] = abs(math.log(there / whole))
    return found


def _pct(error: float) -> str:
    return f"{100 * math.expm1(error):.1f} %"
