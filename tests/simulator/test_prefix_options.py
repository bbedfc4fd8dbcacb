"""Options of the prefix cache, and where the tokens went that prompts share."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from simulator import (
    BlockHashes,
    EngineConfig,
    EventLog,
    KvGroup,
    SimulatorError,
    StepTime,
    Workload,
    prefix_reuse,
    shareable_tokens,
    shared_tokens,
    simulate,
)
from simulator.traffic import with_front_token
from tests.simulator.random_runs import runs


@pytest.fixture(params=["fast", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def config(**changes: Any) -> EngineConfig:
    base = {"max_num_seqs": 4, "max_num_batched_tokens": 64, "num_blocks": 100, "max_model_len": 64, "block_size": 4}
    return EngineConfig(**(base | {"enable_prefix_caching": True} | changes))


def run(engine: str, config: EngineConfig, workload: Workload) -> EventLog:
    """Every step takes 100 ps."""
    zeros = np.zeros(config.max_num_seqs + 1, np.int64)
    times = StepTime(np.full(config.max_num_batched_tokens + 1, 100), zeros, zeros)
    return simulate(config, times, workload, engine=engine)  # type: ignore[arg-type]


def spaced(prompt: list[int], gap_ps: int = 10_000, output: int = 1, **content: Any) -> Workload:
    count = len(prompt)
    columns = {name: v if isinstance(v, BlockHashes) else np.array(v) for name, v in content.items()}
    return Workload(np.arange(count) * gap_ps, np.array(prompt), np.full(count, output), **columns)


def groups(shared: list[int], **more: Any) -> dict[str, Any]:
    return {"prefix_group": [0] * len(shared), "prefix_tokens": shared} | more


def test_a_hit_may_end_inside_a_block_where_the_engine_copies_its_beginning(engine: str) -> None:
    workload = spaced([20, 20, 20], **groups([10, 11, 7]))
    assert run(engine, config(), workload).cached_tokens.tolist() == [0, 8, 4]
    # The first leaves two tokens of block 2; the third's last three are the beginning of block 1, which is whole.
    assert run(engine, config(partial_block_hits=True), workload).cached_tokens.tolist() == [0, 10, 7]


def test_the_copy_stands_in_a_block_of_its_own(engine: str) -> None:
    workload = Workload(
        np.array([0, 100]), np.array([10, 10]), np.array([4, 2]), *(np.array(v) for v in ([0, 0], [10, 10]))
    )
    log = run(engine, config(partial_block_hits=True), workload)
    assert log.cached_tokens.tolist() == [0, 9]  # one token is left to compute
    # Until 100 three blocks. Then the first has 11 tokens; the second shares two of its blocks and copies the third.
    # From 200 on both have 12 and 11 tokens, and then the first alone 13, in four blocks.
    assert log.kv_block_ps == 100 * (3 + 4 + 4 + 4)


def test_the_longest_beginning_is_kept_and_gone_when_its_block_is_taken(engine: str) -> None:
    small = config(num_blocks=6, partial_block_hits=True)
    shared = {"prefix_group": [0, 0, 0, 1, 0], "prefix_tokens": [7, 6, 7, 24, 7]}
    log = run(engine, small, spaced([8, 8, 8, 24, 8], **shared))
    assert log.cached_tokens.tolist() == [0, 6, 7, 0, 0]


def test_the_beginning_of_recorded_blocks_counts_by_the_token(engine: str) -> None:
    hashes = BlockHashes(np.array([0, 2, 4, 6]), np.array([0, 1, 0, 1, 0, 2]), 16)
    workload = spaced([21, 23, 23], block_hashes=hashes)
    assert run(engine, config(), workload).cached_tokens.tolist() == [0, 20, 16]
    assert run(engine, config(partial_block_hits=True), workload).cached_tokens.tolist() == [0, 21, 16]


def test_one_token_blocks_are_a_radix_tree(engine: str) -> None:
    workload = spaced([20, 20, 20, 17], **groups([10, 11, 7, 17]))
    partial = run(engine, config(partial_block_hits=True), workload)
    assert (
        partial.cached_tokens.tolist()
        == run(engine, config(block_size=1, num_blocks=400), workload).cached_tokens.tolist()
    )


def test_tenants_do_not_find_each_others_blocks_where_they_are_isolated(engine: str) -> None:
    workload = spaced([12, 12, 12], **groups([8, 8, 8], tenant=[0, 1, 0]))
    assert run(engine, config(), workload).cached_tokens.tolist() == [0, 8, 8]
    assert run(engine, config(isolate_tenants=True), workload).cached_tokens.tolist() == [0, 0, 8]


@pytest.mark.parametrize(
    "changes",
    [
        {"partial_block_hits": True, "enable_prefix_caching": False},
        {"isolate_tenants": True, "enable_prefix_caching": False},
        {"partial_block_hits": True, "kv_groups": (KvGroup(8),)},
    ],
)
def test_options_that_make_no_sense_together_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(SimulatorError) as caught:
        config(**changes)
    assert caught.value.code == "incompatible"


def test_tokens_that_an_earlier_prompt_had() -> None:
    workload = spaced([20] * 5, prefix_group=[0, 1, 0, -1, 0], prefix_tokens=[5, 9, 8, 0, 7])
    assert shareable_tokens(workload).tolist() == [0, 0, 5, 0, 7]
    by_tenant = spaced([20] * 3, **groups([5, 6, 7], tenant=[0, 1, 0]))
    assert shareable_tokens(by_tenant, isolate_tenants=True).tolist() == [0, 0, 5]
    assert shareable_tokens(spaced([20] * 3)).tolist() == [0, 0, 0]


def test_recorded_blocks_that_an_earlier_prompt_had() -> None:
    # Two rows of the Mooncake tool-and-agent trace (github.com/kvcache-ai/Mooncake, Apache-2.0): one block in common.
    hashes = BlockHashes(np.array([0, 14, 29]), np.array([*range(14), 0, *range(14, 28)]), 512)
    assert shareable_tokens(spaced([6758, 7322], block_hashes=hashes)).tolist() == [0, 512]
    # A last block that is partly filled is shared as far as both go; an id behind a new one counts for nothing.
    hashes = BlockHashes(np.array([0, 2, 4, 7]), np.array([0, 1, 0, 1, 0, 5, 1]), 16)
    assert shareable_tokens(spaced([21, 30, 40], block_hashes=hashes)).tolist() == [0, 21, 16]


def test_a_token_of_its_own_in_front_kills_every_hit_and_the_result_says_so(engine: str) -> None:
    workload = with_front_token(spaced([100] * 50, gap_ps=100, **groups([80] * 50)))
    roomy = config(num_blocks=1000, max_num_batched_tokens=256, max_model_len=128)
    log = run(engine, roomy, workload)
    reuse = prefix_reuse(workload, log, 4)
    assert log.cached_tokens.sum() == 0
    assert reuse.shared_ratio == pytest.approx(80 * 49 / (101 * 50))
    assert (reuse.cached_ratio, reuse.front_differs_tokens) == (0.0, 80 * 49)
    assert shared_tokens(workload).sum() == 80 * 49


def test_why_hits_are_missed(engine: str) -> None:
    shared = {"prefix_group": [0, 0, 1, 0, 0], "prefix_tokens": [10, 10, 24, 10, 10]}
    arrival = np.array([0, 0, 1000, 2000, 3000])
    columns = {name: np.array(values) for name, values in shared.items()}
    workload = Workload(arrival, np.array([12, 12, 24, 12, 12]), np.ones(5, np.int64), **columns)
    log = run(engine, config(num_blocks=6), workload)
    assert log.cached_tokens.tolist() == [0, 0, 0, 0, 8]
    reuse = prefix_reuse(workload, log, 4)
    # The second came with the first; the third evicted what the fourth could have; two of ten tokens fill no block.
    assert reuse.shared_tokens == 3 * 10
    assert (reuse.not_computed_tokens, reuse.evicted_tokens, reuse.cached_tokens) == (8, 8, 8)
    assert (reuse.not_whole_tokens, reuse.front_differs_tokens) == (3 * 2, 0)


@settings(max_examples=150, deadline=None)
@given(runs(caching=True))
def test_shared_tokens_are_all_accounted_for(run: tuple[EngineConfig, StepTime, Workload]) -> None:
    config, step_time, workload = run
    log = simulate(config, step_time, workload, rng=np.random.default_rng(1), engine="reference")
    isolated = config.isolate_tenants
    reuse = prefix_reuse(workload, log, config.block_size, isolate_tenants=isolated, partial=config.partial_block_hits)
    missed = reuse.front_differs_tokens + reuse.not_whole_tokens + reuse.not_computed_tokens + reuse.evicted_tokens
    assert reuse.shared_tokens == reuse.cached_tokens + missed
    if workload.concurrency is None and config.scheduler == "vllm_v1" and config.order == "fcfs":
        # In order of arrival nobody finds more than requests before it had.
        assert (log.cached_tokens <= shareable_tokens(workload, isolate_tenants=isolated)).all()


def test_a_long_prefix_is_computed_once_whatever_the_blocks(engine: str) -> None:
    """With room for all, the cache computes what the prompts do not share, and what ends inside a block."""
    rng = np.random.default_rng(3)
    shared = rng.integers(0, 40, 60)
    workload = spaced([50] * 60, **groups(shared.tolist()))
    found = run(engine, config(num_blocks=2000, partial_block_hits=True), workload).cached_tokens
    assert found.tolist() == shareable_tokens(workload).tolist()
    whole = run(engine, config(num_blocks=2000), workload).cached_tokens
    assert whole.tolist() == [tokens // 4 * 4 for tokens in shareable_tokens(workload).tolist()]


def turns(recorded: list[int] | None) -> Workload:
    """Two turns: 10 tokens and 7 of answer, of which 6 are computed; then these 17 and 5 more. Blocks of 4 tokens."""
    hashes = BlockHashes(np.array([0, 5, 11]), np.array([*range(5), *range(6)]), 4)
    told = None if recorded is None else np.array(recorded)
    arrival, prompt, output = (np.array(column) for column in ([0, 5000], [10, 22], [7, 2]))
    return Workload(arrival, prompt, output, block_hashes=hashes, recorded_tokens=told)


def test_a_next_turn_finds_the_blocks_of_the_answer_where_its_content_is_told(engine: str) -> None:
    assert run(engine, config(), turns(None)).cached_tokens.tolist() == [0, 8]
    told = turns([17, 24])
    log = run(engine, config(), told)
    assert log.cached_tokens.tolist() == [0, 16]
    reuse = prefix_reuse(told, log, 4)
    assert (reuse.shared_tokens, reuse.cached_tokens, reuse.not_whole_tokens) == (17, 16, 1)


def test_an_answer_can_be_found_before_it_is_finished(engine: str) -> None:
    """A copy of the conversation that comes while the answer is under way finds what is computed of it."""
    told = replace(turns([17, 24]), arrival_ps=np.array([0, 350]))
    log = run(engine, config(), told)
    assert log.finish_ps[0] > log.admitted_ps[1]
    assert log.cached_tokens.tolist() == [0, 12]  # after the step at 300, 13 tokens are computed


def test_no_more_can_be_told_than_there_is() -> None:
    with pytest.raises(SimulatorError) as caught:
        turns([18, 24])
    assert (caught.value.code, caught.value.field) == ("prefix_too_long", "recorded_tokens")
