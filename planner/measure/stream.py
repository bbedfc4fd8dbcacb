"""The stream of one answer: server-sent events with chunks of a completion, and what they tell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MAX_LINE_BYTES = 4 << 20
MAX_STREAM_BYTES = 256 << 20


class StreamBroken(Exception):  # noqa: N818 - the name says what happened
    """A stream that cannot be read on; code: bad_stream, error_event."""

    def __init__(self, code: str, detail: str) -> None:
        self.code, self.detail = code, detail
        super().__init__(detail)


class Events:
    """Splits bytes into the data of events. Raises StreamBroken where lines or the stream have no end."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line that is not whole; put together once, however small its pieces
        self._rest_bytes = self._bytes = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The data of every line that is whole by now."""
        self._bytes += len(data)
        ends, newline, rest = data.rpartition(b"\n")
        lines: list[bytes] = []
        if newline:
            lines = b"".join([*self._rest, ends]).split(b"\n")
            self._rest, self._rest_bytes = [], 0
        if rest:
            self._rest.append(rest)
            self._rest_bytes += len(rest)
        if self._rest_bytes > MAX_LINE_BYTES or self._bytes > MAX_STREAM_BYTES:
            raise StreamBroken("bad_stream", "its stream has no end")
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip()


def read_chunk(data: bytes) -> dict[str, Any]:
    """One chunk. Raises StreamBroken: it is no JSON object, or the server tells of an error in it."""
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        raise StreamBroken("bad_stream", "an event of its stream is not JSON") from None
    if not isinstance(chunk, dict):
        raise StreamBroken("bad_stream", "an event of its stream is no object")
    if chunk.get("error"):
        raise StreamBroken("error_event", f"it told of an error in its stream: {error_message(chunk)}")
    return chunk


def choice_of(chunk: dict[str, Any]) -> dict[str, Any] | None:
    """The first choice, None where the chunk has none."""
    choices = chunk.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def has_text(choice: dict[str, Any]) -> bool:
    """Whether a chunk carries tokens that one can see: text, thoughts, or the call of a tool."""
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return bool(choice.get("text"))
    return any(delta.get(name) for name in ("content", "reasoning_content", "reasoning", "tool_calls", "refusal"))


def usage_of(chunk: dict[str, Any]) -> tuple[int | None, int | None, int | None] | None:
    """Tokens of prompt and answer, and of the prompt found in the cache, where the chunk tells."""
    usage = chunk.get("usage")
    if not isinstance(usage, dict):
        return None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    return _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens")), _count(cached)


def error_message(document: Any) -> str:
    """What an error says, in whatever shape it comes."""
    for _ in range(3):
        if isinstance(document, dict):
            document = next((document[key] for key in ("error", "message", "detail") if document.get(key)), "")
    return document if isinstance(document, str) else ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**9 else None
