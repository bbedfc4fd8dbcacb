"""Records from JSON: one object, an array of objects, or one object a line; pages and buckets of usage laid flat."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any

from planner.planning.importers.errors import ImportRefused, Problems
from planner.planning.importers.sources import MAX_LINE_BYTES, Opened

MAX_DOCUMENT_BYTES = 64 << 20
_DECODER = json.JSONDecoder()
_BETWEEN = re.compile(r"[\s,]*")


def looks_like_json(head: bytes) -> bool:
    """Whether the first character begins an object or an array."""
    return head.lstrip()[:1] in (b"{", b"[")


def is_json_lines(head: bytes) -> bool:
    """Whether the first line is a whole object."""
    line = head.lstrip().split(b"\n", 1)[0]
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def json_document(opened: Opened) -> Any:
    """The whole file as one value. Raises ImportRefused with json_too_large, json_too_deep or json_invalid."""
    data = b""
    for block in opened.blocks():
        data += block
        if len(data) > MAX_DOCUMENT_BYTES:
            detail = f"One JSON document may have {MAX_DOCUMENT_BYTES >> 20} MiB; write one object a line instead."
            raise ImportRefused("json_too_large", detail)
    try:
        return json.loads(data.decode("utf-8", "replace"))
    except RecursionError:
        raise ImportRefused("json_too_deep", "The JSON is nested too deep.") from None
    except ValueError as error:
        raise ImportRefused("json_invalid", f"Not valid JSON: {str(error)[:120]}.") from None


def json_records(opened: Opened, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects with their line, or their place in the array, from 1 on. Raises ImportRefused."""
    if opened.head.lstrip()[:1] == b"[":
        rows = _array_items(opened)
    elif is_json_lines(opened.head):
        rows = _line_items(opened, problems)
    else:
        rows = iter([(1, json_document(opened))])
    for row, value in rows:
        if not isinstance(value, dict):
            problems.drop("not_an_object", row, "The entry is not a JSON object.")
            continue
        for record in _flat(value):
            yield row, record


def _flat(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A page of buckets, or a bucket of results, as one record each."""
    parts = value.get("data")
    if isinstance(parts, list):
        for part in parts:
            if isinstance(part, dict):
                yield from _flat_bucket(part)
    else:
        yield from _flat_bucket(value)


def _flat_bucket(bucket: dict[str, Any]) -> Iterator[dict[str, Any]]:
    results = bucket.get("results")
    if isinstance(results, list) and ("start_time" in bucket or "starting_at" in bucket):
        times = {key: value for key, value in bucket.items() if key != "results"}
        for result in results:
            if isinstance(result, dict):
                yield {**result, **times}
    else:
        yield bucket


def _line_items(opened: Opened, problems: Problems) -> Iterator[tuple[int, Any]]:
    row = 0
    for block in opened.lines():
        for line in block.split(b"\n")[: block.count(b"\n") + (not block.endswith(b"\n"))]:
            row += 1
            if not line.strip():
                continue
            try:
                yield row, json.loads(line.decode("utf-8", "replace"))
            except RecursionError:
                problems.drop("json_too_deep", row, "The JSON is nested too deep.")
            except ValueError:
                problems.drop("json_invalid", row, "The line is not valid JSON.")


def _array_items(opened: Opened) -> Iterator[tuple[int, Any]]:
    """Entries of an array as they come; no more than one entry and one block is held. Raises ImportRefused."""
    blocks = _texts(opened)
    text = next(blocks, "")
    at = text.index("[") + 1
    row = 0
    is_last = False
    while True:
        at = _skip(text, at)
        if text.startswith("]", at):
            return
        item, end = _decoded(text, at)
        if end and (end < len(text) or is_last):  # a number at the end of a block may go on in the next
            row += 1
            yield row, item
            at = end
            continue
        if len(text) - at > MAX_LINE_BYTES:
            raise ImportRefused("line_too_long", f"An entry is longer than {MAX_LINE_BYTES >> 20} MiB.", row + 1)
        if is_last:
            raise ImportRefused("json_invalid", "The array is not closed, or an entry is not valid JSON.", row + 1)
        more = next(blocks, None)
        is_last = more is None
        text, at = text[at:] + (more or ""), 0


def _skip(text: str, at: int) -> int:
    match = _BETWEEN.match(text, at)
    return match.end() if match else at


def _decoded(text: str, at: int) -> tuple[Any, int]:
    """The value that begins there and where it ends; end 0 where it is not complete."""
    try:
        return _DECODER.raw_decode(text, at)
    except RecursionError:
        raise ImportRefused("json_too_deep", "The JSON is nested too deep.") from None
    except ValueError:
        return None, 0


def _texts(opened: Opened) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for block in opened.blocks():
        yield decoder.decode(block)
