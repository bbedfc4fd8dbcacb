"""Holding an answer back until a run has ended, without letting waiters take every thread of the server."""

import threading
import time
from collections.abc import Callable

MAX_WAITERS = 4
POLL_S = 0.25

_slots = threading.BoundedSemaphore(MAX_WAITERS)


def wait_while(
    unfinished: Callable[[], bool],
    limit_s: float,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Returns when `unfinished` says False, after `limit_s`, or at once when this process has enough waiters."""
    if limit_s <= 0 or not _slots.acquire(blocking=False):
        return
    try:
        end_s = clock() + limit_s
        while unfinished() and (left_s := end_s - clock()) > 0:
            sleep(min(POLL_S, left_s))
    finally:
        _slots.release()
