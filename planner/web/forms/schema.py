"""What the scenario schema says about a field: unit, range, choices, help, default."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from planner.planning.schema.walk import Node, node_options, schema_nodes

UNITS = {
    "(a ratio)": "0 to 1",
    "requests/s": "req/s",
    "requests/h": "requests/h",
    "USD/h": "$/GPU-h",
    "h": "hours",
}


@dataclass(frozen=True, slots=True)
class FieldSchema:
    """A field as the schema describes it; numbers carry a unit and a range."""

    help: str
    unit: str
    low: float | None
    high: float | None
    choices: tuple[str, ...]
    numeric: bool
    boolean: bool
    default: Any

    @property
    def range_text(self) -> str:
        """ "5 to 3,600,000", empty without a range."""
        if self.low is None or self.high is None or self.unit == "0 to 1":
            return ""
        return f"{_plain(self.low)} to {_plain(self.high)}"


@cache
def field_schema(path: str) -> FieldSchema:
    """The schema of a dotted path such as traffic.arrival.mean_rps. KeyError: the schema has no such field."""
    nodes = schema_nodes(tuple(path.split(".")))
    if not nodes:
        raise KeyError(path)
    options = [option for node in nodes for option in node_options(node)]
    number = next((option for option in options if option.get("type") in ("number", "integer")), {})
    choices = tuple(dict.fromkeys(choice for option in options for choice in _choices(option)))
    return FieldSchema(
        help=next((node["description"] for node in nodes if node.get("description")), ""),
        unit=UNITS.get(str(number.get("unit", "")), str(number.get("unit", ""))),
        low=number.get("minimum", number.get("exclusiveMinimum")),
        high=number.get("maximum"),
        choices=choices,
        numeric=bool(number),
        boolean=any(option.get("type") == "boolean" for option in options),
        default=next((node["default"] for node in nodes if "default" in node), None),
    )


def _plain(value: float) -> str:
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def _choices(option: Node) -> Iterator[str]:
    if "const" in option:
        yield str(option["const"])
    for choice in option.get("enum", ()):
        yield str(choice)
