"""A workbook under construction: formats, names of cells, plain tables. xlsxwriter is imported where a book is made, so
that processes which never export do without it."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from planner.reports.tables import Table

CREATED = datetime(2026, 1, 1, tzinfo=UTC).replace(tzinfo=None)
"""The same for all books: equal reports give equal bytes."""
WIDEST = 80
_NUMBER_FORMATS = {
    "usd": "#,##0.00",
    "usd_unit": "#,##0.0000",
    "number": "#,##0.###",
    "whole": "#,##0",
    "ratio": "0.0 %",
}


class Book:
    """Wraps a workbook in memory; `bytes()` closes it."""

    def __init__(self, title: str) -> None:
        import xlsxwriter

        self._out = io.BytesIO()
        options = {
            "in_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "nan_inf_to_errors": False,
        }
        self.workbook = xlsxwriter.Workbook(self._out, options)
        self.workbook.set_properties({"title": title[:200], "created": CREATED})
        self.workbook.set_calc_mode("auto")
        self._formats: dict[str, Any] = {}

    def bytes(self) -> bytes:
        """The finished file."""
        self.workbook.close()
        return self._out.getvalue()

    def style(self, kind: str = "text", *, bold: bool = False, entry: bool = False) -> Any:
        """A format: text, title, head, wrap or one of the kinds of number. entry: a cell meant to be changed."""
        key = f"{kind}/{bold}/{entry}"
        if key not in self._formats:
            look: dict[str, Any] = {"valign": "top", "bold": bold or kind in ("title", "head")}
            if kind == "title":
                look["font_size"] = 14
            if kind == "head":
                look.update(bottom=1, text_wrap=True)
            if kind == "wrap":
                look["text_wrap"] = True
            if kind in _NUMBER_FORMATS:
                look["num_format"] = _NUMBER_FORMATS[kind]
            if entry:
                look.update(bg_color="#FFF4CC", border=1, border_color="#C9A400")
            self._formats[key] = self.workbook.add_format(look)
        return self._formats[key]

    def sheet(self, name: str, title: str, note: str = "") -> Any:
        """A new sheet with a title and a line of explanation; content starts in row 3."""
        sheet = self.workbook.add_worksheet(name)
        sheet.write_string(0, 0, title, self.style("title"))
        sheet.write_string(1, 0, note)
        sheet.hide_gridlines(2)
        sheet.set_landscape()
        sheet.fit_to_pages(1, 0)
        return sheet

    def name(self, word: str, sheet: str, row: int, column: int) -> None:
        """Names a cell for formulas, in this book and in those of its readers."""
        self.workbook.define_name(word, f"='{sheet}'!{absolute(row, column)}")

    def table(self, sheet: Any, top: int, table: Table) -> None:
        """A table with its header frozen, filterable and as wide as its text."""
        for column, name in enumerate(table.columns):
            sheet.write_string(top, column, name, self.style("head"))
            longest = max([len(name) + 2, *(len(str(row.get(name) or "")) for row in table.rows)])
            sheet.set_column(column, column, min(WIDEST, max(9, longest)))
        for place, row in enumerate(table.rows, top + 1):
            self.cells(sheet, place, [row.get(name) for name in table.columns])
        if table.rows:
            sheet.autofilter(top, 0, top + len(table.rows), len(table.columns) - 1)
        sheet.freeze_panes(top + 1, 1)

    def cells(self, sheet: Any, row: int, values: Sequence[Any]) -> None:
        """Values from the first column on: text stays text whatever it starts with."""
        for column, value in enumerate(values):
            if isinstance(value, bool):
                sheet.write_boolean(row, column, value)
            elif isinstance(value, int | float):
                sheet.write_number(row, column, value)
            elif value is not None:
                sheet.write_string(row, column, value if isinstance(value, str) else str(value))


def absolute(row: int, column: int) -> str:
    """`$C$5`."""
    from xlsxwriter.utility import xl_rowcol_to_cell

    return str(xl_rowcol_to_cell(row, column, row_abs=True, col_abs=True))


def workbook_of_table(name: str, table: Table) -> bytes:
    """One table as a file."""
    book = Book(name)
    sheet = book.workbook.add_worksheet(name[:31])
    book.table(sheet, 0, table)
    return book.bytes()


def rows_table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    """The columns of some rows."""
    return Table(columns, [{name: row.get(name) for name in columns} for row in rows])
