"""Which attention each layer has, by the several ways in which configs say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from costmodel.models.attention import (
    compressed_attention,
    gated_delta_net,
    kimi_delta_attention,
    latent_attention,
    mamba2,
    shares_indexer,
    standard_attention,
)
from costmodel.models.mlp import dense_mlp, dense_width, moe_layers, moe_mlp
from costmodel.models.reader import ConfigReader
from costmodel.models.spec import AttentionGroup, MlpGroup

Layer = tuple[AttentionGroup | None, MlpGroup | None]

ALTERNATING = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "gemma3n": 5, "gemma3n_text": 5, "cohere2": 4}
"""Every n-th layer is global, by family, where the config lists no layer types."""
WINDOW_EVERYWHERE = frozenset({"mistral", "mixtral", "phi3", "starcoder2"})
"""Families whose `sliding_window` holds for all layers."""
GEMMA_HEAD_DIM = 256
PATTERN_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def read_layers(reader: ConfigReader, hidden: int, n_heads: int, layers: int) -> list[Layer]:
    """Attention and feed-forward part of each layer, first to last; None where a layer lacks one."""
    blocks = _block_types(reader, layers)
    if blocks is not None:
        return _single_part_layers(reader, hidden, n_heads, blocks)
    if reader.has("block_configs"):
        return _nas_layers(reader, hidden, n_heads, layers)
    attention = _attention_layers(reader, hidden, n_heads, layers)
    sparse = moe_layers(reader, layers)
    moe = moe_mlp(reader, hidden) if any(sparse) else None
    dense = None if all(sparse) else dense_mlp(reader, hidden, dense_width(reader))
    return [(mix, moe if is_moe else dense) for mix, is_moe in zip(attention, sparse, strict=True)]


def kv_heads_and_width(reader: ConfigReader, hidden: int, n_heads: int) -> tuple[int, int]:
    """KV heads and head width; a config without KV heads is multi-head, with `multi_query` one."""
    fallback = 1 if reader.mapping.get("multi_query") is True and not reader.has("num_kv_heads") else n_heads
    kv = reader.whole("num_key_value_heads", "num_kv_heads", "multi_query_group_num", default=fallback, kind="heads")
    gemma = reader.text("model_type").startswith("gemma")  # the config class's own default, left out of diffs
    if not gemma and not reader.has("head_dim", "attention_head_dim") and hidden % n_heads:
        reader.problem(
            "hidden_not_a_multiple_of_heads",
            "hidden_size",
            f"hidden_size {hidden} is not a multiple of {n_heads} heads and head_dim is missing",
        )
    width = GEMMA_HEAD_DIM if gemma else max(1, hidden // n_heads)
    return kv, reader.whole("head_dim", "attention_head_dim", default=width)


def _block_types(reader: ConfigReader, layers: int) -> list[str] | None:
    """Nemotron-H: each layer is only a mixer, an MLP or experts, by a pattern string or a list."""
    listed = reader.per_layer("layers_block_type", layers)
    if listed is not None:
        return [str(kind) for kind in listed]
    pattern = reader.mapping.get("hybrid_override_pattern")
    if not isinstance(pattern, str) or not pattern:
        return None
    if len(pattern) != layers or set(pattern) - set(PATTERN_LETTERS):
        detail = f"hybrid_override_pattern has {len(pattern)} letters for {layers} layers; letters are M, *, - and E"
        reader.problem("bad_layer_pattern", "hybrid_override_pattern", detail)
        return ["mlp"] * layers
    return [PATTERN_LETTERS[letter] for letter in pattern]


def _single_part_layers(reader: ConfigReader, hidden: int, n_heads: int, blocks: list[str]) -> list[Layer]:
    parts: dict[str, Layer] = {}
    if "mamba" in blocks:
        parts["mamba"] = (mamba2(reader, hidden), None)
    if "attention" in blocks:
        kv, width = kv_heads_and_width(reader, hidden, n_heads)
        parts["attention"] = (standard_attention(reader, hidden, n_heads, n_kv_heads=kv, head_dim=width), None)
    if "mlp" in blocks:
        parts["mlp"] = (None, dense_mlp(reader, hidden, dense_width(reader)))
    if "moe" in blocks:
        parts["moe"] = (None, moe_mlp(reader, hidden))
    unknown = sorted(set(blocks) - set(parts))
    if unknown:
        detail = f"layers_block_type holds {unknown[:5]}; known are mamba, attention, mlp and moe"
        reader.problem("unknown_layer_type", "layers_block_type", detail)
    return [parts.get(kind, (None, None)) for kind in blocks]


def _nas_layers(reader: ConfigReader, hidden: int, n_heads: int, layers: int) -> list[Layer]:
    """Searched architectures (Nemotron-NAS): each block names its KV grouping and the width of its MLP, or none."""
    blocks = reader.per_layer("block_configs", layers) or []
    result: list[Layer] = []
    for block in blocks:
        mix, feed = (block.get("attention"), block.get("ffn")) if isinstance(block, Mapping) else (None, None)
        if not isinstance(mix, Mapping) or not isinstance(feed, Mapping):
            reader.problem("not_an_object", "block_configs", "each block needs an attention and an ffn object")
            return [(None, None)] * layers
        result.append((_nas_attention(reader, hidden, n_heads, mix), _nas_mlp(reader, hidden, feed)))
    return result or [(None, None)] * layers


def _nas_attention(reader: ConfigReader, hidden: int, n_heads: int, mix: Mapping[str, Any]) -> AttentionGroup | None:
    if mix.get("no_op") is True or mix.get("replace_with_linear") is True:
        return None
    block = ConfigReader(mix, reader.problems, reader.prefix + "block_configs.")
    per_group = block.whole("n_heads_in_group", default=1, kind="heads")
    width = max(1, hidden // n_heads)
    return standard_attention(reader, hidden, n_heads, n_kv_heads=max(1, n_heads // per_group), head_dim=width)


def _nas_mlp(reader: ConfigReader, hidden: int, feed: Mapping[str, Any]) -> MlpGroup | None:
    if feed.get("no_op") is True:
        return None
    block = ConfigReader(feed, reader.problems, reader.prefix + "block_configs.")
    scale = block.number("ffn_mult", default=4.0, low=0.001, high=100)
    width = int(2 * scale * hidden / 3)
    return dense_mlp(reader, hidden, -(-width // 256) * 256)


def _attention_layers(reader: ConfigReader, hidden: int, n_heads: int, layers: int) -> list[AttentionGroup]:
    if reader.has("compress_ratios"):
        return _compressed_layers(reader, hidden, n_heads, layers)
    linear = reader.section("linear_attn_config")
    if linear is not None:
        return _kimi_layers(reader, linear, hidden, n_heads, layers)
    if reader.has("kv_lora_rank"):
        return _latent_layers(reader, hidden, n_heads, layers)
    return _shared_caches(reader, _grouped_layers(reader, hidden, n_heads, layers))


def _compressed_layers(reader: ConfigReader, hidden: int, n_heads: int, layers: int) -> list[AttentionGroup]:
    ratios = reader.per_layer("compress_ratios", layers) or [0] * layers
    if any(isinstance(ratio, bool) or not isinstance(ratio, int) or not 0 <= ratio <= 10_000 for ratio in ratios):
        reader.problem("out_of_range", "compress_ratios", "compress_ratios must be whole numbers from 0 to 10000")
        ratios = [0] * layers
    reader.notes.append("compressed sparse attention: cache bytes are estimated from the config's ratios, unmeasured")
    made = {ratio: compressed_attention(reader, hidden, n_heads, ratio) for ratio in set(ratios)}
    return [made[ratio] for ratio in ratios]


def _kimi_layers(
    reader: ConfigReader, linear: ConfigReader, hidden: int, n_heads: int, layers: int
) -> list[AttentionGroup]:
    full = linear.mapping.get("full_attn_layers")
    numbers = set(full) if isinstance(full, list) and all(isinstance(index, int) for index in full) else set()
    if not numbers:
        linear.problem("missing_field", "full_attn_layers", "full_attn_layers must list layer numbers from 1")
    delta, latent = kimi_delta_attention(linear, hidden), latent_attention(reader, hidden, n_heads)
    return [latent if index + 1 in numbers else delta for index in range(layers)]


def _latent_layers(reader: ConfigReader, hidden: int, n_heads: int, layers: int) -> list[AttentionGroup]:
    latent = latent_attention(reader, hidden, n_heads)
    kinds = reader.per_layer("indexer_types", layers)
    if kinds is None:
        return [latent] * layers
    shared = shares_indexer(latent)
    return [shared if kind == "shared" else latent for kind in kinds]


def _grouped_layers(reader: ConfigReader, hidden: int, n_heads: int, layers: int) -> list[AttentionGroup]:
    kv, width = kv_heads_and_width(reader, hidden, n_heads)
    value = reader.whole("v_head_dim", default=width)
    full = standard_attention(reader, hidden, n_heads, n_kv_heads=kv, head_dim=width, value_head_dim=value)
    kinds = _layer_kinds(reader, layers)
    made: dict[str, AttentionGroup] = {"full": _block_sparse(reader, full)}
    if "linear" in kinds:
        made["linear"] = gated_delta_net(reader, hidden)
    if "sliding" in kinds:
        made["sliding"] = _windowed(reader, _window_shape(reader, full, hidden), "sliding")
    if "chunked" in kinds:
        window = reader.whole("attention_chunk_size", default=8192)
        made["chunked"] = replace(full, kind="chunked", window_tokens=window)
    if reader.has("global_head_dim", "num_global_key_value_heads") and "full" in kinds:
        made["full"] = _global_shape(reader, full, hidden, n_heads)
    return [made[kind] for kind in kinds]


def _windowed(reader: ConfigReader, group: AttentionGroup, kind: str) -> AttentionGroup:
    window = reader.whole("sliding_window", "sliding_window_size", default=4096)
    return replace(group, kind="sliding", window_tokens=window)


def _window_shape(reader: ConfigReader, full: AttentionGroup, hidden: int) -> AttentionGroup:
    """Windowed layers may have heads of their own (MiMo-V2)."""
    if not reader.has("swa_num_key_value_heads", "swa_head_dim"):
        return full
    return standard_attention(
        reader,
        hidden,
        reader.whole("swa_num_attention_heads", default=full.n_heads, kind="heads"),
        n_kv_heads=reader.whole("swa_num_key_value_heads", default=full.n_kv_heads, kind="heads"),
        head_dim=reader.whole("swa_head_dim", default=full.head_dim),
        value_head_dim=reader.whole("swa_v_head_dim", default=full.value_head_dim),
    )


def _global_shape(reader: ConfigReader, full: AttentionGroup, hidden: int, n_heads: int) -> AttentionGroup:
    """Gemma 4: global layers have wider and fewer KV heads, and keys serve as values in the weights (not the cache)."""
    kv = reader.whole("num_global_key_value_heads", default=full.n_kv_heads, kind="heads")
    width = reader.whole("global_head_dim", default=full.head_dim)
    group = standard_attention(reader, hidden, n_heads, n_kv_heads=kv, head_dim=width)
    if reader.mapping.get("attention_k_eq_v") is True:
        return replace(group, kv_params=hidden * kv * width)
    return group


def _block_sparse(reader: ConfigReader, full: AttentionGroup) -> AttentionGroup:
    """Block-sparse selection over a full cache (MiniMax-M3): the cache gains an index key per token."""
    sparse = reader.section("sparse_attention_config")
    if sparse is None:
        return full
    reader.notes.append("block-sparse attention: the index key's bytes are read off the config, unmeasured")
    width = sparse.whole("sparse_index_dim", default=128)
    top = sparse.whole("sparse_topk_blocks", default=16) * sparse.whole("sparse_block_size", default=128)
    return replace(full, indexer_values_per_token=width, indexer_topk=top)


def _layer_kinds(reader: ConfigReader, layers: int) -> list[str]:
    listed = reader.per_layer("layer_types", layers)
    if listed is not None:
        return [_listed_kind(reader, kind) for kind in listed]
    model_type = reader.text("model_type")
    pattern = reader.per_layer("hybrid_layer_pattern", layers)
    if pattern is not None:
        return ["sliding" if value else "full" for value in pattern]
    if reader.has("full_attention_interval") and reader.has("linear_num_value_heads"):
        every = reader.whole("full_attention_interval", kind="layers")
        return ["full" if (index + 1) % every == 0 else "linear" for index in range(layers)]
    if model_type.startswith("llama4") and reader.has("attention_chunk_size"):
        return ["full" if (index + 1) % 4 == 0 else "chunked" for index in range(layers)]
    return _windows(reader, layers, model_type)


def _listed_kind(reader: ConfigReader, kind: object) -> str:
    known = {
        "full_attention": "full",
        "sliding_attention": "sliding",
        "chunked_attention": "chunked",
        "linear_attention": "linear",
        "attention": "full",
    }
    if isinstance(kind, str) and kind in known:
        return known[kind]
    reader.problem("unknown_layer_type", "layer_types", f"layer_types may hold {', '.join(known)}")
    return "full"


def _windows(reader: ConfigReader, layers: int, model_type: str) -> list[str]:
    """Sliding windows without a list of layers: by family, or by a stated pattern."""
    if not reader.has("sliding_window") or reader.mapping.get("use_sliding_window") is False:
        return ["full"] * layers
    every = reader.whole("sliding_window_pattern", default=ALTERNATING.get(model_type, 0), low=0, kind="layers")
    if every:
        return ["full" if (index + 1) % every == 0 else "sliding" for index in range(layers)]
    if reader.mapping.get("use_sliding_window") is True:
        first = reader.whole("max_window_layers", default=layers, low=0, kind="layers")
        return ["full" if index < first else "sliding" for index in range(layers)]
    if model_type in WINDOW_EVERYWHERE:
        return ["sliding"] * layers
    reader.notes.append("sliding_window is stated but neither layer types nor a known family: all layers taken as full")
    return ["full"] * layers


def _shared_caches(reader: ConfigReader, groups: list[AttentionGroup]) -> list[AttentionGroup]:
    """The last `num_kv_shared_layers` read the cache of an earlier layer of their kind (Gemma 3n, Gemma 4)."""
    shared = reader.whole("num_kv_shared_layers", default=0, low=0, kind="layers")
    if not shared:
        return groups
    if shared >= len(groups):
        detail = f"{shared} of {len(groups)} layers would share a cache, none would own one"
        reader.problem("out_of_range", "num_kv_shared_layers", detail)
        return groups
    own = len(groups) - shared
    return groups[:own] + [replace(group, kv_layers=0, kv_params=0) for group in groups[own:]]
