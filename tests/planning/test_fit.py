"""The fit: finds constants that made the data, is held by priors, ignores wrong rows, gives what is shipped."""

from copy import deepcopy
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from costmodel.steptime import shipped_constants
from planner.planning.fitting import documents
from planner.planning.fitting.command import differences, refit
from planner.planning.fitting.fit import cross_validated_errors, fit_constants, fold_numbers
from planner.planning.fitting.observations import Observations, balanced_weights, observations
from planner.planning.fitting.priors import free_constants, values_of, with_values
from planner.planning.fitting.responses import Response
from planner.planning.fitting.rows import _content, fitted_rows, vendored
from planner.planning.fitting.store import row_response, stored_responses
from planner.planning.validation.setups import OPEN_LOADS

NAMES = [(*free.section, free.name) for free in free_constants()]


@cache
def some() -> Observations:
    """Every twentieth closed row, and the open ones of one source."""
    closed = [pair for pair in stored_responses() if isinstance(pair[1], Response)][::20]
    opened = [pair for pair in stored_responses() if not isinstance(pair[1], Response)][:6]
    return observations([*closed, *opened])


def place(*name: str) -> int:
    return NAMES.index(name)


def test_constants_that_made_the_figures_are_found_as_far_as_their_priors_let_them() -> None:
    expected = with_values(shipped_constants(), np.array([free.prior for free in free_constants()]))
    truth = deepcopy(expected)
    truth["common"]["gemm_tile_area"] *= 2.0
    truth["engine"]["vllm"]["layer_us"] *= 1.4
    found = some()
    made = replace(found, measured=found.predicted(truth))
    fit = fit_constants(made, expected)
    errors = [np.abs(made.log_errors(document)).mean() for document in (expected, with_values(expected, fit.values))]
    assert fit.settled
    assert errors[1] < 0.6 * errors[0]
    layer_us, tile_area = (
        fit.values[place("engine", "vllm", "layer_us")],
        fit.values[place("common", "gemm_tile_area")],
    )
    assert expected["engine"]["vllm"]["layer_us"] * 1.05 < layer_us < truth["engine"]["vllm"]["layer_us"] * 1.05
    assert expected["common"]["gemm_tile_area"] * 1.05 < tile_area < truth["common"]["gemm_tile_area"] * 1.05


def test_without_figures_the_priors_stand() -> None:
    nothing = np.ones(len(some().measured), bool)
    fit = fit_constants(some(), shipped_constants(), held_out=nothing)
    assert fit.values == pytest.approx([free.prior for free in free_constants()])


def test_values_stay_in_their_range() -> None:
    found = some()
    fit = fit_constants(
        replace(found, measured=found.measured * np.where(found.metric == "throughput", 1e3, 1e-3)), shipped_constants()
    )
    for free, value in zip(free_constants(), fit.values, strict=True):
        assert free.low <= value <= free.high * (1 + 1e-12), free.name


def test_a_few_wrong_rows_hardly_move_the_fit() -> None:
    found = some()
    start = values_of(shipped_constants())
    right = fit_constants(found, shipped_constants(), start=start)
    wrong = found.measured.copy()
    wrong[::25] *= 40.0
    moved = fit_constants(replace(found, measured=wrong), shipped_constants(), start=start)
    assert np.median(np.abs(np.log(moved.values / right.values))) < 0.01
    assert np.abs(np.log(moved.values / right.values)).max() < 0.3


def test_what_is_held_out_does_not_touch_its_own_prediction() -> None:
    found = some()
    full = fit_constants(found, shipped_constants(), start=values_of(shipped_constants()))
    errors, values, folds = cross_validated_errors(found, shipped_constants(), full, "accelerator", 2)
    groups = found.groups("accelerator")
    held_out = np.array([folds[name] == 0 for name in groups])
    changed = replace(found, measured=np.where(held_out, found.measured * 1.7, found.measured))
    again, values_again, _ = cross_validated_errors(changed, shipped_constants(), full, "accelerator", 2)
    assert values_again[0] == pytest.approx(values[0], rel=1e-9)
    assert again[held_out] == pytest.approx(errors[held_out] - np.log(1.7))
    assert not np.allclose(values_again[1], values[1], rtol=1e-4)


def test_folds_hold_about_as_many_groups_each() -> None:
    folds = fold_numbers(np.array([f"group {number}" for number in range(21)]), 4)
    assert sorted(np.bincount(list(folds.values()))) == [5, 5, 5, 6]


def test_a_setting_measured_often_weighs_more_than_one_measured_once_but_not_by_its_rows() -> None:
    found = some()
    weights = balanced_weights(found, 0.8)
    settings = np.array(
        [f"{metric} {name}" for metric, name in zip(found.metric, found.groups("setting"), strict=True)]
    )
    names, counts = np.unique(settings, return_counts=True)
    often, once = names[counts.argmax()], names[counts.argmin()]
    ratio = weights[settings == often].sum() / weights[settings == once].sum()
    assert ratio == pytest.approx((counts.max() / counts.min()) ** 0.2)


def test_the_vendored_rows_make_themselves() -> None:
    assert vendored([_content()]) == _content().decode()


@pytest.mark.parametrize("number", [3, 400, 900, 1500, 2000])
def test_stored_responses_are_those_of_the_simulator(number: int) -> None:
    stored = {setup.row.id: one for setup, one in stored_responses()}
    setups = [setup for setup in fitted_rows() if setup.row.id in stored and setup.load.kind not in OPEN_LOADS]
    setup = min(setups[number : number + 20], key=lambda one: one.load.requests * one.load.output_tokens)
    made, known = row_response(setup, shipped_constants()), stored[setup.row.id]
    assert isinstance(made, Response)
    assert isinstance(known, Response)
    assert made.tokens == known.tokens
    assert made.knots.tolist() == known.knots.tolist()
    assert made.per_knot == pytest.approx(known.per_knot, rel=1e-3, abs=1e-6)
    assert made.per_part == pytest.approx(known.per_part, rel=1e-3, abs=1e-6)


def test_fitting_again_from_the_priors_gives_the_shipped_constants() -> None:
    assert differences(refit(stored_responses())) == []


def test_the_written_documents_hold_what_was_fitted() -> None:
    import tomllib

    document = shipped_constants()
    assert tomllib.loads(documents.constants_text(document, "0" * 64)) == document
    folds = tomllib.loads(documents.folds_text({"a | b": 1}, [document, document]))
    assert folds["pair"] == {"a | b": "1"}
    assert folds["fold"]["1"] == document


def test_residuals_are_measured_over_predicted_step_times() -> None:
    import tomllib

    found = some()
    slow = np.where(found.metric == "throughput", np.log(2.0), -np.log(2.0))
    text = documents.residuals_text(found, {"pair": slow, "model": slow, "accelerator": slow})
    table = tomllib.loads(text)
    # Steps took twice what was predicted: throughput was predicted twice too high, latencies half as long.
    assert table["measured"]["all"]["step_time"] == pytest.approx([2.0, 2.0])
    assert table["measured"]["all"]["ttft_closed"] == pytest.approx([2.0, 2.0])
    assert table["extrapolated"]["all"]["step_time"] == pytest.approx([2.828, 2.828], rel=1e-3)
