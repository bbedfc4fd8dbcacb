"""JSON and CSV as this API writes them."""

import json
from decimal import Decimal
from typing import Any

from rest_framework.renderers import BaseRenderer

from planner.reports.csv_text import cell_text, csv_of_table, plain_value
from planner.reports.tables import Table
from planner.reports.xlsx_book import workbook_of_table


class Json(BaseRenderer):
    """Compact JSON in UTF-8. Decimals are numbers; NaN and infinity are refused as a fault of ours."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=plain_value)
        return text.encode()


class Csv(BaseRenderer):
    """A table by RFC 4180: one header row, decimal point, no byte-order mark, nothing that a sheet would execute."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: Table, accepted_media_type: str | None = None, renderer_context: Any = None, *, header: bool = True
    ) -> bytes:
        return csv_of_table(data, header=header)


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
    return value if isinstance(value, str) else cell_text(value)
