"""Waiting lines: who is let in next, by `EngineConfig.order`. A line has the methods of a deque that schedulers use.

`append` is for a request that comes, `appendleft` for one that was preempted, `[0]` and `popleft` are the next one.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol

from simulator.config import FAIR_SCALE, LONGEST_PREFIX_REQUESTS, EngineConfig
from simulator.records import NEVER
from simulator.reference.kv import KvManager
from simulator.reference.requests import Request


class Line(Protocol):
    """What schedulers and replicas know of a waiting line."""

    def append(self, request: Request, /) -> None: ...
    def appendleft(self, request: Request, /) -> None: ...
    def popleft(self) -> Request: ...
    def remove(self, request: Request, /) -> None: ...
    def extend(self, requests: Iterable[Request], /) -> None: ...
    def __getitem__(self, place: int, /) -> Request: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Request]: ...
    def __contains__(self, request: object, /) -> bool: ...

    def arrange(self) -> None:
        """A step is about to be scheduled."""

    def charge(self, request: Request, tokens: int) -> None:
        """The request was served these tokens."""


class Fcfs(deque[Request]):
    """First come first served; who was preempted last stands first."""

    def arrange(self) -> None:
        """Nothing to do."""

    def charge(self, request: Request, tokens: int) -> None:
        """Nobody counts."""


class LongestPrefix(Fcfs):
    """The longest cached prefix first, as the cache is when the step is scheduled (SGLang's `lpm`).

    Among equals, and where too many wait for their prefixes to be matched: preempted ones first, then in the order in
    which they joined. A prefix leaves at least one token to compute.
    """

    def __init__(self, kv: KvManager) -> None:
        super().__init__()
        self._kv = kv

    def arrange(self) -> None:
        """Put the line in order."""
        matched = len(self) <= LONGEST_PREFIX_REQUESTS

        def place(request: Request) -> tuple[int, bool, int]:
            cached = self._kv.find(request.content, request.target).tokens if matched else 0
            return -cached, request.admitted_ps == NEVER, request.joined

        ordered = sorted(self, key=place)
        self.clear()
        self.extend(ordered)


class Lines:
    """One line for each class or tenant that waits, in which preempted ones stand before those that never ran."""

    def __init__(self) -> None:
        self._lines: dict[int, deque[Request]] = {}

    def _of(self, request: Request) -> int:
        raise NotImplementedError

    def _next(self) -> int:
        raise NotImplementedError

    def append(self, request: Request) -> None:
        """The request stands last of its own."""
        self._lines.setdefault(self._of(request), deque()).append(request)

    def appendleft(self, request: Request) -> None:
        """The request stands first of its own."""
        self._lines.setdefault(self._of(request), deque()).appendleft(request)

    def extend(self, requests: Iterable[Request]) -> None:
        """Append each."""
        for request in requests:
            self.append(request)

    def popleft(self) -> Request:
        """Take out the next one."""
        request = self[0]
        self.remove(request)
        return request

    def remove(self, request: Request) -> None:
        """Take out this one."""
        line = self._lines[self._of(request)]
        line.remove(request)
        if not line:
            del self._lines[self._of(request)]

    def __getitem__(self, place: int) -> Request:
        assert place == 0
        return self._lines[self._next()][0]

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def __iter__(self) -> Iterator[Request]:
        return (request for line in self._lines.values() for request in line)

    def __contains__(self, request: object) -> bool:
        return any(request in line for line in self._lines.values())

    def arrange(self) -> None:
        """Nothing to do."""

    def charge(self, request: Request, tokens: int) -> None:
        """Nobody counts."""


class Priority(Lines):
    """By priority class, then by arrival (vLLM's `priority`)."""

    def _of(self, request: Request) -> int:
        return request.priority

    def _next(self) -> int:
        return min(self._lines)


class Fair(Lines):
    """The tenant that was served the fewest tokens, divided by its weight; the lowest number on a tie.

    Virtual token counters (Sheng et al., "Fairness in Serving Large Language Models", OSDI 2024, algorithm 2), with a
    prompt token and an output token counted alike: a prompt when it is first let in, cached or not; an output token
    when it comes out. A tenant with nobody waiting earns no credit: when a request of it comes, its counter is lifted
    to the least of those that wait, or, with nobody waiting, to that of the tenant whose line was the last to empty.
    """

    def __init__(self, weights: tuple[int, ...]) -> None:
        super().__init__()
        self._weights = weights
        self._served: dict[int, int] = {}
        self._last = NEVER

    def _of(self, request: Request) -> int:
        return request.tenant

    def _next(self) -> int:
        return min(self._lines, key=lambda tenant: (self._served.get(tenant, 0), tenant))

    def append(self, request: Request) -> None:
        """The request stands last of its tenant's."""
        tenant = request.tenant
        if tenant not in self._lines:
            others = [self._served.get(other, 0) for other in self._lines] or [self._served.get(self._last, 0)]
            self._served[tenant] = max(self._served.get(tenant, 0), min(others))
        super().append(request)

    def popleft(self) -> Request:
        """Take out the next one, which is charged its prompt if it never ran."""
        request = super().popleft()
        if request.admitted_ps == NEVER:
            self.charge(request, request.prompt_tokens)
        return request

    def remove(self, request: Request) -> None:
        """Take out this one."""
        super().remove(request)
        if request.tenant not in self._lines:
            self._last = request.tenant

    def charge(self, request: Request, tokens: int) -> None:
        """The tenant was served these tokens."""
        tenant = request.tenant
        weight = self._weights[tenant] if tenant < len(self._weights) else 1
        self._served[tenant] = self._served.get(tenant, 0) + tokens * (FAIR_SCALE // weight)


def make_line(config: EngineConfig, kv: KvManager) -> Line:
    """The waiting line that `config` asks for."""
    if config.order == "priority":
        return Priority()
    if config.order == "longest_prefix":
        return LongestPrefix(kv)
    if config.order == "fair":
        return Fair(config.tenant_weights)
    return Fcfs()
