"""What must hold in every disaggregated fleet, whatever the router, the pools, the link and the gangs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import EventLog, Fleet, Workload, simulate_fleet, summarise
from simulator.records import FINISHED, TIMED_OUT, UNFINISHED, UNSERVABLE
from tests.simulator.random_runs import disaggregated_runs

FleetRun = tuple[Fleet, Workload]


def simulated(run: FleetRun, until_ps: int | None = None) -> EventLog:
    return simulate_fleet(*run, rng=np.random.default_rng(7), engine="reference", until_ps=until_ps)


def roles(fleet: Fleet) -> np.ndarray:
    """The role of each engine's pool, and "" for number -1."""
    return np.array([fleet.pools[pool].role for pool in fleet.pool_of_replica] + [""])


def everything_ends_and_tokens_are_conserved(run: FleetRun, log: EventLog) -> None:
    done, late = log.outcome == FINISHED, log.outcome == TIMED_OUT
    assert (log.outcome != UNFINISHED).all()
    assert (log.generated_tokens[~late] == np.where(done, log.output_tokens, 0)[~late]).all()
    # A step emits up to `most` tokens with one gap before them, on a decode replica also the first ones.
    most = max(pool.config.decode_tokens for pool in run[0].pools)
    gaps = log.itl_count.sum()
    assert np.maximum(0, log.generated_tokens - most).sum() / most <= gaps
    assert gaps <= np.maximum(0, log.generated_tokens - 1).sum()
    assert log.series.prefill_tokens.sum() == log.prefill_tokens
    if not log.preemptions.any() and not late.any():
        assert log.prefill_tokens == (log.prompt_tokens - log.cached_tokens)[done].sum()


def prompts_and_outputs_are_computed_where_they_belong(run: FleetRun, log: EventLog) -> None:
    fleet, _ = run
    transfer = fleet.transfer
    assert transfer is not None
    role = roles(fleet)
    done = log.outcome == FINISHED
    sent = (log.transfer_ps > 0) & done
    ends_at_prefill = (log.output_tokens == 1) & (transfer.first_output == "prefill")
    assert (sent == (done & (log.prefill_replica >= 0) & ~ends_at_prefill)).all()
    assert (role[log.replica[sent]] == "decode").all()
    assert (role[log.prefill_replica[done & (log.prefill_replica >= 0)]] == "prefill").all()
    local = done & (log.prefill_replica < 0)
    nobody_local = not local.any() and not (log.outcome == TIMED_OUT).any()
    assert (role[log.replica[local]] == "decode").all()
    if not any(pool.config.enable_prefix_caching for pool in fleet.pools):
        assert (log.prompt_tokens[local] <= transfer.local_prefill_max_tokens).all()
    if nobody_local and not log.preemptions.any():
        assert not any(log.replicas[engine].prefill_tokens for engine in np.flatnonzero(role[:-1] == "decode"))


def causes_come_before_effects(run: FleetRun, log: EventLog) -> None:
    fleet, _ = run
    transfer = fleet.transfer
    assert transfer is not None
    sent = (log.transfer_ps > 0) & (log.outcome == FINISHED)
    assert (log.arrival_ps <= log.admitted_ps)[sent].all()
    assert (log.admitted_ps < log.finish_ps)[sent].all()
    least_ps = transfer.latency_ps
    if not any(pool.config.enable_prefix_caching for pool in fleet.pools):
        least_ps = transfer.latency_ps + transfer.token_ps * log.prompt_tokens
    assert (log.transfer_ps >= least_ps)[sent].all()
    if transfer.first_output == "prefill":
        assert (log.finish_ps - log.first_token_ps >= log.transfer_ps)[sent].all()
    else:
        assert (log.first_token_ps - log.admitted_ps > log.transfer_ps)[sent].all()


def littles_law_holds_as_bookkeeping(run: FleetRun, log: EventLog) -> None:
    assert log.in_system_ps == int((log.finish_ps - log.arrival_ps).sum())
    assert log.transfer_wait_ps >= int(log.transfer_ps.sum())


@settings(max_examples=60, deadline=None)
@given(disaggregated_runs(), st.floats(0.0, 1.2))
def test_a_run_that_is_stopped_keeps_its_books(run: FleetRun, share: float) -> None:
    until_ps = int(simulated(run).end_ps * share)
    log = simulated(run, until_ps)
    inside = (log.outcome != UNSERVABLE) & (log.arrival_ps <= log.end_ps)
    left_ps = np.where(log.outcome == UNFINISHED, log.end_ps, log.finish_ps)
    steps_end = log.end_ps >= until_ps or not (log.outcome == UNFINISHED).any()
    assert steps_end
    assert log.in_system_ps == int((left_ps - log.arrival_ps)[inside].sum())
    law = summarise(log).littles_law
    assert law.measured == pytest.approx(law.product)


def no_engine_exceeds_its_pool_or_its_seats(run: FleetRun, log: EventLog) -> None:
    for totals in log.replicas:
        assert totals.kv_peak_blocks <= totals.num_blocks
        assert (
            totals.seat_ps <= totals.busy_ps * totals.max_num_seqs
            or run[0].pools[totals.pool].config.pipeline_stages > 1
        )


@settings(max_examples=100, deadline=None)
@given(disaggregated_runs())
def test_every_run_of_prefill_and_decode_apart(run: FleetRun) -> None:
    log = simulated(run)
    everything_ends_and_tokens_are_conserved(run, log)
    prompts_and_outputs_are_computed_where_they_belong(run, log)
    causes_come_before_effects(run, log)
    littles_law_holds_as_bookkeeping(run, log)
    no_engine_exceeds_its_pool_or_its_seats(run, log)
