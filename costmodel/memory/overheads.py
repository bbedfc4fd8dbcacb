"""Memory besides weights and KV cache: activation peak, CUDA graphs, CUDA context and communication buffers.

The engines measure these at start-up; here they are predicted. Fits and their data stand beside each constant.
"""

from __future__ import annotations

from costmodel.deployment.deployment import Deployment
from costmodel.memory.weights import layer_of, stage_kinds
from costmodel.models.spec import AttentionGroup, MlpGroup

GIB = 2**30

SAMPLER_BYTES_PER_LOGIT = 38.9
"""Bytes per logit of the sampler's warm-up over max_num_seqs x vocabulary: 16- and 32-bit logits, sorted values,
64-bit indices, softmax, cumulative sum, scatter and the sort's workspace. Fitted on logs of vLLM 0.6 to 0.15
(4.76 GiB for 1024 x 128,256; 5.64 for 1024 x 151,936; 7.38 for 1024 x 201,088; 9.96 for 1024 x 262,208; 1.22 to 1.26
for 256 x 128,256): within 4 % of each. It exceeds the forward pass for most text models."""
FORWARD_WORKSPACE_GIB = 0.1
"""cuBLAS and attention workspaces that live during the forward pass; from Llama-2-7B at 2,048 tokens (vLLM 0.15)."""
NON_TORCH_GIB = 0.13
"""CUDA context and libraries of one GPU alone (vLLM logs on H100: 0.13 to 0.14 GiB)."""
NON_TORCH_PARALLEL_GIB = 0.55
"""The same with NCCL and custom all-reduce buffers (0.54 at TP 2, 0.55 to 0.60 at TP 4)."""
SGLANG_START_GIB = 0.6
SGLANG_START_PARALLEL_GIB = 2.4
"""What SGLang finds taken before it loads weights: context alone (typical), or with its communication buffers
(137.29 GiB free of 139.80 on H200 at TP 8, https://github.com/sgl-project/sglang/pull/11716; about 2.2 at TP 4)."""
GRAPH_GIB_PER_LAYER = 0.015
"""CUDA graphs of the default capture sizes: 0.36 to 0.65 GiB on dense models of some 30 layers, 1.3 on 48 layers of
experts. The engine's own estimate for mixtures of experts can be many times higher (vLLM issue 45178)."""


def activation_gib(deployment: Deployment, stage: int) -> tuple[float, str]:
    """Activation peak on one GPU of a stage in GiB, and its formula: the larger of forward pass and sampler."""
    tokens = step_tokens(deployment)
    forward = tokens * forward_bytes_per_token(deployment, stage) / GIB + FORWARD_WORKSPACE_GIB
    text = f"{tokens:,} tokens x {forward_bytes_per_token(deployment, stage):,.0f} B + {FORWARD_WORKSPACE_GIB} GiB"
    sampler = 0.0
    if stage == deployment.parallelism.pp - 1 and deployment.profile.name == "vllm":
        seqs = min(deployment.max_num_seqs, tokens)
        sampler = seqs * deployment.model.vocab * SAMPLER_BYTES_PER_LOGIT / GIB
    if sampler > forward:
        seqs = min(deployment.max_num_seqs, tokens)
        return sampler, f"{seqs:,} sequences x {deployment.model.vocab:,} logits x {SAMPLER_BYTES_PER_LOGIT} B"
    return forward, text


def step_tokens(deployment: Deployment) -> int:
    """Most tokens in one step: the budget, or a whole prompt where prefill is not chunked."""
    if deployment.enable_chunked_prefill:
        return deployment.max_num_batched_tokens
    if deployment.profile.name == "vllm":
        return max(deployment.max_num_batched_tokens, deployment.max_model_len)
    return deployment.max_num_batched_tokens


def forward_bytes_per_token(deployment: Deployment, stage: int) -> float:
    """Bytes alive per token in the widest layer: residual, normed input, output, and the layer's inner tensors."""
    layers = [layer_of(deployment, kind) for kind in dict.fromkeys(stage_kinds(deployment, stage))]
    inner = max((_inner_values(attention, mlp, deployment) for attention, mlp in layers), default=0.0)
    return 2.0 * (3 * deployment.model.hidden + inner)


def _inner_values(attention: AttentionGroup | None, mlp: MlpGroup | None, deployment: Deployment) -> float:
    """Values per token inside a layer: projections or, if more, gate, up and their product, by expert where routed."""
    tp = deployment.parallelism.tp
    mixing = 0.0
    if attention is not None:
        heads = attention.n_heads * (attention.head_dim + attention.value_head_dim)
        keys = attention.n_kv_heads * (attention.head_dim + attention.value_head_dim)
        mixing = (heads + keys) / tp
    if mlp is None:
        return mixing
    if mlp.kind == "dense":
        return max(mixing, 3 * mlp.intermediate / tp)
    shards = max(1.0, deployment.parallelism.expert_ranks / deployment.parallelism.ep)
    routed = mlp.experts_active * (mlp.input_dim + 3 * mlp.intermediate / shards)
    return max(mixing, routed + 3 * mlp.shared_intermediate / tp)


def non_torch_gib(deployment: Deployment) -> float:
    """CUDA context and libraries, with communication buffers where the replica has several GPUs."""
    several = deployment.parallelism.gpus > 1
    if deployment.profile.name == "sglang":
        return SGLANG_START_PARALLEL_GIB if several else SGLANG_START_GIB
    return NON_TORCH_PARALLEL_GIB if several else NON_TORCH_GIB


def cuda_graph_gib(deployment: Deployment, stage: int) -> float:
    """CUDA graphs of a stage; none with `enforce_eager`."""
    return 0.0 if deployment.enforce_eager else GRAPH_GIB_PER_LAYER * deployment.layer_partition[stage]
