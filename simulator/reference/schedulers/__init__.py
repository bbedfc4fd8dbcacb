"""The schedulers of serving engines, one file each: who computes how many tokens in the next step.

A scheduler changes the running and waiting lists and the pool as the engine does, and answers the step.
"""

from collections.abc import Mapping
from typing import Protocol

from simulator.config import EngineConfig
from simulator.reference.queues import Queues, Step
from simulator.reference.schedulers.sglang import Sglang
from simulator.reference.schedulers.static import Static
from simulator.reference.schedulers.tensorrt_llm import TensorrtLlm
from simulator.reference.schedulers.vllm_v0 import VllmV0
from simulator.reference.schedulers.vllm_v1 import VllmV1


class Scheduler(Protocol):
    """One replica's scheduler."""

    def schedule(self, now_ps: int) -> Step:
        """The step that begins now; without chunks where nobody can compute anything."""
        ...

    def rest(self) -> None:
        """An instant is over at which the engine had nothing to do and nothing came."""
        ...


def make_scheduler(config: EngineConfig, queues: Queues) -> Scheduler:
    """The scheduler that `config` names, on these queues."""
    schedulers: Mapping[str, type[VllmV1] | type[Sglang] | type[Static]] = {
        "vllm_v1": VllmV1,
        "vllm_v0": VllmV0,
        "sglang": Sglang,
        "tensorrt_llm": TensorrtLlm,
        "static": Static,
    }
    return schedulers[config.scheduler](config, queues)


__all__ = ["Scheduler", "make_scheduler"]
