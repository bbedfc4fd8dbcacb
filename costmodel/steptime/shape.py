"""What a step costs in FLOPs, bytes and messages on one GPU, before any efficiency: pure counting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from costmodel.catalog.hardware import Accelerator
from costmodel.deployment.deployment import Deployment, Parallelism
from costmodel.deployment.dtypes import KV_BYTES_PER_VALUE
from costmodel.models.spec import AttentionGroup, MlpGroup, ModelSpec

Value = float | NDArray[np.float64]

WINDOW_AS_CONTEXT_TOKENS = 4096
"""Windows from this size up are counted as full context: most requests never fill them."""
NETWORK_GB_PER_S = 50.0
"""Between nodes: one 400 Gb/s port a GPU, as the reference designs of 8-GPU servers have. Assumed, not measured."""
PCIE_FALLBACK_GB_PER_S = 32.0
QUANTISED_CLASSES = ("fp8", "int8", "fp4")
"""Computed in these formats, a layer's activations are quantised by kernels of their own."""
ACTIVATION_BYTES = 2.0
DENSE_COMPONENTS = ("attention", "linear_attention", "indexer", "dense_mlp", "shared_experts", "router")


@dataclass(frozen=True, slots=True)
class StepShape:
    """Work of one step on one rank, by what it scales with; time sums over pipeline stages.

    Parameters count weights on one GPU of every stage together; FLOP rates are peaks in FLOP/s, bandwidths bytes/s.
    `dense_params` are those computed in the quantised format, `plain_params` those kept in 16 bit. `pair_flops` are
    per query-key pair, `context_*` per token of context, `seat_bytes` per decoding sequence, `window_flops_per_token`
    per token of any kind. Fields may be arrays of one shape when many deployments are computed at once.
    """

    tp: Value
    pp: Value
    attention_ranks: Value
    layers: Value
    moe_layers: Value
    latent_layers: Value
    recurrent_layers: Value
    quantised_layers: Value
    hidden: Value
    token_bytes: Value
    all_reduces: Value
    plain_params: Value
    dense_params: Value
    gemm_depth: Value
    dense_bytes: Value
    dense_flops: Value
    experts: Value
    experts_active: Value
    expert_params: Value
    expert_width: Value
    expert_bytes_per_param: Value
    expert_shards: Value
    expert_flops: Value
    head_params: Value
    head_bytes: Value
    context_bytes: Value
    context_flops: Value
    pair_flops: Value
    seat_bytes: Value
    window_flops_per_token: Value
    attention_flops: Value
    bandwidth: Value
    link_bandwidth: Value


def compute_class(accelerator: Accelerator, storage_dtype: str) -> str:
    """Format in which the matrix units compute weights stored as `storage_dtype`: bf16, fp8, int8, fp4 or w4a16.

    FP8 and FP4 without hardware for them, and weight-only formats, are unpacked and computed in 16 bit. MXFP4 weights
    count as FP4 where the hardware has it.
    """
    if storage_dtype in ("nvfp4", "mxfp4", "fp4"):
        return "fp4" if accelerator.dense_tflops("fp4") else "w4a16"
    if storage_dtype in ("fp8", "int8"):
        return storage_dtype if accelerator.dense_tflops(storage_dtype) else "bf16"
    return "w4a16" if storage_dtype == "w4a16" else "bf16"


def peak_flops(accelerator: Accelerator, klass: str) -> float:
    """Dense peak in FLOP/s of a compute class; raises ValueError where the catalog has no rate for it."""
    dtype = "bf16" if klass == "w4a16" else klass
    rate = accelerator.dense_tflops(dtype)
    if not rate:
        raise ValueError(f"{accelerator.id} has no dense {dtype} rate in the catalog")
    return rate * 1e12


def link_class(deployment: Deployment) -> str:
    """What the GPUs of one stage talk over: nvlink (any switched or mesh fabric), pcie or network."""
    gpus = deployment.parallelism.tp * deployment.parallelism.dp
    accelerator = deployment.accelerator
    if gpus > max(accelerator.link_domain_gpus, accelerator.gpus_per_node):
        return "network"
    if accelerator.link_kind == "pcie" or (accelerator.link_kind == "bridge_pairs" and gpus > 2):
        return "pcie"
    return "nvlink"


def step_shape(deployment: Deployment) -> StepShape:
    """Count the work of a step of this deployment. Raises ValueError when the accelerator's rates are unknown."""
    model, accelerator, spread = deployment.model, deployment.accelerator, deployment.parallelism
    bits16 = peak_flops(accelerator, "bf16")
    plain, quantised, dense_bytes = _dense(deployment)
    moe = _moe_layers(model)
    expert = max((group.expert_params for group in moe), default=0)
    expert_dtype = deployment.weights.dtype_of("experts")
    head = model.head_params or model.embedding_params
    attention = [_attention_work(group, deployment) for group in model.attention]
    return StepShape(
        tp=float(spread.tp),
        pp=float(spread.pp),
        attention_ranks=float(spread.dp),
        layers=float(model.layers),
        moe_layers=float(sum(group.layers for group in moe)),
        latent_layers=float(sum(group.layers for group in model.attention if group.kind == "mla")),
        recurrent_layers=float(sum(group.layers for group in model.attention if group.is_recurrent)),
        quantised_layers=float(model.layers) if dense_class(deployment) in QUANTISED_CLASSES else 0.0,
        hidden=float(model.hidden),
        token_bytes=_token_bytes(model, spread.tp),
        all_reduces=2.0 * model.layers if spread.tp > 1 else 0.0,
        plain_params=plain,
        dense_params=quantised,
        gemm_depth=_gemm_depth(model, spread.tp),
        dense_bytes=dense_bytes,
        dense_flops=peak_flops(accelerator, dense_class(deployment)),
        experts=float(max((group.experts for group in moe), default=0)),
        experts_active=float(max((group.experts_active for group in moe), default=0)),
        expert_params=float(expert),
        expert_width=_expert_width(moe, spread),
        expert_bytes_per_param=deployment.weights.bytes_per_param("experts"),
        expert_shards=float(spread.expert_ranks),
        expert_flops=peak_flops(accelerator, compute_class(accelerator, expert_dtype)),
        head_params=head / spread.tp,
        head_bytes=head / spread.tp * deployment.weights.bytes_per_param("head"),
        context_bytes=sum(work.context_bytes for work in attention),
        context_flops=sum(work.context_flops for work in attention),
        pair_flops=sum(work.pair_flops for work in attention),
        seat_bytes=sum(work.seat_bytes for work in attention),
        window_flops_per_token=sum(work.window_flops for work in attention),
        attention_flops=bits16,
        bandwidth=accelerator.memory_bandwidth_gb_per_s * 1e9,
        link_bandwidth=_link_gb_per_s(deployment) * 1e9,
    )


def dense_class(deployment: Deployment) -> str:
    """Compute class of the bulk of the dense layers."""
    component = "dense_mlp" if any(group.kind == "dense" for group in deployment.model.mlp) else "attention"
    return compute_class(deployment.accelerator, deployment.weights.dtype_of(component))


def expert_class(deployment: Deployment) -> str:
    """Compute class of the routed experts (of the dense layers, for a model without)."""
    if not deployment.model.is_moe:
        return dense_class(deployment)
    return compute_class(deployment.accelerator, deployment.weights.dtype_of("experts"))


def expert_kernels(deployment: Deployment) -> str:
    """Kernels of the routed experts: their compute class, and `fp8_block` for FP8 with a scale per block of weights.

    Only TensorRT-LLM has fast grouped GEMMs for one scale per matrix; elsewhere both kinds run at the speed of blocks.
    """
    klass = expert_class(deployment)
    scaled_by_block = deployment.weights.scale_block > 0 or deployment.profile.name != "tensorrt-llm"
    return "fp8_block" if klass == "fp8" and scaled_by_block and deployment.model.is_moe else klass


def _expert_width(moe: list[MlpGroup], spread: Parallelism) -> float:
    """Intermediate width of an expert on one GPU: tensor parallelism cuts it, expert parallelism leaves it whole."""
    width = max((group.intermediate for group in moe), default=1)
    return width / max(1.0, spread.expert_ranks / min(spread.ep, spread.expert_ranks))


def _token_bytes(model: ModelSpec, tp: int) -> float:
    """Bytes that one token moves between GEMMs on one rank, over all layers: two norms with their residual read and
    write 8·hidden; queries, keys and values are written, rotated and read, the heads' output written and read; a
    dense FFN's gate and up are written and read, their product too. What experts move is in their efficiency."""
    values = 8.0 * model.hidden * model.layers
    for group in model.attention:
        heads = 2.0 * group.n_heads * (group.head_dim + group.value_head_dim) + 4.0 * group.kv_values_per_token
        values += group.layers * heads / tp
    for mlp in model.mlp:
        values += mlp.layers * (6.0 if mlp.gated else 4.0) * mlp.dense_width / tp
    return ACTIVATION_BYTES * values


def _gemm_depth(model: ModelSpec, tp: int) -> float:
    """Inner dimensions of the dense GEMMs on one rank, summed over all layers: what one round of tiles computes in
    turn. Query, key and value together, the output projection (two more of latent attention), up and down."""
    depth = 0.0
    for group in model.attention:
        latents = group.q_lora_rank + group.kv_lora_rank
        depth += group.layers * (model.hidden + latents + group.n_heads * group.value_head_dim / tp)
    for mlp in model.mlp:
        if mlp.dense_width:
            depth += mlp.layers * (model.hidden + mlp.dense_width / tp)
    return depth


def _moe_layers(model: ModelSpec) -> list[MlpGroup]:
    return [group for group in model.mlp if group.kind == "moe"]


def _dense(deployment: Deployment) -> tuple[float, float, float]:
    """(16-bit parameters, quantised parameters, bytes) of the dense layers on one tensor-parallel rank."""
    accelerator, weights = deployment.accelerator, deployment.weights
    bulk = dense_class(deployment)
    plain = quantised = stored = 0.0
    for component, params in _rank_params(deployment.model, deployment.parallelism.tp).items():
        stored += params * weights.bytes_per_param(component)
        if compute_class(accelerator, weights.dtype_of(component)) == bulk:
            quantised += params
        else:
            plain += params
    return plain, quantised, stored


def _rank_params(model: ModelSpec, tp: int) -> dict[str, float]:
    """Parameters of the dense components on one tensor-parallel rank."""
    counts = dict.fromkeys(DENSE_COMPONENTS, 0.0)
    for group in model.attention:
        heads = group.head_params / tp + group.kv_params / min(tp, max(group.n_kv_heads, 1)) + group.replicated_params
        counts["linear_attention" if group.is_recurrent else "attention"] += group.layers * heads
        counts["indexer"] += group.layers * float(group.indexer_params)
    for mlp in model.mlp:
        counts["dense_mlp"] += mlp.layers * (mlp.dense_params + mlp.latent_params) / tp
        counts["shared_experts"] += mlp.layers * mlp.shared_params / tp
        counts["router"] += mlp.layers * float(mlp.router_params)
    return counts


@dataclass(frozen=True, slots=True)
class _AttentionWork:
    context_bytes: float = 0.0
    context_flops: float = 0.0
    pair_flops: float = 0.0
    seat_bytes: float = 0.0
    window_flops: float = 0.0


def _attention_work(group: AttentionGroup, deployment: Deployment) -> _AttentionWork:
    """Attention of one group of layers on one rank; recurrent layers read and write their state once a step."""
    tp = deployment.parallelism.tp
    if group.is_recurrent:
        values = group.recurrent_state_values + group.conv_state_values
        state_bytes = values * KV_BYTES_PER_VALUE[deployment.state_dtype]
        return _AttentionWork(seat_bytes=2.0 * group.layers * state_bytes / tp)
    read, decode_flops, pair_flops = _per_token(group, deployment)
    if group.indexer_topk:
        return _sparse(group, deployment, read, decode_flops)
    window = group.window_tokens
    if group.kind == "mla" and window is not None:
        return _compressed(group, deployment, read, decode_flops)
    if window is None or window >= WINDOW_AS_CONTEXT_TOKENS:
        return _AttentionWork(read, decode_flops, pair_flops)
    return _AttentionWork(seat_bytes=window * read, window_flops=window * pair_flops)


def _per_token(group: AttentionGroup, deployment: Deployment) -> tuple[float, float, float]:
    """(bytes read, decode FLOPs, prefill FLOPs) for each token of context, over the group's layers on one rank.

    MLA decodes absorbed: every head scores and gathers the latent, which each rank holds whole.
    """
    tp = deployment.parallelism.tp
    values = group.kv_values_per_token * KV_BYTES_PER_VALUE[deployment.kv_dtype]
    pair_flops = 2.0 * group.n_heads * (group.head_dim + group.value_head_dim) / tp
    if group.kind == "mla":
        absorbed = 2.0 * group.n_heads * (2 * group.kv_lora_rank + group.rope_head_dim) / tp
        return group.layers * values, group.layers * absorbed, group.layers * pair_flops
    shared = values / min(tp, max(group.n_kv_heads, 1))
    return group.layers * shared, group.layers * pair_flops, group.layers * pair_flops


def _sparse(group: AttentionGroup, deployment: Deployment, read: float, decode_flops: float) -> _AttentionWork:
    """Sparse attention: an indexer scores the whole context in 8 bit, then attention sees the best `topk` tokens."""
    index_bytes = group.layers * float(group.indexer_values_per_token)
    index_flops = group.layers * 2.0 * group.indexer_heads * group.indexer_values_per_token
    return _AttentionWork(
        context_bytes=index_bytes,
        context_flops=index_flops,
        pair_flops=index_flops,
        seat_bytes=group.indexer_topk * read,
        window_flops=group.indexer_topk * decode_flops,
    )


def _compressed(group: AttentionGroup, deployment: Deployment, read: float, flops: float) -> _AttentionWork:
    """Compressed attention: one entry per `compression_ratio` tokens, and a window of whole entries."""
    entry_bytes = group.layers * group.kv_lora_rank * KV_BYTES_PER_VALUE[deployment.kv_dtype]
    share = (1.0 if group.kv_values_per_token else 0.0) / group.compression_ratio
    window = float(group.window_tokens or 0)
    return _AttentionWork(
        context_bytes=share * read,
        context_flops=share * flops,
        pair_flops=share * flops,
        seat_bytes=window * entry_bytes,
        window_flops=window * flops,
    )


def _link_gb_per_s(deployment: Deployment) -> float:
    accelerator = deployment.accelerator
    match link_class(deployment):
        case "network":
            return NETWORK_GB_PER_S
        case "pcie":
            return accelerator.host_link_gb_per_s or PCIE_FALLBACK_GB_PER_S
        case _:
            return accelerator.link_gb_per_s or PCIE_FALLBACK_GB_PER_S
