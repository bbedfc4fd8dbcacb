"""Static batches: what servers did before continuous batching."""

from simulator.config import EngineConfig
from simulator.reference.queues import Queues, Step
from simulator.reference.schedulers.common import Room, admit_head, schedule_running


class Static:
    """A batch starts together and nobody enters until all of it have finished.

    Its members are as many waiting requests as have seats and room for their final lengths, so none is ever preempted;
    prompts that exceed the step's budget enter in later steps. `batch_left`: members that have not entered yet.
    """

    def __init__(self, config: EngineConfig, queues: Queues) -> None:
        self.config, self.queues = config, queues
        self.batch_left = 0

    def schedule(self, now_ps: int) -> Step:
        """The next step."""
        step = Step(now_ps)
        budget = schedule_running(self.config, self.queues, step)
        if not self.queues.running and not self.batch_left:
            self.batch_left = self._batch()
        while self.batch_left and budget > 0:
            tokens = admit_head(self.config, self.queues, step, budget, Room())
            if not tokens:
                break
            self.batch_left -= 1
            budget -= tokens
        return step

    def _batch(self) -> int:
        room, members = self.config.num_blocks, 0
        for request in self.queues.waiting:
            room -= self.config.final_blocks(request.prompt_tokens, request.output_tokens)
            if members == self.config.max_num_seqs or room < 0:
                break
            members += 1
        return members
