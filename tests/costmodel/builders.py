"""Deployments for tests, with the settings that most of them share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from costmodel import Deployment, Parallelism, engine_profile, load_catalog, make_deployment


def deploy(
    model: str = "Llama-3.1-8B",
    gpu: str = "h100-sxm",
    *,
    tp: int = 1,
    pp: int = 1,
    ep: int = 1,
    dp: int = 1,
    engine: str = "vllm",
    version: str | None = "0.11.0",
    gpu_total_gib: float | None = None,
    **knobs: Any,
) -> Deployment:
    """A deployment of catalog entries; `gpu_total_gib` replaces the memory that the engine sees."""
    catalog = load_catalog()
    accelerator = catalog.accelerator(gpu)
    if gpu_total_gib is not None:
        accelerator = replace(accelerator, memory_gib=gpu_total_gib)
    if engine != "vllm" and version == "0.11.0":
        version = None
    profile = engine_profile(engine, version)
    return make_deployment(catalog.model(model), accelerator, profile, Parallelism(tp, pp, ep, dp), **knobs)
