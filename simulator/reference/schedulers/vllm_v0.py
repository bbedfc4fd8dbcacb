"""vLLM's V0 scheduler: whole prompts before decodes, or, with chunked prefill, decodes before chunks."""

from simulator.reference.queues import Step
from simulator.reference.schedulers.common import Room, admit_head, join_loaded, schedule_running, watermark
from simulator.reference.schedulers.vllm_v1 import VllmV1


class VllmV0(VllmV1):
    """Without chunked prefill a step is either of prompts alone, while decodes stall, or of decodes alone.

    Prompts go first: as many waiting ones as have seats, budget and room for their whole prompts; these take all their
    blocks at once. Only where none can enter the running ones decode, and then swapped ones come back, if nobody fell.
    With chunked prefill as V1, with room for whole prompts. Source: `vllm/core/scheduler.py` up to 0.10.
    """

    def schedule(self, now_ps: int) -> Step:
        """The next step."""
        if self.config.enable_chunked_prefill:
            return super().schedule(now_ps)
        step = Step(now_ps)
        join_loaded(self.queues, step)
        self._admit(step, self.config.max_num_batched_tokens, swapped=False)
        if not step.chunks:
            budget = schedule_running(self.config, self.queues, step)
            if not step.closed:
                self._admit(step, budget, swapped=True)
        return step

    def _admit(self, step: Step, budget: int, *, swapped: bool) -> None:
        """Let the head of the line in while it is one of this kind."""
        while self._seat_open(budget) and (self.queues.waiting[0].host_blocks > 0) == swapped:
            tokens = admit_head(self.config, self.queues, step, budget, self._room())
            if not tokens:
                return
            budget -= tokens

    def _room(self) -> Room:
        return Room(self.queues.waiting[0].target, watermark(self.config, self.queues), whole=True)
