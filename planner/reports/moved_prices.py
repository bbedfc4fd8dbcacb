"""Prices that have moved since a report, as a banner says them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from planner import planning
from planner.reports import names
from planner.reports.numbers import MINUS, number, unit_price

Report = Mapping[str, Any]
_SIDES = {"api_input": "input", "api_output": "output"}


@dataclass(frozen=True, slots=True)
class MovedPrice:
    """One price: whose it is, its change with its sign, the day of the report's, both values, their unit."""

    name: str
    change: str
    since: str
    then: str
    now: str
    unit: str


def moved_prices(report: Report, today: date) -> tuple[MovedPrice, ...]:
    """What differs by 1 % or more from the catalog's prices of today, the recommended GPU first."""
    since = report["provenance"]["priced_at"]
    return tuple(_moved(move, since) for move in planning.price_moves(report, today))


def _moved(move: Mapping[str, Any], since: str) -> MovedPrice:
    provider, _, model = move["id"].partition("/")
    name = (
        names.gpu(move["id"])
        if move["kind"] == "gpu"
        else f"{names.provider(provider)}, {model}, {_SIDES[move['kind']]}"
    )
    size = abs(move["change_ratio"]) * 100
    sign = "+" if move["change_ratio"] > 0 else MINUS
    return MovedPrice(
        name=name,
        change=f"{sign}{number(size, 0 if size >= 10 else 1)} %",
        since=since,
        then=unit_price(move["then_usd"]),
        now=unit_price(move["now_usd"]),
        unit="per GPU-hour" if move["kind"] == "gpu" else "per million tokens",
    )
