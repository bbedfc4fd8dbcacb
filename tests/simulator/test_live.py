"""Requests told live fare exactly as in a run whose arrivals are known, and clients may leave."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import (
    Admission,
    EngineConfig,
    Fleet,
    Pool,
    SimulatorError,
    Speculation,
    StepTime,
    Workload,
    linear_step_time,
    simulate_fleet,
)
from simulator.live import Emitted, Ended, LiveFleet
from simulator.records import FINISHED, NEVER, REJECTED, TIMED_OUT, UNSERVABLE

MS = 10**9
CONFIG = EngineConfig(
    max_num_seqs=6, max_num_batched_tokens=64, num_blocks=30, max_model_len=200, block_size=8,
    enable_prefix_caching=True,
)  # fmt: skip


def step_time(config: EngineConfig) -> StepTime:
    return linear_step_time(
        config, step_ps=5 * MS, decode_seq_ps=MS // 7, prefill_token_ps=MS // 11, context_token_ps=999
    )


def fleet_of(config: EngineConfig, replicas: int = 1, **fields: object) -> Fleet:
    return Fleet((Pool(config, step_time(config), replicas),), **fields)  # type: ignore[arg-type]


def drive(live: LiveFleet, workload: Workload, stride_ps: int) -> dict[int, list[Emitted | Ended]]:
    """Tells each request when it comes, and advances in strides that know nothing of the instants."""
    told: dict[int, list[Emitted | Ended]] = {number: [] for number in range(len(workload))}
    now_ps, next_request = 0, 0
    groups, shared = workload.column("prefix_group"), workload.column("prefix_tokens")
    while next_request < len(workload) or live.next_ps() is not None:
        to_ps = now_ps + stride_ps
        while next_request < len(workload) and workload.arrival_ps[next_request] <= to_ps:
            place = next_request
            keys = [int(groups[place]) * 1000 + block for block in range(int(shared[place]) // CONFIG.block_size)]
            prompt, output = int(workload.prompt_tokens[place]), int(workload.output_tokens[place])
            assert live.arrive(int(workload.arrival_ps[place]), prompt, output, keys) == place
            next_request += 1
        for event in live.advance(to_ps):
            assert now_ps < event.at_ps <= to_ps or event.at_ps == 0
            told[event.number].append(event)
        now_ps = to_ps
    return told


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    count = draw(st.integers(1, 25))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    prompt, shared = rng.integers(1, 180, count), rng.integers(0, 3, count) * 24
    return Workload(
        arrival_ps=np.cumsum(rng.integers(0, draw(st.sampled_from((1, 8, 60))) * MS, count)),
        prompt_tokens=np.maximum(prompt, shared),
        output_tokens=rng.integers(1, 40, count),
        prefix_group=rng.integers(0, 2, count),
        prefix_tokens=shared,
    )


@pytest.mark.parametrize(
    "fleet",
    [
        pytest.param(fleet_of(CONFIG), id="vllm"),
        pytest.param(fleet_of(replace(CONFIG, overlap_scheduling=True), 2), id="overlap"),
        pytest.param(fleet_of(replace(CONFIG, scheduler="sglang"), 2, router="least_requests"), id="sglang"),
        pytest.param(fleet_of(CONFIG, 2, router="kv_aware", admission=Admission(max_waiting=2)), id="limits"),
        pytest.param(
            fleet_of(replace(CONFIG, speculation=Speculation(draft_tokens=2, acceptance_ratio=0.6))), id="drafts"
        ),
    ],
)
@settings(max_examples=4, deadline=None)
@given(workload=workloads(), stride_ps=st.sampled_from((MS // 3, 7 * MS, 500 * MS)))
def test_live_equals_known(fleet: Fleet, workload: Workload, stride_ps: int) -> None:
    log = simulate_fleet(fleet, workload, rng=np.random.default_rng(1), engine="reference")
    told = drive(LiveFleet(fleet, rng=np.random.default_rng(1)), workload, stride_ps)
    for number, events in told.items():
        end = events[-1]
        assert isinstance(end, Ended)
        assert (end.at_ps, end.outcome, end.reason) == (
            log.finish_ps[number],
            log.outcome[number],
            log.reason_of(number),
        )
        assert (end.cached_tokens, end.preemptions) == (log.cached_tokens[number], log.preemptions[number])
        emitted = [event for event in events if isinstance(event, Emitted)]
        assert sum(event.tokens for event in emitted) == log.generated_tokens[number]
        assert (emitted[0].at_ps if emitted else NEVER) == log.first_token_ps[number]


def test_what_is_told_later_changes_nothing_told_before() -> None:
    alone, disturbed = LiveFleet(fleet_of(CONFIG)), LiveFleet(fleet_of(CONFIG))
    for live in (alone, disturbed):
        live.arrive(0, 100, 20)
    assert alone.advance(40 * MS) == disturbed.advance(40 * MS)
    disturbed.arrive(40 * MS + 1, 150, 20)
    assert [e for e in alone.advance(10**12) if e.at_ps < 45 * MS] == [
        e for e in disturbed.advance(10**12) if e.at_ps < 45 * MS
    ]


def test_a_client_that_leaves_gives_back_seat_and_blocks() -> None:
    live = LiveFleet(fleet_of(replace(CONFIG, max_num_seqs=1)))
    live.arrive(0, 60, 100)
    live.arrive(0, 60, 2)
    live.advance(20 * MS)
    assert (live.state().running, live.state().waiting) == (1, 1)
    live.leave(0, 21 * MS)
    ends = [event for event in live.advance(10**12) if isinstance(event, Ended)]
    assert [(end.number, end.outcome) for end in ends] == [(0, TIMED_OUT), (1, FINISHED)]
    assert 21 * MS <= ends[0].at_ps <= 30 * MS, "at the end of the step under way"
    assert live.state().kv_ratio == 0.0
    assert live.next_ps() is None
    live.leave(0, 10**13)  # who has ended may leave


def test_a_waiting_client_may_leave() -> None:
    live = LiveFleet(fleet_of(replace(CONFIG, max_num_seqs=1)))
    for _ in range(3):
        live.arrive(0, 10, 10)
    live.advance(MS)
    live.leave(1, 2 * MS)
    ends = [event for event in live.advance(10**12) if isinstance(event, Ended)]
    assert {end.number: end.outcome for end in ends} == {0: FINISHED, 1: TIMED_OUT, 2: FINISHED}


def test_refusals_are_ends() -> None:
    live = LiveFleet(fleet_of(replace(CONFIG, max_num_seqs=1), admission=Admission(max_waiting=1)))
    live.arrive(0, 150, 100)
    for _ in range(3):
        live.arrive(1, 10, 10)
    ends = [event for event in live.advance(MS) if isinstance(event, Ended)]
    assert [(end.number, end.outcome) for end in ends] == [(0, UNSERVABLE), (2, REJECTED), (3, REJECTED)]
    assert "max_model_len" in ends[0].reason
    assert "waiting line was full" in ends[-1].reason


def test_nothing_is_kept_of_who_has_ended() -> None:
    live = LiveFleet(fleet_of(CONFIG))
    for turn in range(50):
        live.arrive(turn * 10**12, 100, 5)
        live.advance(turn * 10**12 + 10**11)
    assert not live._arrivals.here
    assert not live._contents[0]._contents  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("fleet", "field"),
    [
        (fleet_of(CONFIG, 2, router="random"), "router"),
        (fleet_of(replace(CONFIG, partial_block_hits=True)), "partial_block_hits"),
        (fleet_of(replace(CONFIG, speculation=Speculation(draft_tokens=1, acceptance_ratio=0.5))), "rng"),
    ],
    ids=["draws", "partial", "drafts"],
)
def test_fleets_that_cannot_be_driven(fleet: Fleet, field: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        LiveFleet(fleet)
    assert caught.value.field == field


def test_time_does_not_go_back() -> None:
    live = LiveFleet(fleet_of(CONFIG))
    live.advance(5 * MS)
    with pytest.raises(SimulatorError, match="at_ps"):
        live.arrive(5 * MS, 10, 10)
