"""Models without a config: from a handful of sizes, or from nothing but a parameter count."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from costmodel.deployment.problems import ModelConfigError, Problem
from costmodel.models.hf_config import model_from_hf_config
from costmodel.models.spec import ModelSpec

USUAL_VOCAB = 128_256
USUAL_CONTEXT_TOKENS = 131_072
USUAL_HEAD_DIM = 128
USUAL_KV_HEADS = 8
USUAL_INTERMEDIATE_RATIO = 3.5
USUAL_EXPERTS = 128
LADDER = (
    # billions of parameters, layers, hidden: dense models of the Llama 3 and Qwen 3 families
    (0.6, 28, 1024),
    (1.2, 16, 2048),
    (3.2, 28, 3072),
    (8.0, 32, 4096),
    (14.8, 40, 5120),
    (32.8, 64, 5120),
    (70.6, 80, 8192),
    (405.9, 126, 16384),
)
SMALLEST_B, LARGEST_B = 0.05, 3_000.0
SIZE_TOLERANCE_RATIO = 0.15
"""Sizes whose own parameter count is further than this from the stated one contradict it."""


def model_from_sizes(
    *,
    layers: int,
    hidden: int,
    n_heads: int,
    n_kv_heads: int | None = None,
    head_dim: int | None = None,
    intermediate: int | None = None,
    vocab: int | None = None,
    params_total_b: float | None = None,
    tied_embeddings: bool = False,
    max_context_tokens: int | None = None,
    experts: int | None = None,
    experts_active: int | None = None,
    moe_intermediate: int | None = None,
    experts_shared: int | None = None,
    kv_lora_rank: int | None = None,
    q_lora_rank: int | None = None,
    qk_rope_head_dim: int | None = None,
    window_tokens: int | None = None,
    weight_dtype: str = "bf16",
    model_id: str = "custom",
) -> ModelSpec:
    """A transformer from its sizes; what is left out follows the usual architecture, and a note says what.

    `params_total_b` (billions) sets the MLP width where `intermediate` is left out, and is checked against the sizes
    otherwise. `window_tokens` makes every layer a sliding window. Raises ModelConfigError with every problem.
    """
    config: dict[str, Any] = {
        "model_type": "mistral" if window_tokens else "llama",
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "num_attention_heads": n_heads,
        "num_key_value_heads": n_kv_heads,
        "head_dim": head_dim,
        "vocab_size": vocab or USUAL_VOCAB,
        "tie_word_embeddings": tied_embeddings,
        "max_position_embeddings": max_context_tokens or USUAL_CONTEXT_TOKENS,
        "num_experts": experts,
        "num_experts_per_tok": experts_active,
        "moe_intermediate_size": moe_intermediate,
        "n_shared_experts": experts_shared,
        "kv_lora_rank": kv_lora_rank,
        "q_lora_rank": q_lora_rank,
        "qk_rope_head_dim": qk_rope_head_dim,
        "sliding_window": window_tokens,
        "dtype": weight_dtype,
    }
    names = {"vocab": vocab, "max_context_tokens": max_context_tokens, "n_kv_heads": n_kv_heads}
    notes = [f"{name} not given: the usual value is used" for name, value in names.items() if value is None]
    if intermediate is None:
        intermediate = _fitted_width(config, params_total_b)
        notes.append(f"intermediate size {intermediate:,} taken from the parameter count or the usual ratio")
    spec = model_from_hf_config(
        {**config, "intermediate_size": intermediate}, model_id, source="sizes given by the user"
    )
    _check_total(spec, params_total_b)
    return replace(spec, notes=(*spec.notes, *notes), approximate=bool(notes))


def model_from_params(
    params_total_b: float,
    *,
    params_active_b: float | None = None,
    weight_dtype: str = "bf16",
    max_context_tokens: int | None = None,
    model_id: str = "custom",
) -> ModelSpec:
    """The usual architecture of that size: dense, grouped-query with 8 KV heads of 128, vocabulary 128,256.

    With `params_active_b` below the total: a mixture of 128 experts, their width and the number active set so that
    both counts come out. Always `approximate`. Raises ModelConfigError for counts that are no model's.
    """
    problems = [
        Problem(
            "out_of_range", f"{name} is {value!r}; it must be a number from {SMALLEST_B} to {LARGEST_B:g}", field=name
        )
        for name, value in (("params_total_b", params_total_b), ("params_active_b", params_active_b))
        if value is not None and not _is_size(value)
    ]
    if not problems and params_active_b is not None and params_active_b > params_total_b:
        detail = f"{params_active_b} B active of {params_total_b} B"
        problems.append(Problem("more_active_than_total", detail, field="params_active_b"))
    if problems:
        raise ModelConfigError(problems)
    if params_active_b is not None and params_active_b < params_total_b:
        spec = _usual_moe(params_total_b, params_active_b, weight_dtype, max_context_tokens, model_id)
    else:
        spec = _usual_dense(params_total_b, weight_dtype, max_context_tokens, model_id)
    note = f"planned as the usual architecture of {params_total_b:g} B parameters: shapes are assumed, not known"
    return replace(spec, notes=(note,), approximate=True, confidence="assumed")


def _is_size(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and SMALLEST_B <= float(str(value)) <= LARGEST_B


def _usual_shape(params_b: float) -> tuple[int, int]:
    """Layers and hidden size of the ladder's nearest rung; between rungs by interpolation of logarithms."""
    logs = [(math.log(size), layers, hidden) for size, layers, hidden in LADDER]
    at = min(max(math.log(params_b), logs[0][0]), logs[-1][0])
    for (low, layers, hidden), (high, more_layers, wider) in pairwise(logs):
        if at <= high:
            share = (at - low) / (high - low)
            width = hidden * (wider / hidden) ** share
            return round(layers + (more_layers - layers) * share), max(512, round(width / 1024) * 1024)
    return LADDER[-1][1], LADDER[-1][2]


def _usual_dense(params_b: float, dtype: str, context: int | None, model_id: str) -> ModelSpec:
    layers, hidden = _usual_shape(params_b)
    heads = max(1, hidden // USUAL_HEAD_DIM)
    return model_from_sizes(
        layers=layers,
        hidden=hidden,
        n_heads=heads,
        n_kv_heads=min(USUAL_KV_HEADS, heads),
        head_dim=USUAL_HEAD_DIM,
        params_total_b=params_b,
        tied_embeddings=params_b < 5,
        max_context_tokens=context,
        weight_dtype=dtype,
        model_id=model_id,
    )


def _usual_moe(total_b: float, active_b: float, dtype: str, context: int | None, model_id: str) -> ModelSpec:
    """Layers and width of a dense model of the active size; 128 experts whose width makes the total come out, and as
    many of them active as make the active count come out."""
    layers, hidden = _usual_shape(active_b)
    heads = max(1, hidden // USUAL_HEAD_DIM)
    shape: dict[str, Any] = {
        "layers": layers,
        "hidden": hidden,
        "n_heads": heads,
        "n_kv_heads": min(USUAL_KV_HEADS, heads),
        "head_dim": USUAL_HEAD_DIM,
        "max_context_tokens": context,
        "weight_dtype": dtype,
        "model_id": model_id,
    }
    bare_b = model_from_sizes(**shape, intermediate=1).params_total / 1e9
    width = max(64, round((total_b - bare_b) * 1e9 / (layers * USUAL_EXPERTS * 3 * hidden) / 64) * 64)
    active = round(USUAL_EXPERTS * (active_b - bare_b) / max(total_b - bare_b, 1e-9))
    experts: dict[str, Any] = {
        "experts": USUAL_EXPERTS,
        "experts_active": min(max(1, active), USUAL_EXPERTS),
        "moe_intermediate": width,
    }
    return model_from_sizes(**shape, intermediate=width, **experts)


def _fitted_width(config: Mapping[str, Any], params_total_b: float | None) -> int:
    """The MLP width that makes the parameters come out, to a multiple of 128; by the usual ratio without a total."""
    hidden = config["hidden_size"]
    usual = round(USUAL_INTERMEDIATE_RATIO * hidden / 128) * 128 if isinstance(hidden, (int, float)) else 128
    if params_total_b is None or not _is_size(params_total_b) or config["num_experts"]:
        return max(128, usual)
    bare = model_from_hf_config({**config, "intermediate_size": 1})
    room = params_total_b * 1e9 - bare.params_total
    return max(128, round(room / (3 * bare.hidden * bare.layers) / 128) * 128)


def _check_total(spec: ModelSpec, params_total_b: float | None) -> None:
    if params_total_b is None:
        return
    if not _is_size(params_total_b):
        detail = f"params_total_b is {params_total_b!r}; it must be a number from {SMALLEST_B} to {LARGEST_B:g}"
        raise ModelConfigError([Problem("out_of_range", detail, field="params_total_b")])
    gap = spec.params_total / 1e9 / params_total_b - 1
    if abs(gap) > SIZE_TOLERANCE_RATIO:
        made = spec.params_total / 1e9
        detail = f"the sizes make {made:.2f} B parameters, {gap:+.0%} from the stated {params_total_b:g} B"
        raise ModelConfigError([Problem("sizes_contradict_total", detail, field="params_total_b")])
