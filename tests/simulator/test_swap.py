"""Preemption by swap to host memory: what moves, how long it takes, and who waits for it."""

from typing import Any

import numpy as np
import pytest

from simulator import EngineConfig, EventLog, HostSwap, SimulatorError, StepTime, Workload, simulate

ENGINES = ("reference",)
Rows = list[tuple[int, int, int]]
# Blocks of 4, five of them: two prompts of 8 fill four; at 8 tokens each wants a fifth block and the second falls.
TIGHT: Rows = [(0, 8, 6), (0, 8, 6)]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(engine: str, swap: HostSwap | None, rows: Rows = TIGHT, **changes: Any) -> EventLog:
    """Steps last 100 + the tokens in them."""
    settings: dict[str, Any] = {"max_num_seqs": 4, "max_num_batched_tokens": 64, "num_blocks": 5, "max_model_len": 64}
    config = EngineConfig(**(settings | {"block_size": 4, "swap": swap} | changes))
    zeros = np.zeros(5, np.int64)
    times = StepTime(100 + np.arange(config.max_num_batched_tokens + 1), zeros, zeros)
    arrival, prompt, output = (np.array(column) for column in zip(*rows, strict=True))
    return simulate(config, times, Workload(arrival, prompt, output), engine=engine)  # type: ignore[arg-type]


V0 = {"scheduler": "vllm_v0", "enable_chunked_prefill": False}


@pytest.mark.parametrize("scheduler", [{}, {"scheduler": "vllm_v0"}, V0])
def test_a_blocking_swap_lengthens_the_steps_and_computes_nothing_twice(engine: str, scheduler: dict[str, Any]) -> None:
    recomputed = run(engine, None, **scheduler)
    # 116 both prompts, then the first alone five times, then the second: 8 + 1 tokens again, and four more steps.
    assert recomputed.finish_ps.tolist() == [116 + 505, 116 + 505 + 109 + 404]
    log = run(engine, HostSwap(host_blocks=2, block_out_ps=1000, block_in_ps=3000), **scheduler)
    # Its two blocks leave in the step in which it falls and come back in the one in which it goes on.
    assert log.finish_ps.tolist() == [116 + 505 + 2000, 116 + 505 + 2000 + 6000 + 505]
    assert (log.prefill_tokens, recomputed.prefill_tokens) == (16, 25)
    assert log.preemptions.tolist() == recomputed.preemptions.tolist() == [0, 1]
    assert log.preempted_ps[1] == 505 + 2000


def test_overlapped_transfers_run_beside_the_steps(engine: str) -> None:
    log = run(engine, HostSwap(host_blocks=2, block_out_ps=100, block_in_ps=30, overlapped=True))
    # The first is not held up. Its end at 621 frees the blocks; then the second's come back, which takes 60.
    assert log.finish_ps.tolist() == [621, 621 + 60 + 505]
    assert log.prefill_tokens == 16


def test_who_is_still_being_copied_out_cannot_come_back(engine: str) -> None:
    log = run(engine, HostSwap(host_blocks=2, block_out_ps=1000, block_in_ps=30, overlapped=True))
    # It fell at 116, so its copy is done at 2116: the engine idles until then, and until the blocks are back.
    assert log.finish_ps.tolist() == [621, 2116 + 60 + 505]
    assert log.busy_ps == 621 + 505


def test_both_directions_share_the_link_in_order(engine: str) -> None:
    # Three fall one after the other; each comes back behind what is under way.
    rows: Rows = [(0, 4, 9), (0, 4, 9), (0, 4, 9)]
    swap = HostSwap(host_blocks=10, block_out_ps=300, block_in_ps=300, overlapped=True)
    log = run(engine, swap, rows, num_blocks=4)
    # 112: the first needs a block, which is there; the second's would be the fifth: the third falls and makes room. Its
    # one block is out at 412. Four steps of 102 later (520) the two need six blocks: the second falls, its two blocks
    # are out at 520 + 600. The first ends after four more steps, at 924.
    assert log.preemptions.tolist() == [0, 1, 1]
    assert log.finish_ps[0] == 520 + 404
    # At 1120 the link is free: two blocks come back until 1720; one more, asked for at the same time, until 2020.
    assert log.finish_ps[1] == 1720 + 404
    assert log.finish_ps[2] > 2020


def test_a_victim_that_does_not_fit_the_host_is_computed_again(engine: str) -> None:
    full = run(engine, HostSwap(host_blocks=1, block_out_ps=1000, block_in_ps=3000))
    assert full.differences(run(engine, None)) == []


def test_a_swapped_prompt_goes_on_where_it_was(engine: str) -> None:
    # The second prompt enters for its first chunk alone and finds no room for the rest.
    rows: Rows = [(0, 10, 8), (0, 24, 2)]
    settings = {"num_blocks": 8, "max_num_batched_tokens": 8, "reserve_full_isl": False}
    again = run(engine, None, rows, **settings)
    swapped = run(engine, HostSwap(host_blocks=8, block_out_ps=0, block_in_ps=0), rows, **settings)
    assert swapped.preemptions[1] >= 1
    assert swapped.prefill_tokens == 34 < again.prefill_tokens


@pytest.mark.parametrize(
    "changes", [{"scheduler": "sglang"}, {"scheduler": "tensorrt_llm"}, {"kv_allocation": "contiguous"}]
)
def test_swap_needs_a_scheduler_that_preempts_and_paged_blocks(changes: dict[str, Any]) -> None:
    with pytest.raises(SimulatorError) as caught:
        run("reference", HostSwap(host_blocks=1, block_out_ps=0, block_in_ps=0), **changes)
    assert caught.value.code == "incompatible"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ((0, 0, 0), "too_small"),
        ((1, -1, 0), "too_small"),
        ((1, 0, 2**60), "too_large"),
        ((1.5, 0, 0), "not_an_integer"),
    ],
)
def test_bad_links(fields: tuple[Any, Any, Any], code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        HostSwap(host_blocks=fields[0], block_out_ps=fields[1], block_in_ps=fields[2])
    assert caught.value.code == code
