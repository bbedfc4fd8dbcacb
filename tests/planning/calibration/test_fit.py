"""Factors fitted to runs: nothing from nothing, a little from a little, and never beyond the prior's reach."""

import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costmodel import StepFactors
from planner.planning.calibration.calibrate import Calibrated, DatedRun, NothingToFit, calibrate
from planner.planning.calibration.fit import (
    FACTORS,
    LOG_SCALE,
    PRIOR_LOG_WIDTH,
    REACH_WIDTHS,
    Evidence,
    fit_factors,
    most_probable,
)
from planner.planning.calibration.intervals import calibrated_interval, eight_of_ten
from planner.planning.calibration.matching import own_calibration
from planner.planning.calibration.predicting import predicted_figures, value_of, with_factors
from planner.planning.calibration.runs import Figure, MeasuredRun
from planner.planning.measurements.bench_serving import bench_serving_run
from planner.planning.measurements.checks import add_checks
from tests.load_tests import bench_run, measured

DAY = date(2026, 11, 20)
WIDTHS = np.array([PRIOR_LOG_WIDTH[name] for name in FACTORS])


def server(factors: StepFactors, *in_flight: int, wrong: float = 1.0) -> list[MeasuredRun]:
    """Runs of a server whose constants are these times the shipped ones; `wrong` multiplies what was measured."""
    runs = []
    for count in in_flight:
        draft = measured(add_checks(bench_serving_run(bench_run(count, tpot_ms=10.0, ttft_ms=100.0))))
        there = with_factors(draft, factors).predict()
        figures = [Figure(f.metric, f.statistic, wrong * (value_of(there, f) or 0.0)) for f in draft.figures]
        runs.append(replace(draft, label=f"{count} in flight", figures=tuple(figures)))
    return runs


def calibrated_on(runs: list[MeasuredRun]) -> Calibrated:
    return calibrate([DatedRun(run, DAY) for run in runs])


def test_without_runs_nothing_changes() -> None:
    logs, _ = fit_factors([])
    assert logs.tolist() == [0.0] * len(FACTORS)
    with pytest.raises(NothingToFit):
        calibrate([])


def test_a_server_as_shipped_stays_as_shipped() -> None:
    made = calibrated_on(server(StepFactors(), 1, 8, 32))
    assert [getattr(made.stated, f"{name}_factor") for name in FACTORS] == pytest.approx([1.0] * len(FACTORS), abs=1e-3)


def test_known_factors_are_found_again_from_many_runs_and_held_out_runs_say_so() -> None:
    made = calibrated_on(server(StepFactors(bandwidth=0.9, host=1.2), 1, 2, 4, 8, 16, 32, 64, 128))
    errors = made.told["median_error_pct"]
    assert errors["before"] > 4 * errors["after"]
    assert errors["held_out"] < errors["before"] / 3
    assert made.told["helps"] is True
    assert made.stated.bandwidth_factor < 1 < made.stated.host_factor
    assert (made.stated.communication_factor, made.told["factors"][3]["told_by_runs"]) == (1.0, False)  # one GPU
    assert made.stated.step_time_p90_ratio < made.told["shipped_ratios"]["step_time"][1]
    assert made.stated.step_time_p10_ratio > made.told["shipped_ratios"]["step_time"][0]


def test_two_runs_help_and_leave_the_interval_as_shipped() -> None:
    made = calibrated_on(server(StepFactors(bandwidth=0.88), 1, 16))
    assert made.told["median_error_pct"]["after"] < made.told["median_error_pct"]["before"]
    assert made.told["median_error_pct"]["held_out"] is None
    assert made.told["helps"] is None
    assert made.stated.step_time_p90_ratio == made.told["shipped_ratios"]["step_time"][1]


@pytest.mark.parametrize("wrong", [1e-4, 30.0])
def test_an_absurd_run_among_good_ones_hardly_moves_them(wrong: float) -> None:
    good = server(StepFactors(), 1, 8, 32)
    made = calibrated_on([*good, *server(StepFactors(), 4, wrong=wrong)])
    alone = calibrated_on(server(StepFactors(), 4, wrong=wrong))
    for name in FACTORS:
        assert abs(math.log(getattr(made.stated, f"{name}_factor"))) < PRIOR_LOG_WIDTH[name]
        assert abs(math.log(getattr(alone.stated, f"{name}_factor"))) <= REACH_WIDTHS * PRIOR_LOG_WIDTH[name] + 1e-6


def test_runs_that_disagree_do_not_narrow_the_interval() -> None:
    runs = [
        run
        for count, wrong in ((1, 0.7), (4, 1.5), (16, 0.7), (64, 1.5))
        for run in server(StepFactors(), count, wrong=wrong)
    ]
    made = calibrated_on(runs)
    assert made.stated.step_time_p90_ratio > made.told["shipped_ratios"]["step_time"][1]


def test_the_calibrated_deployment_predicts_what_the_calibration_says() -> None:
    runs = server(StepFactors(bandwidth=0.9), 1, 8, 64)
    made = calibrated_on(runs)
    after = replace(runs[0].deployment, calibration=own_calibration(made.stated))
    told = {(each["label"], each["metric"]): each["after"] for each in made.told["figures"]}
    for run in runs:
        for found in predicted_figures(run.on(after)):
            if found.figure.metric in ("tpot", "ttft"):
                assert found.predicted == pytest.approx(told[run.label, found.figure.metric], rel=1e-4)


slopes_of = st.lists(st.floats(-1.0, 1.0), min_size=len(FACTORS), max_size=len(FACTORS))


def evidence(slopes: list[list[float]], errors: list[float]) -> Evidence:
    """Figures whose prediction is off by these errors at the shipped constants."""
    count = len(slopes)
    return Evidence(
        run=np.arange(count),
        figures=tuple(Figure("tpot", "mean", 1.0) for _ in range(count)),
        measured=np.array(errors),
        predicted=np.zeros(count),
        slopes=np.array(slopes).reshape(count, len(FACTORS)),
        about=np.zeros(len(FACTORS)),
    )


@given(st.lists(st.tuples(slopes_of, st.floats(-20.0, 20.0)), max_size=8))
@settings(max_examples=80, deadline=None)
def test_factors_stay_within_the_priors_reach_whatever_the_rows_say(rows: list[tuple[list[float], float]]) -> None:
    logs = most_probable(evidence([slopes for slopes, _ in rows], [error for _, error in rows]))
    assert np.isfinite(logs).all()
    assert (np.abs(logs) <= REACH_WIDTHS * WIDTHS + 1e-12).all()


@given(st.floats(0.02, 0.25), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_more_rows_that_say_the_same_move_further(error: float, count: int) -> None:
    """n rows of error e, slope 1, scale s, against a width of w move a factor to at most e·n·w² / (n·w² + s²)."""
    row = [0.0, 0.0, 1.0, 0.0, 0.0]
    few, more = (most_probable(evidence([row] * n, [error] * n))[2] for n in (count, count + 1))
    assert 0 < few < more < error
    width, scale = PRIOR_LOG_WIDTH["host"], LOG_SCALE["tpot"]
    assert few <= error * count * width**2 / (count * width**2 + scale**2) + 1e-9


@given(st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=40), st.floats(0.5, 0.99), st.floats(1.01, 2.0))
@settings(max_examples=80, deadline=None)
def test_the_interval_lies_between_the_shipped_one_and_what_held_out_runs_were_off_by(
    errors: list[float], low: float, high: float
) -> None:
    found = calibrated_interval((low, high), errors, span=8.0)
    if len(errors) < 3:
        assert found == (low, high)
        return
    off = eight_of_ten(errors)
    if len(errors) >= 8:
        assert math.log(found[1]) >= off - 1e-12
        assert -math.log(found[0]) >= off - 1e-12
    for shipped, now in ((-math.log(low), -math.log(found[0])), (math.log(high), math.log(found[1]))):
        assert now >= min(shipped, off) - 1e-12
    assert sum(abs(error) <= off + 1e-12 for error in errors) >= 0.8 * len(errors)


def test_the_interval_narrows_with_the_number_of_runs_and_not_at_one_load_alone() -> None:
    widths = [calibrated_interval((0.8, 1.25), [0.02] * count, span=8.0)[1] for count in (3, 6, 12, 48)]
    assert widths == sorted(widths, reverse=True)
    assert math.exp(0.02) < widths[-1] < widths[0] < 1.25
    assert calibrated_interval((0.8, 1.25), [0.02] * 12, span=2.0) == (0.8, 1.25)
