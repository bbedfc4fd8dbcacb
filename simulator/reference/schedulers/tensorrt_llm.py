"""TensorRT-LLM's in-flight batching: context and generation in one step, admission by capacity policy."""

from simulator.reference.requests import Request
from simulator.reference.schedulers.common import Room
from simulator.reference.schedulers.vllm_v1 import VllmV1


class TensorrtLlm(VllmV1):
    """Steps as vLLM V1's; a prompt takes all its blocks at once.

    GUARANTEED_NO_EVICT: the head enters only if its prompt and greatest output fit beside what all running ones still
    need to their greatest output, so nobody ever falls. MAX_UTILIZATION: it enters if its prompt fits; when a running
    request lacks a block, the latest fall. Source: `cpp/tensorrt_llm/batch_manager/capacityScheduler.cpp`; what it does
    beyond (a prompt waits for another one whose blocks it could reuse) is left out.
    """

    def _room(self) -> Room:
        head = self.queues.waiting[0]
        if self.config.capacity_policy == "max_utilization":
            return Room(head.target, whole=True)
        kv = self.queues.kv
        to_come = sum(
            kv.to_come(request, self._at_most(request)) for request in (*self.queues.running, *self.queues.incoming)
        )
        return Room(self._at_most(head), to_come, whole=True)

    def _at_most(self, request: Request) -> int:
        """Tokens that a request ever needs a place for, if it generates all that was asked for, and one in vain."""
        return self.config.final_tokens(request.prompt_tokens, request.max_new_tokens + 1)
