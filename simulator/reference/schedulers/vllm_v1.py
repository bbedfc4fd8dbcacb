"""vLLM's V1 scheduler: one token budget, running requests first."""

from simulator.config import EngineConfig
from simulator.reference.queues import Queues, Step
from simulator.reference.schedulers.common import Room, admit_head, join_loaded, schedule_running, watermark


class VllmV1:
    """Running requests first, then waiting ones, under one token budget; none is admitted in a step that preempted.

    Source: `vllm/v1/core/sched/scheduler.py`. Versions differ in what admission asks for (`reserve_full_isl`, since
    0.19 the default) and in `watermark_ratio`; preemption, order and budget are the same since 0.8.
    """

    def __init__(self, config: EngineConfig, queues: Queues) -> None:
        self.config, self.queues = config, queues

    def schedule(self, now_ps: int) -> Step:
        """The next step."""
        step = Step(now_ps)
        join_loaded(self.queues, step)
        budget = schedule_running(self.config, self.queues, step)
        while not step.closed and self._seat_open(budget):
            tokens = admit_head(self.config, self.queues, step, budget, self._room())
            if not tokens:
                break
            budget -= tokens
        return step

    def rest(self) -> None:
        """Nothing is remembered from busier times."""

    def _seat_open(self, budget: int) -> bool:
        return bool(self.queues.waiting) and budget > 0 and self.queues.seats_taken < self.config.max_num_seqs

    def _room(self) -> Room:
        """A whole prompt or a first chunk, and the watermark: so an empty engine always admits."""
        asked = self.queues.waiting[0].target if self.config.reserve_full_isl else 0
        return Room(asked, watermark(self.config, self.queues))
