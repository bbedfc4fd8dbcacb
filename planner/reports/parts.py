"""What a report page is put together from: tables, figures, charts. Plain values that templates print as they are."""

from dataclasses import dataclass, field
from typing import Any, Literal

from planner.reports.marks import Mark

State = Literal["", "yes", "no", "dash", "clock", "run"]
RowKind = Literal["", "pick", "off", "total", "group"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column's head. `unit` stands on a line of its own, `minor` hides at medium width,
    `hidden` is only heard, `whole` does not wrap, `wide` spans a sheet."""

    label: str
    unit: str = ""
    numeric: bool = False
    sort: Literal["", "none", "ascending"] = ""
    minor: bool = False
    hidden: bool = False
    whole: bool = False
    wide: bool = False

    @property
    def sheet_label(self) -> str:
        """The label beside the value where the table has become sheets."""
        return f"{self.label}, {self.unit}" if self.unit else self.label


@dataclass(frozen=True, slots=True)
class How:
    """How a number was computed: steps of (what, formula with its values)."""

    id: str
    title: str
    steps: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Cell:
    """One value. `note` is a second, small line; `why` says why a value is missing; `sort` is what sorting compares;
    `span` counts the columns that it takes, of which the last one says how it looks."""

    text: str
    note: str = ""
    why: str = ""
    state: State = ""
    badge: bool = False
    strong: bool = False
    warn: bool = False
    mark: Mark | None = None
    sort: float | None = None
    href: str = ""
    term: str = ""
    how: How | None = None
    span: int = 1

    @property
    def missing(self) -> bool:
        return self.text == "–"

    @property
    def blank(self) -> bool:
        """True when there is nothing to show where the table has become sheets."""
        return self.text in ("–", "") and not self.note and self.mark is None


@dataclass(frozen=True, slots=True)
class Row:
    """Cells in the order of the columns. A "group" row has one cell, over the whole width."""

    cells: tuple[Cell, ...]
    kind: RowKind = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption (for those who hear the page)."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    small: bool = False
    sheets: bool = True
    stick: bool = False


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a chart's legend: a swatch of a colour role, solid, hatched, or a line with a dash pattern."""

    label: str
    role: str
    shape: Literal["box", "hatch", "line"] = "box"
    dash: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: the finding as its title, unit, legend, ECharts options as JSON, the same data as a table."""

    id: str
    title: str
    unit: str
    option: dict[str, Any]
    table: Table
    keys: tuple[Key, ...] = ()
    size: Literal["", "low", "mid", "tall", "mem"] = ""

    @property
    def option_id(self) -> str:
        """Id of the script element that holds the options."""
        return f"option-{self.id}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A key figure: value, unit, interval mark, range in words."""

    label: str
    value: str
    unit: str = ""
    note: str = ""
    mark: Mark | None = None
    how: How | None = None
    tone: Literal["", "accent", "warn"] = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of a key-value list."""

    label: str
    value: str
    unit: str = ""
    term: str = ""
    note: str = ""
    strong: bool = False
    rule: bool = field(default=False)
    how: How | None = None
