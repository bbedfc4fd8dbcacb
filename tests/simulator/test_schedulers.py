"""Each engine's scheduler does what sets it apart, by as much as can be worked out by hand."""

from typing import Any

import numpy as np
import pytest

from simulator import EngineConfig, EventLog, SimulatorError, StepTime, Workload, simulate
from simulator.records import TOO_LONG_FOR_POOL, UNSERVABLE

ENGINES = ("reference", "fast")
Rows = list[tuple[int, int, int]]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def config(**changes: Any) -> EngineConfig:
    return EngineConfig(
        **(
            {"max_num_seqs": 4, "max_num_batched_tokens": 64, "num_blocks": 100, "max_model_len": 64, "block_size": 4}
            | changes
        )
    )


def run(engine: str, config: EngineConfig, rows: Rows, base: int = 100, token: int = 0) -> EventLog:
    """Requests of (arrival, prompt, output); a step lasts base + token*T."""
    times = StepTime(
        base + token * np.arange(config.max_num_batched_tokens + 1),
        np.zeros(config.max_num_seqs + 1, np.int64),
        np.zeros(config.max_num_seqs + 1, np.int64),
    )
    arrival, prompt, output = (np.array(column) for column in zip(*rows, strict=True))
    return simulate(config, times, Workload(arrival, prompt, output), engine=engine)  # type: ignore[arg-type]


def finish(engine: str, rows: Rows, **changes: Any) -> list[int]:
    return run(engine, config(**changes), rows).finish_ps.tolist()


# A decodes from 100 on; a prompt arrives meanwhile.
STALL: Rows = [(0, 4, 5), (150, 20, 2)]


def test_whole_prompts_stall_decodes_in_vllm_v0_and_sglang(engine: str) -> None:
    together = run(engine, config(), STALL, base=100, token=1)
    # 0-104 prompt, 104-205 decode, 205-326 decode and prompt (21 tokens), 326-428, 428-529.
    assert together.finish_ps.tolist() == [529, 428]
    for settings in ({"scheduler": "vllm_v0", "enable_chunked_prefill": False}, {"scheduler": "sglang"}):
        apart = run(engine, config(**settings), STALL, base=100, token=1)
        # 205-325 the prompt alone; then 325-427 both decode, and the first goes on alone until 528 and 629.
        assert apart.first_token_ps.tolist() == [104, 325]
        assert apart.finish_ps.tolist() == [629, 427]
        assert apart.steps == together.steps + 1


def test_vllm_v0_with_chunked_prefill_decodes_first(engine: str) -> None:
    v0 = run(engine, config(scheduler="vllm_v0"), STALL, base=100, token=1)
    assert v0.differences(run(engine, config(), STALL, base=100, token=1)) == []


def test_vllm_v0_takes_all_blocks_of_a_prompt_at_once(engine: str) -> None:
    rows: Rows = [(0, 32, 1)]
    chunks = {"max_num_batched_tokens": 16}
    assert run(engine, config(**chunks), rows).kv_block_ps == 100 * (4 + 8)
    assert run(engine, config(scheduler="vllm_v0", **chunks), rows).kv_block_ps == 100 * (8 + 8)
    assert run(engine, config(scheduler="tensorrt_llm", **chunks), rows).kv_block_ps == 100 * (8 + 8)


def test_mixed_chunk_runs_decodes_along(engine: str) -> None:
    mixed = run(engine, config(scheduler="sglang", mixed_chunk=True), STALL, base=100, token=1)
    assert mixed.finish_ps.tolist() == [529, 428]


def test_sglang_computes_one_long_prompt_at_a_time_and_it_goes_on_first(engine: str) -> None:
    rows: Rows = [(0, 40, 1), (0, 40, 1), (0, 4, 1)]
    log = run(engine, config(scheduler="sglang", max_num_batched_tokens=16), rows)
    # 16, 16, 8 + 8 of the second, 16, 16 (12 fit: the rest of its 32 were 8, 16, 8 + 4 + 4 of the third)
    assert log.first_token_ps.tolist() == [300, 500, 600]
    assert log.admitted_ps.tolist() == [0, 200, 500]


EAGER: dict[str, Any] = {"scheduler": "sglang", "schedule_conservativeness": 0.0, "num_blocks": 17}
# At conservativeness 0 nothing is reserved for those that run: three of them outgrow 17 blocks at their 14th token.
OUTGROW: Rows = [(0, 8, 20), (50, 12, 20), (150, 8, 20)]


def test_sglang_keeps_room_for_an_estimate_of_the_output(engine: str) -> None:
    # 68 tokens of pool. At 100 the first holds 8 and is expected to take 0.7 * 19 = 13.3 more. The second asks for
    # 8 + 20 < 60 - 13.3 and enters; the third for 28 < 52 - 13.3 - 20 = 18.7 and waits until the first has left.
    rows: Rows = [(0, 8, 20), (50, 8, 20), (50, 8, 20)]
    log = run(engine, config(scheduler="sglang", num_blocks=17), rows)
    assert log.admitted_ps.tolist() == [0, 100, 2100]
    assert log.finish_ps[0] == 2100
    eager = run(engine, config(**EAGER), rows)  # 28 < 52 - 20
    assert eager.admitted_ps.tolist() == [0, 100, 100]
    assert eager.preemptions.sum() == 1
    assert log.preemptions.sum() == 0


def test_sglang_expects_less_with_every_decode_step_and_tries_again_when_one_leaves(engine: str) -> None:
    # 3040 tokens of pool, one request of 3000 tokens: at first 0.7 of its rest is kept, which leaves room for 929,
    # after 100 steps 0.6 of its rest, which leaves room for 1190. Another one asks for 1008. Refused once, it waits
    # until somebody has left.
    large = {"max_model_len": 4000, "num_blocks": 760, "scheduler": "sglang"}
    early = run(engine, config(**large), [(0, 8, 3000), (500, 8, 1000)])
    late = run(engine, config(**large), [(0, 8, 3000), (10_000, 8, 1000)])
    assert early.admitted_ps[1] == early.finish_ps[0] == 300_000
    assert late.admitted_ps[1] == 10_000


def test_sglang_retracts_who_has_generated_least_and_the_longest_prompt_of_equals(engine: str) -> None:
    equals = run(engine, config(**EAGER), OUTGROW)
    assert equals.preemptions.tolist() == [0, 1, 0]
    # 1 + 12 tokens were generated by each when the second fell, in the step that began at 300 + 12 * 100.
    assert equals.finish_ps.tolist()[0] == 300 + 19 * 100
    late = run(engine, config(**EAGER), [*OUTGROW[:2], (650, 8, 20)])
    assert late.preemptions.tolist() == [0, 0, 1]


def test_a_retracted_request_waits_at_the_end_of_the_line(engine: str) -> None:
    # The last one asks for 48 of 68 tokens: not beside the two that stay, nor beside the retracted one.
    log = run(engine, config(max_num_seqs=3, **EAGER), [*OUTGROW, (400, 8, 40)])
    assert log.preemptions.tolist() == [0, 1, 0, 0]
    assert log.admitted_ps[3] == log.finish_ps[0] == log.finish_ps[2] == 2200
    assert log.finish_ps[3] < log.finish_ps[1]


def test_guaranteed_no_evict_admits_what_fits_with_the_greatest_output(engine: str) -> None:
    rows: Rows = [(0, 8, 6)] * 3
    small = {"num_blocks": 10, "max_num_seqs": 3}
    v1 = run(engine, config(**small), rows)
    assert v1.admitted_ps.tolist() == [0, 0, 0]
    own = run(engine, config(scheduler="tensorrt_llm", **small), rows)
    assert own.admitted_ps.tolist() == [0, 0, 600]  # 14 tokens are 4 blocks each
    asked = run(engine, config(scheduler="tensorrt_llm", max_new_tokens=20, **small), rows)
    assert asked.admitted_ps.tolist() == [0, 600, 1200]  # 28 tokens are 7 blocks each
    assert not own.preemptions.any()
    assert not asked.preemptions.any()


def test_max_utilization_admits_by_present_need_and_pauses_the_latest(engine: str) -> None:
    rows: Rows = [(0, 8, 6)] * 2
    small = {"scheduler": "tensorrt_llm", "num_blocks": 5}
    log = run(engine, config(capacity_policy="max_utilization", **small), rows)
    assert log.preemptions.tolist() == [0, 1]
    assert log.finish_ps.tolist() == [600, 1100]  # as vLLM V1
    assert run(engine, config(**small), rows).finish_ps.tolist() == [600, 1200]


def test_a_request_that_can_never_fit_is_unservable_under_the_rules_of_each(engine: str) -> None:
    rows: Rows = [(0, 8, 4)]
    small: dict[str, Any] = {"num_blocks": 5}
    for settings in ({}, {"max_new_tokens": 20}, {"scheduler": "sglang", "max_new_tokens": 20}):
        assert run(engine, config(**settings, **small), rows).outcome.tolist() != [UNSERVABLE]
    refused = run(engine, config(scheduler="tensorrt_llm", max_new_tokens=20, **small), rows)
    assert (refused.outcome.tolist(), refused.reason.tolist()) == ([UNSERVABLE], [TOO_LONG_FOR_POOL])
    full: Rows = [(0, 8, 12)]  # 19 tokens have a place at the end, and the pool holds 20
    assert run(engine, config(**small), full).outcome.tolist() != [UNSERVABLE]
    assert run(engine, config(scheduler="sglang", **small), full).outcome.tolist() == [UNSERVABLE]


def test_an_engine_cannot_serve_longer_outputs_than_it_allows() -> None:
    with pytest.raises(SimulatorError) as caught:
        run("reference", config(max_new_tokens=3), [(0, 4, 4)])
    assert (caught.value.code, caught.value.field) == ("out_of_range", "max_new_tokens")


@pytest.mark.parametrize("scheduler", ["vllm_v1", "tensorrt_llm", "sglang"])
def test_overlap_shows_arrivals_one_step_later(engine: str, scheduler: str) -> None:
    rows: Rows = [(0, 4, 8), (150, 4, 1)]
    plain = run(engine, config(scheduler=scheduler), rows)
    overlap = run(engine, config(scheduler=scheduler, overlap_scheduling=True), rows)
    assert plain.admitted_ps.tolist() == [0, 200]
    assert overlap.admitted_ps.tolist() == [0, 300]
    idle: Rows = [(0, 4, 1), (5000, 4, 1)]
    assert run(engine, config(scheduler=scheduler, overlap_scheduling=True), idle).admitted_ps.tolist() == [0, 5000]


def test_overlap_keeps_the_seat_of_a_finished_request_for_one_step(engine: str) -> None:
    rows: Rows = [(0, 4, 2), (0, 4, 6), (0, 4, 2)]
    seats = {"max_num_seqs": 2}
    assert run(engine, config(**seats), rows).admitted_ps.tolist() == [0, 0, 200]
    late = run(engine, config(overlap_scheduling=True, **seats), rows)
    assert late.admitted_ps.tolist() == [0, 0, 300]
    assert late.finish_ps.tolist()[:2] == [200, 600]  # tokens come out as before


def test_overlap_computes_a_token_in_vain_where_the_end_was_not_foreseen(engine: str) -> None:
    rows: Rows = [(0, 4, 2), (0, 4, 6)]

    def busy(**settings: Any) -> int:
        return run(engine, config(**settings), rows, base=100, token=1).busy_ps

    # 8 tokens, 2, then one alone for four steps.
    assert busy() == 108 + 102 + 4 * 101
    assert busy(overlap_scheduling=True) == 108 + 102 + 4 * 101
    assert busy(overlap_scheduling=True, max_new_tokens=20) == 108 + 102 + 102 + 3 * 101 + 101
    assert busy(overlap_scheduling=True, scheduler="tensorrt_llm") == 108 + 102 + 4 * 101
    assert busy(overlap_scheduling=True, scheduler="sglang") == 108 + 102 + 102 + 3 * 101 + 101


@pytest.mark.parametrize(
    "changes",
    [
        {"scheduler": "static", "overlap_scheduling": True},
        {"scheduler": "vllm_v0", "overlap_scheduling": True},
        {"mixed_chunk": True},
        {"scheduler": "sglang", "mixed_chunk": True, "enable_chunked_prefill": False},
        {"schedule_conservativeness": 0.5},
        {"capacity_policy": "max_utilization"},
        {"scheduler": "sglang", "kv_allocation": "contiguous"},
    ],
)
def test_knobs_of_other_schedulers_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(SimulatorError) as caught:
        config(**changes)
    assert caught.value.code == "incompatible"
