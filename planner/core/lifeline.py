"""Ends a child process when the process that started it is gone, however it went."""

import os
import signal
import threading
import time

VARIABLE = "PLANNER_LIFELINE"


def hold() -> None:
    """In a child of `up`: asks this process to end (SIGTERM) once its parent is no longer the one that started it."""
    parent = os.environ.get(VARIABLE)
    if parent is not None:
        threading.Thread(target=_watch, args=(int(parent),), name="lifeline", daemon=True).start()


def _watch(parent_pid: int) -> None:
    while os.getppid() == parent_pid:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
