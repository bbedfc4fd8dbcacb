"""KV memory by hand: layer groups with sliding windows, and what paged and contiguous allocation waste."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulator import EngineConfig, EventLog, KvGroup, SimulatorError, StepTime, Workload, simulate
from simulator.lesson import contiguous_kv, paged_kv

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden_lesson.json").read_text())
FULL, WINDOW = KvGroup(), KvGroup(8)


def config(**changes: Any) -> EngineConfig:
    return EngineConfig(
        **(
            {"max_num_seqs": 4, "max_num_batched_tokens": 8, "num_blocks": 100, "max_model_len": 64, "block_size": 4}
            | changes
        )
    )


def run(config: EngineConfig, rows: list[tuple[int, int, int]], **content: Any) -> EventLog:
    """Every step takes 100 ps; in both engines."""
    zeros = np.zeros(config.max_num_seqs + 1, np.int64)
    times = StepTime(np.full(config.max_num_batched_tokens + 1, 100), zeros, zeros)
    arrival, prompt, output = (np.array(column) for column in zip(*rows, strict=True))
    workload = Workload(arrival, prompt, output, **content)
    log = simulate(config, times, workload, engine="reference")
    assert simulate(config, times, workload, engine="fast").differences(log) == []
    return log


# A prompt of 20 in chunks of 8, 8 and 4, then two decode steps: after each step 8, 16, 20, 21, 22 tokens are computed.
FULL_BLOCKS = 2 + 4 + 5 + 6 + 6
# Of a window of 8, before each step, tokens 0, 0, 9 - 16, 13 - 20 and 14 - 21 are of use: from block 0, 0, 2, 3, 3 on.
WINDOW_BLOCKS = 2 + 4 + 3 + 3 + 3


@pytest.mark.parametrize(
    ("groups", "blocks", "peak"),
    [
        ([FULL], FULL_BLOCKS, 6),
        ([WINDOW], WINDOW_BLOCKS, 4),
        ([FULL, WINDOW], FULL_BLOCKS + WINDOW_BLOCKS, 9),
        ([FULL, KvGroup(8, 5)], FULL_BLOCKS + 5 * WINDOW_BLOCKS, 24),
    ],
)
def test_blocks_behind_a_window_are_freed_before_the_next_step(groups: list[KvGroup], blocks: int, peak: int) -> None:
    log = run(config(kv_groups=tuple(groups)), [(0, 20, 3)])
    assert log.kv_block_ps == blocks * 100
    assert log.replicas[0].kv_peak_blocks == peak


def test_an_engine_without_a_hybrid_allocator_keeps_what_no_layer_reads() -> None:
    kept = run(config(kv_groups=(FULL, WINDOW), free_outside_window=False), [(0, 20, 3)])
    assert kept.kv_block_ps == 2 * FULL_BLOCKS * 100


def test_a_request_that_fits_only_without_what_lies_behind_the_window_is_served() -> None:
    # 47 + 1 tokens are 12 blocks; a window of 8 and steps of 8 never hold more than ceil(15 / 4) + 1 = 5.
    small = {"num_blocks": 5, "kv_groups": (WINDOW,)}
    assert run(config(**small), [(0, 40, 8)]).outcome.tolist() == [0]
    kept = run(config(**small, free_outside_window=False), [(0, 40, 8)])
    assert kept.reason_of(0) == "the request alone needs more KV blocks than the pool has"


def test_admission_asks_for_no_more_than_a_window_ever_holds() -> None:
    windowed = config(num_blocks=9, kv_groups=(WINDOW,), max_num_batched_tokens=12)
    # Prompts of 40 are 10 blocks; of a window with steps of 12 at most ceil(19 / 4) + 1 = 6 are asked for: two of them
    # do not fit 9 blocks at once, though the second one's first chunk would.
    log = run(windowed, [(0, 40, 1), (0, 40, 1)])
    assert log.admitted_ps[0] == 0
    assert log.outcome.tolist() == [0, 0]
    assert log.replicas[0].kv_peak_blocks <= 9


def test_a_windows_hit_needs_only_the_last_blocks_of_the_window() -> None:
    # The first request frees block 0 behind its window, so the second one takes that for its own; the third finds
    # block 2 (the window of 5 before token 12 lies in one block) and computes 4 of its 16 tokens.
    small = config(num_blocks=5, kv_groups=(KvGroup(5),), enable_prefix_caching=True)
    rows = [(0, 16, 1), (1000, 8, 1), (2000, 16, 1)]
    shared = {"prefix_group": np.array([0, -1, 0]), "prefix_tokens": np.array([16, 0, 16])}
    assert run(small, rows, **shared).cached_tokens.tolist() == [0, 0, 12]
    # Beside full attention that is no hit: there the second request took the first blocks, and a gap ends the hit.
    hybrid = config(num_blocks=9, kv_groups=(FULL, KvGroup(5)), enable_prefix_caching=True)
    assert run(hybrid, [(0, 16, 1), (1000, 12, 1), (2000, 16, 1)], **shared).cached_tokens.tolist() == [0, 0, 0]


def test_step_time_counts_the_context_of_a_window() -> None:
    one = config(max_num_seqs=1)
    zeros = np.zeros(2, np.int64)
    times = StepTime(np.full(9, 100), zeros, zeros, window_tokens=9, window_context_ps=np.full(2, 1000))
    workload = Workload(np.array([0]), np.array([20]), np.array([3]))
    log = simulate(one, times, workload, engine="fast")
    assert log.end_ps == 5 * 100 + 1000 * (
        0 + 8 + 9 + 9 + 9
    )  # before the steps 0, 8, 16, 20 and 21 tokens are computed
    assert simulate(one, times, workload, engine="reference").differences(log) == []


def test_reserving_the_longest_length_wastes_what_paging_fills() -> None:
    rows = [(0, 4, 4)] * 3
    paged = run(config(num_blocks=32, max_num_batched_tokens=64), rows)
    reserved = run(config(num_blocks=32, max_num_batched_tokens=64, kv_allocation="contiguous"), rows)
    # After each step a request has computed 4, 5, 6, 7 tokens: in one block, then in two.
    assert paged.kv_waste_ratio == pytest.approx(1 - (4 + 5 + 6 + 7) / (4 + 8 + 8 + 8))
    # Two of 64 reserved tokens each fit at once, then the third alone.
    assert reserved.kv_waste_ratio == pytest.approx(1 - (4 + 5 + 6 + 7) / (4 * 64))
    assert (paged.replicas[0].kv_peak_tokens, reserved.replicas[0].kv_peak_tokens) == (21, 14)


def test_a_shared_block_counts_once() -> None:
    caching = config(enable_prefix_caching=True, max_num_batched_tokens=64)
    shared = {"prefix_group": np.zeros(2, np.int64), "prefix_tokens": np.full(2, 8)}
    log = run(caching, [(0, 10, 9), (150, 10, 5)], **shared)
    assert log.cached_tokens.tolist() == [0, 8]
    # The second enters at 200, when the first has computed 11: they share two blocks; 12 + 10 tokens lie in 3 + 1.
    before, together = [10, 11], [12 + 10 - 8, 13 + 11 - 8, 14 + 12 - 8, 15 + 13 - 8, 16 + 14 - 8]
    assert log.kv_token_ps == 100 * sum(before + together + [17, 18])
    assert 0 < log.kv_waste_ratio < 1


def test_the_lessons_sequences_fit_the_pool_as_counted() -> None:
    row = GOLDEN["kv_memory"]
    context, longest, block = row["mean_context_tokens"], row["max_model_len"], row["block_tokens"]
    sizes = (row["kv_budget_bytes"], row["bytes_per_token"], context)
    blocks = row["kv_budget_bytes"] // (row["bytes_per_token"] * block)
    engine = {"num_blocks": blocks, "block_size": block, "max_model_len": longest, "max_num_seqs": 600}
    rows = [(0, context, 1)] * 600
    for allocation, expected in (("contiguous", contiguous_kv(*sizes, longest)), ("paged", paged_kv(*sizes, block))):
        log = run(config(**engine, max_num_batched_tokens=600 * context, kv_allocation=allocation), rows)
        assert (log.admitted_ps == 0).sum() == expected.sequences
        full = log.kv_token_ps / log.kv_block_ps / block
        assert full == pytest.approx(expected.useful_ratio)


@pytest.mark.parametrize(
    "groups", [(), ("full",), (KvGroup(None, 40), KvGroup(None, 40))], ids=["none", "not a group", "too many"]
)
def test_bad_groups_are_refused(groups: Any) -> None:
    with pytest.raises(SimulatorError):
        config(kv_groups=groups)


@pytest.mark.parametrize("values", [(1, 1), (-1, 1), (2.5, 1), (8, 0)])
def test_bad_windows_are_refused(values: tuple[Any, Any]) -> None:
    with pytest.raises(SimulatorError):
        KvGroup(*values)


def test_a_window_and_its_table_belong_together() -> None:
    table = np.ones(9, np.int64)
    with pytest.raises(SimulatorError) as caught:
        StepTime(table, table, table, window_tokens=8)
    assert caught.value.code == "ambiguous"
