"""How the report calls GPUs, models, providers and candidates, and the counts beside them."""

from __future__ import annotations

from costmodel import Parallelism
from costmodel.catalog.display_names import (
    api_model_name,
    counted,
    engine_name,
    exact_usd,
    gpu_name,
    gpu_short_name,
    model_name,
    provider_name,
    renter_name,
)

__all__ = [
    "amount",
    "api_model_name",
    "candidate_name",
    "counted",
    "engine_name",
    "exact_usd",
    "gpu_name",
    "gpu_short_name",
    "gpus_name",
    "hosted_name",
    "model_name",
    "possessive",
    "provider_name",
    "renter_name",
]


def gpus_name(count: int, accelerator_id: str) -> str:
    """`5 × H200`."""
    return f"{count:,} × {gpu_short_name(accelerator_id)}"


def candidate_name(accelerator_id: str, layout: Parallelism, precision: str = "") -> str:
    """`H100 SXM5 80 GB, TP2`: an accelerator and the sizes of its layout that are above 1, TP always; with the number
    formats in words where several are tried."""
    sizes = (("PP", layout.pp), ("DP", layout.dp), ("EP", layout.ep))
    more = "".join(f" {name}{size}" for name, size in sizes if size > 1)
    return ", ".join(part for part in (gpu_name(accelerator_id), f"TP{layout.tp}{more}", precision) if part)


def hosted_name(provider: str, model: str) -> str:
    """`llama-3.3-70b-versatile at Groq`."""
    return f"{api_model_name(model)} at {provider_name(provider)}"


def possessive(name: str) -> str:
    """`Groq's`, `Fireworks'`."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def likely(probability_ratio: float) -> str:
    """0.954 -> "95%"; never the certainty that rounding would make of it: "over 99%", "under 1%"."""
    if probability_ratio > 0.995:
        return "over 99%"
    return "under 1%" if probability_ratio < 0.005 else f"{probability_ratio:.0%}"


def amount(value: float) -> str:
    """Three significant digits, and never fewer than the whole ones: 0.0142, 14.4, 1,600."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
