"""Sizes that divide a model, and what is said of those that do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel import Parallelism, divisibility_problems, load_catalog, valid_tp
from costmodel.deployment.deployment import even_partition
from costmodel.deployment.parallelism import divisors, kv_heads_fit


def codes(model: str, **sizes: int) -> list[str]:
    return [problem.code for problem in divisibility_problems(load_catalog().model(model), Parallelism(**sizes))]


@given(st.integers(min_value=1, max_value=5000))
def test_divisors_divide(number: int) -> None:
    assert all(number % size == 0 for size in divisors(number))
    assert {1, number} <= set(divisors(number))


@pytest.mark.parametrize(("kv_heads", "tp", "fit"), [(8, 4, True), (8, 16, True), (8, 3, False), (4, 6, False)])
def test_kv_heads_divide_or_repeat(kv_heads: int, tp: int, fit: bool) -> None:
    assert kv_heads_fit(kv_heads, tp) is fit


def test_every_legal_size_has_no_problem_and_the_rest_have_one() -> None:
    for model in list(load_catalog().models.values())[:66]:
        legal = valid_tp(model, 16)
        assert 1 in legal
        for tp in range(1, min(16, model.n_heads) + 1):
            assert bool(divisibility_problems(model, Parallelism(tp=tp))) == (tp not in legal)


def test_block_quantised_experts_keep_whole_blocks() -> None:
    assert codes("Qwen/Qwen3-235B-A22B-FP8", tp=4) == []
    assert codes("Qwen/Qwen3-235B-A22B-FP8", tp=8) == ["tp_cuts_quantisation_block"]
    assert codes("Qwen/Qwen3-235B-A22B-FP8", tp=8, ep=8) == []
    assert codes("Qwen/Qwen3-235B-A22B", tp=8) == []


@pytest.mark.parametrize(
    ("model", "sizes", "code"),
    [
        ("Llama-3.1-8B", {"ep": 2}, "ep_without_experts"),
        ("Mixtral-8x7B", {"tp": 2, "ep": 4}, "ep_does_not_divide_ranks"),
        ("Mixtral-8x7B", {"tp": 16, "ep": 16}, "ep_does_not_divide_experts"),
        ("Llama-3.1-8B", {"pp": 33}, "pp_exceeds_layers"),
        ("Qwen3.5-27B", {"tp": 16}, "tp_does_not_divide_heads"),
    ],
)
def test_misfits_have_codes(model: str, sizes: dict[str, int], code: str) -> None:
    assert code in codes(model, **sizes)


def test_latent_attention_has_no_kv_heads_to_divide() -> None:
    assert codes("DeepSeek-R1", tp=8) == []
    assert codes("DeepSeek-R1", tp=16) == []


@given(st.integers(min_value=1, max_value=200), st.integers(min_value=1, max_value=16))
def test_layers_split_evenly(layers: int, stages: int) -> None:
    counts = even_partition(layers, stages)
    assert sum(counts) == layers
    assert len(counts) == stages
    assert max(counts) - min(counts) <= 1


def test_the_last_stage_gets_no_spare_layer() -> None:
    assert even_partition(80, 3) == (27, 27, 26)
    assert even_partition(61, 2) == (31, 30)
