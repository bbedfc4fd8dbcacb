"""Host memory that preempted requests' blocks move to, and the link there and back."""

from simulator.config import HostSwap
from simulator.reference.requests import Request


class HostMemory:
    """Blocks in host memory and the transfers of one replica.

    Blocking transfers are summed up until the step under way is told how long they take; overlapped ones follow each
    other on the link, in the order in which they were asked for.
    """

    def __init__(self, swap: HostSwap) -> None:
        self.swap = swap
        self.free = swap.host_blocks
        self.link_free_ps = 0
        self.blocking_ps = 0

    def move_out(self, request: Request, blocks: int, now_ps: int) -> bool:
        """Copy a victim's blocks to the host, if there is room; its place in the pool is free at once."""
        if blocks > self.free:
            return False
        self.free -= blocks
        request.host_blocks = blocks
        request.ready_ps = self._transfer(blocks * self.swap.block_out_ps, now_ps)
        return True

    def move_in(self, request: Request, now_ps: int) -> None:
        """Start to copy a request's blocks back into the pool, where their place is taken."""
        request.ready_ps = self._transfer(request.host_blocks * self.swap.block_in_ps, now_ps)

    def forget(self, request: Request) -> None:
        """Give up the host's copy of a request's blocks."""
        self.free += request.host_blocks
        request.host_blocks = 0

    def take_blocking_ps(self) -> int:
        """Time that the step which begins now spends on transfers."""
        taken_ps, self.blocking_ps = self.blocking_ps, 0
        return taken_ps

    def _transfer(self, duration_ps: int, now_ps: int) -> int:
        if not self.swap.overlapped:
            self.blocking_ps += duration_ps
            return now_ps
        self.link_free_ps = max(self.link_free_ps, now_ps) + duration_ps
        return self.link_free_ps
