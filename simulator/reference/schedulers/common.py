"""What the schedulers share: running requests go on, the tail falls, the head of the waiting line enters."""

from simulator.config import EngineConfig
from simulator.reference.queues import Queues, Step
from simulator.reference.requests import Request


def schedule_running(config: EngineConfig, queues: Queues, step: Step) -> int:
    """Running requests in order of admission, the tail preempted where blocks lack; returns the tokens left."""
    budget = config.max_num_batched_tokens
    position = 0
    while position < len(queues.running) and budget > 0:
        request = queues.running[position]
        tokens = min(request.target - request.computed, budget)
        if not _make_room(config, queues, step, request, tokens):
            break
        step.chunks.append((request, tokens))
        budget -= tokens
        position += 1
    return budget


def _make_room(config: EngineConfig, queues: Queues, step: Step, request: Request, tokens: int) -> bool:
    """Give the request blocks for `tokens` more, preempting the tail of the running list; False if it fell itself."""
    wanted = config.blocks_for(request.computed + tokens) - len(request.blocks)
    while wanted > queues.pool.free:
        victim = queues.running.pop()
        preempt(queues, step, victim)
        if victim is request:
            return False
    if wanted > 0:
        request.blocks += queues.pool.take(wanted)
    return True


def preempt(queues: Queues, step: Step, victim: Request) -> None:
    """Free the blocks of a request that has left the running list; it waits first in line and is computed again."""
    queues.pool.release(victim.blocks)
    victim.blocks, victim.computed, victim.published, victim.prefilling = [], 0, 0, True
    victim.target = victim.prompt_tokens + victim.generated
    queues.waiting.appendleft(victim)
    step.preempted.append(victim)


def admit_head(config: EngineConfig, queues: Queues, step: Step, budget: int, whole: bool, margin_blocks: int) -> int:
    """Let the first waiting request in and take its blocks; returns the tokens of its first chunk, 0 if it must wait.

    whole  room is asked for its whole prompt, not only for the first chunk;  margin_blocks  left free beside it
    """
    request, pool = queues.waiting[0], queues.pool
    # A hit leaves at least one token to compute: the step must give the next token.
    hits = pool.lookup(request.keys[: (request.target - 1) // config.block_size])
    cached = len(hits) * config.block_size
    if not config.enable_chunked_prefill and request.target - cached > budget:
        return 0
    tokens = min(request.target - cached, budget)
    held = len(hits) - pool.unreferenced(hits)
    asked = blocks_at_admission(config, request.target if whole else cached + tokens)
    if asked + margin_blocks - held > pool.free:
        return 0
    pool.hold(hits)
    request.blocks = hits + pool.take(blocks_at_admission(config, cached + tokens) - len(hits))
    request.computed, request.published = cached, len(hits)
    queues.waiting.popleft()
    queues.running.append(request)
    step.chunks.append((request, tokens))
    step.admitted.append(request)
    return tokens


def blocks_at_admission(config: EngineConfig, tokens: int) -> int:
    """Blocks a request holds when its first `tokens` tokens have a place."""
    return config.blocks_for(config.max_model_len if config.kv_allocation == "contiguous" else tokens)
