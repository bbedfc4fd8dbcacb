"""Bytes of weights on one GPU: what tensor, pipeline and expert parallelism divide, and what each rank repeats."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.deployment.deployment import Deployment
from costmodel.deployment.dtypes import BYTES_PER_PARAM, WeightFormat
from costmodel.models.spec import AttentionGroup, MlpGroup, ModelSpec

VOCAB_PADDING = 64
"""vLLM pads the vocabulary to a multiple of 64 before sharding (`DEFAULT_VOCAB_PADDING_SIZE`)."""
MXFP4_WIDTH = 256
"""MXFP4 expert kernels pad the hidden width to a multiple of 256: gpt-oss-120b loads 64.4 GiB, not 60.7."""


@dataclass(frozen=True, slots=True)
class WeightLine:
    """One component's bytes on one GPU of one pipeline stage."""

    component: str
    bytes: float


def checkpoint_bytes(model: ModelSpec, weights: WeightFormat | None = None) -> float:
    """Bytes of the checkpoint on disk, prediction layers and an estimated vision tower included."""
    form = weights or model.native_format
    base = sum(count * form.bytes_per_param(part) for part, count in model.params_by_component.items())
    copies = model.mtp_embedding_params * form.bytes_per_param("embedding")
    layers = (model.mtp_params - model.mtp_embedding_params) * form.bytes_per_param("experts")
    return base + layers + copies + model.vision_params * form.bytes_per_param("vision")


def stage_weights(deployment: Deployment, stage: int) -> tuple[WeightLine, ...]:
    """Weights on each GPU of pipeline stage `stage`, by component.

    Query-side projections, dense and shared MLPs are divided by tp; key-value projections by tp up to the number of
    KV heads, beyond which heads repeat; experts by tp x dp; embedding and head by tp after padding the vocabulary.
    Routers, norms, latent (MLA) down-projections and indexers stand whole on every rank. The first stage holds the
    embedding, the last the head (its own copy where embeddings are tied and stages differ).
    """
    totals: dict[str, float] = {}
    known: dict[tuple[int, int], dict[str, float]] = {}
    for kind in stage_kinds(deployment, stage):
        if kind not in known:
            known[kind] = _layer_weights(*layer_of(deployment, kind), deployment)
        for name, size in known[kind].items():
            totals[name] = totals.get(name, 0.0) + size
    _add_ends(totals, deployment, stage)
    return tuple(WeightLine(component, size) for component, size in totals.items() if size)


def stage_kinds(deployment: Deployment, stage: int) -> tuple[tuple[int, int], ...]:
    """Places of the attention and of the MLP group of each layer of a stage; layers of equal places are alike."""
    first = sum(deployment.layer_partition[:stage])
    return deployment.model.layer_map[first : first + deployment.layer_partition[stage]]


def layer_of(deployment: Deployment, kind: tuple[int, int]) -> tuple[AttentionGroup | None, MlpGroup | None]:
    """The groups at these places (a group's counts still describe the whole model)."""
    model, (attention, mlp) = deployment.model, kind
    return (model.attention[attention] if attention >= 0 else None, model.mlp[mlp] if mlp >= 0 else None)


def kv_head_share(n_kv_heads: int, tp: int) -> float:
    """Share of the KV heads that one rank holds: 1 / tp, but never less than one head."""
    return max(1, -(-n_kv_heads // tp)) / n_kv_heads


def _layer_weights(attention: AttentionGroup | None, mlp: MlpGroup | None, deployment: Deployment) -> dict[str, float]:
    """Bytes of one layer by component."""
    form = deployment.weights
    found: dict[str, float] = {}
    if attention is not None:
        found |= _attention_weights(attention, deployment)
    if mlp is not None:
        found |= _mlp_weights(mlp, deployment)
    return found | {"norms": deployment.model.norm_params_per_layer * form.bytes_per_param("norms")}


def _attention_weights(group: AttentionGroup, deployment: Deployment) -> dict[str, float]:
    tp, form = deployment.parallelism.tp, deployment.weights
    name = "linear_attention" if group.is_recurrent else "attention"
    params = group.head_params / tp + group.replicated_params
    if group.kv_params:
        params += group.kv_params * kv_head_share(group.n_kv_heads, tp)
    found = {name: params * form.bytes_per_param(name)}
    if group.indexer_params:
        found["indexer"] = group.indexer_params * form.bytes_per_param("indexer")
    if group.kind == "mla" and group.rope_head_dim and deployment.profile.name == "vllm":
        nope = group.head_dim - group.rope_head_dim
        absorbed = group.kv_lora_rank * group.n_heads * (nope + group.value_head_dim) / tp
        found["absorbed_mla"] = absorbed * BYTES_PER_PARAM[form.kept_dtype]
    return found


def _mlp_weights(mlp: MlpGroup, deployment: Deployment) -> dict[str, float]:
    tp, form = deployment.parallelism.tp, deployment.weights
    return {
        "dense_mlp": (mlp.dense_params / tp + mlp.latent_params) * form.bytes_per_param("dense_mlp"),
        "experts": _experts_per_rank(mlp, deployment) * form.bytes_per_param("experts"),
        "shared_experts": mlp.shared_params / tp * form.bytes_per_param("shared_experts"),
        "router": mlp.router_params * form.bytes_per_param("router"),
    }


def _experts_per_rank(mlp: MlpGroup, deployment: Deployment) -> float:
    """Expert parameters of one layer on one rank: whole experts by ep (rounded up), the rest of tp x dp within each."""
    if not mlp.experts:
        return 0.0
    ep = deployment.parallelism.ep
    within = max(1.0, deployment.parallelism.expert_ranks / ep)
    padding = 1.0
    if deployment.weights.dtype_of("experts") == "mxfp4" and deployment.profile.name == "vllm":
        padding = -(-mlp.input_dim // MXFP4_WIDTH) * MXFP4_WIDTH / mlp.input_dim
    return -(-mlp.experts // ep) * mlp.expert_params / within * padding


def _add_ends(totals: dict[str, float], deployment: Deployment, stage: int) -> None:
    model, form, tp = deployment.model, deployment.weights, deployment.parallelism.tp
    first, last = stage == 0, stage == deployment.parallelism.pp - 1
    padded = -(-model.vocab // VOCAB_PADDING) * VOCAB_PADDING * model.hidden / tp
    if first:
        totals["embedding"] = padded * form.bytes_per_param("embedding")
        totals["vision"] = model.vision_params * form.bytes_per_param("vision")
    if last and (not model.tied_embeddings or not first):
        totals["head"] = padded * form.bytes_per_param("head")
    if last:
        norms = model.final_norm_params * form.bytes_per_param("norms")
        totals["norms"] = totals.get("norms", 0.0) + norms
    if model.other_params:
        totals["other"] = model.other_params * form.bytes_per_param("embedding") / deployment.parallelism.pp
