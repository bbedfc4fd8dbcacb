"""Entries of a team's own catalog, one of each kind, as one would send them."""

from datetime import date
from typing import Any

from planner.planning import OwnCatalog, own_entry

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
GPU_PRICE: tuple[Any, dict[str, Any]] = ("gpu-prices", {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": 1.9})
API_PRICE: tuple[Any, dict[str, Any]] = (
    "api-prices",
    {"provider": "gateway", "model": "our-8b", "input_usd_per_mtok": 0.5, "output_usd_per_mtok": 1.5},
)
MODEL: tuple[Any, dict[str, Any]] = ("models", {"id": "our-8b", "hf_config": CONFIG})
ACCELERATOR: tuple[Any, dict[str, Any]] = (
    "accelerators",
    {
        "id": "Our chip",
        "memory_gib": 90.0,
        "memory_bandwidth_gb_per_s": 3000.0,
        "bf16_dense_tflops": 800.0,
        "interconnect_gb_per_s": 400.0,
        "gpus_per_node": 8,
        "usd_per_gpu_hour": 1.2,
    },
)
EVERY = (GPU_PRICE, API_PRICE, MODEL, ACCELERATOR)


def of(*entries: tuple[Any, dict[str, Any]]) -> OwnCatalog:
    """A catalog of these."""
    day = date(2026, 11, 1)
    return OwnCatalog(tuple(own_entry(kind, value, source="Contract 17", as_of=day) for kind, value in entries))
