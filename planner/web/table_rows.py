"""The rows of a table as HTML. A page holds thousands of cells, most of them plain text: a template for each would be
most of the page's time, so only cells with a mark, a term, a link or a computation go through theirs."""

from collections.abc import Callable, Iterator
from html import escape
from itertools import accumulate

from django.utils.safestring import SafeString, mark_safe

from planner.reports.parts import Cell, Column, Row, Table


def rows_html(table: Table, special: Callable[[Cell], str]) -> SafeString:
    """special: renders what stands in a cell that is more than text."""
    rows = (_row(row, table.columns, special) for row in table.rows)
    return mark_safe("\n".join(rows))  # noqa: S308 - every text in it is escaped below, or by the template


def _row(row: Row, columns: tuple[Column, ...], special: Callable[[Cell], str]) -> str:
    css = f' class="{row.kind}"' if row.kind else ""
    if row.kind == "group":
        return f'<tr{css}><th colspan="{len(columns)}" scope="rowgroup">{escape(row.cells[0].text)}</th></tr>'
    (_, name), *rest = _paired(columns, row.cells)
    cells = "".join(_td(column, cell, special) for column, cell in rest)
    return f'<tr{css}><th scope="row">{_inner(name, special)}</th>{cells}</tr>'


def _paired(columns: tuple[Column, ...], cells: tuple[Cell, ...]) -> Iterator[tuple[Column, Cell]]:
    """Each cell with its column; one over several columns with the last of them."""
    for cell, end in zip(cells, accumulate(cell.span for cell in cells), strict=True):
        yield columns[end - 1], cell


def _td(column: Column, cell: Cell, special: Callable[[Cell], str]) -> str:
    flags = (
        ("n", column.numeric),
        ("hide-m", column.minor),
        ("wide", column.wide),
        ("nb", column.whole),
        ("strong", cell.strong),
        ("none", cell.blank),
    )
    css = " ".join(name for name, on in flags if on)
    span = f' colspan="{cell.span}"' if cell.span > 1 else ""
    value = "" if cell.sort is None else f' data-v="{cell.sort}"'
    return f'<td data-h="{escape(column.sheet_label)}"{span}{value} class="{css}">{_inner(cell, special)}</td>'


def _inner(cell: Cell, special: Callable[[Cell], str]) -> str:
    if cell.mark or cell.state or cell.href or cell.term or cell.how or (cell.missing and cell.why):
        return special(cell)
    warn = " warn-ink" if cell.warn else ""
    note = f'<span class="sub2{warn}">{escape(cell.note)}</span>' if cell.note else ""
    return escape(cell.text) + note
