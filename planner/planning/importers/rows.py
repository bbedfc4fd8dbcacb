"""Records become columns: one row at a time, by a layout, a clock and a style of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from planner.planning.importers.cells import count, printable, tokens
from planner.planning.importers.clock import Clock
from planner.planning.importers.columns import UNKNOWN, Blocks, Chunk, Numbering
from planner.planning.importers.errors import BadCell, Dropped
from planner.planning.importers.layouts import Layout
from planner.planning.importers.reading import Reading
from planner.planning.importers.records import Record

RANGES = "blocks"
"""The column that tells hashed blocks by their runs; see `traffic.block_cache.as_ranges`."""
MAX_IDS = 1_000_000
MAX_BLOCKS = 100_000
MAX_CLASSES = 200
MAX_BLOCK_ID = 2**62
_FAILURES = frozenset({"failure", "failed", "error", "errored", "timeout", "cancelled", "canceled"})


@dataclass(slots=True)
class _Pending:
    """Rows not yet given out, column by column."""

    numbers: list[tuple[int, int, int, int, int, int, int, bool, int]] = field(default_factory=list)
    block_counts: list[int] = field(default_factory=list)
    block_ids: list[int] = field(default_factory=list)


class RowMaker:
    """Turns records into chunks and keeps the account of what was left out (in `reading`)."""

    def __init__(self, layout: Layout, clock: Clock, decimal: str, reading: Reading) -> None:
        self._layout = layout
        self._columns = dict(layout.columns)
        self._clock = clock
        self._decimal = decimal
        self._reading = reading
        self._prepare: Callable[[Record], Record] | None = layout.prepare() if layout.prepare else None
        self._sessions, self._clients = Numbering(), Numbering()
        self._classes: dict[str, int] = {}
        self._read_classes: dict[str, int] = {}
        self._ids: set[bytes] = set()
        self._pending = _Pending()

    def add(self, row: int, record: Record) -> None:
        """Takes one record; rows that cannot be used are counted with the reason."""
        reading = self._reading
        reading.rows_read += 1
        try:
            if self._prepare is not None:
                record = self._prepare(record)
            self._take(row, record)
        except Dropped as dropped:
            reading.problems.drop(dropped.code, row, "The row is no request of a model server.")
        except BadCell as bad:
            reading.problems.drop(bad.code, row, bad.detail)

    def _take(self, row: int, record: Record) -> None:
        columns = self._columns
        time_ns = self._clock.ns(record.get(columns["time"])) if "time" in columns else 0
        prompt = tokens(self._value(record, "prompt", 0), self._decimal)
        output = tokens(self._value(record, "output", 0), self._decimal)
        cached = self._optional(record, "cached")
        if cached > 0 and not self._layout.cached_included:
            prompt += cached
        if cached > prompt:
            raise BadCell("cached_above_prompt", f"{cached} cached tokens of {prompt} prompt tokens.")
        failed = output == 0 or str(record.get(columns.get("status", ""), "")).strip().lower() in _FAILURES
        if prompt == 0 and output > 0:
            raise BadCell("no_prompt", "An answered request has no prompt tokens.")
        blocks = self._blocks(record.get(columns["hash_ids"])) if "hash_ids" in columns else []
        self._check_total(row, record, prompt, output)
        if "id" in columns and self._seen(record.get(columns["id"])):
            raise BadCell("duplicate_id", "Another row has the same id.")
        pending = self._pending
        pending.numbers.append(
            (
                time_ns,
                prompt,
                output,
                cached,
                self._sessions.number(record.get(columns["session"])) if "session" in columns else UNKNOWN,
                self._clients.number(record.get(columns["client"])) if "client" in columns else UNKNOWN,
                self._class(record.get(columns["class"])) if "class" in columns else UNKNOWN,
                failed,
                row,
            )
        )
        if "hash_ids" in columns:
            pending.block_counts.append(len(blocks))
            pending.block_ids.extend(blocks)

    def __len__(self) -> int:
        return len(self._pending.numbers)

    @property
    def blocks(self) -> int:
        """Hashed blocks of the rows taken since the last chunk."""
        return len(self._pending.block_ids)

    def chunk(self) -> Chunk:
        """The rows taken since the last call; at least one."""
        pending, self._pending = self._pending, _Pending()
        table = np.array(pending.numbers, dtype=np.int64)
        blocks = None
        if "hash_ids" in self._columns:
            offsets = np.concatenate(([0], np.cumsum(pending.block_counts))).astype(np.int64)
            blocks = Blocks(offsets, np.array(pending.block_ids, dtype=np.int64))
        time_ns, prompt, output, cached, session, client, kind, failed, row = np.ascontiguousarray(table.T)
        return Chunk(time_ns, prompt, output, cached, session, client, kind, failed.astype(np.bool_), row, blocks)

    def _value(self, record: Record, meaning: str, missing: int) -> Any:
        value = record.get(self._columns[meaning])
        return missing if value is None or value == "" else value

    def _optional(self, record: Record, meaning: str) -> int:
        value = record.get(self._columns[meaning]) if meaning in self._columns else None
        return UNKNOWN if value is None or value == "" else tokens(value, self._decimal)

    def _check_total(self, row: int, record: Record, prompt: int, output: int) -> None:
        total = self._columns.get("total")
        stated = record.get(total) if total else None
        if stated is None or stated == "" or count(stated, self._decimal) == prompt + output:
            return
        self._reading.problems.keep(
            "total_mismatch", row, f"Input {prompt} + output {output} is not the total {printable(stated, 20)}."
        )

    def _seen(self, identity: object) -> bool:
        if identity is None or identity == "":
            return False
        key = blake2b(str(identity).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        if key in self._ids:
            return True
        if len(self._ids) < MAX_IDS:
            self._ids.add(key)
        return False

    def _class(self, value: object) -> int:
        if value is None or value == "":
            return UNKNOWN
        if isinstance(value, str) and (read := self._read_classes.get(value)) is not None:
            return read
        text = printable(value, 60).strip()
        if text[:1] in {"=", "@", "+", "-"}:
            raise BadCell("formula_cell", "The class is a formula.")
        known = self._classes.get(text)
        if known is None:
            if len(self._classes) >= MAX_CLASSES:
                return UNKNOWN
            known = self._classes[text] = len(self._classes)
            self._reading.classes.append(text)
        if isinstance(value, str) and len(self._read_classes) < MAX_CLASSES:
            self._read_classes[value] = known
        return known

    def _blocks(self, value: object) -> list[int]:
        """Numbers as they are; texts by a digest."""
        if value is None or value == "":
            return []
        if isinstance(value, str) and self._columns["hash_ids"] == RANGES:
            value = _ranges(value)
        elif isinstance(value, str):
            value = value.strip().strip("[]").replace(",", " ").split()
        if not isinstance(value, list) or len(value) > MAX_BLOCKS or not set(map(type, value)) <= {int, str}:
            raise BadCell("bad_hash_ids", "hash_ids must be a list of numbers.")
        ids = value if set(map(type, value)) <= {int} else [_block_id(each) for each in value]
        if ids and not (min(ids) >= -MAX_BLOCK_ID and max(ids) <= MAX_BLOCK_ID):
            raise BadCell("bad_hash_ids", "A hash id is out of range.")
        return ids


def _ranges(text: str) -> list[int]:
    """Numbers of blocks from runs: "0 14-16" is [0, 14, 15, 16]. Raises BadCell."""
    ids: list[int] = []
    for run in text.split():
        first, dash, last = run.partition("-")
        if not (first.isdecimal() and (last.isdecimal() or not dash) and len(first) <= 12 and len(last) <= 12):
            raise BadCell("bad_hash_ids", "blocks must be runs of numbers, such as 0 14-26.")
        end = int(last) if dash else int(first)
        if end < int(first) or end - int(first) + len(ids) >= MAX_BLOCKS:
            raise BadCell("bad_hash_ids", f"A run of blocks must rise, and a row has at most {MAX_BLOCKS:,} blocks.")
        ids.extend(range(int(first), end + 1))
    return ids


def _block_id(value: int | str) -> int:
    if isinstance(value, int):
        return value
    if value.isdecimal() and len(value) <= 18:
        return int(value)
    return int.from_bytes(blake2b(value.encode("utf-8", "surrogatepass"), digest_size=7).digest())
