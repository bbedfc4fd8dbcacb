"""What gunicorn does beyond its command line: `--config python:planner.core.gunicorn_conf`."""

import socket
import struct
from typing import Any

from planner.core import lifeline

logger_class = "planner.core.gunicorn_log.RedactingLogger"
limit_request_line = 8190
"""Bytes of an address with its method: the most that gunicorn takes, since a cell's question is long."""
SILENCE_S = 10
"""A client that sends or takes nothing for this long in mid-request is dropped: each one holds a thread."""


def when_ready(server: Any) -> None:
    """In the parent, once it listens. Accepted connections inherit the limits of the listening socket."""
    for listener in server.LISTENERS:
        limit_silence(listener.sock)
    lifeline.hold()


def limit_silence(listener: socket.socket) -> None:
    """Reads and writes of connections accepted from here on fail after SILENCE_S without a byte."""
    limit = struct.pack("@ll", SILENCE_S, 0)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        listener.setsockopt(socket.SOL_SOCKET, option, limit)
