"""Where a replica's requests stand, and what a scheduler decides about them."""

from dataclasses import dataclass, field

from simulator.reference.blocks import BlockPool
from simulator.reference.kv import KvManager
from simulator.reference.lines import Line
from simulator.reference.requests import Request


@dataclass(slots=True)
class Queues:
    """`running` in order of admission, `waiting` with the next one first.

    incoming  requests with a seat and blocks that do not run yet, as their KV comes from elsewhere
    outgoing  what stands for requests that were handed over, whose KV has not left yet
    """

    kv: KvManager
    waiting: Line
    running: list[Request] = field(default_factory=list)
    incoming: list[Request] = field(default_factory=list)
    outgoing: list[Request] = field(default_factory=list)

    @property
    def seats_taken(self) -> int:
        """Seats of those who run, and of those whose KV is on its way here."""
        return len(self.running) + len(self.incoming)

    @property
    def pool(self) -> BlockPool:
        """The engine's pool of blocks."""
        return self.kv.pool


@dataclass(slots=True)
class Step:
    """One engine step: the tokens each scheduled request computes; who was admitted and preempted on the way."""

    chunks: list[tuple[Request, int]] = field(default_factory=list)
    admitted: list[Request] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)
