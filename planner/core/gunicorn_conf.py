"""What gunicorn does beyond its command line: `--config python:planner.core.gunicorn_conf`."""

import gc
import socket
import struct
from typing import Any

from django.urls import get_resolver

from planner import planning
from planner.core import lifeline

logger_class = "planner.core.gunicorn_log.RedactingLogger"
limit_request_line = 8190
"""Bytes of an address with its method: the most that gunicorn takes, since a cell's question is long."""
worker_connections = 64
"""Open at a time for each process; more wait their turn. Without it the process that wakes first takes a whole burst of
cells, while the others have nothing to do."""
SILENCE_S = 10
"""A client that sends or takes nothing for this long in mid-request is dropped: each one holds a thread."""
GARBAGE_THRESHOLDS = (50_000, 20, 20)
"""New objects until the youngest are looked through, and how often until the older are."""


def when_ready(server: Any) -> None:
    """In the parent, once it listens. Accepted connections inherit the limits of the listening socket."""
    for listener in server.LISTENERS:
        limit_silence(listener.sock)
    lifeline.hold()
    if server.cfg.preload_app:
        warm_up()
        gc.collect()
        gc.freeze()


def post_fork(server: Any, worker: Any) -> None:
    """Python looks for garbage in cycles after every 700 new objects, which a third of a cell's time went into."""
    gc.set_threshold(*GARBAGE_THRESHOLDS)


def warm_up() -> None:
    """Loads what the first requests need, once for all processes, which share it: addresses with their views, the
    catalog, the closed form (not the simulator's compiler)."""
    get_resolver().url_patterns  # noqa: B018 - reading it imports the views
    planning.estimate_cells(planning.parse_scenario(planning.sample_scenario()))


def limit_silence(listener: socket.socket) -> None:
    """Reads and writes of connections accepted from here on fail after SILENCE_S without a byte."""
    limit = struct.pack("@ll", SILENCE_S, 0)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        listener.setsockopt(socket.SOL_SOCKET, option, limit)
