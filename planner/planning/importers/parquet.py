"""Parquet tables, where the optional pyarrow is installed; read a batch of rows at a time."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any

from planner.planning.importers.errors import ImportRefused
from planner.planning.importers.layouts import normalised
from planner.planning.importers.sources import Source

BATCH_ROWS = 20_000
MAX_COLUMNS = 500


def parquet_names(source: Source) -> tuple[str, ...]:
    """The names of the columns. Raises ImportRefused."""
    return tuple(str(name)[:80] for name in _file(source).schema_arrow.names)


def parquet_records(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Rows from 1 on, by normalised name; calendar times as texts. Raises ImportRefused."""
    file = _file(source)
    row = 0
    try:
        for batch in file.iter_batches(batch_size=BATCH_ROWS):
            names = [normalised(name) for name in batch.schema.names]
            columns = [_plain(column) for column in batch.columns]
            for values in zip(*columns, strict=True):
                row += 1
                yield row, dict(zip(names, values, strict=True))
    except (OSError, ValueError) as error:
        raise ImportRefused("parquet_damaged", f"The Parquet data cannot be read: {str(error)[:120]}.", row) from None


def rewritten(source: Source, keep: Callable[[str, Any], Any]) -> bytes | None:
    """The table with every value of a text, or with texts in it, as `keep(name, value)` leaves it; bytes are left out.
    None where no column holds any. Raises ImportRefused."""
    file = _file(source)
    schema = file.schema_arrow
    pyarrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    fields = [pyarrow.field(field.name, _undictionaried(field.type)) for field in schema]
    if not any(_holds_text(field.type) for field in fields):
        return None
    plain = pyarrow.schema(fields)
    out = io.BytesIO()
    try:
        with parquet.ParquetWriter(out, plain) as writer:
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                columns = [
                    pyarrow.array([_kept(keep, field.name, value) for value in column.to_pylist()], type=field.type)
                    if _holds_text(field.type)
                    else column
                    for field, column in zip(fields, batch.columns, strict=True)
                ]
                writer.write_batch(pyarrow.record_batch(columns, schema=plain))
    except (OSError, ValueError, TypeError) as error:
        raise ImportRefused("parquet_damaged", f"The Parquet data cannot be read: {str(error)[:120]}.") from None
    return out.getvalue()


def _kept(keep: Callable[[str, Any], Any], name: str, value: Any) -> Any:
    return None if isinstance(value, bytes) else keep(name, value)


def _undictionaried(kind: Any) -> Any:
    return getattr(kind, "value_type", kind) if str(kind).startswith("dictionary") else kind


def _holds_text(kind: Any) -> bool:
    return any(word in str(kind) for word in ("string", "utf8", "binary", "struct", "map", "dictionary"))


def _plain(column: Any) -> list[Any]:
    """Python values; times keep their nanoseconds as digits, in UTC where they have a zone."""
    kind = str(column.type)
    if kind.startswith("timestamp"):
        unit = kind[10:].split(",")[0].rstrip("]")
        per_s = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        return [None if ticks is None else _stamp(ticks, per_s) for ticks in column.cast("int64").to_pylist()]
    return [value.isoformat() if isinstance(value, date | datetime) else value for value in column.to_pylist()]


def _stamp(ticks: int, per_s: int) -> str:
    seconds, fraction = divmod(ticks, per_s)
    day, second = divmod(seconds, 86_400)
    clock = f"{second // 3600:02d}:{second % 3600 // 60:02d}:{second % 60:02d}"
    return f"{date.fromordinal(day + 719_163).isoformat()} {clock}.{fraction * (10**9 // per_s):09d}Z"


def _file(source: Source) -> Any:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        detail = "Parquet needs pyarrow (requirements-parquet.txt); without it, save the table as CSV."
        raise ImportRefused("parquet_missing", detail) from None
    try:
        file = parquet.ParquetFile(source.open())
    except (OSError, ValueError) as error:
        raise ImportRefused("parquet_damaged", f"The Parquet data cannot be read: {str(error)[:120]}.") from None
    if len(file.schema_arrow.names) > MAX_COLUMNS:
        raise ImportRefused("parquet_too_wide", f"The table has more than {MAX_COLUMNS} columns.")
    return file
