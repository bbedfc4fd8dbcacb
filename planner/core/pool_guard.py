"""Ends a worker whose pool of processes cannot go on, so that whoever started it starts it again.

With a broker that offers no event loop (files), Celery's processes share one queue and its lock. A process that is
killed while it waits for work takes the lock with it, and no other process gets work ever again.
"""

import contextlib
import logging
import os
import signal
from typing import Any

from billiard.pool import Pool

logger = logging.getLogger(__name__)

WORKER_UNUSABLE = 70


def watch(consumer: Any) -> None:
    """Once the worker is ready: looks at each process of its pool that ends."""
    pool: Any = getattr(consumer.pool, "_pool", None)
    if type(pool) is Pool:  # the pool of event loops, a subclass, gives each process a queue of its own
        setattr(pool, "on_process_down", lambda process: _judge(pool, process))  # noqa: B010 - unknown to the stubs


def _judge(pool: Any, process: Any) -> None:
    if (process.exitcode or 0) >= 0 or _was_working(pool, process.pid):
        return  # ended by itself, or did not hold the lock: the pool replaces it, the reaper brings its run back
    logger.critical("process %s was killed while it waited for work; the worker ends to be started again", process.pid)
    for other in pool._pool:
        with contextlib.suppress(ProcessLookupError):
            os.kill(other.pid, signal.SIGKILL)  # its run comes back when its lease ends
    os._exit(WORKER_UNUSABLE)


def _was_working(pool: Any, pid: int) -> bool:
    return any(pid in job.worker_pids() for job in list(pool._cache.values()) if not job.ready())
