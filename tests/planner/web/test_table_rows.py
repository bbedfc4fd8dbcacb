"""Rows of tables: what is written quickly is what the template of a cell would write, and every text is escaped."""

import dataclasses
from collections.abc import Iterator
from datetime import date

from django.template import Context
from django.template.loader import get_template

from planner.reports.parts import Cell, Column, Row, Table
from planner.reports.view import report_view
from planner.web.table_rows import rows_html
from tests.planner.reports.example import example

HOSTILE = "<b>\"&'"


def by_template(cell: Cell) -> str:
    inner: str = get_template("parts/cell.html").template.render(Context({"cell": cell})).strip()  # type: ignore[attr-defined]
    return inner


def tables() -> Iterator[Table]:
    view = report_view(example(), date(2026, 11, 30))
    for field in dataclasses.fields(view):
        value = getattr(view, field.name)
        if isinstance(value, Table):
            yield value


def test_plain_cells_are_written_as_their_template_writes_them() -> None:
    special: list[Cell] = []
    for table in tables():
        html = rows_html(table, lambda cell: special.append(cell) or by_template(cell))
        for row in table.rows:
            assert all(by_template(cell) in html for cell in row.cells if cell not in special or not cell.term)
    assert special


def test_text_is_escaped_wherever_it_stands() -> None:
    columns = (Column("Name"), Column(f"A {HOSTILE}", unit=HOSTILE))
    rows = (Row((Cell(HOSTILE, note=HOSTILE), Cell(HOSTILE))), Row((Cell(HOSTILE),), "group"))
    html = rows_html(Table("t", columns, rows), by_template)
    assert "<b>" not in html
    assert html.count("&lt;b&gt;&quot;&amp;&#x27;") == 6


def test_a_cell_over_several_columns_looks_like_the_last_of_them() -> None:
    columns = (Column("Name"), Column("Cost", numeric=True), Column("Result", wide=True))
    html = rows_html(Table("t", columns, (Row((Cell("A"), Cell("out", span=2))),)), by_template)
    assert 'data-h="Result" colspan="2" class="wide">out</td>' in html
