"""The stream of an answer, cut anywhere."""

import sys
from typing import Any

import pytest

from planner.measure.stream import MAX_LINE_BYTES, Events, StreamBroken

STREAM = b'data: {"a": 1}\n\n: ping\ndata:[DONE]\r\n\n'


@pytest.mark.parametrize("size", [1, 2, 5, 13, 1000])
def test_events_are_the_same_however_the_stream_is_cut(size: int) -> None:
    events = Events()
    found = [event for at in range(0, len(STREAM), size) for event in events.feed(STREAM[at : at + size])]
    assert found == [b'{"a": 1}', b"[DONE]"]


def test_a_line_without_end_in_small_pieces_is_not_copied_for_each() -> None:
    """Work is counted, not timed: what a piece makes must not grow with the line."""
    events = Events()
    list(events.feed(b"x" * (MAX_LINE_BYTES - 10)))
    made: list[Any] = []
    sys.setprofile(lambda _, kind, what: made.append(what) if kind == "c_return" else None)
    try:
        list(events.feed(b"y"))
    finally:
        sys.setprofile(None)
    assert not any(getattr(call, "__name__", "") == "split" for call in made)
    with pytest.raises(StreamBroken, match="no end"):
        list(events.feed(b"z" * 10))
