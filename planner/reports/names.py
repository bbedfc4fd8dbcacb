"""Names as people say them: GPUs, providers, layouts, metrics."""

from collections.abc import Mapping
from typing import Any

from planner.planning.report import names as plain

METRICS = {"ttft": "TTFT", "tpot": "TPOT", "itl": "ITL", "e2e": "E2E", "goodput": "Goodput"}
NBSP = "\N{NO-BREAK SPACE}"
REASONS = {
    "no_kv_cache_room": "Memory",
    "weights_exceed_gpu_memory": "Memory",
    "max_model_len_too_long": "Context",
    "tp_beyond_node": "Beyond one node",
    "tpot_below_bandwidth_floor": "TPOT floor",
    "ttft_of_single_request": "TTFT floor",
    "tpot_of_single_request": "TPOT floor",
    "itl_of_single_request": "ITL floor",
    "e2e_of_single_request": "E2E floor",
    "goodput_of_single_request": "Goodput floor",
    "engine_settings": "Settings",
    "load": "Load",
}
DTYPES = {"bf16": "BF16", "fp16": "FP16", "fp8": "FP8", "int8": "INT8", "w4a16": "W4A16", "fp4": "FP4"}


def provider(provider_id: str) -> str:
    """ "groq" -> "Groq"; an unknown one stays as it is."""
    return plain.provider_name(provider_id)


def renter(provider_id: str) -> str:
    """ "gcp" -> "Google Cloud": who rents GPUs."""
    return plain.renter_name(provider_id)


def gpu(gpu_id: str) -> str:
    """ "H100-SXM5-80GB" -> "H100 SXM5 80 GB"."""
    return plain.gpu_name(gpu_id).replace(" ", NBSP)


def gpu_short(gpu_id: str) -> str:
    """ "H100-SXM5-80GB" -> "H100"."""
    return plain.gpu_short_name(gpu_id).replace(" ", NBSP)


def model(model_id: str) -> str:
    """ "meta-llama/Llama-3.3-70B-Instruct" -> "Llama-3.3-70B-Instruct"."""
    return plain.model_name(model_id)


def dtype(dtype_id: str) -> str:
    """ "fp8" -> "FP8"."""
    return DTYPES.get(dtype_id, dtype_id)


def layout(candidate: Mapping[str, Any]) -> str:
    """ "TP2", "TP4 PP2", "TP1 DP8 EP8": as the plan names it."""
    parts = [f"TP{candidate['tp']}"]
    parts += [f"{key.upper()}{candidate[key]}" for key in ("pp", "dp", "ep") if (candidate.get(key) or 1) > 1]
    return " ".join(parts)


def metric(row: Mapping[str, Any]) -> str:
    """ "TTFT p95"; goodput has no percentile. A target of a class of requests names it."""
    name = METRICS.get(row["metric"], row["metric"])
    name = name if row.get("percentile") is None else f"{name} p{row['percentile']}"
    return f"{name}, {row['traffic_class']}" if row.get("traffic_class") else name


def reason(code: str) -> str:
    """A candidate's reason in a word or two."""
    if "does_not_divide" in code:
        return "Does not divide"
    return REASONS.get(code, code.replace("_", " ").capitalize())


def engine(engine_id: str) -> str:
    """ "vllm" -> "vLLM"."""
    return plain.engine_name(engine_id)
