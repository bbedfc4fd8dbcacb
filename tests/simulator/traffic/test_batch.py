"""Batch requests that fill the troughs of interactive traffic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import SimulatorError
from simulator.steptime import PS_PER_S
from simulator.traffic import RateCurve, trough_arrivals_ps, water_level, weekly_shape

LOAD = RateCurve(np.array([4.0, 1.0, 2.0]), bin_s=10.0)


def per_bin(arrival_ps: np.ndarray, bin_s: float, bins: int) -> list[int]:
    return np.bincount((arrival_ps / PS_PER_S / bin_s).astype(np.int64), minlength=bins).tolist()


def test_the_water_level_by_hand() -> None:
    """30 requests raise 1 and 2 a second to 3 over 20 s and leave the bin at 4 alone; 80 raise all to 5."""
    width = np.full(3, 10.0)
    assert water_level(LOAD.rates_rps, width, 30.0) == pytest.approx(3.0)
    assert water_level(LOAD.rates_rps, width, 80.0) == pytest.approx(5.0)
    assert per_bin(trough_arrivals_ps(30, LOAD, 30.0), 10.0, 3) == [0, 20, 10]


def test_before_an_early_deadline_only_what_lies_before_it_is_filled() -> None:
    """Until 25 s: 20 s x (L - 1) and 5 s x (L - 2) take 22: no, 10 s and 5 s: L = (22 + 10 + 10) / 15 = 2.8."""
    arrivals = trough_arrivals_ps(22, LOAD, 25.0)
    assert per_bin(arrivals, 10.0, 3) == [0, 18, 4]
    assert arrivals[-1] < 25 * PS_PER_S


def test_under_a_given_level_work_is_done_as_early_as_it_fits() -> None:
    """Up to 5 a second there is room for 10, then 4 a second: 30 are in place after 15 s."""
    arrivals = trough_arrivals_ps(30, LOAD, 30.0, level_rps=5.0)
    assert per_bin(arrivals, 10.0, 3) == [10, 20, 0]
    assert arrivals[-1] == round((10 + 19.5 / 4) * PS_PER_S)


def test_larger_requests_fill_more() -> None:
    """15 requests that each count as two fill as 30 do."""
    assert per_bin(trough_arrivals_ps(15, LOAD, 30.0, work_per_request=2.0), 10.0, 3) == [0, 10, 5]


def test_what_does_not_fit_is_refused_and_counted() -> None:
    assert len(trough_arrivals_ps(50, LOAD, 30.0, level_rps=4.0)) == 50
    with pytest.raises(SimulatorError, match="only 50 of 51") as caught:
        trough_arrivals_ps(51, LOAD, 30.0, level_rps=4.0)
    assert caught.value.code == "over_capacity"


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any),
    st.integers(1, 300),
    st.floats(0.1, 1.0),
)
def test_filling_is_level_and_complete(rates: list[int], count: int, part: float) -> None:
    load = RateCurve(np.array(rates, float), bin_s=10.0)
    deadline = part * load.period_s
    arrivals = trough_arrivals_ps(count, load, deadline)
    assert arrivals.size == count
    assert (np.diff(arrivals) >= 0).all()
    assert arrivals[-1] <= deadline * PS_PER_S + 1
    width = np.minimum(10.0, deadline - 10.0 * np.arange(load.rates_until(deadline).size))
    added = np.array(per_bin(arrivals, 10.0, width.size))[: width.size]
    level = water_level(load.rates_until(deadline), width, float(count))
    assert (width * np.maximum(0.0, level - load.rates_until(deadline))).sum() == pytest.approx(count)
    assert added == pytest.approx(width * np.maximum(0.0, level - load.rates_until(deadline)), abs=1.001)


def test_random_places_keep_the_level_on_average() -> None:
    week = RateCurve(6.0 * weekly_shape("diurnal", 2.4))
    arrivals = trough_arrivals_ps(1_000_000, week, 7 * 86_400.0, rng=np.random.default_rng(1))
    total = week.rates_rps + np.array(per_bin(arrivals, 3600.0, 168)) / 3600.0
    level = water_level(week.rates_rps, np.full(168, 3600.0), 1e6)
    assert total == pytest.approx(np.maximum(level, week.rates_rps), abs=6 * np.sqrt(level * 3600) / 3600)
    assert (np.diff(arrivals) >= 0).all()
