"""A file without what it says about people, for a store that waits for a yes: keys, names, texts.

Columns and counts stay, so that the file is read as before: texts are emptied, names and keys become numbers in order
of appearance, and so does every word in a column that is not known to hold kinds or states. Lines keep their places.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any

from planner.planning.importers.cells import is_day, is_stamp, is_time_of_day
from planner.planning.importers.delimited import MAX_COLUMNS, Table, find_table
from planner.planning.importers.errors import ImportRefused
from planner.planning.importers.jsons import (
    are_names,
    follows_another,
    is_json_lines,
    is_one_line,
    json_document,
    json_items,
    looks_like_json,
    named_by_first,
    rows_by_columns,
)
from planner.planning.importers.layouts import PERSONAL, normalised
from planner.planning.importers.parquet import rewritten
from planner.planning.importers.plain_names import USUAL, leaf
from planner.planning.importers.reading import Answers, Reading
from planner.planning.importers.sources import Opened, Source, open_source
from planner.planning.importers.vllm_log import is_vllm_log, redacted_line

LONGEST_TEXT = 256
_NUMBERS_ONLY = re.compile(r"[\d\s,.\[\]eE+-]*")
_WORD = re.compile(r"\w+")
_KEY = re.compile(r'"([^"\\]{1,80})"\s*:')
_LISTS = re.compile(r"\s*\[\s*\[")
_COLUMN = re.compile(r"[A-Za-z_][\w .:/()-]{0,79}")
_PLAIN_KEY = re.compile(rf"{_COLUMN.pattern}|\d{{1,12}}")
_TEXTS = frozenset(
    {
        "messages", "prompt", "response", "completion", "input", "output", "content", "request_body", "response_body",
        "text", "prompts", "outputs", "responses", "output_text", "input_text", "generated_text", "generated_texts",
        "input_texts",
    }
)  # fmt: skip
_WORDS = frozenset(
    {name for meaning in ("class", "status", "hash_ids") for name in USUAL[meaning]}
    | {"level", "log_type", "model_version", "snapshot_id", "distribution", "provided_model_name", "call_type",
       "finish_reason", "finish_reasons", "stop_reason", "provider", "object", "cache_hit", "service_tier", "role"}
)  # fmt: skip
"""Columns whose words are kinds and states, or hashes of prompts."""
_COUNTS = frozenset(
    name for meaning in ("time", "prompt", "output", "total", "requests", "cost", "cached") for name in USUAL[meaning]
)
_OF_PEOPLE = frozenset({"name", "text", "metadata"})
"""Kinds of columns (`_kind`) that say something about people."""
_STATED = frozenset({"true", "false", "nan", "none", "null", "n/a", "-", "inf"})
_USAGE = "usage_object"
"""The part of LiteLLM's metadata that counts tokens."""


class _Names:
    """Names and keys as numbers."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def number(self, value: object) -> str:
        return self._known.setdefault(str(value), f"#{len(self._known) + 1}")


def without_people(source: Source) -> bytes | None:
    """The file without people, packed with gzip where it came so; None where it says nothing of them.

    Raises ImportRefused where it cannot be read at all.
    """
    opened = open_source(source)
    names = _Names()
    if opened.is_parquet:
        return rewritten(source, lambda name, value: _scrubbed(name, value, names))
    lines = _scrubbed_lines(opened, names)
    if lines is None:
        return None
    try:
        data = "".join(lines).encode("utf-8", "replace")
    except RecursionError:
        raise ImportRefused("json_too_deep", "The JSON is nested too deep.") from None
    return gzip.compress(data, compresslevel=1, mtime=0) if opened.packing == "gzip" else data


def without_texts(opened: Opened) -> bytes | None:
    """A benchmark's result without the texts that were sent and answered, whose names and settings are the server's;
    None where it holds none. Raises ImportRefused."""
    if not looks_like_json(opened.head):
        return None
    found = False

    def emptied(name: str, value: Any) -> Any:
        nonlocal found
        kind = _kind(normalised(name)) if name else ""
        if isinstance(value, dict):
            return {key: emptied(key, part) for key, part in value.items()}
        if isinstance(value, list):
            if kind == "text" and any(isinstance(part, str | dict) for part in value):
                found = True
                return [None] * len(value)
            return [emptied(name, part) for part in value]
        if isinstance(value, str) and (len(value) > LONGEST_TEXT or (kind == "text" and value)):
            found = True
            return ""
        return value

    if is_json_lines(opened.head) and not is_one_line(opened):
        kept = [json.dumps(emptied("", json.loads(line))) if line.strip() else "" for line in opened.text_lines()]
        text = "\n".join(kept) + "\n"
    else:
        text = json.dumps(emptied("", json_document(opened)))
    return text.encode() if found else None


def _scrubbed_lines(opened: Opened, names: _Names) -> Iterator[str] | None:
    if is_vllm_log(opened.head):
        return (redacted_line(line) + "\n" for line in opened.text_lines())
    if looks_like_json(opened.head):
        return _json_lines(opened, names) if _tells_of_people(opened.head) else None
    table: Table | None
    try:
        table, sample = find_table(opened.head, opened.is_whole, Answers(), Reading())
    except ImportRefused:
        table, sample = None, []
    if table is None or len(table.names) < 2:
        return (_WORD.sub("x", line) + "\n" for line in opened.text_lines())  # no table: only its shape may stay
    kinds = [_kind(name) for name in table.names]
    is_personal = any(kind in _OF_PEOPLE for kind in kinds) or any(
        _cell(kind, cell, names) != cell for row in sample for kind, cell in zip(kinds, row, strict=False)
    )
    return _table_lines(opened, table, names) if is_personal else None


def _tells_of_people(head: bytes) -> bool:
    """Whether a key names people, or a key that is not known has a text, or names stand apart from what they name."""
    text = head.decode("utf-8", "replace")
    if _LISTS.match(text):
        return True
    for match in _KEY.finditer(text):
        kind = _kind(normalised(match.group(1)))
        if kind in _OF_PEOPLE or not _PLAIN_KEY.fullmatch(match.group(1)):
            return True
        if kind == "other" and text[match.end() : match.end() + 20].lstrip(" [\n\t")[:1] == '"':
            return True
    return False


def _json_lines(opened: Opened, names: _Names) -> Iterator[str]:
    if opened.head.lstrip()[:1] == b"[":
        yield from _array(_array_entries(json_items(opened, is_array=True), names))
    elif is_json_lines(opened.head) and not is_one_line(opened):
        for line in opened.text_lines():
            yield _json_line(line, names) + "\n"
    elif follows_another(opened.head):
        for _, each in json_items(opened, is_array=False):
            yield json.dumps(_scrubbed("", each, names), indent=1) + "\n"
    else:
        document = json_document(opened)
        rows = rows_by_columns(document)
        if rows:
            yield from _array(_scrubbed("", row, names) for row in rows)
        else:
            yield json.dumps(_scrubbed("", document, names), indent=1) + "\n"


def _array(entries: Iterator[Any]) -> Iterator[str]:
    yield "[\n"
    yield ",\n".join(map(json.dumps, entries))
    yield "\n]\n"


def _array_entries(items: Iterator[tuple[int, Any]], names: _Names) -> Iterator[Any]:
    """Entries without people; rows after a first one of names as objects, the names in their place."""
    first = next(items, None)
    if first is None:
        return
    if are_names(first[1]):
        are_plain = all(_COLUMN.fullmatch(name) for name in first[1])
        yield first[1] if are_plain else [names.number(name) for name in first[1]]
    for _, each in named_by_first(chain([first], items)):
        yield _scrubbed("", each, names)


def _json_line(line: str, names: _Names) -> str:
    if not line.strip():
        return ""
    try:
        return json.dumps(_scrubbed("", json.loads(line.strip().lstrip("\x1e")), names))
    except (ValueError, RecursionError):
        return "?"  # damaged, and still a line


def _table_lines(opened: Opened, table: Table, names: _Names) -> Iterator[str]:
    head, kinds = table.first_row - 1, [_kind(name) for name in table.names]
    lines = opened.text_lines()
    for at in range(1, head + 1):
        line = next(lines)
        is_said = (table.has_header and at == head) or line.lower().lstrip('"').startswith("sep=")
        yield (line if is_said else "") + "\n"  # what stands above the columns' names may name anybody
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=table.delimiter, lineterminator="\n")
    reader = csv.reader((line + "\n" for line in lines), delimiter=table.delimiter)
    line_num = 0
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise ImportRefused("cell_too_long", f"A cell cannot be read: {error}.", head + reader.line_num) from None
        kept = [_cell(kind, cell, names) for kind, cell in zip_longest(kinds, cells[:MAX_COLUMNS], fillvalue="")]
        del kept[len(cells) :]
        writer.writerow(kept)
        breaks = reader.line_num - line_num - 1
        line_num = reader.line_num
        yield "\n" * max(0, breaks - sum(cell.count("\n") for cell in kept) if breaks else 0) + buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _kind(name: str) -> str:
    """What a column may hold: text, metadata, name (of people), words, counts, or other: not known."""
    last = leaf(name)
    if last in _TEXTS:
        return "text"
    if last == "metadata":
        return "metadata"
    if last in PERSONAL:
        return "name"
    return "words" if last in _WORDS else "counts" if last in _COUNTS else "other"


def _cell(kind: str, cell: str, names: _Names) -> str:
    if (cell.isdecimal() and kind != "name") or not cell.strip():
        return cell
    if kind == "name":
        return names.number(cell)
    if _NUMBERS_ONLY.fullmatch(cell):
        return cell
    if kind == "metadata":
        return _object_cell(cell, names, _USAGE)
    if kind == "text":
        return ""
    if cell.lstrip()[:1] in {"{", "["}:
        return _object_cell(cell, names)
    if kind in {"words", "counts"}:
        return "" if len(cell) > LONGEST_TEXT else cell
    is_time = len(cell) <= 40 and (is_stamp(cell) or is_day(cell) or is_time_of_day(cell))
    return cell if is_time or cell.strip().lower() in _STATED else names.number(cell)


def _object_cell(cell: str, names: _Names, part: str | None = None) -> str:
    """JSON in a cell without people, or one part of it; empty where it is none."""
    try:
        value = json.loads(cell)
        kept = value if part is None else {part: value[part]}
        return json.dumps(_scrubbed("", kept, names))
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


def _scrubbed(name: str, value: Any, names: _Names) -> Any:
    """A value of JSON without people; objects keep their plain keys, lists of texts are emptied."""
    kind = _kind(normalised(name)) if name else "other"
    if isinstance(value, dict):
        kept = value.items() if kind != "metadata" else [(key, part) for key, part in value.items() if key == _USAGE]
        return {
            key if _PLAIN_KEY.fullmatch(key) else names.number(key): _scrubbed(key, part, names) for key, part in kept
        }
    if isinstance(value, list):
        return [] if kind in _OF_PEOPLE else [_scrubbed(name, part, names) for part in value]
    if value is None or isinstance(value, bool):
        return value
    if kind == "name":
        return names.number(value)
    return _cell(kind, value, names) if isinstance(value, str) else value
