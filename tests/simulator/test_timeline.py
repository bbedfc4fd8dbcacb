"""A run over time: bins against the whole run's sums, and against a case worked by hand."""

import numpy as np
import pytest
from hypothesis import given, settings

from simulator import Fleet, Pool, Workload, simulate, simulate_fleet, timeline
from simulator.records import SERIES_BINS
from tests.simulator.logs import even_replica
from tests.simulator.random_runs import runs


def test_one_request_of_four_steps_by_hand() -> None:
    """Steps of 2**29 ps, two to the bin of 2**30 ps: prefill and decode, then two decodes; sent half a bin late."""
    half = 2**29
    config, step_time = even_replica(half, seats=2, blocks=10)
    log = simulate(config, step_time, Workload([half], [32], [4]), engine="reference")
    line = timeline(log)
    assert log.end_ps == 5 * half
    np.testing.assert_allclose(line.start_s, np.arange(3) * 2 * half / 1e12)
    np.testing.assert_allclose(line.in_system_mean, [0.5, 1.0, 1.0])
    np.testing.assert_allclose(line.running_mean, [0.5, 1.0, 1.0])  # the last bin is cut by the end of the run
    np.testing.assert_allclose(line.busy_ratio, [0.5, 1.0, 1.0])
    np.testing.assert_allclose(line.kv_ratio, [0.1, 0.3, 0.3])  # 2 blocks, then 3 of 10
    np.testing.assert_allclose(line.prefill_tokens_per_s * line.bin_s, [32, 0, 0])
    np.testing.assert_allclose(line.decode_tokens_per_s[:2] * line.bin_s, [0, 2])
    np.testing.assert_allclose(line.waiting_mean, 0.0)


@settings(max_examples=60, deadline=None)
@given(runs())
def test_bins_add_up_to_the_run(run) -> None:  # type: ignore[no-untyped-def]
    log = simulate(*run, rng=np.random.default_rng(1), engine="reference")
    series = log.series
    assert series.steps.sum() == log.steps
    assert series.busy_ps.sum() == log.busy_ps
    assert series.prefill_tokens.sum() == log.prefill_tokens
    assert series.seat_ps.sum() == pytest.approx(log.seat_ps)
    assert series.kv_block_ps.sum() == pytest.approx(log.kv_block_ps)
    assert series.steps.size <= SERIES_BINS


def test_a_long_run_has_few_bins_and_a_queue_that_shows() -> None:
    """Forty requests at once on two seats of two replicas: the queue falls to nothing, evenly."""
    config, step_time = even_replica(2**30, seats=2)
    load = Workload(np.zeros(40, np.int64), np.full(40, 10), np.full(40, 50))
    log = simulate_fleet(Fleet((Pool(config, step_time, replicas=2),)), load, engine="reference")
    line = timeline(log)
    assert SERIES_BINS // 2 <= line.start_s.size <= SERIES_BINS
    assert line.waiting_mean[0] == pytest.approx(36)
    assert line.waiting_mean[-1] == 0
    assert (np.diff(line.waiting_mean) <= 1e-9).all()
    np.testing.assert_allclose(line.batch_mean, 2)
    seconds = np.minimum(line.bin_s, log.end_ps / 1e12 - line.start_s)
    assert (line.finishes_rps * seconds).sum() == pytest.approx(40)
