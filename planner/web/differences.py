"""Differences between scenarios as a table: the form's labels and units, a group for each part of a scenario."""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from planner.planning import Scenario as Parsed
from planner.planning import canonical_json
from planner.reports import names
from planner.reports.numbers import DASH, number, plain_decimal
from planner.reports.parts import Cell, Column, Row, Table
from planner.scenarios.diff import Difference, differences
from planner.scenarios.models import Scenario, ScenarioVersion
from planner.scenarios.selectors import person
from planner.web.forms.labels import CHOICE_LABELS
from planner.web.forms.schema import field_schema
from planner.web.forms.sections import SECTIONS, items

PARTS = {section.id: section.title for section in SECTIONS} | {"billing": "Billing, dates and seed"}
GENERAL = "General"
OWN_PRICE = ("hardware", "price_overrides")
MOST_CHARACTERS = 120


def differences_table(
    documents: Sequence[Mapping[str, Any]], heads: Sequence[str], *, of: tuple[int, int] | None = None
) -> Table | None:
    """What differs between two or more documents, one column for each; None when they are equal.

    of: places of the two that alone decide what is shown.
    """
    found = [row for row in differences(documents) if of is None or row.values[of[0]] != row.values[of[1]]]
    rows = [(_part(row.pointer), row) for row in found]
    if not rows:
        return None
    order = [GENERAL, *PARTS.values()]
    rows.sort(key=lambda item: order.index(item[0]) if item[0] in order else len(order))
    cells: list[Row] = []
    for part, group in groupby(rows, key=lambda item: item[0]):
        cells.append(Row((Cell(part),), "group"))
        cells += [_row(row) for _, row in group]
    columns = (Column("Field"), *(Column(head, wide=True) for head in heads))
    return Table(f"What differs: {', '.join(heads)}", columns, tuple(cells))


def conflict_table(scenario: Scenario, base_number: int, newest: ScenarioVersion, mine: Parsed) -> Table | None:
    """Where someone's unsaved text differs from the newest version, beside the version that both began with; None when
    both say the same."""
    began = scenario.versions.filter(number=base_number).first() or newest
    documents = [began.document, newest.document, json.loads(canonical_json(mine))]
    heads = [
        f"Version {began.number}, where you began",
        f"Version {newest.number}, by {person(newest.created_by)}",
        "Yours",
    ]
    return differences_table(documents, heads, of=(1, 2))


def _row(row: Difference) -> Row:
    path = _path(row.pointer)
    label, unit = field_label(path)
    return Row((Cell(label, note=unit), *(_cell(path, value) for value in row.values)))


def field_label(path: Sequence[str]) -> tuple[str, str]:
    """(label, unit) of a field by its path: as the form calls it, else its own name with its parents' in front."""
    dotted = ".".join(path)
    try:
        unit = field_schema(dotted).unit
    except KeyError:
        unit = ""
    if tuple(path[:2]) == OWN_PRICE and len(path) == 4:
        return f"Own price of {names.gpu(path[2])}", unit
    known = next((item.label for item in items() if item.path == dotted), None)
    if known:
        return known, unit
    words = [f"{int(part) + 1}" if part.isdigit() else part.replace("_", " ") for part in path[-3:]]
    text = ", ".join(words[1:] if len(path) <= 2 and len(words) > 1 else words)
    return text[:1].upper() + text[1:], unit


def _cell(path: Sequence[str], value: Any) -> Cell:
    if value is None:
        return Cell(DASH, why="not given")
    return Cell(_text(path, value))


def _text(path: Sequence[str], value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("id") or value.get("model") or value)[:MOST_CHARACTERS]
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return plain_decimal(value)
    if isinstance(value, int):
        return number(value) if path[-1] != "seed" else str(value)
    if isinstance(value, list):
        text = ", ".join(_text(path, item) for item in value) or "none"
    elif path[:2] == ["hardware", "gpus"]:
        text = names.gpu(str(value))
    else:
        text = CHOICE_LABELS.get(str(value), str(value))
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def _part(pointer: str) -> str:
    first = _path(pointer)[0]
    if first in ("priced_at", "seed", "schema_version"):
        return PARTS["billing"]
    return PARTS.get(first, GENERAL if first == "name" else first.replace("_", " ").capitalize())


def _path(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
