"""An event loop whose time jumps: real sockets on this machine, but nobody waits, and latencies are exact.

When nothing is ready the clock goes to the next timer. What is sent over loopback is there at once, so nothing takes
time but what asks for it.
"""

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

T = TypeVar("T")
GRACE_S = 0.0002
STUCK_S = 10.0
RESOLUTION_S = 1e-9
"""asyncio calls timers that are nearer than this: none of them may find that it is not yet time."""


class _Selector(selectors.BaseSelector):
    def __init__(self) -> None:
        self.inner = selectors.DefaultSelector()
        self.now_s = 1000.0

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self.inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.inner.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self.inner.get_map()

    def close(self) -> None:
        self.inner.close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            ready = self.inner.select(STUCK_S)
            assert ready, "everybody waits, and nothing will ever come"
            return ready
        ready = self.inner.select(0) or (self.inner.select(GRACE_S) if timeout > 0 else [])
        if not ready:
            self.now_s += timeout + RESOLUTION_S
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now_s


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs it to its end on a loop of its own."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(coroutine)
