"""Static batches: what servers did before continuous batching."""

from simulator.config import EngineConfig
from simulator.reference.queues import Queues, Step
from simulator.reference.requests import Request
from simulator.reference.schedulers.common import Room, admit_head, schedule_running


class Static:
    """A batch starts together and nobody enters until all of it have finished.

    Its members are as many waiting requests as have seats and room for their final lengths, so none is ever preempted;
    prompts that exceed the step's budget enter in later steps. `members`: those that have not entered yet, first in the
    line as long as they have not ended there.
    """

    def __init__(self, config: EngineConfig, queues: Queues) -> None:
        self.config, self.queues = config, queues
        self.members: list[Request] = []

    def schedule(self, now_ps: int) -> Step:
        """The next step."""
        step = Step(now_ps)
        budget = schedule_running(self.config, self.queues, step)
        self.members = [request for request in self.members if not request.ended]
        if not self.queues.running and not self.members:
            self.members = self._batch()
        while self.members and budget > 0:
            tokens = admit_head(self.config, self.queues, step, budget, Room())
            if not tokens:
                break
            self.members.pop(0)
            budget -= tokens
        return step

    def rest(self) -> None:
        """Nothing is remembered from busier times."""

    def _batch(self) -> list[Request]:
        room, members = self.config.num_blocks, list[Request]()
        for request in self.queues.waiting:
            room -= self.config.final_blocks(request.prompt_tokens, request.output_tokens)
            if len(members) == self.config.max_num_seqs or room < 0:
                break
            members.append(request)
        return members
