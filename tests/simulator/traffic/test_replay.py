"""Recorded traffic at another rate: requests stay whole."""

from collections import Counter

import numpy as np
import pytest

from simulator import BlockHashes, SimulatorError, Workload
from simulator.steptime import PS_PER_S
from simulator.traffic import scaled_rate, scaled_time

COUNT = 4_000


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def trace() -> Workload:
    """One request a second; prompt and output are tied; four in a row are a conversation, every fifth stands alone."""
    number = np.arange(COUNT)
    return Workload(
        number * PS_PER_S,
        1 + number % 97,
        2 + number % 97,
        tenant=number % 97,
        session=np.where(number % 5 == 4, -1, number // 5),
        block_hashes=BlockHashes(np.arange(COUNT + 1), number // 5, 512),
    )


def test_squeezing_time_moves_arrivals_only() -> None:
    late = Workload(np.array([10, 14, 30]) * PS_PER_S, np.array([5, 6, 7]), np.array([1, 1, 1]))
    fast = scaled_time(late, 2.0)
    assert (fast.arrival_ps / PS_PER_S).tolist() == [0, 2, 10]
    assert fast.prompt_tokens.tolist() == [5, 6, 7]


@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0, 2.5])
def test_scaling_the_rate_keeps_requests_whole_and_the_span(scale: float) -> None:
    scaled = scaled_rate(trace(), scale, rng(), jitter_s=30.0)
    assert len(scaled) == pytest.approx(scale * COUNT, rel=0.05 if scale % 1 else 0.0)
    assert (scaled.output_tokens == scaled.prompt_tokens + 1).all()
    assert (scaled.column("tenant") == scaled.prompt_tokens - 1).all()
    assert (np.diff(scaled.arrival_ps) >= 0).all()
    assert scaled.arrival_ps[-1] <= (COUNT + 30) * PS_PER_S
    quarters = np.histogram(scaled.arrival_ps, bins=4)[0]
    assert quarters == pytest.approx(scale * COUNT / 4, rel=0.15)


def test_a_scale_of_one_is_the_trace() -> None:
    same = scaled_rate(trace(), 1.0, rng())
    assert same.arrival_ps.tolist() == trace().arrival_ps.tolist()
    assert same.column("session").tolist() == trace().column("session").tolist()


def test_thinning_takes_some_of_the_recorded_requests_at_their_times() -> None:
    thinned = scaled_rate(trace(), 0.3, rng())
    assert set(thinned.arrival_ps.tolist()) < set(trace().arrival_ps.tolist())


@pytest.mark.parametrize("scale", [0.5, 2.5])
def test_conversations_are_kept_or_dropped_as_one_and_stay_in_order(scale: float) -> None:
    scaled = scaled_rate(trace(), scale, rng(), jitter_s=100.0)
    session = scaled.column("session")
    assert set(Counter(session[session >= 0].tolist()).values()) == {4}
    for number in np.unique(session[session >= 0])[:50]:
        assert np.diff(scaled.arrival_ps[session == number]).tolist() == [PS_PER_S] * 3


def test_copies_share_nothing_with_each_other() -> None:
    doubled = scaled_rate(trace(), 2.0, rng())
    assert doubled.block_hashes is not None
    assert set(Counter(doubled.block_hashes.ids.tolist()).values()) == {5}


def test_a_closed_loop_and_an_empty_result_are_refused() -> None:
    one = np.ones(1, np.int64)
    with pytest.raises(SimulatorError) as caught:
        scaled_rate(Workload(one, one, one, concurrency=1), 2.0, rng())
    assert caught.value.code == "closed_loop"
    with pytest.raises(SimulatorError) as caught:
        scaled_rate(Workload(one, one, one), 1e-9, rng())
    assert caught.value.code == "empty"
    with pytest.raises(SimulatorError) as caught:
        scaled_time(Workload(np.array([0, 2**61]), np.ones(2, int), np.ones(2, int)), 0.5)
    assert caught.value.code == "out_of_range"
