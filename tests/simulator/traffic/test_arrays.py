"""Arrivals, lengths, weekly shapes and the workload that holds them."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import (
    SimulatorError,
    Workload,
    burst_arrivals_ps,
    constant_arrivals_ps,
    cut_to_context,
    empirical_tokens,
    fixed_tokens,
    gamma_arrivals_ps,
    lognormal_parameters,
    lognormal_tokens,
    poisson_arrivals_ps,
    replay_arrivals_ps,
    shaped_arrivals_ps,
    shared_prefix,
    uniform_tokens,
    weekly_shape,
)
from simulator.steptime import PS_PER_S
from simulator.traffic.arrivals import HOUR_PS


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.mark.parametrize("cv", [0.5, 1.0, 3.0])
def test_gamma_gaps_have_the_rate_and_the_variation(cv: float) -> None:
    gaps = np.diff(gamma_arrivals_ps(5.0, cv, 200_000, rng())) / PS_PER_S
    assert gaps.mean() == pytest.approx(0.2, rel=0.03)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.03)


def test_poisson_gaps_have_variation_one() -> None:
    gaps = np.diff(poisson_arrivals_ps(5.0, 100_000, rng())) / PS_PER_S
    assert gaps.mean() == pytest.approx(0.2, rel=0.02)
    assert gaps.std() == pytest.approx(0.2, rel=0.02)


def test_constant_burst_and_replay_are_exact() -> None:
    assert constant_arrivals_ps(4.0, 3).tolist() == [PS_PER_S // 4, PS_PER_S // 2, 3 * PS_PER_S // 4]
    assert burst_arrivals_ps(2, at_s=1.5).tolist() == [3 * PS_PER_S // 2] * 2
    assert replay_arrivals_ps([10.0, 11.0, 14.0], rate_scale=2.0).tolist() == [0, PS_PER_S // 2, 2 * PS_PER_S]


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "fast"])
def test_bad_rates_are_refused(bad: float) -> None:
    with pytest.raises(SimulatorError):
        poisson_arrivals_ps(bad, 10, rng())


@pytest.mark.parametrize("bad", [[], [1.0, 0.5], [0.0, math.nan]])
def test_bad_recorded_times_are_refused(bad: list[float]) -> None:
    with pytest.raises(SimulatorError):
        replay_arrivals_ps(bad)


def test_arrivals_beyond_64_bits_are_refused() -> None:
    with pytest.raises(SimulatorError, match="days"):
        constant_arrivals_ps(1e-9, 5)


def test_lognormal_takes_the_smaller_root_and_meets_mean_and_p95() -> None:
    mu, sigma = lognormal_parameters(1155, p95=3200)
    assert sigma < 1.645
    assert math.exp(mu + sigma**2 / 2) == pytest.approx(1155)
    assert math.exp(mu + 1.6448536 * sigma) == pytest.approx(3200)


def test_lognormal_by_median() -> None:
    mu, sigma = lognormal_parameters(200, p50=150)
    assert (math.exp(mu), math.exp(mu + sigma**2 / 2)) == (pytest.approx(150), pytest.approx(200))


@pytest.mark.parametrize(("mean", "p95"), [(100, 100), (100, 90), (100, 387), (math.nan, 100)])
def test_impossible_lognormals_are_refused(mean: float, p95: float) -> None:
    with pytest.raises(SimulatorError):
        lognormal_parameters(mean, p95=p95)


def test_the_widest_lognormal_is_accepted() -> None:
    assert lognormal_parameters(1.0, p95=math.exp(1.6448536269514722**2 / 2))[1] == pytest.approx(1.6448536, abs=1e-6)


def test_with_a_prefix_the_remainder_is_drawn_and_the_whole_keeps_its_mean() -> None:
    tokens = lognormal_tokens(100_000, rng(), mean=1155, p95=3200, prefix_tokens=300)
    assert tokens.min() > 300
    assert tokens.mean() == pytest.approx(1155, rel=0.02)
    assert np.percentile(tokens, 95) == pytest.approx(3200, rel=0.03)


def test_a_prefix_as_long_as_the_mean_is_refused() -> None:
    with pytest.raises(SimulatorError) as caught:
        lognormal_tokens(10, rng(), mean=300, p95=900, prefix_tokens=300)
    assert caught.value.code == "prefix_too_long"


def test_uniform_and_empirical_draws_stay_inside_what_was_given() -> None:
    assert set(uniform_tokens(3, 5, 1000, rng()).tolist()) == {3, 4, 5}
    prompts, outputs = empirical_tokens([10, 20], [1, 2], 1000, rng())
    assert {(p, o) for p, o in zip(prompts.tolist(), outputs.tolist(), strict=True)} == {(10, 1), (20, 2)}


def test_cut_to_context_keeps_one_output_token_and_reports_the_share() -> None:
    cut = cut_to_context(np.array([5, 20, 8]), np.array([3, 4, 9]), 10)
    assert (cut.prompt_tokens.tolist(), cut.output_tokens.tolist()) == ([5, 9, 8], [3, 1, 2])
    assert cut.cut_ratio == pytest.approx(2 / 3)


@given(st.sampled_from(["diurnal", "business_hours", "working_week"]), st.floats(1.0, 4.2))
def test_weekly_shapes_have_mean_one_and_the_peak_asked_for(kind: str, peak: float) -> None:
    shape = weekly_shape(kind, peak)
    assert shape.shape == (168,)
    assert shape.mean() == pytest.approx(1.0, abs=1e-9)
    assert shape.max() == pytest.approx(peak)
    assert shape.min() >= 0


def test_the_constant_shape_has_no_peak() -> None:
    assert (weekly_shape("constant", 1.0) == 1.0).all()
    with pytest.raises(SimulatorError):
        weekly_shape("constant", 2.0)


@pytest.mark.parametrize(("kind", "peak"), [("business_hours", 4.3), ("diurnal", 0.5), ("weekly", 2.0)])
def test_unreachable_shapes_are_refused(kind: str, peak: float) -> None:
    with pytest.raises(SimulatorError):
        weekly_shape(kind, peak)


def test_shaped_arrivals_follow_the_hours() -> None:
    shape = weekly_shape("diurnal", 2.4)
    arrivals = shaped_arrivals_ps(constant_arrivals_ps(1.0, 168 * 3600), shape)
    per_hour = np.bincount(arrivals // HOUR_PS, minlength=168)[:168]
    assert per_hour / 3600 == pytest.approx(shape, abs=0.01)
    assert (np.diff(arrivals) >= 0).all()


def test_shared_prefixes_are_spread_over_the_groups() -> None:
    group, tokens = shared_prefix(1000, 4, 300, rng())
    assert set(group.tolist()) == {0, 1, 2, 3}
    assert set(tokens.tolist()) == {300}


def test_the_same_seed_gives_the_same_bytes() -> None:
    def draw() -> bytes:
        source = np.random.default_rng(3)
        return (
            poisson_arrivals_ps(3.0, 500, source).tobytes() + lognormal_tokens(500, source, mean=50, p95=90).tobytes()
        )

    assert draw() == draw()


ONES = np.ones(2, np.int64)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Workload(np.array([2, 1]), ONES, ONES), "not_sorted"),
        (lambda: Workload(np.array([-1, 1]), ONES, ONES), "out_of_range"),
        (lambda: Workload(np.array([0.5, 1.0]), ONES, ONES), "not_an_integer"),
        (lambda: Workload(ONES, ONES * 0, ONES), "out_of_range"),
        (lambda: Workload(ONES, ONES, np.ones(3, np.int64)), "shape"),
        (lambda: Workload(ONES[:0], ONES[:0], ONES[:0]), "empty"),
        (lambda: Workload(ONES, ONES, ONES, prefix_group=ONES), "ambiguous"),
        (lambda: Workload(ONES, ONES, ONES, prefix_group=ONES, prefix_tokens=ONES * 2), "prefix_too_long"),
        (lambda: Workload(ONES, ONES, ONES, concurrency=0), "too_small"),
        (lambda: fixed_tokens(0, 3), "too_small"),
        (lambda: uniform_tokens(5, 3, 3, rng()), "out_of_range"),
    ],
)
def test_bad_workloads_are_refused_with_a_code(make: Callable[[], object], code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        make()
    assert caught.value.code == code
