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
_BETWEEN = re.compile(r"[\s,\x1e]*")
RECORD_MARK = b"\x1e"
"""What stands before each record of a JSON text sequence (RFC 7464)."""
MAX_DEPTH = 5
_COUNTS = re.compile(r"tok|_len|length|\b[io]sl$", re.IGNORECASE)


def looks_like_json(head: bytes) -> bool:
    """Whether the first character begins an object or an array."""
    return _start(head)[:1] in (b"{", b"[")


def _start(head: bytes) -> bytes:
    return head.lstrip().lstrip(RECORD_MARK).lstrip()


def is_json_lines(head: bytes) -> bool:
    """Whether the first line is a whole object."""
    line = _start(head).split(b"\n", 1)[0]
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def is_one_line(opened: Opened) -> bool:
    """Whether the whole file is one line, which may be a document as well as the only one of lines."""
    return opened.is_whole and b"\n" not in opened.head.strip()


def json_document(opened: Opened) -> Any:
    """The whole file as one value. Raises ImportRefused with json_too_large, json_too_deep or json_invalid."""
    data = b""
    for block in opened.blocks():
        data += block
        if len(data) > MAX_DOCUMENT_BYTES:
            detail = f"One JSON document may have {MAX_DOCUMENT_BYTES >> 20} MiB; write one object a line instead."
            raise ImportRefused("json_too_large", detail)
    try:
        return json.loads(_start(data).decode("utf-8", "replace"))
    except RecursionError:
        raise ImportRefused("json_too_deep", "The JSON is nested too deep.") from None
    except ValueError as error:
        raise ImportRefused("json_invalid", f"Not valid JSON: {str(error)[:120]}.") from None


def json_records(opened: Opened, problems: Problems) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects with their line, or their place in the array, from 1 on. Raises ImportRefused."""
    if _start(opened.head)[:1] == b"[":
        rows = json_items(opened, is_array=True)
    elif is_one_line(opened):
        rows = enumerate(_rows_of(json_document(opened)), 1)
    elif is_json_lines(opened.head):
        rows = _line_items(opened, problems)
    elif follows_another(opened.head):
        rows = json_items(opened, is_array=False)
    else:
        rows = enumerate(_rows_of(json_document(opened)), 1)
    for row, value in named_by_first(rows):
        if not isinstance(value, dict):
            problems.drop("not_an_object", row, "The entry is not a JSON object.")
            continue
        for record in _flat(value):
            yield row, record


def are_names(value: Any) -> bool:
    """Whether an entry is a list of texts, as a first row that names columns is."""
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value)


def named_by_first(rows: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    """Lists after a first one of names as objects, as tables are written without repeating their names."""
    first = next(rows, None)
    if first is None:
        return
    names = first[1]
    if not are_names(names):
        yield first
        yield from rows
        return
    for row, value in rows:
        is_row = isinstance(value, list) and len(value) == len(names)
        yield row, dict(zip(names, value, strict=True)) if is_row else value


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
            line = line.strip().lstrip(RECORD_MARK)
            if not line:
                continue
            try:
                yield row, json.loads(line.decode("utf-8", "replace"))
            except RecursionError:
                problems.drop("json_too_deep", row, "The JSON is nested too deep.")
            except ValueError:
                problems.drop("json_invalid", row, "The line is not valid JSON.")


def follows_another(head: bytes) -> bool:
    """Whether one whole object is followed by the beginning of another, as where objects are written over lines."""
    text = _start(head).decode("utf-8", "replace")
    try:
        _, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return text.startswith("{", _skip(text, end))


def _rows_of(document: Any) -> list[Any]:
    """The records of a whole document: a table by columns, the one list of objects in it, or the document itself."""
    found = rows_by_columns(document) or _only_list(document, 0) or _only_traffic(document)
    return found or [document]


def rows_by_columns(document: Any) -> list[Any] | None:
    """Rows of {"name": [values]}, {"columns": [names], "data": [[values]]} or {"name": {"0": value}}."""
    if not isinstance(document, dict) or not document:
        return None
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list) and data and all(isinstance(row, list) for row in data):
        return [dict(zip(map(str, columns), row, strict=False)) for row in data]
    values = list(document.values())
    if len(values) < 2:
        return None
    if all(isinstance(each, dict) and each and all(key.isdecimal() for key in each) for each in values):
        keys = values[0].keys()
        return [{name: each.get(key) for name, each in document.items()} for key in keys]
    is_table = all(isinstance(each, list) and len(each) == len(values[0]) for each in values) and values[0]
    if is_table and not any(isinstance(cell, dict | list) for each in values for cell in each[:1]):
        return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]
    return None


def _only_list(document: Any, depth: int) -> list[Any] | None:
    """The only list of objects within an object, as exports wrap their records; pages of `data` are laid flat later."""
    if not isinstance(document, dict) or depth > 2 or isinstance(document.get("data"), list):
        return None
    if isinstance(document.get("results"), list) and ("start_time" in document or "starting_at" in document):
        return None
    lists = [each for each in document.values() if isinstance(each, list) and each and isinstance(each[0], dict)]
    if len(lists) == 1:
        return lists[0]
    inner = [found for each in document.values() if (found := _only_list(each, depth + 1))]
    return inner[0] if not lists and len(inner) == 1 else None


def _only_traffic(document: Any) -> list[Any] | None:
    """The only list beside others whose objects count tokens, as where errors or models stand beside them."""
    if not isinstance(document, dict):
        return None
    lists = [each for each in document.values() if isinstance(each, list) and each and isinstance(each[0], dict)]
    fitting = [each for each in lists if any(_COUNTS.search(key) for key in flattened(each[0]))]
    return fitting[0] if len(lists) > 1 and len(fitting) == 1 else None


def flattened(record: dict[str, Any]) -> dict[str, Any]:
    """Values of nested objects under names with dots, {"usage": {"input": 5}} as usage.input; lists stay."""
    flat: dict[str, Any] = {}
    _flatten(record, "", flat, 0)
    return flat


def _flatten(value: dict[str, Any], path: str, flat: dict[str, Any], depth: int) -> None:
    for key, part in value.items():
        if isinstance(part, dict) and depth < MAX_DEPTH:
            _flatten(part, f"{path}{key}.", flat, depth + 1)
        elif not isinstance(part, dict):
            flat[f"{path}{key}"] = part


def json_items(opened: Opened, *, is_array: bool) -> Iterator[tuple[int, Any]]:
    """Entries of an array, or objects one after the other, as they come; no more than one and a block is held.

    Raises ImportRefused.
    """
    blocks = _texts(opened)
    text = next(blocks, "")
    at = text.index("[") + 1 if is_array else text.index("{")
    row = 0
    is_last = False
    while True:
        at = _skip(text, at)
        if text.startswith("]", at) or (not is_array and is_last and at == len(text)):
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
            what = "The array is not closed, or an entry" if is_array else "An entry"
            raise ImportRefused("json_invalid", f"{what} is not valid JSON.", row + 1)
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
