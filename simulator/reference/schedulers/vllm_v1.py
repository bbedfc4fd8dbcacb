"""vLLM's V1 scheduler: one token budget, running requests first."""

from simulator.config import EngineConfig
from simulator.reference.queues import Queues, Step
from simulator.reference.schedulers.common import admit_head, schedule_running


class VllmV1:
    """Running requests first, then waiting ones, under one token budget; none is admitted in a step that preempted."""

    def __init__(self, config: EngineConfig, queues: Queues) -> None:
        self.config, self.queues = config, queues

    def schedule(self) -> Step:
        """The next step."""
        step = Step()
        budget = schedule_running(self.config, self.queues, step)
        if not step.preempted:
            self._admit(step, budget)
        return step

    def _admit(self, step: Step, budget: int) -> None:
        config, queues = self.config, self.queues
        while queues.waiting and budget > 0 and queues.seats_taken < config.max_num_seqs:
            margin = config.watermark_blocks if queues.running else 0
            tokens = admit_head(config, queues, step, budget, config.reserve_full_isl, margin)
            if not tokens:
                return
            budget -= tokens
