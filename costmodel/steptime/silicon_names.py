"""A deployment in the words of `aiconfigurator-core`: model, system, backend, parallelism and number formats.

The names follow version 0.12.0 of the package: systems are the files of its `systems` folder, backends those of its
`query_versions.yaml`, number formats the members of `GEMMQuantMode`, `MoEQuantMode`, `KVCacheQuantMode` and
`FMHAQuantMode` in `sdk/common.py`, bundled models its `DefaultHFModels`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from costmodel.deployment.deployment import Deployment
from costmodel.models.spec import ModelSpec

BACKENDS: Mapping[str, str] = {"vllm": "vllm", "sglang": "sglang", "tensorrt-llm": "trtllm"}

SYSTEMS: Mapping[str, str] = {
    "A30": "a30",
    "A100-PCIe-80GB": "a100_pcie",
    "A100-SXM4-80GB": "a100_sxm",
    "L4": "l4",
    "L40S": "l40s",
    "H100-PCIe-80GB": "h100_pcie",
    "H100-SXM5-80GB": "h100_sxm",
    "H200-SXM-141GB": "h200_sxm",
    "B200-SXM": "b200_sxm",
    "B300-SXM": "b300_sxm",
    "GB200": "gb200",
    "GB300": "gb300",
    "RTX-PRO-6000-Blackwell-Server": "rtx_pro_6000_server",
}

BUNDLED_MODELS = frozenset(
    {
        "MiniMaxAI/MiniMax-M2.5",
        "MiniMaxAI/MiniMax-M2.7",
        "Qwen/Qwen3.5-27B",
        "Qwen/Qwen3.5-35B-A3B",
        "Qwen/Qwen3.5-397B-A17B",
        "deepseek-ai/DeepSeek-R1",
        "deepseek-ai/DeepSeek-V3",
        "deepseek-ai/DeepSeek-V3.2",
        "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
        "meta-llama/Llama-4-Scout-17B-16E-Instruct",
        "moonshotai/Kimi-K2.5",
        "openai/gpt-oss-120b",
        "openai/gpt-oss-20b",
    }
)
"""Models whose layers `plain_config` cannot describe, under the same name in the package. An unknown name would make
the package look for it on the network, so none is ever passed on."""

GEMM_MODES: Mapping[str, str] = {
    "bf16": "bfloat16",
    "fp16": "bfloat16",
    "fp8": "fp8_static",
    "int8": "sq",
    "w4a16": "int4_wo",
    "nvfp4": "nvfp4",
}
EXPERT_MODES: Mapping[str, str] = {
    "bf16": "bfloat16",
    "fp16": "bfloat16",
    "fp8": "fp8",
    "w4a16": "int4_wo",
    "nvfp4": "nvfp4",
    "mxfp4": "w4a16_mxfp4",
}
MXFP4_ON_FP4 = "w4a8_mxfp4_mxfp8"
"""MXFP4 experts on hardware with FP4, as the package recommends; for vLLM it has measured 16-bit activations only."""


class SiliconRefusedError(ValueError):
    """The measured source does not cover a deployment. `reason` is short and groups like cases; `detail` says more."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason, self.detail = reason, detail
        super().__init__(f"{reason}: {detail}" if detail else reason)


@dataclass(frozen=True, slots=True)
class SiliconRequest:
    """What the package is asked for. `bundled_model` or `config` (a Hugging Face config) names the model."""

    system: str
    backend: str
    bundled_model: str
    config: Mapping[str, Any] | None
    arguments: Mapping[str, Any]

    def as_document(self) -> dict[str, Any]:
        """Plain data that tells two requests apart; part of the cache's key and of the provenance."""
        model = self.bundled_model or dict(self.config or {})
        return {"system": self.system, "backend": self.backend, "model": model, "arguments": dict(self.arguments)}


def silicon_request(deployment: Deployment) -> SiliconRequest:
    """The request that stands for a deployment. Raises SiliconRefusedError where the package has no word for it."""
    system = SYSTEMS.get(deployment.accelerator.id)
    if system is None:
        raise SiliconRefusedError("accelerator not in the package", deployment.accelerator.id)
    backend = BACKENDS.get(deployment.profile.name)
    if backend is None:
        raise SiliconRefusedError("engine not in the package", deployment.profile.name)
    model = deployment.model
    config = None if model.id in BUNDLED_MODELS else plain_config(model)
    return SiliconRequest(
        system=system,
        backend=backend,
        bundled_model="" if config else model.id,
        config=config,
        arguments={**_parallelism(deployment), **_formats(deployment, backend)},
    )


def plain_config(model: ModelSpec) -> dict[str, Any]:
    """A Hugging Face config of the same shapes, for dense and for plain MoE models with one kind of full attention.

    Raises SiliconRefusedError for other layers: what the package would compute for them is not what they are.
    """
    attention, mlp = model.attention, model.mlp
    if len(attention) != 1 or attention[0].kind != "full" or attention[0].indexer_topk or len(mlp) != 1:
        raise SiliconRefusedError("model's layers not described to the package", model.id)
    (heads,), (feed,) = attention, mlp
    if heads.window_tokens is not None or heads.head_dim != heads.value_head_dim or not feed.gated:
        raise SiliconRefusedError("model's layers not described to the package", model.id)
    config: dict[str, Any] = {
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": model.hidden,
        "num_hidden_layers": model.layers,
        "num_attention_heads": heads.n_heads,
        "num_key_value_heads": heads.n_kv_heads,
        "head_dim": heads.head_dim,
        "intermediate_size": feed.intermediate,
        "vocab_size": model.vocab,
        "max_position_embeddings": model.max_context_tokens,
    }
    if feed.kind == "dense":
        return config
    if feed.experts_shared or feed.latent_params:
        raise SiliconRefusedError("model's layers not described to the package", model.id)
    return config | {
        "architectures": ["Qwen3MoeForCausalLM"],
        "moe_intermediate_size": feed.intermediate,
        "num_experts": feed.experts,
        "num_experts_per_tok": feed.experts_active,
    }


def _parallelism(deployment: Deployment) -> dict[str, int]:
    """Ranks; experts are divided over tp x dp ranks: by ep as wholes, by the rest within each expert."""
    spread = deployment.parallelism
    sizes = {"tp_size": spread.tp, "pp_size": spread.pp, "attention_dp_size": spread.dp}
    if not deployment.model.is_moe:
        return sizes
    whole = min(spread.ep, spread.expert_ranks)
    return {**sizes, "moe_ep_size": whole, "moe_tp_size": spread.expert_ranks // whole}


def _formats(deployment: Deployment, backend: str) -> dict[str, str]:
    """Number formats. TensorRT-LLM alone computes the attention of prefill in FP8 where its cache is FP8."""
    weights, model = deployment.weights, deployment.model
    dense = weights.dtype_of("dense_mlp" if any(group.kind == "dense" for group in model.mlp) else "attention")
    found = {"gemm_quant_mode": _mode(GEMM_MODES, dense, weights.scale_block)}
    if model.is_moe:
        experts = weights.dtype_of("experts")
        in_fp4 = experts == "mxfp4" and backend != "vllm" and deployment.accelerator.dense_tflops("fp4")
        found["moe_quant_mode"] = MXFP4_ON_FP4 if in_fp4 else _mode(EXPERT_MODES, experts, weights.scale_block)
    in_fp8 = deployment.kv_dtype == "fp8"
    found["kvcache_quant_mode"] = "fp8" if in_fp8 else "bfloat16"
    found["fmha_quant_mode"] = "fp8" if in_fp8 and backend == "trtllm" and not _is_latent(model) else "bfloat16"
    return found


def _is_latent(model: ModelSpec) -> bool:
    return any(group.kind == "mla" for group in model.attention)


def _mode(modes: Mapping[str, str], dtype: str, scale_block: int) -> str:
    if dtype == "fp8" and scale_block:
        return "fp8_block"
    mode = modes.get(dtype)
    if mode is None:
        raise SiliconRefusedError("number format not in the package", dtype)
    return mode
