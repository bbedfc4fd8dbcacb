"""Bad input of the generators ends in an error with a stable code."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from simulator import SimulatorError
from simulator.traffic import (
    OnOff,
    RateCurve,
    cdf_tokens,
    curve_arrivals_ps,
    gamma_gaps,
    growing_rates,
    measured_rates,
    on_off_arrivals_ps,
    renewal_arrivals,
    shaped_arrivals_ps,
    shared_prefix,
    steady_rate,
    trough_arrivals_ps,
    weibull_arrivals_ps,
    zipf_shares,
)

DAY = RateCurve(np.array([1.0, 2.0]))
ONCE = RateCurve(np.array([1.0]), bin_s=1.0, repeats=False)


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def test_a_cdf_by_hand() -> None:
    """A quarter at 10, half between 10 and 20, a quarter between 20 and 40: mean 17.5."""
    tokens = cdf_tokens([10, 20, 40], [0.25, 0.75, 1.0], 100_000, rng())
    assert tokens.mean() == pytest.approx(17.5, rel=0.01)
    assert (tokens == 10).mean() == pytest.approx(0.25 + 0.5 * 0.05, abs=0.01)
    assert (tokens <= 20).mean() == pytest.approx(0.75 + 0.25 * 0.025, abs=0.01)
    assert (tokens.min(), tokens.max()) == (10, 40)
    assert set(cdf_tokens([5], [1.0], 10, rng()).tolist()) == {5}


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: cdf_tokens([1, 2], [0.5], 3, rng()), "shape"),
        (lambda: cdf_tokens([], [], 3, rng()), "shape"),
        (lambda: cdf_tokens([1, 2], [0.5, 0.9], 3, rng()), "out_of_range"),
        (lambda: cdf_tokens([1, 2], [math.nan, 1.0], 3, rng()), "out_of_range"),
        (lambda: cdf_tokens([1, 2], [0.9, 0.5], 3, rng()), "out_of_range"),
        (lambda: cdf_tokens([0, 2], [0.5, 1.0], 3, rng()), "out_of_range"),
        (lambda: cdf_tokens([2, 1], [0.5, 1.0], 3, rng()), "not_sorted"),
        (lambda: cdf_tokens([1.5, 2], [0.5, 1.0], 3, rng()), "not_an_integer"),
        (lambda: weibull_arrivals_ps(1.0, 0.001, 3, rng()), "too_small"),
        (lambda: weibull_arrivals_ps(1.0, 101.0, 3, rng()), "too_large"),
        (lambda: weibull_arrivals_ps(1.0, math.nan, 3, rng()), "not_finite"),
        (lambda: gamma_gaps(0.0), "too_small"),
        (lambda: steady_rate(0.0), "too_small"),
        (lambda: steady_rate(math.inf), "not_finite"),
        (lambda: RateCurve(np.zeros(3)), "out_of_range"),
        (lambda: RateCurve(np.array([1.0, -1.0])), "out_of_range"),
        (lambda: RateCurve(np.array([1.0, math.nan])), "out_of_range"),
        (lambda: RateCurve(np.ones((2, 2))), "shape"),
        (lambda: RateCurve(np.ones(0)), "shape"),
        (lambda: RateCurve(np.ones(2), bin_s=0.0), "too_small"),
        (lambda: DAY.rates_until(0.0), "too_small"),
        (lambda: RateCurve(np.ones(1), bin_s=1e-6).rates_until(1e6), "too_large"),
        (lambda: growing_rates(DAY, 3600.0, -1.0), "too_small"),
        (lambda: growing_rates(DAY, 3600.0, 0.1, per_s=0.0), "too_small"),
        (lambda: measured_rates(np.zeros(0, np.int64)), "out_of_range"),
        (lambda: measured_rates(np.zeros(1, np.int64), bin_s=0.0), "too_small"),
        (lambda: curve_arrivals_ps(DAY, rng()), "ambiguous"),
        (lambda: curve_arrivals_ps(ONCE, rng(), count=10**6), "too_few"),
        (lambda: OnOff(0.5, 1.0, 1.0), "too_small"),
        (lambda: OnOff(math.nan, 1.0, 1.0), "not_finite"),
        (lambda: OnOff(2.0, 0.0, 1.0), "too_small"),
        (lambda: OnOff(2.0, 1.0, math.inf), "not_finite"),
        (lambda: on_off_arrivals_ps(1e-3, 3, rng(), OnOff(2.0, 0.1, 0.1)), "too_small"),
        (lambda: renewal_arrivals(steady_rate(1e-3), bursts=OnOff(2.0, 0.1, 0.1)), "too_small"),
        (lambda: shaped_arrivals_ps(np.ones(2, np.int64), np.array([1.0, 2.0])), "out_of_range"),
        (lambda: trough_arrivals_ps(0, DAY, 10.0), "too_small"),
        (lambda: trough_arrivals_ps(3, DAY, 0.0), "too_small"),
        (lambda: trough_arrivals_ps(3, DAY, 1e9), "too_large"),
        (lambda: trough_arrivals_ps(3, DAY, 10.0, work_per_request=0.0), "too_small"),
        (lambda: trough_arrivals_ps(3, DAY, 10.0, level_rps=0.5), "over_capacity"),
        (lambda: shared_prefix(3, 0, 5, rng()), "too_small"),
        (lambda: zipf_shares(0, 1.0), "too_small"),
        (lambda: zipf_shares(3, -1.0), "too_small"),
    ],
)
def test_bad_input_is_refused_with_a_code(make: Callable[[], object], code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        make()
    assert caught.value.code == code
