"""Waking up in time. The loop's timers come up to a millisecond late, which is much beside a latency of 20 ms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

SPIN_S = 0.0012
"""So long before its time a sleeper stays awake, letting others run. On a loop with exact timers 0 does."""


def call_at(
    loop: asyncio.AbstractEventLoop, at_s: float, callback: Callable[[], None], spin_s: float = SPIN_S
) -> asyncio.Handle:
    """Calls back a little before the time, or soon once that is near: whoever is called looks at the clock."""
    wait_s = at_s - loop.time()
    return loop.call_later(wait_s - spin_s, callback) if wait_s > spin_s else loop.call_soon(callback)


async def sleep_until(at_s: float, spin_s: float = SPIN_S) -> None:
    """Returns at this time of the loop, or at once where it has passed."""
    loop = asyncio.get_running_loop()
    wait_s = at_s - loop.time()
    if wait_s > spin_s:
        await asyncio.sleep(wait_s - spin_s)
    while loop.time() < at_s:
        await asyncio.sleep(0)
