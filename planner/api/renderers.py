"""JSON and CSV as this API writes them."""

import csv
import io
import json
import math
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from rest_framework.renderers import BaseRenderer

from planner.reports.tables import Table
from planner.reports.xlsx_book import workbook_of_table

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


class Json(BaseRenderer):
    """Compact JSON in UTF-8. Decimals are numbers; NaN and infinity are refused as a fault of ours."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
        return text.encode()


class Csv(BaseRenderer):
    """A table by RFC 4180: one header row, decimal point, no byte-order mark, nothing that a sheet would execute."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: Table, accepted_media_type: str | None = None, renderer_context: Any = None, *, header: bool = True
    ) -> bytes:
        out = io.StringIO()
        writer = csv.writer(out)
        if header:
            writer.writerow(data.columns)
        writer.writerows([_cell(row.get(column)) for column in data.columns] for row in data.rows)
        return out.getvalue().encode()


def csv_of_columns(columns: Sequence[Sequence[Any]]) -> bytes:
    """Lines of a table that is given by columns, without a header."""
    out = io.StringIO()
    csv.writer(out).writerows(zip(*(map(_cell, column) for column in columns), strict=True))
    return out.getvalue().encode()


class _Finished(BaseRenderer):
    """Names a format; views hand over finished bytes."""

    charset = None
    render_style = "binary"

    def render(self, data: bytes, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        return data


class Parquet(_Finished):
    """Tables for data frames."""

    media_type = "application/vnd.apache.parquet"
    format = "parquet"


class PlainText(_Finished):
    """A document of docs/ as it is."""

    media_type = "text/plain"
    format = "text"


class Page(_Finished):
    """A page for a browser."""

    media_type = "text/html"
    format = "html"


class Xlsx(BaseRenderer):
    """Names the format of workbooks; views hand over finished bytes, or a table."""

    media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    format = "xlsx"
    charset = None
    render_style = "binary"

    def render(self, data: Table, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        rows = [{name: _xlsx_value(row.get(name)) for name in data.columns} for row in data.rows]
        return workbook_of_table("table", Table(data.columns, rows))


def _xlsx_value(value: Any) -> Any:
    """Numbers and truth values as they are, all else as CSV writes it, without its apostrophe: cells have a type."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Decimal):
        return float(value)
    return value if isinstance(value, str) else _cell(value)


def _cell(value: Any) -> str:
    """Empty for null; numbers as JSON writes them; lists joined by "; "; text made harmless."""
    if value is None:
        return ""
    if type(value) is int or (type(value) is float and math.isfinite(value)):  # nearly all cells, and as JSON has them
        return repr(value)
    if isinstance(value, bool | int | float | Decimal):
        return json.dumps(value, allow_nan=False, default=_plain)
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        return _harmless("; ".join(str(item) for item in value))
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    return _harmless(value if isinstance(value, str) else str(_plain(value)))


def _harmless(text: str) -> str:
    """Text that a spreadsheet would read as a formula gets an apostrophe in front."""
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written")
