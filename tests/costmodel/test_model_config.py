"""Configs of every kind, and configs that are wrong or hostile."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costmodel import ModelConfigError, ModelSpec, Problem, model_from_hf_config, model_from_params, model_from_sizes

FOLDER = files("costmodel") / "data" / "models"
CONFIGS = {item.name: json.loads(item.read_text()) for item in FOLDER.iterdir() if item.name.endswith(".json")}
SAMPLES = [CONFIGS[name] for name in sorted(CONFIGS)]
LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
}

JUNK: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-5, max_value=5),
    st.integers(min_value=-(10**30), max_value=10**30),
    st.floats(allow_nan=True, allow_infinity=True),
    st.text(max_size=12),
    st.lists(st.one_of(st.integers(), st.text(max_size=3), st.none()), max_size=4),
    st.dictionaries(st.text(max_size=4), st.one_of(st.integers(), st.none(), st.text(max_size=3)), max_size=3),
)


def read_or_list(config: dict[str, Any]) -> ModelSpec | tuple[Problem, ...]:
    """The model, or the problems of a config that is none."""
    try:
        return model_from_hf_config(config)
    except ModelConfigError as error:
        return error.problems


def check(result: ModelSpec | tuple[Problem, ...]) -> None:
    if isinstance(result, ModelSpec):
        assert result.params_total > 0
    else:
        assert result
        assert all(problem.code and problem.detail for problem in result)


@given(st.sampled_from(SAMPLES), st.data())
@settings(max_examples=150, deadline=None)
def test_mutated_configs_become_models_or_named_problems(config: dict[str, Any], data: st.DataObject) -> None:
    mutated = dict(config)
    for key in data.draw(st.lists(st.sampled_from(sorted(config)), min_size=1, max_size=4)):
        mutated[key] = data.draw(JUNK)
    check(read_or_list(mutated))


@given(st.dictionaries(st.sampled_from(sorted({key for config in SAMPLES for key in config})), JUNK, max_size=12))
@settings(max_examples=100, deadline=None)
def test_random_mappings_never_crash(config: dict[str, Any]) -> None:
    check(read_or_list(config))


@pytest.mark.parametrize("config", [None, [], "text", 5, float("nan")])
def test_what_is_no_object_is_refused(config: Any) -> None:
    with pytest.raises(ModelConfigError):
        model_from_hf_config(config)


def test_all_problems_come_at_once() -> None:
    wrong = {**LLAMA, "hidden_size": -1, "num_hidden_layers": "many", "vocab_size": float("nan")}
    with pytest.raises(ModelConfigError) as caught:
        model_from_hf_config(wrong)
    assert {problem.field for problem in caught.value.problems} >= {"hidden_size", "num_hidden_layers", "vocab_size"}


def test_a_missing_field_is_named() -> None:
    with pytest.raises(ModelConfigError) as caught:
        model_from_hf_config({key: value for key, value in LLAMA.items() if key != "vocab_size"})
    assert [(p.code, p.field) for p in caught.value.problems] == [("missing_field", "vocab_size")]


def test_heads_must_be_a_multiple_of_kv_heads() -> None:
    with pytest.raises(ModelConfigError) as caught:
        model_from_hf_config({**LLAMA, "num_key_value_heads": 5})
    assert caught.value.problems[0].code == "heads_not_a_multiple_of_kv_heads"


def test_text_part_of_a_multimodal_config_is_read() -> None:
    nested = model_from_hf_config({"model_type": "some_vl", "vision_config": {}, "text_config": LLAMA})
    assert nested.params_total == model_from_hf_config(LLAMA).params_total
    assert nested.vision
    assert nested.notes


def test_tied_embeddings_count_once() -> None:
    tied = model_from_hf_config({**LLAMA, "tie_word_embeddings": True})
    untied = model_from_hf_config({**LLAMA, "tie_word_embeddings": False})
    assert untied.params_total - tied.params_total == 128256 * 4096
    assert tied.params_active_matmul == tied.params_active


def test_multi_query_and_multi_head_are_the_ends_of_grouped() -> None:
    one = model_from_hf_config({**LLAMA, "num_key_value_heads": 1})
    all_heads = model_from_hf_config({key: value for key, value in LLAMA.items() if key != "num_key_value_heads"})
    assert one.attention[0].kv_values_per_token * 32 == all_heads.attention[0].kv_values_per_token


def test_layers_that_share_a_cache_store_nothing() -> None:
    shared = model_from_hf_config({**LLAMA, "model_type": "gemma4_text", "num_kv_shared_layers": 12})
    assert sum(group.kv_layers for group in shared.attention) == 20
    assert sum(group.layers for group in shared.attention) == 32


def test_cross_layer_sharing_of_every_layer_is_refused() -> None:
    with pytest.raises(ModelConfigError):
        model_from_hf_config({**LLAMA, "num_kv_shared_layers": 32})


@pytest.mark.parametrize(
    ("model_type", "extra", "sliding"),
    [
        ("gemma2", {"sliding_window": 4096}, 16),
        ("gemma3_text", {"sliding_window": 1024}, 27),
        ("mistral", {"sliding_window": 4096}, 32),
        ("qwen2", {"sliding_window": 4096, "use_sliding_window": False}, 0),
        ("qwen2", {"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 20}, 12),
        ("llama", {"sliding_window": None}, 0),
    ],
)
def test_windows_follow_family_and_fields(model_type: str, extra: dict[str, Any], sliding: int) -> None:
    model = model_from_hf_config({**LLAMA, "model_type": model_type, **extra})
    assert sum(group.layers for group in model.attention if group.kind == "sliding") == sliding


def test_a_layer_list_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ModelConfigError) as caught:
        model_from_hf_config({**LLAMA, "layer_types": ["full_attention"] * 3})
    assert caught.value.problems[0].code == "wrong_length"


def test_an_unknown_quantisation_is_named() -> None:
    with pytest.raises(ModelConfigError) as caught:
        model_from_hf_config({**LLAMA, "quantization_config": {"quant_method": "magic"}})
    assert caught.value.problems[0].code == "unknown_quantization"


def test_the_name_tells_the_format_where_the_config_does_not() -> None:
    model = model_from_hf_config(LLAMA, "someone/Llama-3.1-8B-FP8")
    assert model.native_weight_dtype == "fp8"
    assert any("name" in note for note in model.notes)


def test_sizes_make_the_model_of_the_same_config() -> None:
    sizes = model_from_sizes(
        layers=32, hidden=4096, n_heads=32, n_kv_heads=8, intermediate=14336, vocab=128256, max_context_tokens=131072
    )
    assert sizes.params_total == model_from_hf_config(LLAMA).params_total
    assert not sizes.approximate


def test_sizes_that_contradict_the_total_are_refused() -> None:
    with pytest.raises(ModelConfigError) as caught:
        model_from_sizes(layers=32, hidden=4096, n_heads=32, intermediate=14336, params_total_b=70)
    assert caught.value.problems[0].code == "sizes_contradict_total"


@given(st.floats(min_value=0.5, max_value=700))
@settings(max_examples=40, deadline=None)
def test_a_bare_count_comes_out_and_says_so(params_b: float) -> None:
    model = model_from_params(params_b)
    assert model.params_total / 1e9 == pytest.approx(params_b, rel=0.1)
    assert model.approximate
    assert model.notes


@pytest.mark.parametrize(("total", "active"), [(30.5, 3.3), (235, 22), (671, 37), (1026, 32)])
def test_a_bare_count_of_experts_comes_out(total: float, active: float) -> None:
    model = model_from_params(total, params_active_b=active)
    assert model.params_total / 1e9 == pytest.approx(total, rel=0.03)
    assert model.params_active / 1e9 == pytest.approx(active, rel=0.15)


@pytest.mark.parametrize("count", [0, -7, float("nan"), float("inf"), 10**9, "70", True])
def test_counts_that_are_no_models_are_refused(count: Any) -> None:
    with pytest.raises(ModelConfigError):
        model_from_params(count)
