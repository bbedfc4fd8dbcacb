"""Figures from event logs made by hand."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator import GoodputSlo, SimulatorError, Workload, ramp_misses, simulate, summarise, timeline
from simulator.engine import Engine
from simulator.metrics import tpot_ms
from simulator.records import itl_bin, itl_upper_ps
from simulator.selection import COUNTED_FROM, nearest_ranks, ranks_by_batch
from simulator.statistics import nearest_rank
from tests.simulator.logs import even_replica, log_of


def many(count: int):  # type: ignore[no-untyped-def]
    """Requests a second apart with TTFT 1, 2, ... ms."""
    arrival = np.arange(count) * 1000.0
    first = arrival + 1 + np.arange(count)
    return log_of(arrival, first, first + 90, np.full(count, 10))


def test_percentiles_are_nearest_rank() -> None:
    assert nearest_rank(np.array([10.0, 20.0, 30.0, 40.0]), 50) == 20
    assert nearest_rank(np.array([10.0, 20.0, 30.0, 40.0]), 95) == 40


@given(st.lists(st.sampled_from([0.0, 1.0, 2.5]) | st.floats(0, 1e6), min_size=1, max_size=300))
def test_percentiles_need_no_sorted_values(values: list[float]) -> None:
    percentiles = [1, 50, 90, 95, 99, 100]
    in_order = np.sort(np.array(values))
    assert nearest_ranks(np.array(values), percentiles) == [nearest_rank(in_order, p) for p in percentiles]
    ttft = summarise(many(100)).ttft
    assert (ttft.p50_ms, ttft.p90_ms, ttft.p95_ms, ttft.p99_ms) == (50, 90, 95, 99)


COLUMNS: dict[str, Callable[[np.random.Generator, int], npt.NDArray[np.float64]]] = {
    "spread over decades": lambda rng, count: rng.lognormal(0.0, 2.0, count),
    "close together": lambda rng, count: rng.normal(1000.0, 1.0, count),
    "mostly the least value": lambda rng, count: np.where(rng.random(count) < 0.7, 0.0, rng.exponential(5.0, count)),
    "all equal": lambda rng, count: np.full(count, 3.25),
    "few different ones": lambda rng, count: rng.integers(0, 3, count) / 7,
    "hardly any that counts": lambda rng, count: rng.pareto(0.3, count),
    "rising": lambda rng, count: np.sort(rng.random(count)),
    "every other one the least": lambda rng, count: np.where(np.arange(count) % 2, rng.exponential(5.0, count), 0.0),
    "every tenth one the least": lambda rng, count: np.arange(count) % 10 * 1.0,
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_percentiles_of_long_columns_are_those_of_sorted_ones(kind: str) -> None:
    rng = np.random.default_rng(3)
    for count in (COUNTED_FROM - 1, COUNTED_FROM, COUNTED_FROM + 7, 10_000, 30_001):
        values = COLUMNS[kind](rng, count)
        ranked = ranks_by_batch(values, 10, [50, 90, 95, 99], [50, 99])
        assert ranked.whole == [nearest_rank(np.sort(values), p) for p in (50, 90, 95, 99)]
        parts = [np.sort(part) for part in np.array_split(values, 10)]
        assert ranked.batches == [[nearest_rank(part, p) for p in (50, 99)] for part in parts]


@pytest.mark.parametrize(("count", "known"), [(9, ["p50"]), (10, ["p50", "p90"]), (99, ["p50", "p90", "p95"])])
def test_no_percentile_from_fewer_samples_than_it_needs(count: int, known: list[str]) -> None:
    ttft = summarise(many(count)).ttft
    assert [name for name in ("p50", "p90", "p95", "p99") if getattr(ttft, f"{name}_ms") is not None] == known
    assert "needs 100" in ttft.withheld["p99"]


def test_time_outside_the_engine_is_added_to_ttft_and_e2e_only() -> None:
    log = log_of([0, 0], [10, 10], [110, 110], [11, 11], request_ms=5)
    summary = summarise(log)
    assert (summary.ttft.p50_ms, summary.e2e.p50_ms, summary.tpot.p50_ms) == (15, 115, 10)


def test_one_token_has_no_tpot_and_cannot_miss_it() -> None:
    log = log_of([0, 0], [10, 10], [10, 500], [1, 2])
    assert np.isnan(tpot_ms(log)[0])
    (good,) = summarise(log, slo=[GoodputSlo(tpot_ms=50)]).goodput
    assert good.ratio == 0.5
    assert summarise(log).tpot.samples == 1


def test_goodput_needs_every_threshold_at_once_and_is_given_as_share_and_rate() -> None:
    log = log_of([0, 0, 0, 0], [10, 10, 900, 900], [110, 1010, 1000, 10_000], [11, 11, 11, 11])
    both, ttft_only = summarise(log, slo=[GoodputSlo(ttft_ms=100, tpot_ms=20), GoodputSlo(ttft_ms=100)]).goodput
    assert (both.ratio, ttft_only.ratio) == (0.25, 0.5)
    assert both.rps == pytest.approx(1 / 10)


def test_an_slo_without_thresholds_is_refused() -> None:
    with pytest.raises(SimulatorError):
        GoodputSlo()
    with pytest.raises(SimulatorError):
        GoodputSlo(ttft_ms=0)


def test_the_warm_up_is_left_out_of_latencies() -> None:
    assert summarise(many(100), warmup_ratio=0.5).ttft.p50_ms == 75


def test_intervals_lie_around_their_figure() -> None:
    ttft = summarise(many(400)).ttft
    assert ttft.intervals["p95"].low < ttft.percentile_ms(95) < ttft.intervals["p95"].high  # type: ignore[operator]
    assert "p99" not in ttft.intervals


@pytest.mark.parametrize("gap", [0, 1, 255, 256, 511, 512, 513, 6_000_000_000, 2**62 - 1])
def test_gap_bins_are_tight_from_above(gap: int) -> None:
    upper = int(itl_upper_ps(np.array([itl_bin(gap)]))[0])
    assert gap <= upper <= gap * (1 + 1 / 256)


# --- questions and faults that people reported about latency definitions ---------------------------------------------


def test_mean_tpot_is_not_token_weighted_itl() -> None:
    """A makes 2 tokens with a gap of 100 ms, B 101 tokens at 10 ms: 55 ms against 10.89 ms."""
    log = log_of([0, 0], [1, 1], [101, 1001], [2, 101], itl={100: 1, 10: 100})
    summary = summarise(log)
    assert summary.tpot.mean_ms == pytest.approx(55.0, abs=0.01)
    assert summary.itl.mean_ms == pytest.approx(10.89, rel=0.004)  # bins are 0.4 % wide


def test_goodput_rate_over_throughput_is_the_share() -> None:
    """0.14 of 0.27 requests per second are good: 51.9 %."""
    first = np.where(np.arange(27) < 14, 10.0, 1000.0)
    log = log_of(np.zeros(27), first, np.full(27, 100_000.0), np.full(27, 2))
    summary = summarise(log, slo=[GoodputSlo(ttft_ms=100)])
    assert summary.goodput[0].rps == pytest.approx(0.14)
    assert summary.served_rps == pytest.approx(0.27)
    assert 100 * summary.goodput[0].ratio == pytest.approx(51.9, abs=0.1)


def test_tpot_with_and_without_the_first_token_differ_by_a_quarter() -> None:
    """TTFT 2 s, then 30 ms a token, 200 tokens: 30.0 ms by our definition, 39.85 by total time over tokens."""
    log = log_of([0, 0], [2000, 2000], [2000 + 199 * 30] * 2, [200, 200])
    summary = summarise(log)
    assert summary.tpot.mean_ms == pytest.approx(30.0)
    assert summary.e2e.mean_ms is not None
    inclusive = summary.e2e.mean_ms / 200
    assert inclusive == pytest.approx(39.85)
    assert 100 * (30.0 / inclusive - 1) == pytest.approx(-24.7, abs=0.1)


def test_itl_of_chunked_streams_is_not_tpot() -> None:
    """Ten tokens a chunk: TPOT 34.6 ms, ITL ten times that; speed for the user follows TPOT (28.9 tokens/s)."""
    log = log_of([0, 0], [0, 0], [34.6 * 1000] * 2, [1001, 1001], itl={344.8: 200})
    summary = summarise(log)
    assert summary.tpot.mean_ms == pytest.approx(34.6)
    assert summary.tpot.mean_ms is not None
    assert summary.itl.mean_ms is not None
    assert summary.itl.mean_ms / summary.tpot.mean_ms == pytest.approx(10.0, abs=0.3)
    assert 1000 / summary.tpot.mean_ms == pytest.approx(28.9, abs=0.1)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_requests_that_a_stopped_run_never_sent_count_nowhere(engine: Engine) -> None:
    """A closed loop of one: ten answers of 10 s, stopped after two and a half of them."""
    config, step_time = even_replica(10**12, seats=1)
    load = Workload(np.zeros(10, np.int64), np.ones(10, np.int64), np.full(10, 10), concurrency=1)
    log = simulate(config, step_time, load, engine=engine, until_ps=25 * 10**12)
    summary = summarise(log, slo=[GoodputSlo(e2e_ms=20_000)])
    assert (log.arrival_ps <= log.end_ps).sum() == 3
    assert summary.littles_law.product == pytest.approx(1)
    assert summary.offered_rps == pytest.approx(0.1)
    assert summary.goodput[0].ratio == pytest.approx(2 / 3)
    assert timeline(log).in_system_mean.max() == pytest.approx(1)
    misses = ramp_misses(replace(log, starts=((0, 5 * 10**12, 95 * 10**12),)), GoodputSlo(e2e_ms=20_000))
    assert (misses.requests, misses.missed, misses.missed_elsewhere) == (2, 1, 0)
