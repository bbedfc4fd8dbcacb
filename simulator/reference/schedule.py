"""Scheduling rules of the reference engine: who computes how many tokens in the next step.

`schedule` changes the running and waiting lists and the pool as the engine's scheduler does, and returns the step.
"""

from collections import deque
from dataclasses import dataclass, field

from simulator.config import EngineConfig
from simulator.reference.blocks import BlockPool
from simulator.reference.requests import Request


@dataclass(slots=True)
class Queues:
    """Where requests stand: `running` in order of admission, `waiting` with the next one first.

    `batch_left`: how many more may join the static batch in progress.
    """

    pool: BlockPool
    running: list[Request] = field(default_factory=list)
    waiting: deque[Request] = field(default_factory=deque)
    batch_left: int = 0


@dataclass(slots=True)
class Step:
    """One engine step: the tokens each scheduled request computes; who was admitted and preempted on the way."""

    chunks: list[tuple[Request, int]] = field(default_factory=list)
    admitted: list[Request] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)


def schedule(config: EngineConfig, queues: Queues) -> Step:
    """Running requests first, then waiting ones, under one token budget; none is admitted in a step that preempted."""
    step = Step()
    budget = _schedule_running(config, queues, step)
    if config.policy == "static" and not queues.running and not queues.batch_left:
        queues.batch_left = _static_batch(config, queues)
    if not step.preempted:
        _admit(config, queues, step, budget)
    return step


def _schedule_running(config: EngineConfig, queues: Queues, step: Step) -> int:
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
        queues.pool.release(victim.blocks)
        victim.blocks, victim.computed, victim.published, victim.prefilling = [], 0, 0, True
        victim.target = victim.prompt_tokens + victim.generated
        queues.waiting.appendleft(victim)
        step.preempted.append(victim)
        if victim is request:
            return False
    if wanted > 0:
        request.blocks += queues.pool.take(wanted)
    return True


def _admit(config: EngineConfig, queues: Queues, step: Step, budget: int) -> None:
    while queues.waiting and budget > 0 and len(queues.running) < config.max_num_seqs:
        if config.policy == "static" and not queues.batch_left:
            return
        request = queues.waiting[0]
        tokens = _admit_one(config, queues, request, budget)
        if not tokens:
            return
        queues.waiting.popleft()
        queues.running.append(request)
        queues.batch_left = max(0, queues.batch_left - 1)
        step.chunks.append((request, tokens))
        step.admitted.append(request)
        budget -= tokens


def _admit_one(config: EngineConfig, queues: Queues, request: Request, budget: int) -> int:
    """Tokens of the request's first chunk, with its blocks taken; 0 if it must wait."""
    pool = queues.pool
    # A hit leaves at least one token to compute: the step must give the next token.
    hits = pool.lookup(request.keys[: (request.target - 1) // config.block_size])
    cached = len(hits) * config.block_size
    if not config.enable_chunked_prefill and request.target - cached > budget:
        return 0
    tokens = min(request.target - cached, budget)
    held = len(hits) - pool.unreferenced(hits)
    if _room_asked(config, request, cached + tokens) + _watermark(config, queues) - held > pool.free:
        return 0
    pool.hold(hits)
    request.blocks = hits + pool.take(_blocks_at_admission(config, cached + tokens) - len(hits))
    request.computed, request.published = cached, len(hits)
    return tokens


def _blocks_at_admission(config: EngineConfig, tokens: int) -> int:
    return config.blocks_for(config.max_model_len if config.kv_allocation == "contiguous" else tokens)


def _room_asked(config: EngineConfig, request: Request, first_chunk_end: int) -> int:
    """Blocks that must be free (or already held by others) for the request to enter."""
    whole = config.reserve_full_isl and config.policy == "continuous"
    return _blocks_at_admission(config, request.target if whole else first_chunk_end)


def _watermark(config: EngineConfig, queues: Queues) -> int:
    return config.watermark_blocks if queues.running and config.policy == "continuous" else 0


def _static_batch(config: EngineConfig, queues: Queues) -> int:
    """How many waiting requests form the next static batch: as many as have seats and room for their final lengths."""
    room, members = config.num_blocks, 0
    for request in queues.waiting:
        room -= config.final_blocks(request.prompt_tokens, request.output_tokens)
        if members == config.max_num_seqs or room < 0:
            break
        members += 1
    return members
