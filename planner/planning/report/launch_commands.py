"""Ready command lines that start one replica of a deployment."""

from __future__ import annotations

import shlex
from typing import Any

from costmodel import Deployment
from planner.planning.money.bills import FleetBill
from planner.planning.schema import Scenario
from planner.planning.search.candidates import Candidate

VLLM_QUANTIZATION = {"fp8": "fp8"}
VLLM_KV = {"fp8": "fp8"}
TEXT_ONLY = '{"image": 0, "video": 0}'
"""What is planned: with images allowed, vLLM sets memory aside for the largest ones when it starts."""
VLLM_TRANSFER = '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}'
"""Either role: which engines compute prompts is up to the router, which is told by addresses of the pools' services,
so that a spare stands in for engines of its own pool until someone moves it."""
SGLANG_QUANTIZATION = {"fp8": "fp8"}
SGLANG_KV = {"fp8": "fp8_e4m3"}


def engine_settings(scenario: Scenario, deployment: Deployment) -> dict[str, Any]:
    """The knobs of the deployment under the engine's own names."""
    ordered = {"scheduling_policy": "priority"} if by_priority(scenario) else {}
    return ordered | {
        "name": deployment.profile.name,
        "version": deployment.profile.version,
        "tensor_parallel_size": deployment.parallelism.tp,
        "pipeline_parallel_size": deployment.parallelism.pp,
        "data_parallel_size": deployment.parallelism.dp,
        "expert_parallel_size": deployment.parallelism.ep,
        "weight_dtype": deployment.weight_dtype,
        "kv_dtype": deployment.kv_dtype,
        "max_model_len": deployment.max_model_len,
        "max_tokens": scenario.engine.max_tokens,
        "max_num_seqs": deployment.max_num_seqs,
        "max_num_batched_tokens": deployment.max_num_batched_tokens,
        "gpu_memory_utilization": deployment.gpu_memory_utilization,
        "block_size": deployment.block_size,
        "enable_prefix_caching": deployment.enable_prefix_caching,
        "enable_chunked_prefill": deployment.enable_chunked_prefill,
    }


def by_priority(scenario: Scenario) -> bool:
    """Whether classes of requests differ in priority; each request then has to say its own."""
    return len({each.priority for each in scenario.traffic.classes}) > 1


def engine_commands(scenario: Scenario, deployment: Deployment) -> dict[str, str]:
    """One `vllm serve` and one SGLang line. A model without an id stands as MODEL."""
    return {"vllm": _vllm(scenario, deployment), "sglang": _sglang(scenario, deployment)}


def pool_rows(scenario: Scenario, candidate: Candidate, bill: FleetBill) -> list[dict[str, Any]]:
    """Prefill and decode pools with what each is paid for and the commands that start one engine; none where every
    engine does both. SGLang's commands also name the role. Replicas bought beyond those that serve (in place of
    interrupted ones, or for work with a deadline) are shared out as these are."""
    deployment, split = candidate.deployment, candidate.split
    if split is None or deployment is None:
        return []
    assert candidate.replica is not None
    assert candidate.replica.apart is not None
    spares = bill.running.terms.spare_replicas // candidate.pools
    bought = candidate.replica.apart.split(bill.cost.replicas - candidate.pools * spares)
    rows = []
    for role, serving, paid in zip(("prefill", "decode"), split, bought, strict=True):
        vllm = f"{_vllm(scenario, deployment)} --kv-transfer-config {shlex.quote(VLLM_TRANSFER)}"
        sglang = f"{_sglang(scenario, deployment)} --disaggregation-mode {role}"
        rows.append(
            {
                "role": role,
                "serving_replicas": serving,
                "spare_replicas": spares,
                "replicas": paid + spares,
                "gpus": (paid + spares) * deployment.parallelism.gpus,
                "commands": {"vllm": vllm, "sglang": sglang},
            }
        )
    return rows


def _vllm(scenario: Scenario, deployment: Deployment) -> str:
    words = [
        "vllm",
        "serve",
        scenario.model.id or "MODEL",
        "--tensor-parallel-size",
        str(deployment.parallelism.tp),
    ]
    spread = deployment.parallelism
    if spread.pp > 1:
        words += ["--pipeline-parallel-size", str(spread.pp)]
    if spread.dp > 1:
        words += ["--data-parallel-size", str(spread.dp)]
    if spread.ep > 1:
        words.append("--enable-expert-parallel")
    if _converted(deployment) and deployment.weight_dtype in VLLM_QUANTIZATION:
        words += ["--quantization", VLLM_QUANTIZATION[deployment.weight_dtype]]
    if deployment.kv_dtype in VLLM_KV:
        words += ["--kv-cache-dtype", VLLM_KV[deployment.kv_dtype]]
    words += [
        "--max-model-len", str(deployment.max_model_len),
        "--max-num-seqs", str(deployment.max_num_seqs),
        "--max-num-batched-tokens", str(deployment.max_num_batched_tokens),
        "--gpu-memory-utilization", f"{deployment.gpu_memory_utilization:g}",
        "--block-size", str(deployment.block_size),
        "--enable-prefix-caching" if deployment.enable_prefix_caching else "--no-enable-prefix-caching",
    ]  # fmt: skip
    if by_priority(scenario):
        words += ["--scheduling-policy", "priority"]
    if not deployment.enable_chunked_prefill:
        words.append("--no-enable-chunked-prefill")
    if deployment.model.vision:
        words += ["--limit-mm-per-prompt", TEXT_ONLY]
    return shlex.join(words)


def _sglang(scenario: Scenario, deployment: Deployment) -> str:
    words = [
        "python",
        "-m",
        "sglang.launch_server",
        "--model-path",
        scenario.model.id or "MODEL",
    ]
    spread = deployment.parallelism
    words += ["--tp-size", str(spread.tp * spread.dp)]  # SGLang counts attention-DP ranks as tensor parallel ones
    if spread.pp > 1:
        words += ["--pp-size", str(spread.pp)]
    if spread.dp > 1:
        words += ["--dp-size", str(spread.dp), "--enable-dp-attention"]
    if spread.ep > 1:
        words += ["--ep-size", str(spread.ep)]
    if _converted(deployment) and deployment.weight_dtype in SGLANG_QUANTIZATION:
        words += ["--quantization", SGLANG_QUANTIZATION[deployment.weight_dtype]]
    if deployment.kv_dtype in SGLANG_KV:
        words += ["--kv-cache-dtype", SGLANG_KV[deployment.kv_dtype]]
    words += [
        "--context-length", str(deployment.max_model_len),
        "--max-running-requests", str(deployment.max_num_seqs),
        "--chunked-prefill-size", str(deployment.max_num_batched_tokens if deployment.enable_chunked_prefill else -1),
    ]  # fmt: skip
    if deployment.profile.name == "sglang":  # its fraction is another one than vLLM's; else the engine's own choice
        words += ["--mem-fraction-static", f"{deployment.gpu_memory_utilization:g}"]
    if not deployment.enable_prefix_caching:
        words.append("--disable-radix-cache")
    return shlex.join(words)


def _converted(deployment: Deployment) -> bool:
    """The engine converts the weights while loading: they are not what the checkpoint ships."""
    return deployment.weight_dtype != deployment.model.native_weight_dtype
