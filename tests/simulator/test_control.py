"""Autoscaling and outages: when replicas come and go, and what that does to requests."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import (
    Autoscaling,
    EventLog,
    Fleet,
    GoodputSlo,
    KvGroup,
    Outage,
    Pool,
    SimulatorError,
    Workload,
    constant_arrivals_ps,
    draw_outages,
    ramp_misses,
    simulate_fleet,
)
from simulator.config import Order, Scheduler
from simulator.engine import Engine
from simulator.records import FINISHED, UNFINISHED
from tests.simulator.logs import even_replica
from tests.simulator.random_runs import admissions, gangs, kv_groups, owned, speculations

S = 10**12
STEP = 10**10  # 10 ms


def rule(**change: object) -> Autoscaling:
    given = {"metric": "concurrency", "target": 4, "interval_ps": S, "cold_start_ps": (S, 2 * S)}
    return Autoscaling(**(given | change))  # type: ignore[arg-type]


def run(load: Workload, replicas: int, scaling: Autoscaling | None, seats: int = 4, **fleet: object) -> EventLog:
    """On the fast engine, which random runs below hold to the reference engine."""
    config, step_time = even_replica(STEP, seats=seats)
    pool = Pool(config, step_time, replicas=replicas, autoscaling=scaling)
    return simulate_fleet(Fleet((pool,), router="least_requests", **fleet), load)  # type: ignore[arg-type]


def steady(rate_rps: float, seconds: float, tokens: int = 100) -> Workload:
    """Requests of `tokens` output tokens: a second each on a replica of 10 ms steps."""
    count = int(rate_rps * seconds)
    return Workload(constant_arrivals_ps(rate_rps, count), np.full(count, 10), np.full(count, tokens))


def test_scale_to_zero_pays_a_cold_start_by_phases() -> None:
    """A lone request at 5 s finds nothing on: 1 s + 2 s until it is served, then it is switched off again."""
    log = run(Workload([5 * S], [10], [10]), 1, rule(initial=0, minimum=0))
    assert log.starts == ((0, 5 * S, 8 * S),)
    assert int(log.first_token_ps[0]) == 8 * S + STEP
    assert log.replicas[0].paid_ps == log.end_ps - 5 * S


def test_every_isolated_request_pays_it() -> None:
    """20 requests a day, 277 s of cold start, a TTFT target of 2 s: none is met; with one kept warm all are."""
    load = Workload(np.arange(20) * 3600 * S, np.full(20, 10), np.full(20, 10))
    cold = rule(cold_start_ps=(277 * S,), initial=0, minimum=0)
    slo = GoodputSlo(ttft_ms=2000)
    scaled, kept = ramp_misses(run(load, 1, cold), slo), ramp_misses(run(load, 1, rule()), slo)
    assert (scaled.starts, scaled.missed, scaled.missed_elsewhere) == (20, 20, 0)
    assert (kept.starts, kept.missed, kept.missed_elsewhere) == (0, 0, 0)
    assert scaled.paid_replica_hours < 0.1 * kept.paid_replica_hours


@pytest.mark.parametrize("ready_s", [40, 1020])
def test_requests_gather_at_the_gate_at_their_rate(ready_s: int) -> None:
    """0.5 requests a second during a cold start of 40 s or 1,020 s: 20 or 510 before the replica is ready."""
    log = run(steady(0.5, 2 * ready_s), 1, rule(cold_start_ps=(ready_s * S,), initial=0, minimum=0), seats=64)
    asked, ready = log.starts[0][1:]
    assert ready - asked == ready_s * S
    before = (log.arrival_ps >= asked) & (log.arrival_ps < ready)
    assert before.sum() == ready_s // 2
    assert int(log.first_token_ps[0] - log.arrival_ps[0]) >= ready_s * S


def test_as_many_come_on_as_the_load_asks_for() -> None:
    """12 requests a second of a second each: concurrency 12, at 4 a replica three of five, once the backlog is gone."""
    log = run(steady(12, 60), 5, rule(), seats=8)
    assert {replica for replica, _, _ in log.starts} >= {1, 2}
    served = np.bincount(log.replica[log.arrival_ps > 30 * S], minlength=5)
    assert (served[:3] > 0).all()
    assert served[3:].sum() == 0


def test_the_window_keeps_replicas_through_a_dip() -> None:
    """Two bursts with 8 s between: without a window the second pays a ramp, with one of 20 s it does not."""
    burst = steady(16, 20).arrival_ps
    load = Workload(np.concatenate((burst, burst + 28 * S)), np.full(640, 10), np.full(640, 100))
    eager, patient = run(load, 4, rule(), seats=8), run(load, 4, rule(down_window_ps=20 * S), seats=8)
    later = [sum(1 for _, asked, _ in log.starts if asked > 28 * S) for log in (eager, patient)]
    assert later[0] > 0
    assert later[1] == 0


def test_capacity_by_the_clock_is_there_before_the_load() -> None:
    """From minute one on four replicas are asked for; they are ready 3 s later although nobody has come."""
    scaling = rule(scheduled_minimum=(1, 4), schedule_step_ps=60 * S)
    late = steady(16, 20)
    load = Workload(late.arrival_ps + 70 * S, late.prompt_tokens, late.output_tokens)
    log = run(load, 4, scaling, seats=8)
    assert [(replica, ready) for replica, _, ready in log.starts] == [(1, 63 * S), (2, 63 * S), (3, 63 * S)]
    assert ramp_misses(log, GoodputSlo(ttft_ms=100)).missed_elsewhere == 0


@pytest.mark.parametrize(("metric", "target"), [("queue", 2), ("kv", 100_000), ("ttft", S // 2), ("tpot", STEP // 2)])
def test_every_metric_scales_up_under_pressure(metric: str, target: int) -> None:
    config, step_time = even_replica(STEP, seats=4, blocks=60)
    pool = Pool(config, step_time, replicas=4, autoscaling=rule(metric=metric, target=target))
    log = simulate_fleet(Fleet((pool,), router="least_requests"), steady(8, 30))
    assert len(log.starts) >= 1
    assert log.starts[0][1] % S == 0


def test_no_measurement_changes_nothing() -> None:
    """An idle fleet with a latency target keeps what it has."""
    log = run(Workload([60 * S], [10], [10]), 3, rule(metric="ttft", target=S, initial=2))
    assert log.starts == ()
    assert [replica.paid_ps for replica in log.replicas] == [log.end_ps, log.end_ps, 0]


def test_a_lost_replica_gives_its_requests_to_others() -> None:
    """At 55 ms replica 0 is lost in its sixth step: its request has five tokens and is computed again on replica 1."""
    load = Workload([0, 0], [10, 10], [20, 20])
    log = run(load, 2, None, outages=(Outage(55 * 10**9, 0, 100 * S),))
    assert log.replica.tolist() == [1, 1]
    assert log.failovers.tolist() == [1, 0]
    assert (log.outcome == FINISHED).all()
    # Replica 1 steps at 60 ms: prompt and five tokens again, the sixth token at 70 ms, the other 14 by 210 ms.
    assert log.finish_ps.tolist() == [210 * 10**9, 200 * 10**9]
    assert log.preempted_ps.tolist() == [5 * 10**9, 0]
    assert log.replicas[0].busy_ps == 55 * 10**9
    assert log.generated_tokens.tolist() == [20, 20]


def test_with_nobody_left_requests_wait_for_the_reload() -> None:
    log = run(Workload([0], [10], [20]), 1, None, outages=(Outage(55 * 10**9, 0, 3 * S),))
    assert int(log.finish_ps[0]) == 55 * 10**9 + 3 * S + 15 * STEP
    assert log.starts == ((0, 55 * 10**9, 55 * 10**9 + 3 * S),)


def test_notice_turns_new_requests_away_and_lets_old_ones_finish() -> None:
    outage = Outage(S, 0, 10 * S, notice_ps=S // 2)
    load = Workload([0, 6 * S // 10, 7 * S // 10], [10, 10, 10], [40, 10, 10])
    log = run(load, 2, None, outages=(outage,))
    assert log.replica.tolist() == [0, 1, 1]
    assert log.failovers.sum() == 0


def test_more_outages_miss_more() -> None:
    load = steady(6, 300)
    slo = GoodputSlo(e2e_ms=2000)
    misses = []
    for mean_s in (1e9, 100.0, 30.0):
        outages = draw_outages(3, mean_between_s=mean_s, reload_s=20.0, until_s=300.0, rng=np.random.default_rng(5))
        result = ramp_misses(run(load, 3, None, outages=outages), slo)
        misses.append(result.missed + result.missed_elsewhere)
    assert misses[0] == 0 < misses[1] < misses[2]


def test_outages_come_at_their_rate_and_not_while_reloading() -> None:
    outages = draw_outages(50, mean_between_s=90.0, reload_s=10.0, until_s=1e4, rng=np.random.default_rng(1))
    assert len(outages) == pytest.approx(50 * 1e4 / 100, rel=0.05)
    for number in range(50):
        times = [outage.at_ps for outage in outages if outage.replica == number]
        assert (np.diff(times) >= 10 * S).all()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"metric": "cpu"}, "unknown_metric"),
        ({"target": 0}, "too_small"),
        ({"interval_ps": 0}, "too_small"),
        ({"cold_start_ps": ()}, "out_of_range"),
        ({"cold_start_ps": (-1,)}, "too_small"),
        ({"tolerance_ppm": 2_000_000}, "too_large"),
        ({"scheduled_minimum": (-1,)}, "too_small"),
    ],
)
def test_bad_rules_are_refused(change: dict[str, object], code: str) -> None:
    with pytest.raises(SimulatorError) as error:
        rule(**change)
    assert error.value.code == code


def test_a_rule_cannot_ask_for_more_than_the_pool_has() -> None:
    config, step_time = even_replica(STEP)
    with pytest.raises(SimulatorError):
        Pool(config, step_time, replicas=2, autoscaling=rule(minimum=3))
    with pytest.raises(SimulatorError):
        Fleet((Pool(config, step_time),), outages=(Outage(0, 1, 0),))


@st.composite
def controlled(draw: st.DrawFn) -> tuple[Fleet, Workload]:
    """Small fleets with short cold starts, fast ticks and frequent losses."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    groups = draw(st.one_of(st.just((KvGroup(),)), kv_groups()))
    scheduler = draw(st.sampled_from(["vllm_v1", "vllm_v1", "vllm_v0", "tensorrt_llm", "sglang"]))
    whole = scheduler == "vllm_v0" and draw(st.booleans())
    overlap = scheduler != "vllm_v0" and draw(st.booleans())
    config, step_time = even_replica(
        STEP,
        scheduler=scheduler,
        enable_chunked_prefill=not whole,
        seats=draw(st.integers(1, 3)),
        blocks=draw(st.integers(6, 30)) * sum(group.pool_blocks for group in groups),
        enable_prefix_caching=draw(st.booleans()),
        max_num_batched_tokens=50_000 if whole else draw(st.sampled_from([100, 20])),
        speculation=None if overlap else draw(st.one_of(st.none(), speculations())),
        overlap_scheduling=overlap,
        kv_groups=groups,
    )
    alone, config = config, draw(gangs(config))
    config = replace(config, num_blocks=config.num_blocks * config.pipeline_stages)  # any request fits a lane
    token_ps = draw(st.sampled_from([0, STEP // 40])) * np.arange(step_time.tokens_ps.size)
    step_time = replace(step_time, tokens_ps=step_time.tokens_ps + token_ps)
    replicas = draw(st.integers(1, 3))
    scaling = None
    if draw(st.integers(0, 3)):
        scaling = rule(
            metric=draw(st.sampled_from(["queue", "concurrency", "kv", "ttft", "tpot"])),
            target=draw(st.sampled_from([1, 2, 200_000, STEP])),
            interval_ps=draw(st.sampled_from([10**9, 7 * STEP])),
            cold_start_ps=(draw(st.sampled_from([0, 5, 3 * STEP])), draw(st.sampled_from([0, STEP]))),
            initial=draw(st.integers(0, replicas)),
            minimum=draw(st.integers(0, replicas)),
            down_window_ps=draw(st.sampled_from([0, 14 * STEP])),
        )
    outages = tuple(
        Outage(
            int(rng.integers(0, 80)) * STEP // 2, int(rng.integers(0, replicas)), *rng.integers(0, 5 * STEP, 2).tolist()
        )
        for _ in range(0 if overlap else draw(st.integers(0, 5)))
    )
    count = draw(st.integers(1, 25))
    load = Workload(
        np.cumsum(rng.integers(0, 4 * STEP, count)), rng.integers(20, 60, count), rng.integers(1, 15, count),
        prefix_group=rng.integers(-1, 2, count), prefix_tokens=np.full(count, 20),
        concurrency=draw(st.one_of(st.none(), st.integers(1, 5))),
    )  # fmt: skip
    router = draw(st.sampled_from(["round_robin", "least_requests", "random", "kv_aware"]))
    pools = [Pool(config, step_time, replicas, autoscaling=scaling)]
    if draw(st.booleans()):
        pools.insert(draw(st.integers(0, 1)), Pool(draw(gangs(alone)), step_time))
    return Fleet(tuple(pools), router, outages=outages), load


@settings(max_examples=200, deadline=None)
@given(controlled(), st.floats(0.0, 2.0))
def test_the_engines_agree(run: tuple[Fleet, Workload], share: float) -> None:
    """To the end, and stopped on the way."""
    fleet, load = run
    fast, until_ps = simulate_fleet(fleet, load, rng=np.random.default_rng(1)), None
    if share < 1:
        until_ps = int(fast.end_ps * share)
        fast = simulate_fleet(fleet, load, rng=np.random.default_rng(1), until_ps=until_ps)
    slow = simulate_fleet(fleet, load, rng=np.random.default_rng(1), engine="reference", until_ps=until_ps)
    assert fast.differences(slow) == []
    inside = slow.arrival_ps <= slow.end_ps
    left_ps = np.where(slow.outcome == UNFINISHED, slow.end_ps, slow.finish_ps)
    assert slow.in_system_ps == int((left_ps - slow.arrival_ps)[inside].sum())


def _in_order(fleet: Fleet, order: Order) -> Fleet:
    """The fleet with this order wherever an engine can have it."""
    pools = []
    for pool in fleet.pools:
        can = order != "longest_prefix" or pool.config.enable_prefix_caching
        pools.append(replace(pool, config=replace(pool.config, order=order)) if can else pool)
    return replace(fleet, pools=tuple(pools))


@settings(max_examples=150, deadline=None)
@given(controlled(), st.data())
def test_the_engines_agree_whoever_is_let_in(run: tuple[Fleet, Workload], data: st.DataObject) -> None:
    fleet, load = run
    step_time = fleet.pools[0].step_time
    fleet, load = replace(fleet, admission=data.draw(admissions(step_time))), data.draw(owned(load, step_time))
    fleet = _in_order(fleet, data.draw(st.sampled_from(["fcfs", "priority", "fair", "longest_prefix"])))
    slow = simulate_fleet(fleet, load, rng=np.random.default_rng(1), engine="reference")
    assert simulate_fleet(fleet, load, rng=np.random.default_rng(1)).differences(slow) == []


@settings(max_examples=150, deadline=None)
@given(controlled())
def test_everybody_is_served_whatever_comes_and_goes(run: tuple[Fleet, Workload]) -> None:
    fleet, load = run
    log = simulate_fleet(fleet, load, rng=np.random.default_rng(1), engine="reference")
    assert (log.outcome == FINISHED).all()
    assert (log.generated_tokens == load.output_tokens).all()
    assert (log.arrival_ps <= log.admitted_ps).all()
    assert (log.first_token_ps <= log.finish_ps).all()
    assert log.seat_ps + log.waiting_ps == int((log.finish_ps - log.arrival_ps).sum())
    assert all(0 <= replica.paid_ps <= log.end_ps for replica in log.replicas)
    assert all(replica.busy_ps <= replica.paid_ps for replica in log.replicas)


def test_a_tick_at_the_instant_of_a_loss_counts_those_just_lost() -> None:
    """One on, lost at 2 s sharp with a request under way: the tick there sees it at the gate and keeps the replica."""
    scaling = rule(metric="concurrency", target=1, minimum=0)
    log = run(Workload([S // 2], [10], [300]), 1, scaling, outages=(Outage(2 * S, 0, S),))
    assert log.starts == ((0, 2 * S, 3 * S),)


@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_replica_that_has_just_come_on_stays_for_those_at_the_gate(engine: Engine) -> None:
    """It is on at the very instant of a tick that measures an empty KV pool: scaled to zero, it would serve nobody."""
    scaling = rule(metric="kv", target=1, minimum=0, initial=0, interval_ps=S, cold_start_ps=(S,))
    pool = Pool(*even_replica(10**10, seats=4), 1, autoscaling=scaling)
    log = simulate_fleet(Fleet((pool,)), Workload([0], [10], [3]), engine=engine, until_ps=100 * S)
    assert log.outcome.tolist() == [FINISHED]


@pytest.mark.parametrize("scheduler", ["sglang", "vllm_v1"])
@pytest.mark.parametrize("engine", ["fast", "reference"])
def test_a_replica_that_is_switched_off_computes_nothing_in_vain(engine: Engine, scheduler: Scheduler) -> None:
    """With overlap the step after the last token would, but the tick at that instant finds nobody and ends it."""
    scaling = rule(minimum=0, initial=0, interval_ps=STEP, cold_start_ps=(0,))
    config, step_time = even_replica(
        STEP,
        scheduler=scheduler,
        seats=1,
        blocks=9,
        max_num_batched_tokens=99,
        overlap_scheduling=True,
        max_new_tokens=9,
    )
    fleet = Fleet((Pool(config, step_time, 1, autoscaling=scaling),))
    log = simulate_fleet(fleet, Workload([3 * STEP], [40], [4]), engine=engine)
    assert (log.end_ps, log.busy_ps, log.steps) == (7 * STEP, 4 * STEP, 4)


@pytest.mark.parametrize("mean_s", [1e-300, 1e-9])
def test_more_outages_than_can_be_drawn_are_refused(mean_s: float) -> None:
    with pytest.raises(SimulatorError) as caught:
        draw_outages(1, mean_between_s=mean_s, reload_s=0.0, until_s=1e4, rng=np.random.default_rng(1))
    assert (caught.value.code, caught.value.field) == ("too_large", "mean_between_s")
