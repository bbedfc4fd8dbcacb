"""Every listed model against public parameter counts and cache sizes."""

import csv
from pathlib import Path

import pytest

from costmodel import load_catalog

ROWS = list(csv.DictReader((Path(__file__).parent / "expected_models.csv").read_text().splitlines()))
PUBLIC_COUNT_EXCEPTIONS = {
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": 0.012,  # the public 109 B counts the vision tower
    "Qwen/Qwen3.5-35B-A3B": 0.010,  # public size is rounded to 35 B
    "zai-org/GLM-4.5": 0.007,  # rounded to 355 B, with its prediction layer
    "zai-org/GLM-4.6": 0.007,
    "zai-org/GLM-4.5-Air": 0.009,  # rounded to 106 B
    "MiniMaxAI/MiniMax-M2": 0.006,  # rounded to 230 B
    "MiniMaxAI/MiniMax-M2.5": 0.006,
    "nvidia/Nemotron-H-56B-Base-8K": 0.006,  # rounded to 56 B
    "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8": 0.006,  # rounded to 120 B
}


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_parameters_match_the_recount(row: dict[str, str]) -> None:
    model = load_catalog().models[row["id"]]
    assert model.params_total / 1e9 == pytest.approx(float(row["params_total_b"]), rel=0.001)
    assert model.params_active / 1e9 == pytest.approx(float(row["params_active_b"]), rel=0.001)
    active = float(row["params_active_excl_embed_lookup_b"])
    assert model.params_active_matmul / 1e9 == pytest.approx(active, rel=0.001)
    assert sum(model.params_by_component.values()) == model.params_total


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_parameters_match_the_public_size(row: dict[str, str]) -> None:
    model = load_catalog().models[row["id"]]
    tolerance = PUBLIC_COUNT_EXCEPTIONS.get(row["id"], 0.005)
    assert model.params_total / 1e9 == pytest.approx(float(row["public_total_b"]), rel=tolerance)


@pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])
def test_cache_bytes_are_exact(row: dict[str, str]) -> None:
    model = load_catalog().models[row["id"]]
    growing = sum(g.kv_values_per_token * g.kv_layers * 2 for g in model.attention if g.kind in ("full", "mla"))
    windowed = sum(g.kv_values_per_token * g.kv_layers * 2 for g in model.attention if g.kind in ("sliding", "chunked"))
    state = sum(g.layers * (g.conv_state_values + g.recurrent_state_values) * 2 for g in model.attention)
    assert growing == int(row["kv_bytes_per_token_global"])
    assert windowed == int(row["kv_bytes_per_token_sliding"])
    assert state == int(row["recurrent_state_bytes_per_seq"])
    assert model.max_context_tokens == int(row["max_context"])


def test_every_shipped_config_is_a_model() -> None:
    models = load_catalog().models
    assert len(models) >= 130
    for model_id, model in models.items():
        assert model.id == model_id
        assert model.params_active <= model.params_total
        assert len(model.layer_map) == model.layers
        assert model.source
        assert model.confidence


def test_groups_cover_the_layers() -> None:
    for model in load_catalog().models.values():
        for index, group in enumerate(model.attention):
            assert group.layers == sum(1 for a, _ in model.layer_map if a == index)
            assert group.kv_layers <= group.layers
        for index, mlp in enumerate(model.mlp):
            assert mlp.layers == sum(1 for _, m in model.layer_map if m == index)


@pytest.mark.parametrize(
    ("model_id", "quantised", "kept"),
    [
        ("openai/gpt-oss-120b", {"experts"}, {"attention", "head", "embedding", "router"}),
        ("deepseek-ai/DeepSeek-V3", {"attention", "experts", "dense_mlp"}, {"head", "embedding", "router"}),
        ("moonshotai/Kimi-K2.5", {"experts"}, {"attention", "shared_experts", "dense_mlp", "head"}),
        ("zai-org/GLM-5-FP8", {"attention", "experts"}, {"head", "router"}),
        ("nvidia/MiniMax-M2.5-NVFP4", {"experts"}, {"attention", "head"}),
    ],
)
def test_mixed_checkpoints_keep_what_their_lists_say(model_id: str, quantised: set[str], kept: set[str]) -> None:
    form = load_catalog().models[model_id].native_format
    assert {part for part in quantised if form.bytes_per_param(part) <= 1} == quantised
    assert {part for part in kept if form.bytes_per_param(part) == 2} == kept


def test_sparse_indexer_is_counted_apart() -> None:
    model = load_catalog().models["deepseek-ai/DeepSeek-V3.2"]
    plain = load_catalog().models["deepseek-ai/DeepSeek-V3"]
    assert model.params_total - plain.params_total == model.params_by_component["indexer"]
    assert model.attention[0].indexer_values_per_token == 128
