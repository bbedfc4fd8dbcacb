"""Conversations whose history grows, and closed loops."""

from collections.abc import Callable

import numpy as np
import pytest

from simulator import EngineConfig, SimulatorError, Workload, linear_step_time, simulate
from simulator.steptime import PS_PER_S
from simulator.traffic import (
    closed_loop,
    conversations,
    exponential_think_times,
    generate,
    geometric_turns,
    independent_lengths,
    renewal_arrivals,
    steady_rate,
    uniform_tokens,
)
from tests.simulator.closed_loop import sent_ps

TEN_AND_FIVE = independent_lengths(lambda n, _: np.full(n, 10), lambda n, _: np.full(n, 5))
VARIED = independent_lengths(lambda n, r: uniform_tokens(1, 90, n, r), lambda n, r: uniform_tokens(1, 50, n, r))


def rng() -> np.random.Generator:
    return np.random.default_rng(9)


def turns(workload: Workload, session: int) -> Workload:
    return workload.take(np.flatnonzero(workload.column("session") == session))


def blocks(workload: Workload, number: int) -> list[int]:
    hashes = workload.block_hashes
    assert hashes is not None
    return hashes.ids[hashes.offsets[number] : hashes.offsets[number + 1]].tolist()


def test_a_conversation_by_hand() -> None:
    """100 of system prompt, 10 of text and 5 of answer a turn; 20 s of thought and 2 s for each token of the answer."""
    talk = conversations(
        renewal_arrivals(steady_rate(0.001)),
        lambda n, _: np.full(n, 4),
        TEN_AND_FIVE,
        lambda n, _: np.full(n, 20.0),
        max_model_len=1000,
        system_tokens=100,
        answer_token_s=2.0,
        block_tokens=20,
    )
    first = turns(generate(talk, rng(), 50), 0)
    assert first.prompt_tokens.tolist() == [110, 125, 140, 155]
    assert first.output_tokens.tolist() == [5, 5, 5, 5]
    assert np.diff(first.arrival_ps).tolist() == [30 * PS_PER_S] * 3
    assert [len(blocks(first, k)) for k in range(4)] == [6, 7, 8, 8]
    assert first.column("recorded_tokens").tolist() == [115, 130, 145, 160]
    for k in range(3):
        assert blocks(first, k + 1)[: len(blocks(first, k))] == blocks(first, k)


@pytest.mark.parametrize("variants", [1, 3])
def test_conversations_share_the_system_prompt_and_nothing_else(variants: int) -> None:
    talk = conversations(
        renewal_arrivals(steady_rate(1.0)),
        geometric_turns(4.0, 30),
        VARIED,
        exponential_think_times(10.0),
        max_model_len=600,
        system_tokens=150,
        system_prompts=variants,
        block_tokens=64,
    )
    workload = generate(talk, rng(), 3000)
    session = workload.column("session")
    owners: dict[int, set[int]] = {}
    for number in range(len(workload)):
        assert len(blocks(workload, number)) == -(-workload.column("recorded_tokens")[number] // 64)
        for place, block in enumerate(blocks(workload, number)):
            owners.setdefault(block, set()).add(-1 if place < 2 else int(session[number]))
    assert all(len(found) == 1 for found in owners.values())
    assert sum(found == {-1} for found in owners.values()) == 2 * variants


def test_turns_add_up_stay_in_order_and_fit_the_context() -> None:
    talk = conversations(
        renewal_arrivals(steady_rate(1.0)), geometric_turns(6.0, 30), VARIED, exponential_think_times(10.0),
        max_model_len=400, system_tokens=64,
    )  # fmt: skip
    workload = generate(talk, rng(), 20_000)
    assert (np.diff(workload.arrival_ps) >= 0).all()
    assert (workload.prompt_tokens + workload.output_tokens).max() <= 400
    longest = 0
    for session in range(300):
        own = turns(workload, session)
        new = own.prompt_tokens[1:] - own.prompt_tokens[:-1] - own.output_tokens[:-1]
        assert ((new >= 1) & (new <= 90)).all()
        assert 65 <= own.prompt_tokens[0] <= 154
        longest = max(longest, len(own))
    assert 3 < longest < 30


def test_turns_are_geometric_and_think_times_exponential() -> None:
    talk = conversations(
        renewal_arrivals(steady_rate(10.0)), geometric_turns(5.0, 1000), TEN_AND_FIVE, exponential_think_times(3.0),
        max_model_len=10**6,
    )  # fmt: skip
    workload = generate(talk, rng(), 100_000)
    first = np.bincount(workload.column("session"))[:15_000]
    assert first.mean() == pytest.approx(5.0, rel=0.03)
    assert (first == 1).mean() == pytest.approx(0.2, abs=0.02)
    order = np.argsort(workload.column("session"), kind="stable")
    same = np.diff(workload.column("session")[order]) == 0
    gaps_s = np.diff(workload.arrival_ps[order])[same] / PS_PER_S
    assert gaps_s.mean() == pytest.approx(3.0, rel=0.03)
    assert gaps_s.std() == pytest.approx(3.0, rel=0.04)


def test_a_first_turn_that_is_too_long_is_cut_and_the_only_one() -> None:
    long = independent_lengths(lambda n, _: np.full(n, 500), lambda n, _: np.full(n, 500))
    talk = conversations(
        renewal_arrivals(steady_rate(1.0)), lambda n, _: np.full(n, 3), long, exponential_think_times(1.0),
        max_model_len=300, system_tokens=100,
    )  # fmt: skip
    workload = generate(talk, rng(), 20)
    assert set(workload.prompt_tokens.tolist()) == {299}
    assert set(workload.output_tokens.tolist()) == {1}
    assert workload.column("session").tolist() == list(range(20))


def test_the_engine_finds_the_history() -> None:
    """At least the former prompt's full blocks, at most those of the answer too."""
    talk = conversations(
        renewal_arrivals(steady_rate(0.001)), lambda n, _: np.full(n, 6), VARIED, lambda n, _: np.full(n, 50.0),
        max_model_len=2000, system_tokens=64,
    )  # fmt: skip
    workload = turns(generate(talk, rng(), 60), 0)
    config = EngineConfig(
        max_num_seqs=4, max_num_batched_tokens=4096, num_blocks=500, max_model_len=2048, enable_prefix_caching=True
    )
    log = simulate(config, linear_step_time(config, step_ps=1000), workload, engine="reference")
    former = workload.prompt_tokens[:-1]
    answered = former + workload.output_tokens[:-1]
    assert log.cached_tokens[0] == 0
    assert (log.cached_tokens[1:] >= former // 16 * 16).all()
    assert (log.cached_tokens[1:] <= answered // 16 * 16).all()


def test_one_user_of_a_closed_loop_thinks_between_answer_and_question() -> None:
    loop = closed_loop(np.full(5, 8), np.full(5, 3), users=1, think_s=2.0)
    config = EngineConfig(max_num_seqs=4, max_num_batched_tokens=64, num_blocks=50, max_model_len=64)
    log = simulate(config, linear_step_time(config, step_ps=1000), loop, engine="reference")
    assert log.arrival_ps[0] == 2 * PS_PER_S
    assert (log.arrival_ps[1:] - log.finish_ps[:-1]).tolist() == [2 * PS_PER_S] * 4


def test_users_begin_spread_over_a_think_time() -> None:
    loop = closed_loop(np.ones(6, int), np.ones(6, int), users=4, think_s=8.0)
    assert (loop.arrival_ps / PS_PER_S).tolist() == [2, 4, 6, 8, 8, 8]
    assert loop.concurrency == 4
    at_once = closed_loop(np.ones(6, int), np.ones(6, int), users=4)
    assert set(at_once.arrival_ps.tolist()) == {0}


def test_users_who_think_obey_the_interactive_response_time_law() -> None:
    """Throughput = users / (response time + think time), also where think times differ and users are many."""
    loop = closed_loop(np.full(4000, 4), np.full(4000, 2), users=40, think_s=1.0, rng=rng())
    config = EngineConfig(max_num_seqs=40, max_num_batched_tokens=256, num_blocks=500, max_model_len=64)
    log = simulate(config, linear_step_time(config, step_ps=10**10), loop, engine="reference")
    assert log.arrival_ps.tolist() == sent_ps(loop, log.finish_ps).tolist()
    response_s = (log.finish_ps - log.arrival_ps).mean() / PS_PER_S
    rate_rps = 3900 / ((log.finish_ps[3999] - log.finish_ps[99]) / PS_PER_S)
    assert rate_rps == pytest.approx(40 / (response_s + 1.0), rel=0.05)


TALK = {
    "starts": renewal_arrivals(steady_rate(1.0)),
    "turns": geometric_turns(2.0, 5),
    "lengths": VARIED,
    "think_times": exponential_think_times(1.0),
}


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: geometric_turns(0.5, 5), "too_small"),
        (lambda: geometric_turns(2.0, 0), "too_small"),
        (lambda: exponential_think_times(-1.0), "too_small"),
        (lambda: conversations(**TALK, max_model_len=64, system_tokens=63), "prefix_too_long"),
        (lambda: conversations(**TALK, max_model_len=64, block_tokens=0), "too_small"),
        (lambda: conversations(**TALK, max_model_len=64, system_prompts=0), "too_small"),
        (lambda: conversations(**TALK, max_model_len=64, answer_token_s=-1.0), "too_small"),
        (lambda: closed_loop(np.ones(2, int), np.ones(2, int), users=0), "too_small"),
        (lambda: closed_loop(np.ones(2, int), np.ones(2, int), users=1, think_s=-1.0), "too_small"),
        (lambda: closed_loop(np.ones(0, int), np.ones(0, int), users=1), "empty"),
    ],
)
def test_bad_conversations_are_refused_with_a_code(make: Callable[[], object], code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        make()
    assert caught.value.code == code
