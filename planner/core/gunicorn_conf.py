"""What gunicorn does beyond its command line: `--config python:planner.core.gunicorn_conf`."""

from typing import Any

from planner.core import lifeline


def when_ready(server: Any) -> None:
    """In the parent, once it listens."""
    lifeline.hold()
