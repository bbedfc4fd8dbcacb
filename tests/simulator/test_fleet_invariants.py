"""What must hold in every fleet, whatever the router, the pools and the gangs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import EventLog, Fleet, Workload, simulate_fleet, summarise
from simulator.records import FINISHED, NO_POOL, REJECTED, TIMED_OUT, UNFINISHED, UNSERVABLE
from tests.simulator.fleets import pool_of, run_fleet, workload_of
from tests.simulator.random_runs import fleet_runs

FleetRun = tuple[Fleet, Workload]


def simulated(run: FleetRun, until_ps: int | None = None) -> EventLog:
    return simulate_fleet(*run, rng=np.random.default_rng(7), engine="reference", until_ps=until_ps)


def nobody_is_lost_and_tokens_are_conserved(run: FleetRun, log: EventLog) -> None:
    done, late = log.outcome == FINISHED, log.outcome == TIMED_OUT
    assert (done | late | np.isin(log.outcome, (UNSERVABLE, REJECTED))).all()
    assert (log.generated_tokens[~late] == np.where(done, log.output_tokens, 0)[~late]).all()
    assert (log.generated_tokens <= log.output_tokens).all()
    gaps = np.maximum(0, log.generated_tokens - 1).sum()
    assert gaps / max(pool.config.decode_tokens for pool in run[0].pools) <= log.itl_count.sum() <= gaps
    computed = (log.prompt_tokens - log.cached_tokens)[done].sum()
    assert log.prefill_tokens >= computed
    assert log.series.prefill_tokens.sum() == log.prefill_tokens
    assert log.series.busy_ps.sum() == log.busy_ps


def requests_go_only_where_they_may_and_fit(run: FleetRun, log: EventLog) -> None:
    fleet, _ = run
    columns = (log.prompt_tokens, log.output_tokens, log.replica, log.reason, log.outcome)
    for prompt, output, replica, reason, outcome in zip(*(column.tolist() for column in columns), strict=True):
        takes = [pool for pool in fleet.pools if pool.min_prompt_tokens <= prompt <= pool.max_prompt_tokens]
        fits = [pool for pool in takes if prompt + output <= pool.config.max_model_len
                and pool.config.member.pool_holds(prompt, output)]  # fmt: skip
        assert (outcome == UNSERVABLE) == (not fits)
        assert replica >= 0 or outcome in (UNSERVABLE, REJECTED, TIMED_OUT)
        assert (reason == NO_POOL) == (not takes)
        if replica >= 0:
            assert fleet.pools[fleet.pool_of_replica[replica]] in fits


def littles_law_holds_as_bookkeeping(run: FleetRun, log: EventLog) -> None:
    assert log.seat_ps + log.waiting_ps == int((log.finish_ps - log.arrival_ps).sum())


@settings(max_examples=100, deadline=None)
@given(fleet_runs(), st.floats(0.0, 1.2))
def test_littles_law_holds_in_a_run_that_is_stopped(run: FleetRun, share: float) -> None:
    log = simulated(run, int(simulated(run).end_ps * share))
    inside = (log.outcome != UNSERVABLE) & (log.arrival_ps <= log.end_ps)
    left_ps = np.where(log.outcome == UNFINISHED, log.end_ps, log.finish_ps)
    assert log.in_system_ps == int((left_ps - log.arrival_ps)[inside].sum())


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_seats_count_to_the_end_of_a_stopped_run(engine: str) -> None:
    # Steps of 100 and of 700. Stopped at 350, the first replica's last step ends at 400, the second's at 700: until
    # then all three requests are in the system, those of the first with four tokens in a block each.
    fleet = Fleet((pool_of(1, pool={"weight": 2}), pool_of(1, base_ps=700)))
    log = run_fleet(engine, fleet, workload_of([(0, 1, 20), (0, 1, 20), (0, 1, 20)]), until_ps=350)
    assert (log.replica.tolist(), log.end_ps) == ([0, 1, 0], 700)
    assert [totals.seat_ps for totals in log.replicas] == [2 * 700, 700]
    assert [totals.busy_ps for totals in log.replicas] == [400, 700]
    assert [totals.kv_block_ps for totals in log.replicas] == [2 * 700, 700]
    assert [totals.kv_token_ps for totals in log.replicas] == [2 * (100 + 200 + 300 + 400 + 4 * 300), 700]
    assert log.series.seat_ps.sum() == log.seat_ps
    assert summarise(log).littles_law.measured == pytest.approx(3.0)


def no_engine_exceeds_its_pool_or_its_seats(run: FleetRun, log: EventLog) -> None:
    for totals in log.replicas:
        assert totals.kv_peak_blocks <= totals.num_blocks
        assert totals.busy_ps >= 0


@settings(max_examples=200, deadline=None)
@given(fleet_runs())
def test_every_run_of_a_fleet(run: FleetRun) -> None:
    log = simulated(run)
    nobody_is_lost_and_tokens_are_conserved(run, log)
    requests_go_only_where_they_may_and_fit(run, log)
    littles_law_holds_as_bookkeeping(run, log)
    no_engine_exceeds_its_pool_or_its_seats(run, log)


@settings(max_examples=30, deadline=None)
@given(fleet_runs())
def test_a_run_repeats_itself(run: FleetRun) -> None:
    assert simulated(run).differences(simulated(run)) == []
