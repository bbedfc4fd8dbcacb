"""Renewal processes, bursts and moving rates against their theory."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from simulator.steptime import PS_PER_S
from simulator.traffic import (
    HOUR_S,
    MONTH_S,
    WEEK_S,
    OnOff,
    RateCurve,
    constant_gaps,
    curve_arrivals_ps,
    gamma_gaps,
    generate,
    growing_rates,
    independent_lengths,
    measured_rates,
    on_off_arrivals_ps,
    plain_requests,
    poisson_arrivals_ps,
    renewal_arrivals,
    steady_rate,
    weekly_shape,
    weibull_arrivals_ps,
    weibull_shape,
)


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def dispersion(arrival_ps: np.ndarray, window_s: float) -> float:
    """Variance over mean of the counts in windows that follow each other; the last, cut one is left out."""
    counts = np.bincount((arrival_ps / PS_PER_S / window_s).astype(np.int64))[:-1]
    return float(counts.var() / counts.mean())


@pytest.mark.parametrize(("shape", "cv"), [(1.0, 1.0), (0.5, math.sqrt(5)), (2.0, math.sqrt(4 / math.pi - 1))])
def test_the_weibull_shape_is_solved_from_the_variation(shape: float, cv: float) -> None:
    assert weibull_shape(cv) == pytest.approx(shape, rel=1e-12)


@given(st.floats(0.01, 100.0))
def test_the_weibull_shape_gives_the_variation_back(cv: float) -> None:
    inverse = 1 / weibull_shape(cv)
    assert math.expm1(math.lgamma(1 + 2 * inverse) - 2 * math.lgamma(1 + inverse)) == pytest.approx(cv**2, rel=1e-9)


@pytest.mark.parametrize("cv", [0.3, 1.0, 2.5])
def test_weibull_gaps_have_the_rate_and_the_variation(cv: float) -> None:
    gaps = np.diff(weibull_arrivals_ps(5.0, cv, 300_000, rng())) / PS_PER_S
    assert gaps.mean() == pytest.approx(0.2, rel=0.02)
    assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.03)


def test_a_renewal_process_disperses_by_its_squared_variation_over_long_windows() -> None:
    assert dispersion(poisson_arrivals_ps(50.0, 400_000, rng()), 1.0) == pytest.approx(1.0, rel=0.05)
    assert dispersion(weibull_arrivals_ps(50.0, 2.0, 400_000, rng()), 4.0) == pytest.approx(4.0, rel=0.12)


@pytest.mark.parametrize("ratio", [9.0, math.inf])
@pytest.mark.parametrize("window_s", [0.5, 4.0])
def test_bursts_keep_the_mean_and_disperse_as_the_modulated_process(ratio: float, window_s: float) -> None:
    bursts = OnOff(rate_ratio=ratio, on_s=1.0, off_s=3.0)
    low, high = bursts.levels
    assert 0.25 * high + 0.75 * low == pytest.approx(1.0)
    assert high == pytest.approx(low * ratio if ratio < math.inf else 4.0)
    arrivals = on_off_arrivals_ps(50.0, 1_000_000, rng(), bursts)
    assert len(arrivals) / (arrivals[-1] / PS_PER_S) == pytest.approx(50.0, rel=0.03)
    pace = 1 / 1.0 + 1 / 3.0
    scale = 2 * 0.25 * 0.75 * 50.0 * (high - low) ** 2 / pace
    expected = 1 + scale * (1 - (1 - math.exp(-pace * window_s)) / (pace * window_s))
    assert dispersion(arrivals, window_s) == pytest.approx(expected, rel=0.08)


def test_equal_levels_are_no_bursts() -> None:
    arrivals = on_off_arrivals_ps(50.0, 200_000, rng(), OnOff(1.0, 1.0, 3.0))
    assert dispersion(arrivals, 4.0) == pytest.approx(1.0, rel=0.1)


def test_empty_pauses_stay_empty() -> None:
    """Bursts of about a second in pauses of about 100: hardly a gap lies between the two scales."""
    gaps_s = np.diff(on_off_arrivals_ps(10.0, 20_000, rng(), OnOff(math.inf, 1.0, 100.0))) / PS_PER_S
    assert ((gaps_s > 0.05) & (gaps_s < 0.5)).mean() < 0.001
    assert gaps_s.max() > 100


def test_a_curve_by_hand() -> None:
    """2 a second for 10 s, none for 10 s, 1 a second for 10 s: 30 requests a pass."""
    curve = RateCurve(np.array([2.0, 0.0, 1.0]), bin_s=10.0)
    assert curve.expected([0, 5, 10, 15, 20, 30, 45]).tolist() == [0, 10, 20, 20, 20, 30, 50]
    assert curve.time_s([0, 10, 20, 25, 30, 50, 55]).tolist() == [0, 5, 20, 25, 30, 50, 55]
    once = RateCurve(np.array([2.0, 0.0, 1.0]), bin_s=10.0, repeats=False)
    assert once.expected([5, 30, 99]).tolist() == [10, 30, 30]
    assert once.time_s([10, 30, 30.5]).tolist() == [5, 30, math.inf]
    assert curve.rates_until(45).tolist() == [2, 0, 1, 2, 0]
    assert once.rates_until(45).tolist() == [2, 0, 1, 0, 0]


@given(st.lists(st.floats(0, 50), min_size=1, max_size=9).filter(lambda r: max(r) > 0.1), st.floats(0, 500))
@example([5e-324, 1.0], 0.0)
@example([1e-200, 1.0], 7.0)
def test_the_time_change_and_its_inverse_agree(rates: list[float], requests: float) -> None:
    curve = RateCurve(np.array(rates), bin_s=7.0)
    time_s = curve.time_s(requests)
    assert curve.expected(time_s) == pytest.approx(requests, rel=1e-9, abs=1e-6)
    assert curve.time_s(requests + 0.5) >= time_s


def test_growth_compounds_by_the_week_and_by_the_month() -> None:
    weekly = growing_rates(RateCurve(np.array([2.0])), 3 * WEEK_S, 0.1)
    assert weekly.rates_rps.size == 3 * 168
    assert weekly.rates_rps[[0, 168, 336]] == pytest.approx([2.0, 2.2, 2.42])
    monthly = growing_rates(RateCurve(np.array([1.0, 3.0]), bin_s=MONTH_S / 4), MONTH_S / 2, 1.0, per_s=MONTH_S)
    assert monthly.rates_rps == pytest.approx([1.0, 3.0 * 2**0.25])
    assert not monthly.repeats


def test_arrivals_follow_a_growing_week_and_end_with_it() -> None:
    curve = growing_rates(RateCurve(0.5 * weekly_shape("working_week", 2.4)), 2 * WEEK_S, 1.0)
    arrivals = curve_arrivals_ps(curve, rng())
    counts = np.bincount((arrivals / PS_PER_S / HOUR_S).astype(np.int64), minlength=336)
    expected = curve.rates_rps * HOUR_S
    assert arrivals.size == pytest.approx(expected.sum(), abs=5 * math.sqrt(expected.sum()))
    assert (np.abs(counts - expected) < 6 * np.sqrt(expected) + 6).all()
    assert counts[168:].sum() / counts[:168].sum() == pytest.approx(2.0, rel=0.02)


def test_equal_gaps_under_a_curve_are_its_quantiles() -> None:
    curve = RateCurve(np.array([2.0, 0.0, 1.0]), bin_s=10.0)
    arrivals = curve_arrivals_ps(curve, rng(), count=31, gaps=constant_gaps) / PS_PER_S
    assert arrivals[[0, 9, 19, 20, 29, 30]].tolist() == [0.5, 5.0, 20.0, 21.0, 30.0, 30.5]


def test_recorded_arrivals_give_their_rates_back() -> None:
    curve = measured_rates(np.array([0, 5, 9, 25]) * PS_PER_S, bin_s=10.0)
    assert curve.rates_rps.tolist() == [0.3, 0.0, 0.1]


def test_bursts_ride_on_a_curve() -> None:
    """The hours keep their rates when bursts are added, and minutes become uneven."""
    day = RateCurve(np.array([20.0, 5.0]))
    lengths = independent_lengths(lambda n, _: np.ones(n, np.int64), lambda n, _: np.ones(n, np.int64))
    bursty = plain_requests(renewal_arrivals(day, bursts=OnOff(20.0, 10.0, 30.0)), lengths)
    arrivals = generate(bursty, rng(), 1_000_000).arrival_ps
    counts = np.bincount((arrivals / PS_PER_S / HOUR_S).astype(np.int64))[:20]
    assert counts[::2].mean() / counts[1::2].mean() == pytest.approx(4.0, rel=0.1)
    assert counts.mean() == pytest.approx(12.5 * HOUR_S, rel=0.05)
    assert dispersion(arrivals[arrivals < 3600 * PS_PER_S], 10.0) > 20


def test_gamma_gaps_keep_their_variation_in_operational_time() -> None:
    curve = RateCurve(np.array([20.0, 5.0]))
    arrivals = curve_arrivals_ps(curve, rng(), count=300_000, gaps=gamma_gaps(2.0))
    gaps = np.diff(curve.expected(arrivals / PS_PER_S))
    assert gaps.mean() == pytest.approx(1.0, rel=0.02)
    assert gaps.std() == pytest.approx(2.0, rel=0.03)


def test_streams_end_where_a_workload_can_hold_no_later_time() -> None:
    blocks = list(renewal_arrivals(steady_rate(0.001))(rng()))
    assert sum(block.size for block in blocks) == pytest.approx(2**61 / PS_PER_S / 1000, rel=0.1)
    assert blocks[-1][-1] <= 2**61
