"""What the schedulers share: running requests go on, some fall, the head of the waiting line enters."""

from dataclasses import dataclass

from simulator.config import EngineConfig
from simulator.reference.queues import Queues, Step
from simulator.reference.requests import Request


@dataclass(frozen=True, slots=True)
class Room:
    """What admission asks of the pool for one request, beside the blocks of its first chunk.

    asked_tokens    so many tokens must have room in all
    margin_blocks   blocks that must stay free
    whole           its whole prompt takes its blocks at once
    """

    asked_tokens: int = 0
    margin_blocks: int = 0
    whole: bool = False


def watermark(config: EngineConfig, queues: Queues) -> int:
    """Blocks that vLLM leaves free at an admission: none for the first request, so an empty engine always admits."""
    return config.watermark_blocks if queues.running or queues.loading else 0


def join_loaded(queues: Queues, step: Step) -> None:
    """Requests whose blocks have come back run on, behind those that run."""
    while queues.host is not None and queues.loading and queues.loading[0].ready_ps <= step.now_ps:
        request = queues.loading.pop(0)
        queues.host.forget(request)
        queues.running.append(request)
        step.returned.append(request)


def schedule_running(config: EngineConfig, queues: Queues, step: Step) -> int:
    """Running requests in order of admission, others preempted where blocks lack; returns the tokens left.

    It ends with the request that fell itself: those behind it compute nothing in this step.
    """
    budget = config.max_num_batched_tokens
    position = 0
    while position < len(queues.running) and budget > 0:
        request = queues.running[position]
        wanted = min(tokens_wanted(config, request), config.longest_chunk, budget)
        tokens = tokens_in_vain(config, queues, request, wanted) if request.ended else wanted
        if not request.ended and not _make_room(config, queues, step, request, tokens):
            break
        if tokens:
            step.chunks.append((request, tokens))
        budget = config.max_num_batched_tokens - sum(scheduled for _, scheduled in step.chunks)
        position = queues.running.index(request) + 1
    return budget


def tokens_wanted(config: EngineConfig, request: Request) -> int:
    """What is left of a running request's prompt, or what it decodes in a step: no draft beyond the longest length."""
    if request.prefilling:
        return request.target - request.computed
    return min(config.decode_tokens, config.max_model_len - 1 - request.computed)


def tokens_in_vain(config: EngineConfig, queues: Queues, request: Request, wanted: int) -> int:
    """Tokens, `wanted` or none, that a finished request computes because its end is not known yet.

    None where the engine knew beforehand that it would end here, or where their blocks could only come from others.
    """
    if config.scheduler != "sglang" and request.generated == request.max_new_tokens:
        return 0
    queues.kv.make_ready(request)
    if queues.kv.missing(request, wanted) > queues.pool.free:
        return 0
    queues.kv.extend(request, wanted)
    return wanted


def _make_room(config: EngineConfig, queues: Queues, step: Step, request: Request, tokens: int) -> bool:
    """Give the request blocks for `tokens` more, preempting others while these lack; False if it fell itself."""
    kv = queues.kv
    kv.make_ready(request)
    while kv.missing(request, tokens) > kv.pool.free:
        victim = _victim(config, queues)
        (queues.loading if victim in queues.loading else queues.running).remove(victim)
        step.chunks = [(other, scheduled) for other, scheduled in step.chunks if other is not victim]
        _preempt(queues, step, victim)
        if victim is request:
            return False
    kv.extend(request, tokens)
    return True


def _victim(config: EngineConfig, queues: Queues) -> Request:
    """The tail of the running list; with priorities, the last of the worst class, be it in this step already.

    Before them, who is on his way back from the host: the last to arrive.
    """
    if queues.loading:
        return queues.loading[-1]
    if config.order == "priority" and config.scheduler == "vllm_v1":
        return max(queues.running, key=lambda running: (running.priority, running.joined))
    return queues.running[-1]


def _preempt(queues: Queues, step: Step, victim: Request) -> None:
    """Free the blocks of a request that has left its list; it waits first in line, unless it has ended."""
    step.closed = True
    moved = queues.kv.useful(victim)
    queues.kv.release(victim)
    if victim.ended:
        return
    if not victim.host_blocks:  # else it was on its way back, and its copy in host memory still stands
        if queues.host is None or not queues.host.move_out(victim, moved, step.now_ps):
            victim.start_over()
        step.preempted.append(victim)
    queues.waiting.appendleft(victim)


def admit_head(config: EngineConfig, queues: Queues, step: Step, budget: int, room: Room) -> int:
    """Let the first waiting request in and take its blocks; returns the tokens it takes of the budget.

    0 if it must wait. A swapped request whose blocks come back beside the steps takes one, though it computes nothing
    yet.
    """
    request, kv = queues.waiting[0], queues.kv
    if request.ready_ps > step.now_ps:
        return 0
    hits = kv.swapped(request) if request.host_blocks else kv.find(request.content, request.target)
    if not config.enable_chunked_prefill and request.target - hits.tokens > budget:
        return 0
    if request.host_blocks:
        tokens = min(tokens_wanted(config, request), config.longest_chunk, budget)
        end = kv.places(request, tokens)
    else:
        tokens = min(request.target - hits.tokens, config.longest_chunk, budget)
        end = hits.tokens + tokens
    whole_tokens = request.target if room.whole else 0
    lacking = max(kv.lacking(hits, end, whole_tokens), kv.lacking(hits, 0, room.asked_tokens))
    if lacking + room.margin_blocks > kv.pool.free:
        return 0
    kv.enter(request, hits, end, whole_tokens)
    queues.waiting.popleft()
    if request.host_blocks and _load(queues, step, request):
        return 1
    queues.running.append(request)
    step.chunks.append((request, tokens))
    step.admitted.append(request)
    return tokens


def _load(queues: Queues, step: Step, request: Request) -> bool:
    """Bring a swapped request's blocks back; True if that happens beside the steps, so that it runs later."""
    assert queues.host is not None
    queues.host.move_in(request, step.now_ps)
    if request.ready_ps > step.now_ps:
        queues.loading.append(request)
        return True
    queues.host.forget(request)
    return False
