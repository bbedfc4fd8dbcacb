"""The one door for recorded traffic: a file is recognised, its reading told, and its requests given out in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType
from typing import Any

import numpy as np

from planner.planning.importers.cells import (
    is_day,
    is_time_of_day,
    number_readings,
    printable,
    style_evidence,
)
from planner.planning.importers.clock import Clock, find_clock, in_order
from planner.planning.importers.columns import UNKNOWN, BoolArray, Chunk, joined
from planner.planning.importers.delimited import MAX_COLUMNS, Table, careful_rows, find_table
from planner.planning.importers.errors import ImportRefused
from planner.planning.importers.fast_rows import FastRows, parse_block
from planner.planning.importers.jsons import flattened, json_records, looks_like_json
from planner.planning.importers.layouts import (
    PERSONAL,
    VLLM_TEXT,
    VLLM_TEXT_RATES,
    Layout,
    by_day,
    normalised,
    recognise,
)
from planner.planning.importers.parquet import parquet_names, parquet_records
from planner.planning.importers.plain_names import leaf
from planner.planning.importers.reading import ANSWERS, Answers, Reading
from planner.planning.importers.records import JOINED_TIME, joining
from planner.planning.importers.rows import RANGES, RowMaker
from planner.planning.importers.sources import Opened, Source, open_source
from planner.planning.importers.vllm_log import is_vllm_log, log_records, log_windows

CHUNK_ROWS = 50_000
CHUNK_BLOCKS = 1_000_000
LEAST_ROWS_TO_DOUBT = 10
"""Rows that must all contradict a format's size of blocks before it is asked."""
SAMPLE_RECORDS = 2_000
_DAY_NAMES = ("date", "day", "datum", "fecha")
_CLOCK_NAMES = ("time", "time_of_day", "hour", "uhrzeit", "zeit", "hora", "heure")
_NUMERIC = ("time", "prompt", "output", "cached", "total", "requests", "cost")

Records = Iterator[tuple[int, dict[str, Any]]]


@dataclass(slots=True)
class TraceFile:
    """A recognised file. `reading.questions` must be empty before rows are asked for; `chunks()` may be called once.

    layout.kind: requests (`chunks`), usage (`records` with `clock`, see usage.py) or lengths. nested: values stand in
    objects within the records.
    """

    opened: Opened
    layout: Layout
    clock: Clock
    decimal: str
    reading: Reading
    table: Table | None
    nested: bool = False

    def chunks(self) -> Iterator[Chunk]:
        """Requests in order of time. Raises ImportRefused, also after some chunks were given."""
        self.reading.require_answers()
        ordered = self.layout.ordered
        return in_order(self._noted(self._read()), self.reading, ordered=ordered)

    def records(self) -> Records:
        """Rows by normalised name, personal columns that no meaning uses left out."""
        self.reading.require_answers()
        if self.layout.format == VLLM_TEXT.format:
            return log_records(self.opened)
        if self.layout.format == VLLM_TEXT_RATES.format:
            return log_windows(self.opened)
        return _records(self.opened, self.table, self.reading, nested=self.nested)

    def _read(self) -> Iterator[Chunk]:
        maker = RowMaker(self.layout, self.clock, self.decimal, self.reading)
        if self.table is not None and _fits_fast(self.layout, self.table, self.decimal):
            yield from _fast_chunks(self.opened, self.table, self.layout, self.clock, maker, self.reading)
        else:
            for row, record in self.records():
                maker.add(row, record)
                if len(maker) >= CHUNK_ROWS or maker.blocks >= CHUNK_BLOCKS:
                    yield maker.chunk()
        if len(maker):
            yield maker.chunk()

    def _noted(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Counts rows, and rows that repeat the one before them."""
        last: Chunk | None = None
        for chunk in chunks:
            self.reading.rows_used += len(chunk)
            self.reading.failed_rows += int(np.count_nonzero(chunk.failed))
            _note_repeats(chunk, last, self.reading)
            last = chunk.take(np.array([len(chunk) - 1]))
            yield chunk


def open_trace(source: Source, answers: Answers | None = None) -> TraceFile:
    """Recognises a file of traffic and says how it is read. Raises ImportRefused."""
    answers = answers or Answers()
    opened = open_source(source)
    reading = Reading(packing=opened.packing)
    if opened.encoding == "cp1252":
        reading.assume("encoding", "Windows-1252", "the bytes are not UTF-8")
    elif opened.encoding in {"utf-16", "utf-32", "utf-8-sig"}:
        reading.assume("encoding", opened.encoding.replace("-sig", ""), "the byte order mark says so")
    elif opened.encoding != "utf-8":
        reading.assume("encoding", opened.encoding, "every other byte is zero")
    table: Table | None = None
    nested = False
    if is_vllm_log(opened.head):
        return _logged(opened, answers, reading)
    if opened.is_parquet or looks_like_json(opened.head):
        sample = [record for _, record in islice(_records(opened, None, Reading()), SAMPLE_RECORDS)]
        names = parquet_names(opened.source) if opened.is_parquet else _names(sample)
        if _lie_deeper(sample, names, answers):
            nested = True
            sample = [flattened(record) for record in sample]
            names = _names(sample)
            reading.assume("nested objects", "names with dots", "the values stand in objects within the records")
        reading.columns = names
    else:
        table, rows = find_table(opened.head, opened.is_whole, answers, reading)
        names = table.names
        sample = [dict(zip(names, row, strict=False)) for row in rows]
        if table.quoted:
            reading.assume(
                "quotation marks", "cells in quotation marks may hold the delimiter", "some cells are quoted"
            )
    if not sample and table is None:
        raise ImportRefused("no_rows", "The file holds no rows.")
    reading.columns = tuple(printable(name) for name in reading.columns[:MAX_COLUMNS])
    layout = recognise(tuple(normalised(name) for name in names), answers, _numbers(sample))
    if not sample:
        raise ImportRefused("no_rows", "The file holds no rows.")
    file = _understood(opened, layout, table, sample, answers, reading)
    file.nested = nested
    return file


def _logged(opened: Opened, answers: Answers, reading: Reading) -> TraceFile:
    """A server's log: its requests where it counts their tokens, else its throughput. Raises ImportRefused."""
    reading.columns = ("prompt", "output", "arrival_time", "input_toks", "output_toks", "request_id")
    reading.personal = ("prompt", "output")
    sample = [record for _, record in islice(log_records(opened), SAMPLE_RECORDS)]
    counted = [each for each in sample if each["input_toks"] is not None and each["output_toks"] is not None]
    if counted:
        return _understood(opened, VLLM_TEXT, None, counted, answers, reading)
    windows = [record for _, record in islice(log_windows(opened), SAMPLE_RECORDS)]
    if not windows:
        detail = "The log lists no token ids of prompts and responses, and has no lines of throughput."
        raise ImportRefused("no_token_counts", detail)
    return _understood(opened, VLLM_TEXT_RATES, None, windows, answers, reading)


def _names(sample: list[dict[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for record in sample[:100] for name in record))


def _lie_deeper(sample: list[dict[str, Any]], names: tuple[str, ...], answers: Answers) -> bool:
    """Whether records have objects in them without which the file is no traffic."""
    if not any(isinstance(value, dict) for record in sample[:100] for value in record.values()):
        return False
    try:
        return recognise(tuple(normalised(name) for name in names), answers).kind == "lengths"
    except ImportRefused:
        return True


def _numbers(sample: list[dict[str, Any]]) -> frozenset[str]:
    """Columns of which every cell that is not empty is a number, and some are."""
    cells: dict[str, list[Any]] = {}
    for record in sample[:100]:
        for name, value in record.items():
            if value is not None and value != "":
                cells.setdefault(name, []).append(value)
    return frozenset(name for name, values in cells.items() if all(map(_is_number, values)))


def _is_number(value: Any) -> bool:
    return not isinstance(value, bool) and (isinstance(value, int | float) or bool(number_readings(str(value))))


def _understood(
    opened: Opened,
    layout: Layout,
    table: Table | None,
    sample: list[dict[str, Any]],
    answers: Answers,
    reading: Reading,
) -> TraceFile:
    if layout.format == "plain" and layout.prepare is None:
        layout = _with_day(layout, table, sample, reading)
    if layout.kind != "lengths" and layout.format == "plain" and _are_days(layout, sample):
        layout = by_day(layout)
        reading.assume("rows", "each stands for the requests of a day", "the times are days")
    twice = [name for name in layout.columns.values() if table and table.names.count(name) > 1]
    if twice:
        raise ImportRefused("column_twice", f"Two columns are called {printable(twice[0])!r}; rename one.")
    present = set(sample[0]) | set(table.names if table else ())
    reading.format, reading.title, reading.kind = layout.format, layout.title, layout.kind
    reading.block_tokens = _block_tokens(layout, sample, answers, reading)
    reading.used = {meaning: name for meaning, name in layout.columns.items() if name in present or layout.prepare}
    reading.personal = reading.personal or tuple(name for name in sorted(present) if leaf(name) in PERSONAL)
    for what, taken, because in layout.notes:
        reading.assume(what, taken, because)
    decimal = _decimal(layout, table, sample, answers, reading)
    if "time" in layout.columns:
        times = _times(layout, sample)
        clock = find_clock(times, layout.unit, decimal, answers, reading)
        layout = _newest_first(layout, clock, times, reading)
    else:
        clock = Clock(False, 1, None, decimal, False)
    return TraceFile(opened, layout, clock, decimal, reading, table)


def _newest_first(layout: Layout, clock: Clock, times: list[Any], reading: Reading) -> Layout:
    """Logs are often exported with the newest row first; such a file is sorted as a whole."""
    if not layout.ordered or len(times) < 3:
        return layout
    known = []
    for time in times:
        try:
            known.append(clock.ns(time))
        except ValueError:
            continue
    steps = np.diff(np.array(known, dtype=np.int64))
    if len(steps) >= 2 and bool((steps <= 0).all()) and bool((steps < 0).sum() > len(steps) // 2):
        reading.assume("order of rows", "newest first, sorted", "no time is later than the one before it")
        return replace(layout, ordered=False)
    return layout


def _block_tokens(layout: Layout, sample: list[dict[str, Any]], answers: Answers, reading: Reading) -> int | None:
    """The size of hashed blocks: as answered, the format's, or the only usual one that fits the prompts; else asked."""
    if "hash_ids" not in layout.columns:
        return None
    if answers.block_tokens is not None:
        reading.assume("hash blocks", f"{answers.block_tokens} tokens", "as answered")
        return int(answers.block_tokens)
    sizes = [int(size) for size in ANSWERS["block_tokens"]]
    fitting = [size for size in sizes if _blocks_fit(layout, sample, size)]
    known, told = layout.block_tokens, sum(bool(record.get(layout.columns["hash_ids"])) for record in sample)
    if not told or known in fitting or (known and (len(fitting) != 1 or told < LEAST_ROWS_TO_DOUBT)):
        return known
    if known is None and len(fitting) == 1:
        reading.assume("hash blocks", f"{fitting[0]} tokens", "no other usual size fits the prompts")
        return fitting[0]
    choices = tuple((str(size), f"{size} tokens") for size in fitting or sizes)
    reading.ask("block_tokens", "How many tokens does a hashed block have?", *choices)
    return None


def _blocks_fit(layout: Layout, sample: list[dict[str, Any]], size: int) -> bool:
    """Whether prompts have as many blocks as they fill, the last one told or not where it is not full, in most rows."""
    rows = wrong = 0
    for record in sample:
        ids, prompt = record.get(layout.columns["hash_ids"]), record.get(layout.columns["prompt"])
        count = _count_of_blocks(ids, is_ranges=layout.columns["hash_ids"] == RANGES)
        if not count or not isinstance(prompt, int | str) or not str(prompt).isdecimal():
            continue
        rows += 1
        wrong += count not in (int(prompt) // size, -(-int(prompt) // size))
    return wrong <= 0.01 * rows


def _count_of_blocks(value: Any, *, is_ranges: bool) -> int:
    if isinstance(value, list):
        return len(value)
    if not isinstance(value, str):
        return 0
    if not is_ranges:
        return len(value.strip().strip("[]").replace(",", " ").split())
    runs = (run.partition("-") for run in value.split())
    return sum(int(last) - int(first) + 1 if dash else 1 for first, dash, last in runs if (first + last).isdecimal())


def _times(layout: Layout, sample: list[dict[str, Any]]) -> list[Any]:
    """The first times, as the layout makes them of the records."""
    if layout.columns["time"] != JOINED_TIME:
        return [record.get(layout.columns["time"]) for record in sample]
    assert layout.prepare is not None
    prepare = layout.prepare()
    return [prepare(record)[JOINED_TIME] for record in sample]


def _with_day(layout: Layout, table: Table | None, sample: list[dict[str, Any]], reading: Reading) -> Layout:
    """A day and a time of day in columns of their own are one time. Raises ImportRefused where the day is missing."""
    if "time" not in layout.columns or table is None:
        return layout
    hours = next((name for name in (layout.columns["time"], *_CLOCK_NAMES) if _all(sample, name, is_time_of_day)), None)
    if hours is None:
        return layout
    day = next((name for name in (layout.columns["time"], *_DAY_NAMES) if _all(sample, name, is_day)), None)
    if day is None:
        if hours != layout.columns["time"]:
            return layout
        raise ImportRefused("no_day", f"The times in {printable(hours)!r} have no day; add a column with it.")
    reading.assume("time", f"{day} and {hours} together", "one holds days and the other times of day")
    columns = MappingProxyType({**layout.columns, "time": JOINED_TIME})
    return replace(layout, columns=columns, unit=None, prepare=joining(day, hours))


def _all(sample: list[dict[str, Any]], name: str, fits: Callable[[str], bool]) -> bool:
    cells = [str(record[name]) for record in sample if record.get(name)]
    return bool(cells) and all(map(fits, cells))


def _are_days(layout: Layout, sample: list[dict[str, Any]]) -> bool:
    times = _times(layout, sample)
    texts = [time for time in times if isinstance(time, str) and time.strip()]
    return bool(texts) and all(is_day(text) for text in texts)


def _decimal(
    layout: Layout, table: Table | None, sample: list[dict[str, Any]], answers: Answers, reading: Reading
) -> str:
    """How decimals are written; only text tables leave it open."""
    if answers.decimal is not None:
        reading.assume("decimal sign", answers.decimal, "as answered")
        return answers.decimal
    if table is None:
        return "point"
    columns = [layout.columns[meaning] for meaning in _NUMERIC if meaning in layout.columns]
    cells = [str(record[name]) for record in sample for name in columns if record.get(name)]
    seen = style_evidence(cells)
    both = (("point", "1.5 is one and a half"), ("comma", "1,5 is one and a half"))
    if seen.point and seen.comma:
        reading.ask("decimal", f"{seen.point!r} needs a decimal point, {seen.comma!r} a decimal comma.", *both)
    elif seen.comma:
        reading.assume("decimal sign", "comma", f"{seen.comma!r} can be written no other way")
        reading.assume("thousands sign", "point", "the decimal sign is a comma")
        return "comma"
    elif seen.point:
        if any("," in cell for cell in cells):
            reading.assume("thousands sign", "comma", f"{seen.point!r} has a decimal point")
    elif seen.either:
        if "." in seen.either and table.delimiter == ",":
            reading.assume("decimal sign", "point", "commas part the columns")
        else:
            whole = seen.either.replace(",", "").replace(".", "")
            choices = (("point", ""), ("comma", ""))
            point = whole if "," in seen.either else seen.either
            comma = whole if "." in seen.either else seen.either.replace(",", ".")
            choices = (("point", f"{seen.either} is {point}"), ("comma", f"{seen.either} is {comma}"))
            reading.ask("decimal", f"{seen.either!r} may be {point} or {comma}.", *choices)
    return "point"


def _records(opened: Opened, table: Table | None, reading: Reading, *, nested: bool = False) -> Records:
    if table is None:
        parquet = opened.is_parquet
        rows = parquet_records(opened.source) if parquet else json_records(opened, reading.problems)
        for row, record in rows:
            values = flattened(record) if nested else record
            yield row, values if parquet and not nested else {normalised(key): value for key, value in values.items()}
        return
    lines = _after(opened.lines(), table.first_row - 1)
    yield from _table_records(careful_rows(lines, table, reading.problems, table.first_row), table, reading)


def _table_records(rows: Iterator[tuple[int, list[str]]], table: Table, reading: Reading) -> Records:
    names, width = table.names, len(table.names)
    for row, cells in rows:
        if len(cells) != width:
            while len(cells) > width and not cells[-1].strip():
                cells.pop()
            if len(cells) != width:
                reading.rows_read += 1
                reading.problems.drop("wrong_columns", row, f"{len(cells)} cells where the first line has {width}.")
                continue
        yield row, dict(zip(names, cells, strict=True))


def _after(blocks: Iterator[bytes], lines: int) -> Iterator[bytes]:
    """Blocks without their first lines."""
    for block in blocks:
        at = 0
        while lines and at < len(block):
            at = block.find(b"\n", at) + 1 or len(block)
            lines -= 1
        if at < len(block):
            yield block[at:] if at else block


def _fits_fast(layout: Layout, table: Table, decimal: str) -> bool:
    """Whether rows need nothing but a time and counts."""
    return (
        layout.prepare is None
        and decimal == "point"
        and not table.quoted
        and set(layout.columns) == {"time", "prompt", "output"}
        and layout.kind == "requests"
        and all(name in table.names for name in layout.columns.values())
    )


def _fast_chunks(
    opened: Opened, table: Table, layout: Layout, clock: Clock, maker: RowMaker, reading: Reading
) -> Iterator[Chunk]:
    """Regular rows as arrays; the others, and everything from the first quotation mark on, one by one."""
    places = tuple(table.names.index(layout.columns[meaning]) for meaning in ("time", "prompt", "output"))
    unit_ns = None if clock.stamps else clock.unit_ns
    row = table.first_row
    blocks = _after(opened.lines(), table.first_row - 1)

    def careful(lines: Iterator[bytes], first_row: int) -> Iterator[Chunk]:
        for at, record in _table_records(careful_rows(lines, table, reading.problems, first_row), table, reading):
            maker.add(at, record)
            if len(maker) >= CHUNK_ROWS:
                yield maker.chunk()
        if len(maker):
            yield maker.chunk()

    for block in blocks:
        if b'"' in block:
            yield from careful(_chain(block, blocks), row)
            return
        parsed = parse_block(block, table.delimiter, len(table.names), places, unit_ns)
        prompt, output = parsed.counts
        ok = parsed.ok & ((prompt > 0) | (output == 0))
        if np.count_nonzero(ok) < len(ok) // 2:
            yield from careful(iter([block]), row)
        else:
            for i in np.flatnonzero(~ok).tolist():
                line = block[int(parsed.starts[i]) : int(parsed.ends[i])]
                rows = careful_rows(iter([line]), table, reading.problems, row + i)
                for at, record in _table_records(rows, table, reading):
                    maker.add(at, record)
            parts = [maker.chunk()] if len(maker) else []
            if ok.any():
                reading.rows_read += int(np.count_nonzero(ok))
                parts.append(_fast_chunk(parsed, ok, row))
            if parts:
                yield parts[0] if len(parts) == 1 else _by_row(parts)
        row += len(ok)


def _fast_chunk(parsed: FastRows, ok: BoolArray, first_row: int) -> Chunk:
    prompt, output = (column[ok] for column in parsed.counts)
    nothing = np.full(len(prompt), UNKNOWN, dtype=np.int64)
    rows = np.arange(first_row, first_row + len(ok))[ok]
    return Chunk(parsed.time_ns[ok], prompt, output, nothing, nothing, nothing, nothing, output == 0, rows)


def _by_row(parts: list[Chunk]) -> Chunk:
    whole = joined(parts)
    return whole.take(np.argsort(whole.row, kind="stable"))


def _chain(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _note_repeats(chunk: Chunk, last: Chunk | None, reading: Reading) -> None:
    same: Any = np.ones(len(chunk), dtype=np.bool_)
    same[0] = last is not None
    for name in ("arrival_ns", "prompt_tokens", "output_tokens"):
        values = getattr(chunk, name)
        same[1:] &= values[1:] == values[:-1]
        if last is not None:
            same[0] &= values[0] == getattr(last, name)[0]
    found = np.flatnonzero(same)
    for i in found[:20].tolist():
        reading.problems.keep("repeats_previous_row", int(chunk.row[i]), "Time and tokens are those of the row before.")
    reading.problems.kept["repeats_previous_row"] += max(0, len(found) - 20)
    if not reading.problems.kept["repeats_previous_row"]:
        del reading.problems.kept["repeats_previous_row"]
