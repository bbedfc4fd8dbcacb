"""What a model is: groups of layers with shapes and parameter counts, in the terms that memory and step time need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from costmodel.deployment.dtypes import COMPONENTS, WeightFormat

AttentionKind = Literal["full", "sliding", "chunked", "mla", "linear", "mamba"]


@dataclass(frozen=True, slots=True)
class AttentionGroup:
    """Layers that mix tokens in the same way.

    `kv_layers` of the `layers` keep a cache of their own; the others read another layer's (cross-layer sharing).
    `kv_values_per_token` counts cached numbers per token and caching layer over the whole model: (key + value)
    x KV heads, or the latent and rope part for MLA. `window_tokens` bounds what a sliding or chunked layer reads.
    `state_*` count the numbers of one sequence's recurrent state per layer. Parameters are per layer:
    `head_params` follow the query heads under tensor parallelism, `kv_params` the KV heads, `replicated_params`
    stand whole on every rank. `indexer_*` describe the selector of a sparse attention.
    """

    kind: AttentionKind
    layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    value_head_dim: int
    kv_values_per_token: int
    kv_layers: int
    head_params: int
    kv_params: int
    replicated_params: int = 0
    window_tokens: int | None = None
    kv_lora_rank: int = 0
    rope_head_dim: int = 0
    q_lora_rank: int = 0
    indexer_params: int = 0
    indexer_heads: int = 0
    indexer_values_per_token: int = 0
    indexer_topk: int = 0
    conv_state_values: int = 0
    recurrent_state_values: int = 0
    recurrent_state_dtype: str = "auto"
    compression_ratio: int = 1

    @property
    def params_per_layer(self) -> int:
        return self.head_params + self.kv_params + self.replicated_params + self.indexer_params

    @property
    def is_recurrent(self) -> bool:
        return self.kind in ("linear", "mamba")


@dataclass(frozen=True, slots=True)
class MlpGroup:
    """Layers with the same feed-forward part. Parameters are per layer; `expert_params` of one expert.

    A dense group has `dense_params` only. In a MoE layer each token visits `experts_active` of `experts` routed
    experts and all shared ones (`shared_params` together). `input_dim` is the width the experts see: the hidden size,
    or the latent of a LatentMoE, whose projections are `latent_params`.
    """

    kind: Literal["dense", "moe"]
    layers: int
    gated: bool
    intermediate: int
    input_dim: int
    dense_params: int = 0
    experts: int = 0
    experts_active: int = 0
    experts_shared: int = 0
    shared_intermediate: int = 0
    expert_params: int = 0
    shared_params: int = 0
    router_params: int = 0
    latent_params: int = 0

    @property
    def dense_width(self) -> int:
        """Inner width that every token passes: of the dense FFN, or of a MoE layer's shared experts together."""
        return self.intermediate if self.kind == "dense" else self.shared_intermediate


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model's architecture. `layer_map[i]` is (attention group, MLP group) of layer i, -1 where it has none.

    `params_total` counts the base model as the checkpoint's public size does. Beside it stand `mtp_params`
    (multi-token prediction layers on disk, `mtp_embedding_params` of them copies of embedding and head) and
    `vision_params`. `params_active` are read for one token, the input embedding included; `params_active_matmul`
    without the lookup.
    """

    id: str
    hidden: int
    layers: int
    n_heads: int
    vocab: int
    tied_embeddings: bool
    max_context_tokens: int
    attention: tuple[AttentionGroup, ...]
    mlp: tuple[MlpGroup, ...]
    layer_map: tuple[tuple[int, int], ...]
    native_format: WeightFormat
    embedding_params: int
    head_params: int
    norm_params_per_layer: int
    final_norm_params: int
    mtp_params: int = 0
    mtp_embedding_params: int = 0
    vision_params: int = 0
    vision: bool = False
    other_params: int = 0
    confidence: str = "user"
    source: str = ""
    notes: tuple[str, ...] = ()
    approximate: bool = False

    @property
    def native_weight_dtype(self) -> str:
        return self.native_format.name

    @property
    def params_by_component(self) -> dict[str, int]:
        """Parameters of the base model by component, in the order of `COMPONENTS` (zeros left out)."""
        counts = dict.fromkeys(COMPONENTS, 0)
        counts["embedding"] = self.embedding_params
        counts["head"] = self.head_params
        counts["norms"] = self.norm_params_per_layer * self.layers + self.final_norm_params + self.other_params
        for group in self.attention:
            name = "linear_attention" if group.is_recurrent else "attention"
            counts[name] += group.layers * (group.params_per_layer - group.indexer_params)
            counts["indexer"] += group.layers * group.indexer_params
        for mlp in self.mlp:
            counts["dense_mlp"] += mlp.layers * (mlp.dense_params + mlp.latent_params)
            counts["experts"] += mlp.layers * mlp.experts * mlp.expert_params
            counts["shared_experts"] += mlp.layers * mlp.shared_params
            counts["router"] += mlp.layers * mlp.router_params
        return {name: count for name, count in counts.items() if count}

    @property
    def params_total(self) -> int:
        return sum(self.params_by_component.values())

    @property
    def params_active(self) -> int:
        idle = sum(mlp.layers * (mlp.experts - mlp.experts_active) * mlp.expert_params for mlp in self.mlp)
        return self.params_total - idle

    @property
    def params_active_matmul(self) -> int:
        """Active parameters that take part in matrix products: without the embedding lookup of an untied model."""
        return self.params_active - (0 if self.tied_embeddings else self.embedding_params)

    @property
    def is_moe(self) -> bool:
        return any(mlp.kind == "moe" for mlp in self.mlp)

    @property
    def is_mla(self) -> bool:
        return any(group.kind == "mla" for group in self.attention)

    @property
    def n_kv_heads(self) -> int:
        """KV heads of the attention layers (the largest, where groups differ); 0 for a purely recurrent model."""
        return max((group.n_kv_heads for group in self.attention if not group.is_recurrent), default=0)
