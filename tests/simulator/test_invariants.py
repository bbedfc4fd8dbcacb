"""What must hold in every run, whatever the policy (the engines agree, so the fast one is asked)."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import EngineConfig, EventLog, StepTime, Workload, summarise
from simulator import simulate as simulate_on
from simulator.records import FINISHED, UNSERVABLE
from tests.simulator.random_runs import runs

Run = tuple[EngineConfig, StepTime, Workload]


def simulate(config: EngineConfig, step_time: StepTime, workload: Workload) -> EventLog:
    return simulate_on(config, step_time, workload, rng=np.random.default_rng(7))


def nobody_is_lost_and_tokens_are_conserved(run: Run, log: EventLog) -> None:
    done = log.outcome == FINISHED
    assert (done | (log.outcome == UNSERVABLE)).all()
    assert (log.generated_tokens == np.where(done, log.output_tokens, 0)).all()
    gaps = (log.output_tokens[done] - 1).sum()
    assert gaps / run[0].decode_tokens <= log.itl_count.sum() <= gaps
    computed = (log.prompt_tokens - log.cached_tokens)[done].sum()
    assert log.prefill_tokens >= computed
    if not log.preemptions.any():
        assert log.prefill_tokens == computed


def causes_come_before_effects(run: Run, log: EventLog) -> None:
    done = log.outcome == FINISHED
    assert (log.arrival_ps <= log.admitted_ps)[done].all()
    assert (log.admitted_ps <= log.first_token_ps)[done].all()
    assert (log.first_token_ps <= log.finish_ps)[done].all()
    assert (log.finish_ps == log.arrival_ps)[~done].all()


def the_pool_and_the_seats_are_never_exceeded(run: Run, log: EventLog) -> None:
    config, _, _ = run
    assert log.replicas[0].kv_peak_blocks <= config.num_blocks
    assert log.kv_block_ps <= log.busy_ps * config.num_blocks
    assert 0 <= log.kv_waste_ratio <= 1
    assert log.seat_ps <= log.busy_ps * config.max_num_seqs
    assert log.generated_tokens.sum() <= log.steps * config.max_num_seqs * config.decode_tokens


def the_server_works_whenever_somebody_is_there(run: Run, log: EventLog) -> None:
    config, _, _ = run
    if not config.overlap_scheduling and not (config.swap and config.swap.overlapped):
        assert log.busy_ps == _union_ps(log)
    elif config.overlap_scheduling and not config.swap:  # steps in vain come on top
        assert log.busy_ps >= _union_ps(log)
    elif not config.overlap_scheduling:  # transfers may be waited for
        assert log.busy_ps <= _union_ps(log)


def _union_ps(log: EventLog) -> int:
    """Length of the union of all stays, from arrival to finish."""
    done = log.outcome == FINISHED
    total, reach = 0, 0
    for start, end in sorted(zip(log.arrival_ps[done].tolist(), log.finish_ps[done].tolist(), strict=True)):
        total += max(0, end - max(start, reach))
        reach = max(reach, end)
    return total


def littles_law_holds_as_bookkeeping(run: Run, log: EventLog) -> None:
    done = log.outcome == FINISHED
    assert log.seat_ps + log.waiting_ps == int((log.finish_ps - log.arrival_ps)[done].sum())
    law = summarise(log).littles_law
    assert np.isclose(law.product, law.measured)


@settings(max_examples=200, deadline=None)
@given(runs())
def test_every_run(run: Run) -> None:
    log = simulate(*run)
    nobody_is_lost_and_tokens_are_conserved(run, log)
    causes_come_before_effects(run, log)
    the_pool_and_the_seats_are_never_exceeded(run, log)
    the_server_works_whenever_somebody_is_there(run, log)
    littles_law_holds_as_bookkeeping(run, log)


@settings(max_examples=60, deadline=None)
@given(runs(), st.integers(1, 8))
def test_a_closed_loop_never_has_more_in_flight_than_allowed(run: Run, concurrency: int) -> None:
    config, step_time, w = run
    loop = Workload(
        w.arrival_ps, w.prompt_tokens, w.output_tokens, w.prefix_group, w.prefix_tokens, w.block_hashes, concurrency
    )
    log = simulate(config, step_time, loop)
    for at in log.arrival_ps:
        assert ((log.arrival_ps < at) & (log.finish_ps > at)).sum() < concurrency


@settings(max_examples=60, deadline=None)
@given(runs(caching=False))
def test_a_cache_without_shared_content_and_preemption_changes_nothing(run: Run) -> None:
    config, step_time, w = run
    if config.kv_allocation == "contiguous":
        return
    plain = simulate(config, step_time, Workload(w.arrival_ps, w.prompt_tokens, w.output_tokens))
    if plain.preemptions.any():
        return
    fields = {name: getattr(config, name) for name in config.__slots__} | {"enable_prefix_caching": True}
    cached = simulate(EngineConfig(**fields), step_time, Workload(w.arrival_ps, w.prompt_tokens, w.output_tokens))
    assert cached.differences(plain) == []
