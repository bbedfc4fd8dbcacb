"""Speculative decoding: drafts by hand, in expectation, and what they do to latency and throughput."""

from typing import Any

import numpy as np
import pytest

from simulator import (
    EngineConfig,
    EventLog,
    SimulatorError,
    Speculation,
    StepTime,
    Summary,
    Workload,
    simulate,
    summarise,
)
from simulator.speculation import draw
from simulator.steptime import PS_PER_MS


@pytest.fixture(params=["reference", "fast"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def config(**changes: Any) -> EngineConfig:
    return EngineConfig(
        **(
            {"max_num_seqs": 4, "max_num_batched_tokens": 32, "num_blocks": 100, "max_model_len": 64, "block_size": 4}
            | changes
        )
    )


def drafts(count: int, ratio: float | tuple[float, ...], lookahead: bool = False) -> Speculation:
    return Speculation(draft_tokens=count, acceptance_ratio=ratio, lookahead=lookahead)


def run(
    engine: str, config: EngineConfig, rows: list[tuple[int, int, int]], *, token: int = 0, seed: int = 1
) -> EventLog:
    """Steps last 100 + token*T + 10 for each sequence that is drafted for."""
    seats = np.arange(config.max_num_seqs + 1)
    times = StepTime(
        100 + token * np.arange(config.max_num_batched_tokens + 1), 0 * seats, 0 * seats, draft_ps=10 * seats
    )
    arrival, prompt, output = (np.array(column) for column in zip(*rows, strict=True))
    workload = Workload(arrival, prompt, output)
    return simulate(config, times, workload, rng=np.random.default_rng(seed), engine=engine)  # type: ignore[arg-type]


def test_kept_drafts_come_out_together_and_none_beyond_the_output(engine: str) -> None:
    log = run(engine, config(speculation=drafts(3, 1.0)), [(0, 8, 10)], token=1)
    # The prompt: 100 + 8, nothing drafted. Then 4 + 4 + 1 tokens, each step verifying 4 of them: 100 + 4 + 10.
    assert log.first_token_ps.tolist() == [108]
    assert log.finish_ps.tolist() == [108 + 3 * 114]
    assert log.generated_tokens.tolist() == [10]
    assert (log.steps, int(log.itl_count.sum())) == (4, 3)  # three gaps between four emissions of ten tokens
    assert log.series.decode_tokens.sum() == 9


def test_drafts_that_are_never_kept_cost_their_time(engine: str) -> None:
    log = run(engine, config(speculation=drafts(3, 0.0)), [(0, 8, 10)], token=1)
    assert log.finish_ps.tolist() == [108 + 9 * 114]


def test_a_ratio_per_place(engine: str) -> None:
    # The second place is never kept: two tokens a step.
    log = run(engine, config(speculation=drafts(3, (1.0, 0.0, 1.0))), [(0, 8, 11)])
    assert log.finish_ps.tolist() == [100 + 5 * 110]


def test_the_last_in_line_gets_the_drafts_that_the_budget_leaves(engine: str) -> None:
    tight = config(speculation=drafts(3, 1.0), max_num_batched_tokens=6, enable_chunked_prefill=True)
    log = run(engine, tight, [(0, 3, 9), (0, 3, 9)])
    # 100: both prompts. Then 4 tokens for the first and 2 for the second, twice; the first has made 9, the second 5.
    assert log.finish_ps.tolist() == [100 + 2 * 120, 100 + 2 * 120 + 110]


def test_no_draft_goes_beyond_the_longest_length(engine: str) -> None:
    short = config(speculation=drafts(3, 1.0), max_model_len=12)
    log = run(engine, short, [(0, 8, 4)], token=1)
    # 8 computed; 12 - 1 - 8 leaves 3 tokens to verify, which are all that is asked for.
    assert log.finish_ps.tolist() == [108 + 113]


@pytest.mark.parametrize(("lookahead", "blocks"), [(False, [2, 3, 4, 5]), (True, [2, 4, 5, 6])])
def test_places_for_drafts_and_for_looking_ahead_are_taken_and_kept(
    engine: str, lookahead: bool, blocks: list[int]
) -> None:
    log = run(engine, config(speculation=drafts(3, 1.0, lookahead)), [(0, 8, 13)])
    # Admission takes the prompt's 8 places; then 8, 12 and 16 are computed, and each step takes 4 more, or 4 + 3.
    assert log.kv_block_ps == 100 * blocks[0] + 110 * sum(blocks[1:])


def test_blocks_of_rejected_drafts_are_used_by_the_next_tokens(engine: str) -> None:
    log = run(engine, config(speculation=drafts(3, 0.0)), [(0, 8, 5)])
    # 8 to 11 computed before the four steps: places for 12, 13, 14 and 15 tokens.
    assert log.kv_block_ps == 100 * 2 + 110 * (3 + 4 + 4 + 4)
    # What stands there when a step has ended is 8, then 9 to 12 tokens: rejected ones are waste.
    assert log.kv_token_ps == 100 * 8 + 110 * (9 + 10 + 11 + 12)


def test_a_preempted_request_is_computed_again_without_drafts(engine: str) -> None:
    tight = config(num_blocks=5, speculation=drafts(1, 1.0))
    log = run(engine, tight, [(0, 8, 7), (0, 8, 7)])
    # The first takes the fifth block for tokens 9 and 10, the second falls; alone it computes 8 + 1 and makes the
    # second of its tokens, then 2, 2 and 1.
    assert log.preemptions.tolist() == [0, 1]
    assert log.finish_ps.tolist() == [430, 430 + 100 + 3 * 110]
    assert log.prefill_tokens == 8 + 8 + 9


def test_the_gap_of_one_who_was_left_out_and_then_preempted_begins_with_its_last_token(engine: str) -> None:
    tight = config(num_blocks=3, max_num_batched_tokens=4, speculation=drafts(3, 1.0))
    log = run(engine, tight, [(0, 2, 8), (0, 2, 2)])
    # 100: both prompts. Then the first takes the whole budget and the second block, then the third, and is done with 8;
    # the second got nothing, fell, and computes 2 + 1 tokens from 320 on.
    assert log.preemptions.tolist() == [0, 1]
    assert log.finish_ps.tolist() == [320, 420]
    gaps_ps = np.sort(np.repeat(log.itl_upper_ps, log.itl_count))
    np.testing.assert_allclose(gaps_ps, [110, 110, 420 - 100], rtol=0.005)


def test_a_request_without_room_for_its_drafts_is_unservable(engine: str) -> None:
    small = config(num_blocks=3)
    assert run(engine, small, [(0, 8, 5)]).outcome.tolist() == [0]
    drafting = config(num_blocks=3, speculation=drafts(1, 0.5))
    assert run(engine, drafting, [(0, 8, 5)]).reason_of(0) == "the request alone needs more KV blocks than the pool has"


@pytest.mark.parametrize(("count", "ratio"), [(1, 0.7), (4, 0.8), (8, 0.6)])
def test_tokens_per_step_are_as_expected(engine: str, count: int, ratio: float) -> None:
    """Leviathan et al. (2023), equation 1: (1 - a^(k + 1)) / (1 - a)."""
    speculation = drafts(count, ratio)
    expected = (1 - ratio ** (count + 1)) / (1 - ratio)
    assert speculation.tokens_per_step == pytest.approx(expected)
    rows = [(0, 4, 2000)] * 8
    many = config(
        speculation=speculation, max_num_seqs=8, max_model_len=4096, num_blocks=8192, max_num_batched_tokens=128
    )
    log = run(engine, many, rows)
    emissions = int(log.itl_count.sum())
    tokens = int((log.output_tokens - 1).sum())
    # Of one step's tokens the deviation is at most k / 2; 8 requests end in a step that is cut short.
    assert tokens / emissions == pytest.approx(expected, abs=4 * count / 2 / np.sqrt(emissions) + 8 * count / emissions)


def test_draws_depend_on_request_and_token_and_not_on_order(engine: str) -> None:
    speculating = config(speculation=drafts(4, 0.7))
    rows = [(0, 8, 40), (0, 8, 40), (0, 8, 40)]
    together = run(engine, speculating, rows)
    apart = run(engine, speculating, [(0, 8, 40), (10**6, 8, 40), (2 * 10**6, 8, 40)])
    steps = [int((apart.finish_ps - apart.first_token_ps)[i]) // 110 for i in range(3)]
    assert len(set(steps)) > 1
    assert np.argsort(together.finish_ps, kind="stable").tolist() == np.argsort(steps, kind="stable").tolist()
    assert run(engine, speculating, rows).differences(together) == []
    assert run(engine, speculating, rows, seed=2).differences(together) != []


def test_draws_are_even() -> None:
    bits = np.array([draw(99, request, token) for request in range(100) for token in range(200)])
    counts = np.histogram(bits, 16, (0, 2**32))[0]
    # 15 degrees of freedom: chi-square beyond 45 once in 10,000 cases.
    assert ((counts - bits.size / 16) ** 2 / (bits.size / 16)).sum() < 45
    assert abs(np.corrcoef(bits[:-1], bits[1:])[0, 1]) < 4 / np.sqrt(bits.size)


def _decode(engine: str, speculation: Speculation | None, token_ms: float, draft_ms: float) -> Summary:
    """32 chats at once. A step takes 20 ms, `token_ms` for each token and `draft_ms` for drafting."""
    many = config(
        max_num_seqs=32, max_num_batched_tokens=2048, num_blocks=10_000, max_model_len=2048, speculation=speculation
    )
    seats = np.zeros(33, np.int64)
    tokens_ps = ((20 + token_ms * np.arange(2049)) * PS_PER_MS).astype(np.int64)
    times = StepTime(tokens_ps, seats, seats, draft_ps=np.full(33, int(draft_ms * PS_PER_MS)))
    workload = Workload(np.zeros(32, np.int64), np.full(32, 16), np.full(32, 200))
    log = simulate(many, times, workload, rng=np.random.default_rng(3), engine=engine)  # type: ignore[arg-type]
    return summarise(log)


def test_drafting_makes_streams_choppier_and_faster_where_memory_bounds_the_step(engine: str) -> None:
    """As measured with 8 draft tokens in vllm-project/vllm pull request 48892: TPOT and ITL part ways."""
    before = _decode(engine, None, token_ms=0.01, draft_ms=0)
    after = _decode(engine, drafts(8, 0.8), token_ms=0.01, draft_ms=30)
    assert after.tpot.mean_ms < before.tpot.mean_ms < before.itl.mean_ms * 1.01 < after.itl.mean_ms
    assert after.output_tokens_per_s > 1.2 * before.output_tokens_per_s
    assert after.itl.mean_ms / after.tpot.mean_ms == pytest.approx(drafts(8, 0.8).tokens_per_step, rel=0.05)


def test_drafting_loses_where_computing_bounds_the_step(engine: str) -> None:
    before = _decode(engine, None, token_ms=2.0, draft_ms=0)
    after = _decode(engine, drafts(8, 0.8), token_ms=2.0, draft_ms=30)
    assert after.tpot.mean_ms > before.tpot.mean_ms
    assert after.output_tokens_per_s < before.output_tokens_per_s


@pytest.mark.parametrize(
    ("count", "ratio", "code"),
    [
        (0, 0.5, "too_small"),
        (1.5, 0.5, "not_an_integer"),
        (65, 0.5, "too_large"),
        (2, 1.1, "too_large"),
        (2, float("nan"), "not_finite"),
        (2, (0.5,), "shape"),
        (2, (0.5, -0.1), "too_small"),
    ],
)
def test_bad_speculation_is_refused(count: Any, ratio: Any, code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        Speculation(draft_tokens=count, acceptance_ratio=ratio)
    assert caught.value.code == code


def test_drafts_need_random_numbers() -> None:
    ones = np.ones(33, np.int64)
    speculating = config(speculation=drafts(2, 0.5))
    with pytest.raises(SimulatorError) as caught:
        simulate(speculating, StepTime(ones, ones, ones), Workload(ones, ones, ones))
    assert (caught.value.code, caught.value.field) == ("missing", "rng")
