"""From measured runs of one deployment to a calibration: factors, intervals, and every figure before and after."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from costmodel import StepFactors
from costmodel.steptime.coverage import Coverage, coverage
from planner.planning.calibration.fit import (
    FACTORS,
    LOG_SCALE,
    PRIOR_LOG_WIDTH,
    Evidence,
    evidence_about,
    factors_of,
    fit_factors,
    held_out_predictions,
)
from planner.planning.calibration.intervals import LEAST_HELD_OUT, calibrated_interval
from planner.planning.calibration.judging import PARTS, objections
from planner.planning.calibration.matching import deployment_key
from planner.planning.calibration.predicting import UNIT, load_words
from planner.planning.calibration.runs import MeasuredRun
from planner.planning.schema.calibration import Calibration, EngineName
from planner.planning.validation.unusable import Unusable

MOST_RUNS = 120
DIGITS = 6
SMALLEST, LARGEST = 0.02, 50.0


@dataclass(frozen=True, slots=True)
class DatedRun:
    """A run with the day it was measured."""

    run: MeasuredRun
    measured_on: date


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """stated: as a scenario carries it; told: figures before and after, for people."""

    stated: Calibration
    told: dict[str, Any]


class NothingToFit(Exception):  # noqa: N818 - the name says what is the case
    """No run of the deployment can be simulated."""


def calibrate(dated: Sequence[DatedRun], number: int = 1) -> Calibrated:
    """Fit the factors of one deployment. Runs that cannot be simulated are left out and named. Raises NothingToFit.

    helps: whether held-out figures are nearer than before and nothing speaks against it (`against`, in sentences); None
    where too few could be held out to say, and nothing speaks against it.
    """
    usable, left_out = _usable(dated[:MOST_RUNS])
    left_out += [(each.run.label, "more runs than are fitted") for each in dated[MOST_RUNS:]]
    runs = [each.run for each in usable]
    if not runs:
        raise NothingToFit("None of the runs can be simulated.")
    before = evidence_about(runs, np.zeros(len(FACTORS)))
    logs, after = fit_factors(runs)
    logs = np.log([round(math.exp(value), DIGITS) for value in logs])  # what is kept is what is judged
    held_out = held_out_predictions(after) if len(runs) >= LEAST_HELD_OUT else None
    covered = coverage(runs[0].deployment)
    stated = _stated(usable, factors_of(logs), covered, after, held_out, number)
    errors_before, errors_after = np.abs(before.predicted - before.measured), np.abs(after.predicted - after.measured)
    errors_held_out = None if held_out is None else np.abs(held_out - after.measured)
    shipped = _ratios(covered)
    intervals = {name: (getattr(stated, f"{name}_p10_ratio"), getattr(stated, f"{name}_p90_ratio")) for name in PARTS}
    judged = after.predicted if held_out is None else held_out
    against = objections(runs, before, after, judged, shipped, intervals)
    helps: bool | None = False if against else None
    if errors_held_out is not None and not against:
        helps = _scaled(errors_held_out, after) < _scaled(errors_before, before)
    told = {
        "factors": [
            {
                "name": name,
                "factor": getattr(stated, f"{name}_factor"),
                "prior_log_width": PRIOR_LOG_WIDTH[name],
                "widths": round(float(log) / PRIOR_LOG_WIDTH[name], 3),
                "told_by_runs": bool(np.abs(after.slopes[:, place]).max(initial=0.0) > 0.01),
            }
            for place, (name, log) in enumerate(zip(FACTORS, logs, strict=True))
        ],
        "figures": _figure_rows(runs, before, after, held_out),
        "median_error_pct": {
            "before": _median_pct(errors_before),
            "after": _median_pct(errors_after),
            "held_out": None if errors_held_out is None else _median_pct(errors_held_out),
        },
        "shipped_ratios": shipped,
        "left_out": [{"label": label, "reason": reason} for label, reason in left_out],
        "helps": helps,
        "against": against,
    }
    return Calibrated(stated, told)


def _usable(dated: Sequence[DatedRun]) -> tuple[list[DatedRun], list[tuple[str, str]]]:
    found, left_out = [], []
    for each in dated:
        try:
            each.run.predict()
            found.append(each)
        except Unusable as problem:
            left_out.append((each.run.label, str(problem)))
    return found, left_out


def _stated(
    dated: Sequence[DatedRun],
    factors: StepFactors,
    covered: Coverage,
    after: Evidence,
    held_out: np.typing.NDArray[np.float64] | None,
    number: int,
) -> Calibration:
    runs = [each.run for each in dated]
    model, weight_dtype, gpu, engine = deployment_key(runs[0].deployment)
    shipped = _ratios(covered)
    is_ttft = np.array([figure.metric == "ttft" for figure in after.figures])
    is_open = np.array([runs[place].is_open for place in after.run])
    # A longer step is a lower throughput: its error is turned over.
    turned = np.array([-1.0 if figure.metric == "throughput" else 1.0 for figure in after.figures])
    parts = {"step_time": ~is_ttft, "closed_ttft": is_ttft & ~is_open, "open_ttft": is_ttft & is_open}
    intervals = {}
    for name, part in parts.items():
        ratios = shipped[name]
        if held_out is not None and part.any():
            in_flight = [runs[place].in_flight for place in after.run[part]]
            errors = (turned * (after.measured - held_out))[part]
            ratios = calibrated_interval(ratios, errors.tolist(), max(in_flight) / min(in_flight))
        intervals[name] = (max(SMALLEST, min(1.0, ratios[0])), min(LARGEST, max(1.0, ratios[1])))
    return Calibration(
        model=model,
        weight_dtype=weight_dtype,
        gpu=gpu,
        engine=cast(EngineName, engine),
        number=number,
        runs=len(runs),
        measured_from=min(each.measured_on for each in dated),
        measured_until=max(each.measured_on for each in dated),
        **{f"{name}_factor": round(getattr(factors, name), DIGITS) for name in FACTORS},
        **{
            f"{name}_{end}_ratio": round(value, DIGITS)
            for name, ratios in intervals.items()
            for end, value in zip(("p10", "p90"), ratios, strict=True)
        },
    )


def _ratios(covered: Coverage) -> dict[str, tuple[float, float]]:
    return {
        "step_time": (covered.step_time_p10_ratio, covered.step_time_p90_ratio),
        "closed_ttft": (covered.closed_ttft_p10_ratio, covered.closed_ttft_p90_ratio),
        "open_ttft": (covered.open_ttft_p10_ratio, covered.open_ttft_p90_ratio),
    }


def _figure_rows(
    runs: Sequence[MeasuredRun], before: Evidence, after: Evidence, held_out: np.typing.NDArray[np.float64] | None
) -> list[dict[str, Any]]:
    earlier = {
        (int(run), figure.metric): value
        for run, figure, value in zip(before.run, before.figures, before.predicted, strict=True)
    }
    rows = []
    for place, (run, figure) in enumerate(zip(after.run, after.figures, strict=True)):
        shipped = earlier.get((int(run), figure.metric))
        rows.append(
            {
                "label": runs[run].label,
                "load": load_words(runs[run]),
                "metric": figure.metric,
                "statistic": figure.statistic,
                "unit": UNIT[figure.metric],
                "measured": figure.measured,
                "before": None if shipped is None else math.exp(shipped),
                "after": math.exp(after.predicted[place]),
                "held_out": None if held_out is None else math.exp(held_out[place]),
            }
        )
    return rows


def _scaled(errors: NDArray[np.float64], evidence: Evidence) -> float:
    """The median error, counted in what a good prediction of each metric is off by."""
    return float(np.median(errors / [LOG_SCALE[figure.metric] for figure in evidence.figures]))


def _median_pct(errors: np.typing.NDArray[np.float64]) -> float:
    return round(100.0 * float(np.expm1(np.median(errors))), 2) if errors.size else 0.0
