"""The lesson's paged KV cache, step by step: which block of the pool holds which sequence's tokens.

One step is one decode iteration. A sequence is admitted, in order, when the pool has blocks for its prompt and the
token that the step gives; it then grows by a token a step and takes a block when its last one is full. When a running
sequence cannot get one, the latest admitted gives up its blocks (preempted) and stands first in line; its tokens are
computed again when it is admitted. No sequence is admitted in a step that preempted. A contiguous reservation takes the
blocks of the longest sequence at admission instead. Blocks are those of the reference engine's pool.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from simulator.checks import checked
from simulator.errors import SimulatorError, require_int
from simulator.lesson import LessonRequest
from simulator.reference.blocks import BlockPool

MAX_BLOCKS = 4096
MAX_SEQUENCES = 64
MAX_POOL_STEPS = 2000


@dataclass(frozen=True, slots=True)
class BlockTable:
    """A running sequence at the end of a step: tokens held, and its blocks in order."""

    sequence: int
    tokens: int
    blocks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PoolFrame:
    """The pool at the end of a step; `waiting` in order, `preempted` those that lost their blocks in it."""

    tables: tuple[BlockTable, ...]
    waiting: tuple[int, ...]
    preempted: tuple[int, ...]

    @property
    def used_blocks(self) -> int:
        """Blocks that some sequence holds."""
        return sum(len(table.blocks) for table in self.tables)

    @property
    def tokens(self) -> int:
        """Tokens in them."""
        return sum(table.tokens for table in self.tables)


@dataclass(frozen=True, slots=True)
class PoolRun:
    """One frame a step, the steps at whose end each sequence finished, and how often each was preempted."""

    blocks: int
    block_tokens: int
    frames: tuple[PoolFrame, ...]
    finish_steps: tuple[int, ...]
    preemptions: tuple[int, ...]


@checked
def run_pool(
    requests: Sequence[LessonRequest],
    blocks: int,
    block_tokens: int,
    allocation: Literal["paged", "contiguous"] = "paged",
) -> PoolRun:
    """Walk all sequences through the pool. SimulatorError where one of them alone would not fit."""
    if allocation not in ("paged", "contiguous"):
        raise SimulatorError("unknown_policy", "allocation", f"must be paged or contiguous, got {allocation!r}")
    if not 1 <= len(requests) <= MAX_SEQUENCES:
        raise SimulatorError("too_large" if requests else "too_small", "requests", f"give 1 to {MAX_SEQUENCES}")
    pool_blocks = require_int("blocks", blocks, 1, MAX_BLOCKS)
    walk = _Walk(requests, pool_blocks, require_int("block_tokens", block_tokens, 1), allocation == "contiguous")
    longest = max(walk.blocks_for(walk.whole(number)) for number in range(len(requests)))
    if longest > pool_blocks:
        raise SimulatorError("unservable", "blocks", f"the longest sequence needs {longest} blocks, got {pool_blocks}")
    while not walk.done():
        walk.step()
        if len(walk.frames) > MAX_POOL_STEPS:
            raise SimulatorError("too_large", "requests", f"together they take more than {MAX_POOL_STEPS:,} steps")
    return PoolRun(pool_blocks, walk.block_tokens, tuple(walk.frames), tuple(walk.finished), tuple(walk.preemptions))


class _Walk:
    def __init__(self, requests: Sequence[LessonRequest], blocks: int, block_tokens: int, contiguous: bool) -> None:
        self.requests, self.block_tokens = requests, block_tokens
        self.pool = BlockPool(blocks)
        self.waiting = deque(sorted(range(len(requests)), key=lambda number: requests[number].arrival_step))
        self.running: list[int] = []
        self.tables: dict[int, list[int]] = {}
        self.made = [0] * len(requests)
        self.finished = [0] * len(requests)
        self.preemptions = [0] * len(requests)
        self.frames: list[PoolFrame] = []
        self.reserved = max(map(self.whole, range(len(requests)))) if contiguous else 0

    def whole(self, number: int) -> int:
        return self.requests[number].prompt_tokens + self.requests[number].output_tokens

    def blocks_for(self, tokens: int) -> int:
        return -(-max(tokens, self.reserved) // self.block_tokens)

    def next_tokens(self, number: int) -> int:
        """What the sequence holds when this step has given its token."""
        return self.requests[number].prompt_tokens + self.made[number] + 1

    def done(self) -> bool:
        return not self.waiting and not self.running

    def step(self) -> None:
        now = len(self.frames)
        preempted = self._grow()
        if not preempted:
            self._admit(now)
        for number in self.running:
            self.made[number] += 1
        tables = tuple(
            BlockTable(number, self.next_tokens(number) - 1, tuple(self.tables[number])) for number in self.running
        )
        arrived = tuple(number for number in self.waiting if self.requests[number].arrival_step <= now)
        self.frames.append(PoolFrame(tables, arrived, tuple(preempted)))
        for number in [n for n in self.running if self.made[n] == self.requests[n].output_tokens]:
            self._leave(number)
            self.finished[number] = now + 1

    def _grow(self) -> list[int]:
        """Running ones first, in order of admission; the latest admitted makes room."""
        preempted: list[int] = []
        for number in tuple(self.running):
            while number in self.running and self._lacking(number) > self.pool.free:
                victim = self.running[-1]
                self._leave(victim)
                self.waiting.appendleft(victim)
                self.preemptions[victim] += 1
                preempted.append(victim)
            if number in self.running:
                self.tables[number] += self.pool.take(self._lacking(number))
        return preempted

    def _admit(self, now: int) -> None:
        while self.waiting and self.requests[self.waiting[0]].arrival_step <= now:
            number = self.waiting[0]
            self.tables[number] = []
            if self._lacking(number) > self.pool.free:
                return
            self.waiting.popleft()
            self.tables[number] = self.pool.take(self._lacking(number))
            self.running.append(number)

    def _lacking(self, number: int) -> int:
        return max(0, self.blocks_for(self.next_tokens(number)) - len(self.tables[number]))

    def _leave(self, number: int) -> None:
        self.running.remove(number)
        self.pool.release(self.tables.pop(number))
