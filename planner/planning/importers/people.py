"""A file without what it says about people, for a store that waits for a yes: keys, names, texts.

Columns and counts stay, so that the file is read as before: names and keys become numbers in order of appearance, texts
are emptied. Lines keep their places.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from planner.planning.importers.delimited import Table, find_table
from planner.planning.importers.errors import ImportRefused
from planner.planning.importers.jsons import is_json_lines, json_items, looks_like_json
from planner.planning.importers.layouts import PERSONAL, normalised
from planner.planning.importers.plain_names import leaf
from planner.planning.importers.reading import Answers, Reading
from planner.planning.importers.sources import Opened, Source, open_source
from planner.planning.importers.vllm_log import is_vllm_log, redacted_line

LONGEST_TEXT = 256
_NUMBERS_ONLY = re.compile(r"[\d\s,.\[\]eE+-]*")
_KEY = re.compile(r'"([^"\\]{1,80})"\s*:')
_TEXTS = frozenset(
    {"messages", "prompt", "response", "completion", "input", "output", "content", "request_body", "response_body"}
)
_USAGE = "usage_object"
"""The part of LiteLLM's metadata that counts tokens."""


class _Names:
    """Names and keys as numbers."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def number(self, value: object) -> str:
        return self._known.setdefault(str(value), f"#{len(self._known) + 1}")


def without_people(source: Source) -> bytes | None:
    """The file without people, packed with gzip where it came so; None where its columns name nothing personal.

    Raises ImportRefused where it cannot be read at all.
    """
    opened = open_source(source)
    lines = _scrubbed_lines(opened)
    if lines is None:
        return None
    try:
        data = "".join(lines).encode("utf-8", "replace")
    except RecursionError:
        raise ImportRefused("json_too_deep", "The JSON is nested too deep.") from None
    return gzip.compress(data, compresslevel=1, mtime=0) if opened.packing == "gzip" else data


def _scrubbed_lines(opened: Opened) -> Iterator[str] | None:
    if opened.is_parquet:
        return None
    if is_vllm_log(opened.head):
        return (redacted_line(line) + "\n" for line in opened.text_lines())
    if looks_like_json(opened.head):
        keys = {normalised(key) for key in _KEY.findall(opened.head.decode("utf-8", "replace"))}
        return _json_lines(opened) if any(map(_kind, keys)) else None
    try:
        table, sample = find_table(opened.head, opened.is_whole, Answers(), Reading())
    except ImportRefused:
        return None  # no table: nothing of it will be kept
    is_personal = any(map(_kind, table.names)) or any(len(cell) > LONGEST_TEXT for row in sample for cell in row)
    return _table_lines(opened, table) if is_personal else None


def _json_lines(opened: Opened) -> Iterator[str]:
    names = _Names()
    if is_json_lines(opened.head):
        for line in opened.text_lines():
            yield _json_line(line, names) + "\n"
    elif opened.head.lstrip()[:1] == b"[":
        yield "[\n"
        yield ",\n".join(json.dumps(_scrubbed("", each, names)) for _, each in json_items(opened, is_array=True))
        yield "\n]\n"
    else:
        for _, each in json_items(opened, is_array=False):
            yield json.dumps(_scrubbed("", each, names), indent=1) + "\n"


def _json_line(line: str, names: _Names) -> str:
    if not line.strip():
        return ""
    try:
        return json.dumps(_scrubbed("", json.loads(line.strip().lstrip("\x1e")), names))
    except (ValueError, RecursionError):
        return "?"  # damaged, and still a line


def _table_lines(opened: Opened, table: Table) -> Iterator[str]:
    head = table.first_row - 1
    names, kinds = _Names(), [_kind(name) for name in table.names]
    lines = opened.text_lines()
    for _ in range(head):
        yield next(lines) + "\n"
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=table.delimiter, lineterminator="\n")
    reader = csv.reader((line + "\n" for line in lines), delimiter=table.delimiter)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ImportRefused("cell_too_long", f"A cell cannot be read: {error}.", head + reader.line_num) from None
        breaks = sum(cell.count("\n") for cell in cells)
        kept = [_cell(kind, cell, names) for kind, cell in zip(kinds, cells, strict=False)] + cells[len(kinds) :]
        writer.writerow(kept)
        yield "\n" * max(0, breaks - sum(cell.count("\n") for cell in kept)) + buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _kind(name: str) -> str:
    last = leaf(name)
    return "text" if last in _TEXTS else "metadata" if last == "metadata" else "name" if last in PERSONAL else ""


def _cell(kind: str, cell: str, names: _Names) -> str:
    if not cell.strip() or (kind != "name" and _NUMBERS_ONLY.fullmatch(cell)):
        return cell
    if kind == "name":
        return names.number(cell)
    if kind == "metadata":
        try:
            usage = json.loads(cell).get(_USAGE)
        except (ValueError, AttributeError, RecursionError):
            return ""
        return json.dumps({_USAGE: _scrubbed("", usage, names)}) if usage else ""
    return "" if kind == "text" or (len(cell) > LONGEST_TEXT and not cell.lstrip().startswith("{")) else cell


def _scrubbed(name: str, value: Any, names: _Names) -> Any:
    """A value of JSON without people; objects keep their keys, lists of texts are emptied."""
    kind = _kind(normalised(name)) if name else ""
    if isinstance(value, dict):
        if kind == "metadata":
            return {key: _scrubbed(key, part, names) for key, part in value.items() if key == _USAGE}
        return {key: _scrubbed(key, part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [] if kind else [_scrubbed(name, part, names) for part in value]
    if value is None or isinstance(value, bool):
        return value
    if kind == "name":
        return names.number(value)
    return _cell(kind, value, names) if isinstance(value, str) else value
