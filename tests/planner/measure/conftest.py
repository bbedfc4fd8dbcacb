"""The tests of this room run event loops of their own."""

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_loop_of_a_browser() -> Iterator[None]:
    """A browser that earlier tests of this process keep open leaves its loop marked as running, also while it waits."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)
