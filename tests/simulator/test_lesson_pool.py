"""The lesson's block pool: nothing is lost, nothing is held twice, waste stays below a block."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.errors import SimulatorError
from simulator.lesson import LessonRequest
from simulator.lesson_pool import PoolRun, run_pool

REQUESTS = st.lists(
    st.builds(LessonRequest, st.integers(0, 10), st.integers(1, 30), st.integers(0, 40)), min_size=1, max_size=8
)


def blocks_of_the_longest(requests: list[LessonRequest], block_tokens: int) -> int:
    return max(-(-(r.prompt_tokens + r.output_tokens) // block_tokens) for r in requests)


@settings(deadline=None)
@given(REQUESTS, st.integers(1, 16), st.integers(0, 20), st.sampled_from(["paged", "contiguous"]))
def test_every_frame_accounts_for_every_block_and_token(
    requests: list[LessonRequest], block_tokens: int, more: int, allocation: str
) -> None:
    blocks = blocks_of_the_longest(requests, block_tokens) + more
    run = run_pool(requests, blocks, block_tokens, allocation)
    for frame in run.frames:
        held = [block for table in frame.tables for block in table.blocks]
        assert len(held) == len(set(held)) == frame.used_blocks <= blocks
        assert all(0 <= block < blocks for block in held)
        for table in frame.tables:
            assert 0 < table.tokens <= len(table.blocks) * block_tokens
            if allocation == "paged":
                assert len(table.blocks) * block_tokens - table.tokens < block_tokens
    assert all(step >= r.arrival_step + r.output_tokens for step, r in zip(run.finish_steps, requests, strict=True))
    if allocation == "contiguous":
        assert not any(run.preemptions)


def ends(run: PoolRun) -> tuple[int, ...]:
    return run.finish_steps


def test_with_room_for_all_everyone_ends_after_as_many_steps_as_tokens() -> None:
    requests = [LessonRequest(0, 20, 73), LessonRequest(0, 30, 112), LessonRequest(4, 40, 36)]
    run = run_pool(requests, 40, 16)
    assert ends(run) == (20, 30, 44)
    assert run.preemptions == (0, 0, 0)
    assert [len(table.blocks) for table in run.frames[0].tables] == [5, 8]


def test_a_dry_pool_preempts_the_latest_admitted_who_computes_again() -> None:
    requests = [LessonRequest(0, 4, 2), LessonRequest(0, 4, 2)]
    run = run_pool(requests, 2, 3)
    assert run.preemptions == (0, 1)
    assert run.frames[1].preempted == (1,)
    assert run.frames[1].waiting == (1,)
    assert ends(run) == (4, 7)


def test_the_longest_reserved_lets_fewer_in() -> None:
    requests = [LessonRequest(0, 4, 4), LessonRequest(0, 60, 4), LessonRequest(0, 4, 4)]
    assert len(run_pool(requests, 8, 16).frames[0].tables) == 3
    assert len(run_pool(requests, 8, 16, "contiguous").frames[0].tables) == 2


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (([LessonRequest(0, 100)], 5, 16), "unservable"),
        (([], 5, 16), "too_small"),
        (([LessonRequest(0, 5000)], 4000, 16), "too_large"),
        (([LessonRequest(0, 1)], 0, 16), "too_small"),
        (([LessonRequest(0, 1)], 5, 16, "swap"), "unknown_policy"),
    ],
)
def test_what_cannot_be_walked_is_refused(arguments: tuple[object, ...], code: str) -> None:
    with pytest.raises(SimulatorError) as refused:
        run_pool(*arguments)  # type: ignore[arg-type]
    assert refused.value.code == code
