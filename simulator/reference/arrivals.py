"""Who comes next: the requests of a workload, or those that come while the run is under way."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

from simulator.reference.requests import Request
from simulator.workload import Workload


class Arrivals(Protocol):
    """Requests in the order of their numbers, which is that of their arrivals.

    expected  how many there will be, or 1 where nobody knows: gaps between tokens are then not told apart by time
    """

    expected: int

    def next_ps(self) -> int | None:
        """When the next one arrives, as far as that is known."""

    def pop(self) -> Request:
        """The next one, which has arrived."""

    def ended(self, request: Request, at_ps: int) -> None:
        """A request has ended."""


class KnownArrivals:
    """A workload's requests; in a closed loop ends send the next ones.

    sent      those that have arrived;  arrival_ps: of all, as the workload says
    ready_ps  closed loop, a heap: when users who have their answer ask again
    """

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.expected = len(workload)
        self.sent: list[Request] = []
        self.arrival_ps: list[int] = workload.arrival_ps.tolist()
        self.think_ps: list[int] = workload.column("think_ps").tolist()
        self.ready_ps: list[int] = []
        self.whose = [workload.column(name).tolist() for name in ("tenant", "priority", "deadline_ps", "session")]
        self._ends = 0

    def next_ps(self) -> int | None:
        """The next arrival; None where all have come, or all users wait for answers."""
        number, concurrency = len(self.sent), self.workload.concurrency
        if number == len(self.workload):
            return None
        if concurrency is None or number < concurrency:
            return self.arrival_ps[number]
        return max(self.arrival_ps[number], self.ready_ps[0]) if self.ready_ps else None

    def pop(self) -> Request:
        """The next request."""
        arrival_ps, number, concurrency = self.next_ps(), len(self.sent), self.workload.concurrency
        assert arrival_ps is not None
        if concurrency is not None and number >= concurrency:
            heappop(self.ready_ps)
        self.sent.append(self.request(number, arrival_ps))
        return self.sent[-1]

    def ended(self, request: Request, at_ps: int) -> None:
        """In a closed loop its user thinks from now on."""
        if self.workload.concurrency is not None:
            user = self.workload.concurrency + self._ends
            if user < len(self.think_ps):
                heappush(self.ready_ps, at_ps + self.think_ps[user])
        self._ends += 1

    def request(self, number: int, arrival_ps: int) -> Request:
        """Request `number` as it arrives."""
        prompt, output = int(self.workload.prompt_tokens[number]), int(self.workload.output_tokens[number])
        return Request(number, arrival_ps, prompt, output, prompt, *(column[number] for column in self.whose))


class LiveArrivals:
    """Requests that are told one by one, in order of their arrivals; who has ended is forgotten.

    on_end  told of each request that has ended, and when
    """

    expected = 1

    def __init__(self, on_end: Callable[[Request, int], None]) -> None:
        self._on_end = on_end
        self.coming: deque[Request] = deque()
        self.here: dict[int, Request] = {}

    def add(self, request: Request) -> None:
        """One more, not before the last."""
        self.coming.append(request)
        self.here[request.number] = request

    def next_ps(self) -> int | None:
        """The next one that was told and has not been taken in."""
        return self.coming[0].arrival_ps if self.coming else None

    def pop(self) -> Request:
        """The next request."""
        return self.coming.popleft()

    def ended(self, request: Request, at_ps: int) -> None:
        """Nobody asks for it any more."""
        del self.here[request.number]
        self._on_end(request, at_ps)
