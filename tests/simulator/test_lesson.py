"""The lesson's clock and formulas, exact to the values worked out from its rules."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.errors import SimulatorError
from simulator.lesson import (
    LessonRequest,
    LessonRun,
    contiguous_kv,
    contiguous_sequences,
    littles_law,
    paged_kv,
    prefill_saving_ratio,
    prefix_hits,
    response_times,
    run_chunked_prefill,
    run_lesson,
    run_unchunked_prefill,
    slot_capacity_per_step,
)

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden_lesson.json").read_text())
NAMES = {"idle_fraction": "idle_ratio"}


def check(run: LessonRun, expected: dict[str, Any]) -> None:
    for name, value in expected.items():
        found = getattr(run, NAMES.get(name, name))
        assert (list(found) if isinstance(found, tuple) else found) == value, name


@pytest.mark.parametrize("policy", ["static", "continuous"])
@pytest.mark.parametrize("case", GOLDEN["step_simulator"], ids=lambda case: case["name"])
def test_decode_steps(case: dict[str, Any], policy: str) -> None:
    requests = [LessonRequest(arrival, tokens) for arrival, tokens in case["requests"]]
    check(run_lesson(requests, case["slots"], policy), case[policy])


@pytest.mark.parametrize("case", GOLDEN["prefill"]["cases"], ids=lambda case: case["name"])
def test_prefill(case: dict[str, Any]) -> None:
    requests = [LessonRequest(a, n, p) for a, p, n in case["requests_arrival_prompt_output"]]
    check(run_chunked_prefill(requests, case["slots"], 256), case["chunk_256"])
    check(run_chunked_prefill(requests, case["slots"], 512), case["chunk_512"])
    check(run_unchunked_prefill(requests, case["slots"]), case["unchunked_256"])


def test_littles_law() -> None:
    (row,) = GOLDEN["littles_law"]
    inside = littles_law(row["arrival_rate_per_s"], row["time_in_system_s"])
    assert inside == row["in_system"]
    assert math.ceil(inside) == row["batch_at_least"]


def test_slot_capacity() -> None:
    (row,) = GOLDEN["slot_capacity"]
    assert slot_capacity_per_step(row["slots"], row["mean_output_tokens"]) == row["requests_per_step"]


def test_kv_memory() -> None:
    row = GOLDEN["kv_memory"]
    sizes = (row["kv_budget_bytes"], row["bytes_per_token"], row["mean_context_tokens"])
    contiguous, paged = contiguous_kv(*sizes, row["max_model_len"]), paged_kv(*sizes, row["block_tokens"])
    assert contiguous.bytes_per_sequence == row["contiguous"]["bytes_per_sequence"]
    assert contiguous.sequences == row["contiguous"]["sequences"]
    assert contiguous.useful_ratio == row["contiguous"]["useful_fraction"]
    assert paged.blocks_per_sequence == row["paged"]["blocks_per_sequence"]
    assert paged.tokens_held == row["paged"]["tokens_held"]
    assert paged.bytes_per_sequence == row["paged"]["bytes_per_sequence"]
    assert paged.sequences == row["paged"]["sequences"]
    assert paged.useful_ratio == row["paged"]["useful_fraction"]
    assert paged.wasted_tokens == row["paged"]["wasted_slots_per_sequence"]


def test_block_pool() -> None:
    row = GOLDEN["block_pool"]
    found = contiguous_sequences(row["n_blocks"], row["block_tokens"], row["contiguous_slab_tokens"])
    assert found == row["contiguous_sequences"]


def test_prefix_caching() -> None:
    saving, hits = GOLDEN["prefix_caching"]
    assert prefill_saving_ratio(saving["shared_prompt_tokens"], saving["unique_tokens"]) == saving["prefill_saving"]
    assert saving["prefill_tokens_on_hit"] == saving["unique_tokens"]
    found = prefix_hits(hits["requests"], hits["shared_prompt_tokens"], hits["unique_tokens"], hits["block_tokens"])
    assert found.prompt_tokens == hits["prompt_tokens"]
    assert found.cached_tokens == hits["cached_tokens"]
    assert found.hit_ratio == hits["hit_rate"]


def test_latency_metrics() -> None:
    row = GOLDEN["latency_metrics"]
    found = response_times(row["trace"]["sent"], row["trace"]["token_times"])
    assert found.ttft_s == row["ttft_s"]
    assert found.tpot_s == row["tpot_s"]
    assert found.e2e_s == pytest.approx(row["e2e_s"], abs=1e-12)


def test_one_token_has_no_tpot_and_cannot_fail_it() -> None:
    one = GOLDEN["latency_metrics"]["one_token_response"]
    found = response_times(one["sent"], one["token_times"])
    assert found.tpot_s is None
    assert found.meets(tpot_s=1e-9)


@pytest.mark.parametrize("slots", [0, -1, 1.5, math.nan, "4", None, True])
def test_bad_slots_are_refused(slots: Any) -> None:
    for run in (run_lesson, run_unchunked_prefill, lambda r, s: run_chunked_prefill(r, s, 256)):
        with pytest.raises(SimulatorError) as caught:
            run([LessonRequest(0, 1)], slots)
        assert caught.value.code in {"too_small", "not_an_integer"}


@pytest.mark.parametrize(
    "request_", [(-1, 1, 0), (0, 0, 0), (0, -3, 0), (0, math.nan, 0), (0, 1, -1), (math.inf, 1, 0)]
)
def test_bad_requests_are_refused(request_: tuple[Any, Any, Any]) -> None:
    with pytest.raises(SimulatorError):
        LessonRequest(*request_)


def test_no_requests_are_refused() -> None:
    with pytest.raises(SimulatorError):
        run_lesson([], 2)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), min_size=1, max_size=20), st.integers(1, 5))
def test_continuous_never_takes_longer_in_all_and_never_idles_while_someone_waits(
    rows: list[tuple[int, int]], slots: int
) -> None:
    requests = [LessonRequest(arrival, tokens) for arrival, tokens in rows]
    run = run_lesson(requests, slots, "continuous")
    for request, (_, admitted, finished) in zip(requests, run.spans, strict=True):
        assert finished == admitted + request.output_tokens
        for step in range(request.arrival_step, admitted):
            assert sum(a <= step < f for _, a, f in run.spans) == slots


@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 4))
def test_equal_lengths_gain_nothing_from_continuous_batching(lengths: list[int], slots: int) -> None:
    requests = [LessonRequest(0, lengths[0]) for _ in lengths]
    assert run_lesson(requests, slots, "static").finish_steps == run_lesson(requests, slots, "continuous").finish_steps


def test_requests_of_another_kind_are_refused_in_a_line() -> None:
    with pytest.raises(SimulatorError, match="requests"):
        run_lesson([(0, 5)], 2)  # type: ignore[list-item]
