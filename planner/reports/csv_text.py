"""A table as CSV text: one header row, decimal point, no byte-order mark, nothing that a sheet would execute."""

import csv
import io
import json
import math
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from planner.reports.tables import Table

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def csv_of_table(table: Table, *, header: bool = True) -> bytes:
    """A table by RFC 4180."""
    out = io.StringIO()
    writer = csv.writer(out)
    if header:
        writer.writerow(table.columns)
    writer.writerows([cell_text(row.get(column)) for column in table.columns] for row in table.rows)
    return out.getvalue().encode()


def csv_of_columns(columns: Sequence[Sequence[Any]]) -> bytes:
    """Lines of a table that is given by columns, without a header."""
    out = io.StringIO()
    csv.writer(out).writerows(zip(*(map(cell_text, column) for column in columns), strict=True))
    return out.getvalue().encode()


def cell_text(value: Any) -> str:
    """Empty for null; numbers as JSON writes them; lists joined by "; "; text made harmless."""
    if value is None:
        return ""
    if type(value) is int or (type(value) is float and math.isfinite(value)):  # nearly all cells, and as JSON has them
        return repr(value)
    if isinstance(value, bool | int | float | Decimal):
        return json.dumps(value, allow_nan=False, default=plain_value)
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        return _harmless("; ".join(str(item) for item in value))
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=plain_value)
    return _harmless(value if isinstance(value, str) else str(plain_value(value)))


def _harmless(text: str) -> str:
    """Text that a spreadsheet would read as a formula gets an apostrophe in front."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def plain_value(value: object) -> object:
    """What JSON and CSV write for a value that they do not know. TypeError: nothing."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written")
