"""What the schedulers share: running requests go on, some fall, the head of the waiting line enters."""

from simulator.config import EngineConfig
from simulator.reference.queues import Queues, Step
from simulator.reference.requests import Request


def schedule_running(config: EngineConfig, queues: Queues, step: Step) -> int:
    """Running requests in order of admission, others preempted where blocks lack; returns the tokens left.

    It ends with the request that fell itself: those behind it compute nothing in this step.
    """
    budget = config.max_num_batched_tokens
    position = 0
    while position < len(queues.running) and budget > 0:
        request = queues.running[position]
        tokens = min(tokens_wanted(config, request), config.longest_chunk, budget)
        if not _make_room(config, queues, step, request, tokens):
            break
        step.chunks.append((request, tokens))
        budget = config.max_num_batched_tokens - sum(scheduled for _, scheduled in step.chunks)
        position = queues.running.index(request) + 1
    return budget


def tokens_wanted(config: EngineConfig, request: Request) -> int:
    """What is left of a running request's prompt, or what it decodes in a step: no draft beyond the longest length."""
    if request.prefilling:
        return request.target - request.computed
    return min(config.decode_tokens, config.max_model_len - 1 - request.computed)


def _make_room(config: EngineConfig, queues: Queues, step: Step, request: Request, tokens: int) -> bool:
    """Give the request blocks for `tokens` more, preempting others while these lack; False if it fell itself."""
    kv = queues.kv
    kv.make_ready(request)
    while kv.missing(request, tokens) > kv.pool.free:
        victim = _victim(config, queues)
        queues.running.remove(victim)
        step.chunks = [(other, scheduled) for other, scheduled in step.chunks if other is not victim]
        preempt(queues, step, victim)
        if victim is request:
            return False
    kv.extend(request, tokens)
    return True


def _victim(config: EngineConfig, queues: Queues) -> Request:
    """The tail of the running list; with priorities, the last of the worst class, be it in this step already."""
    if config.order == "priority" and config.scheduler == "vllm_v1":
        return max(queues.running, key=lambda running: (running.priority, running.joined))
    return queues.running[-1]


def preempt(queues: Queues, step: Step, victim: Request) -> None:
    """Free the blocks of a request that has left the running list; it waits first in line and is computed again."""
    queues.kv.release(victim)
    victim.computed, victim.published, victim.prefilling = 0, 0, True
    victim.target = victim.prompt_tokens + victim.generated
    queues.waiting.appendleft(victim)
    step.preempted.append(victim)


def admit_head(config: EngineConfig, queues: Queues, step: Step, budget: int, whole: bool, margin_blocks: int) -> int:
    """Let the first waiting request in and take its blocks; returns the tokens of its first chunk, 0 if it must wait.

    whole  room is asked for its whole prompt, not only for the first chunk;  margin_blocks  left free beside it
    """
    request, kv = queues.waiting[0], queues.kv
    hits = kv.find(request.content, request.target)
    if not config.enable_chunked_prefill and request.target - hits.tokens > budget:
        return 0
    tokens = min(request.target - hits.tokens, config.longest_chunk, budget)
    lacking = kv.lacking(hits, hits.tokens + tokens, whole=False)
    if whole:
        lacking = max(lacking, kv.lacking(hits, request.target, whole=True))
    if lacking + margin_blocks > kv.pool.free:
        return 0
    kv.enter(request, hits, hits.tokens + tokens)
    queues.waiting.popleft()
    queues.running.append(request)
    step.chunks.append((request, tokens))
    step.admitted.append(request)
    return tokens
