"""Which of the simulator's schedulers a deployment's engine runs, and how."""

from __future__ import annotations

from typing import Literal, TypedDict

from costmodel import Deployment

Scheduler = Literal["vllm_v1", "sglang", "tensorrt_llm"]
SCHEDULERS: dict[str, Scheduler] = {"vllm": "vllm_v1", "sglang": "sglang", "tensorrt-llm": "tensorrt_llm"}


class SchedulingFields(TypedDict):
    """The fields of `simulator.EngineConfig` that follow from the engine and its version."""

    scheduler: Scheduler
    overlap_scheduling: bool
    reserve_full_isl: bool


def scheduling_fields(deployment: Deployment) -> SchedulingFields:
    """Scheduler by engine, overlap and admission by its version; an engine without scheduler of its own is run as vLLM.

    Pipelines are run without overlap: their micro-batches fill the gaps already.
    """
    profile = deployment.profile
    return SchedulingFields(
        scheduler=SCHEDULERS.get(profile.name, "vllm_v1"),
        overlap_scheduling=profile.overlap_scheduling and deployment.parallelism.pp == 1,
        reserve_full_isl=profile.admission != "first_chunk",
    )
