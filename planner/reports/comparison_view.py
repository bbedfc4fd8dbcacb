"""A comparison as a page shows it: the results as a table with their intervals, the charts laid over each other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.reports.comparison import Result, results
from planner.reports.numbers import DASH, milliseconds, number, percent, range_text, requests_per_s, unit_price, usd
from planner.reports.overlay import overlays
from planner.reports.parts import Cell, Chart, Column, Row, Table
from planner.reports.view import VERDICTS

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """The table of results, None where no side has any, and the charts."""

    results: Table | None
    charts: tuple[Chart, ...]


def comparison_view(labels: Sequence[str], reports: Sequence[Report | None]) -> ComparisonView:
    """Format the results of sides for reading."""
    rows = results(reports)
    columns = (Column("Result"), *(Column(label, numeric=True) for label in labels))
    cells = tuple(_row(row) for row in rows)
    table = Table("Results side by side", columns, cells, stick=True) if rows else None
    return ComparisonView(table, overlays(labels, reports))


def _row(row: Result) -> Row:
    best = _best(row)
    cells = tuple(_cell(row, value, place in best) for place, value in enumerate(row.values))
    unit = "" if row.unit in ("", "ratio") else row.unit
    return Row((Cell(row.label, note=unit), *cells))


def _mid(value: Any) -> float | None:
    middle = value.get("mid") if isinstance(value, Mapping) else value
    return float(middle) if isinstance(middle, int | float) and not isinstance(middle, bool) else None


def _best(row: Result) -> set[int]:
    """Places of the best value, where values can be ranked and are not all equal."""
    known = {place: mid for place, value in enumerate(row.values) if (mid := _mid(value)) is not None}
    if row.less_is_better is None or len(known) < 2 or len(set(known.values())) == 1:
        return set()
    best = (min if row.less_is_better else max)(known.values())
    return {place for place, mid in known.items() if mid == best}


def _cell(row: Result, value: Any, best: bool) -> Cell:
    if value is None:
        return Cell(DASH, why="no result")
    if row.name == "verdict":
        label, state = VERDICTS.get(value, (str(value), "dash"))
        return Cell(label, state=state, badge=True)
    note = "lowest" if best and row.less_is_better else "highest" if best else ""
    if not isinstance(value, Mapping):
        return Cell(_text(row, value), note=note, strong=best)
    span = "" if value["low"] == value["high"] else range_text(value, lambda end: _text(row, end))
    target = value.get("target")
    if target is not None:
        note = "; ".join(part for part in (note, f"target {_text(row, target)}") if part)
    return Cell(
        _text(row, value["mid"]),
        note="; ".join(part for part in (span, note) if part),
        strong=best,
        state="" if target is None else "yes" if value["met"] else "no",
        warn=target is not None and not value["met"],
    )


def _text(row: Result, value: Any) -> str:
    if isinstance(value, str):
        return value
    if row.unit == "ratio":
        return percent(value, 1)
    if row.unit == "ms":
        return milliseconds(value)
    if row.unit == "$/month":
        return usd(value)
    if row.unit.startswith("$"):
        return unit_price(value)
    return requests_per_s(value) if row.unit.startswith("req/s") else number(value)
