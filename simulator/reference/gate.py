"""The fleet's gate: who is let in, who is held, who is turned away. Rules: `simulator.admission`."""

from collections import Counter, deque

from simulator.admission import Admission
from simulator.records import KV_FULL, NEVER, QUEUE_FULL, REJECTED
from simulator.reference.replica import Replica
from simulator.reference.requests import Request


class Gate:
    """Counts each tenant's requests inside (let in and not ended) and holds those beyond its cap."""

    def __init__(self, admission: Admission) -> None:
        self.admission = admission
        self._inside: Counter[int] = Counter()
        self._held: dict[int, deque[Request]] = {}

    def lets_in(self, request: Request) -> bool:
        """Let the request in, if its tenant has room."""
        if self._full(request.tenant):
            return False
        self._inside[request.tenant] += 1
        request.inside = True
        return True

    def holds(self, request: Request) -> bool:
        """Keep the request, which was not let in, if that is the rule."""
        if self.admission.over_cap == "reject":
            return False
        self._held.setdefault(request.tenant, deque()).append(request)
        return True

    def next_held(self) -> Request | None:
        """Let in the first held request, by number, whose tenant has room again."""
        heads = [line[0] for tenant, line in self._held.items() if line and not self._full(tenant)]
        if not heads:
            return None
        request = min(heads, key=lambda head: head.number)
        self.lets_in(self._held[request.tenant].popleft())
        return request

    def leave(self, request: Request) -> None:
        """The request has ended."""
        self._inside[request.tenant] -= request.inside

    def _full(self, tenant: int) -> bool:
        cap = self.admission.cap_of(tenant)
        return cap is not None and self._inside[tenant] >= cap


def refusal(admission: Admission, request: Request, replica: Replica) -> tuple[int, int] | None:
    """(Outcome, reason) of a request that the chosen engine turns away; one that was at a replica before is taken."""
    if request.replica != NEVER:
        return None
    if admission.max_waiting is not None and replica.waiting >= admission.max_waiting:
        return REJECTED, QUEUE_FULL
    if replica.queues.pool.used >= admission.kv_limit_blocks(replica.config.num_blocks):
        return REJECTED, KV_FULL
    return None
