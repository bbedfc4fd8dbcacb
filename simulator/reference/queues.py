"""Where a replica's requests stand, and what a scheduler decides about them."""

from dataclasses import dataclass, field

from simulator.reference.blocks import BlockPool
from simulator.reference.host import HostMemory
from simulator.reference.kv import KvManager
from simulator.reference.lines import Line
from simulator.reference.requests import Request


@dataclass(slots=True)
class Queues:
    """`running` in order of admission, `waiting` with the next one first.

    incoming  requests with a seat and blocks that do not run yet, as their KV comes from elsewhere
    outgoing  what stands for requests that were handed over, whose KV has not left yet
    host      where preempted requests' blocks go; None: nowhere, they are computed again
    loading   requests whose blocks are on their way back beside the steps, the next to arrive first: they hold a seat
              and blocks, and do not run yet
    """

    kv: KvManager
    waiting: Line
    host: HostMemory | None = None
    running: list[Request] = field(default_factory=list)
    incoming: list[Request] = field(default_factory=list)
    outgoing: list[Request] = field(default_factory=list)
    loading: list[Request] = field(default_factory=list)

    @property
    def seats_taken(self) -> int:
        """Seats of those who run, and of those whose KV is on its way here."""
        return len(self.running) + len(self.incoming) + len(self.loading)

    @property
    def pool(self) -> BlockPool:
        """The engine's pool of blocks."""
        return self.kv.pool


@dataclass(slots=True)
class Step:
    """One engine step that begins now: the tokens each scheduled request computes; who was admitted and preempted.

    returned  whose blocks have come back from the host;  closed: somebody fell for lack of blocks, nobody is admitted
    """

    now_ps: int
    chunks: list[tuple[Request, int]] = field(default_factory=list)
    returned: list[Request] = field(default_factory=list)
    admitted: list[Request] = field(default_factory=list)
    preempted: list[Request] = field(default_factory=list)
    closed: bool = False
