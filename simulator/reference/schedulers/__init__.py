"""The schedulers of serving engines, one file each: who computes how many tokens in the next step.

A scheduler changes the running and waiting lists and the pool as the engine does, and answers the step.
"""

from typing import Protocol

from simulator.config import EngineConfig
from simulator.reference.queues import Queues, Step
from simulator.reference.schedulers.static import Static
from simulator.reference.schedulers.vllm_v1 import VllmV1


class Scheduler(Protocol):
    """One replica's scheduler."""

    def schedule(self) -> Step:
        """The next step; without chunks where nobody can compute anything."""
        ...


def make_scheduler(config: EngineConfig, queues: Queues) -> Scheduler:
    """The scheduler that `config` names, on these queues."""
    if config.scheduler == "static":
        return Static(config, queues)
    return VllmV1(config, queues)


__all__ = ["Scheduler", "make_scheduler"]
