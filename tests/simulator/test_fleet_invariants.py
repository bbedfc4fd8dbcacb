"""What must hold in every fleet, whatever the router, the pools and the gangs."""

import numpy as np
from hypothesis import given, settings

from simulator import EventLog, Fleet, Workload, simulate_fleet
from simulator.records import FINISHED, NO_POOL, REJECTED, TIMED_OUT, UNSERVABLE
from tests.simulator.random_runs import fleet_runs

FleetRun = tuple[Fleet, Workload]


def simulated(run: FleetRun) -> EventLog:
    return simulate_fleet(*run, rng=np.random.default_rng(7), engine="reference")


@settings(max_examples=150, deadline=None)
@given(fleet_runs())
def test_nobody_is_lost_and_tokens_are_conserved(run: FleetRun) -> None:
    log = simulated(run)
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


@settings(max_examples=150, deadline=None)
@given(fleet_runs())
def test_requests_go_only_where_they_may_and_fit(run: FleetRun) -> None:
    fleet, _ = run
    log = simulated(run)
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


@settings(max_examples=150, deadline=None)
@given(fleet_runs())
def test_littles_law_holds_as_bookkeeping(run: FleetRun) -> None:
    log = simulated(run)
    assert log.seat_ps + log.waiting_ps == int((log.finish_ps - log.arrival_ps).sum())


@settings(max_examples=150, deadline=None)
@given(fleet_runs())
def test_no_engine_exceeds_its_pool_or_its_seats(run: FleetRun) -> None:
    for totals in simulated(run).replicas:
        assert totals.kv_peak_blocks <= totals.num_blocks
        assert totals.busy_ps >= 0


@settings(max_examples=60, deadline=None)
@given(fleet_runs())
def test_a_run_repeats_itself(run: FleetRun) -> None:
    assert simulated(run).differences(simulated(run)) == []
