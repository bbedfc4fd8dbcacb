"""Small runs worked out by hand, on both engines."""

from typing import Any

import numpy as np
import pytest

from simulator import EngineConfig, EventLog, StepTime, Workload, simulate


@pytest.fixture(params=["fast", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(engine: str, config: EngineConfig, rows: list[tuple[int, int, int]], **step: int) -> EventLog:
    """Steps last base + token*T + seat*n + context*S + pair*P + seq*m."""
    times = StepTime(
        step.get("base", 0) + step.get("token", 0) * np.arange(config.max_num_batched_tokens + 1),
        step.get("seat", 0) * np.arange(config.max_num_seqs + 1),
        np.full(config.max_num_seqs + 1, step.get("context", 0)),
        step.get("pair", 0),
        step.get("seq", 0),
    )
    arrival, prompt, output = (np.array(column) for column in zip(*rows, strict=True))
    return simulate(config, times, Workload(arrival, prompt, output), engine=engine)  # type: ignore[arg-type]


def config(**changes: Any) -> EngineConfig:
    return EngineConfig(
        **(
            {"max_num_seqs": 4, "max_num_batched_tokens": 8, "num_blocks": 100, "max_model_len": 64, "block_size": 4}
            | changes
        )
    )


def test_a_long_prompt_is_chunked_and_its_first_token_comes_with_the_last_chunk(engine: str) -> None:
    log = run(engine, config(), [(5, 20, 3)], base=100, token=1)
    # Chunks of 8, 8 and 4 tokens: 108 + 108 + 104; then two decode steps of 101.
    assert log.first_token_ps.tolist() == [5 + 320]
    assert log.finish_ps.tolist() == [5 + 320 + 202]
    assert (log.steps, log.prefill_tokens, log.busy_ps) == (5, 20, 522)


def test_every_term_of_the_step_time_counts(engine: str) -> None:
    log = run(engine, config(), [(0, 10, 2)], context=1000, pair=10, seq=1, seat=100_000)
    # Chunk of 8 after 0: pairs 36; chunk of 2 after 8: context 8, pairs 2*8 + 3; then one decode over 10 tokens.
    assert log.first_token_ps.tolist() == [(360 + 1) + (8000 + 190 + 1)]
    assert log.finish_ps.tolist() == [8552 + 100_000 + 10_000]


def test_decodes_share_a_step_with_a_prompt(engine: str) -> None:
    log = run(engine, config(), [(0, 4, 4), (150, 9, 1)], base=100, token=1)
    # 0-104 prompt; 104-205 decode; 205: one decode + 7 of 9 prompt tokens = 108; 313: decode + 2 = 103, both end.
    assert log.first_token_ps.tolist() == [104, 416]
    assert log.finish_ps.tolist() == [416, 416]
    assert log.admitted_ps.tolist() == [0, 205]


def test_unchunked_prompts_wait_for_a_step_they_fit_into(engine: str) -> None:
    unchunked = config(enable_chunked_prefill=False, max_num_batched_tokens=64)
    log = run(engine, unchunked, [(0, 60, 3), (0, 10, 1)], base=100, token=1)
    # 60 of 64 tokens are spent; then the decode and the 10 tokens go together: 111.
    assert log.first_token_ps.tolist() == [160, 271]


def test_the_tail_is_preempted_recomputed_and_keeps_its_first_token(engine: str) -> None:
    # Blocks of 4, five of them: two prompts of 8 fill four; at 8 tokens each wants a fifth block.
    tight = config(num_blocks=5, max_num_batched_tokens=64)
    log = run(engine, tight, [(0, 8, 6), (0, 8, 6)], base=100)
    # Step 1: both prompts. Step 2: the first takes the last block, the second falls. Steps 2-6: the first alone.
    # Step 7: the second again, 8 + 1 tokens, then 4 more steps.
    assert log.preemptions.tolist() == [0, 1]
    assert log.first_token_ps.tolist() == [100, 100]
    assert log.finish_ps.tolist() == [600, 1100]
    assert log.preempted_ps.tolist() == [0, 500]
    assert (log.prefill_tokens, log.replicas[0].kv_peak_blocks) == (8 + 8 + 9, 4)


def test_the_whole_prompt_must_have_room_where_that_is_asked(engine: str) -> None:
    rows = [(0, 16, 4), (0, 16, 2)]
    eager = run(engine, config(num_blocks=7, reserve_full_isl=False, max_num_batched_tokens=24), rows, base=100)
    careful = run(engine, config(num_blocks=7, reserve_full_isl=True, max_num_batched_tokens=24), rows, base=100)
    assert eager.admitted_ps.tolist() == [0, 0]
    assert careful.admitted_ps.tolist() == [0, 400]
    assert careful.preemptions.sum() == 0


def test_a_watermark_is_left_free_but_never_blocks_an_empty_engine(engine: str) -> None:
    rows = [(0, 8, 2), (0, 4, 2)]
    log = run(engine, config(num_blocks=4, watermark_ratio=0.5, max_num_batched_tokens=64), rows, base=100)
    assert log.admitted_ps.tolist() == [0, 200]


def test_a_static_batch_lets_nobody_in_until_all_have_finished(engine: str) -> None:
    static = config(scheduler="static", max_num_seqs=2, max_num_batched_tokens=64)
    rows = [(0, 1, 2), (0, 1, 8), (0, 1, 3), (0, 1, 3)]
    log = run(engine, static, rows, base=1)
    assert log.finish_ps.tolist() == [2, 8, 11, 11]  # the lesson's worked example
    continuous = run(engine, config(max_num_seqs=2, max_num_batched_tokens=64), rows, base=1)
    assert continuous.finish_ps.tolist() == [2, 8, 5, 8]


def test_contiguous_reservation_holds_the_longest_length(engine: str) -> None:
    rows = [(0, 4, 4)] * 3
    paged = run(engine, config(num_blocks=32, max_num_batched_tokens=64), rows, base=100)
    reserved = run(engine, config(num_blocks=32, max_num_batched_tokens=64, kv_allocation="contiguous"), rows, base=100)
    assert paged.admitted_ps.tolist() == [0, 0, 0]
    assert reserved.admitted_ps.tolist() == [0, 0, 400]  # 64 tokens are 16 of 32 blocks
    assert reserved.kv_block_ps == 400 * 32 + 400 * 16


def test_a_closed_loop_sends_the_next_request_when_one_ends(engine: str) -> None:
    workload = Workload(np.zeros(4, np.int64), np.ones(4, np.int64), np.array([3, 1, 1, 1]), concurrency=2)
    times = StepTime(np.full(9, 100), np.zeros(5, np.int64), np.zeros(5, np.int64))
    log = simulate(config(), times, workload, engine=engine)  # type: ignore[arg-type]
    assert log.arrival_ps.tolist() == [0, 0, 100, 200]
    assert log.finish_ps.tolist() == [300, 100, 200, 300]


def test_a_prefix_is_computed_once_and_hit_in_whole_blocks(engine: str) -> None:
    caching = config(enable_prefix_caching=True, max_num_batched_tokens=64)
    group, shared = np.zeros(2, np.int64), np.full(2, 10)
    workload = Workload(np.array([0, 1000]), np.array([12, 12]), np.array([1, 1]), group, shared)
    times = StepTime(100 + np.arange(65), np.zeros(5, np.int64), np.zeros(5, np.int64))
    log = simulate(caching, times, workload, engine=engine)  # type: ignore[arg-type]
    assert log.cached_tokens.tolist() == [0, 8]  # two of 10 shared tokens stand in a block that is not all shared
    assert (log.finish_ps - log.arrival_ps).tolist() == [112, 104]


def test_a_hit_leaves_one_token_to_compute(engine: str) -> None:
    caching = config(enable_prefix_caching=True, max_num_batched_tokens=64)
    workload = Workload(
        np.array([0, 1000]), np.array([8, 8]), np.array([1, 1]), np.zeros(2, np.int64), np.array([8, 8])
    )
    times = StepTime(100 + np.arange(65), np.zeros(5, np.int64), np.zeros(5, np.int64))
    log = simulate(caching, times, workload, engine=engine)  # type: ignore[arg-type]
    assert log.cached_tokens.tolist() == [0, 4]


def test_a_resumed_request_finds_its_own_blocks_but_they_are_not_counted_as_hits(engine: str) -> None:
    tight = config(num_blocks=5, max_num_batched_tokens=64, enable_prefix_caching=True)
    log = run(engine, tight, [(0, 8, 3), (0, 8, 6)], base=100)
    # The second falls at its ninth token and finds one of its two blocks: the first request took the other.
    assert log.preemptions.tolist() == [0, 1]
    assert log.cached_tokens.tolist() == [0, 0]
    assert log.prefill_tokens < 8 + 8 + 9


def test_what_is_not_done_in_time_is_unfinished(engine: str) -> None:
    times = StepTime(np.full(9, 100), np.zeros(5, np.int64), np.zeros(5, np.int64))
    workload = Workload(np.array([0, 0, 5000]), np.array([2, 2, 2]), np.array([2, 9, 1]))
    log = simulate(config(), times, workload, engine=engine, until_ps=350)  # type: ignore[arg-type]
    assert log.outcome.tolist() == [0, 2, 2]
    assert log.generated_tokens.tolist() == [2, 4, 0]
    assert log.end_ps == 400
