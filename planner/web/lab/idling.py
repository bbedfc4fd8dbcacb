"""What idling costs: the price of a million tokens by utilisation, and where an API is cheaper."""

from __future__ import annotations

from dataclasses import dataclass

from planner.planning import calculators
from planner.reports.numbers import number, percent
from planner.reports.parts import Cell, Column, Row, Table
from planner.web.lab.parts import FAULT, Field, faults_of, with_faults
from planner.web.lab.query import LabQuery

HOURS_PER_MONTH = 730.0
SHOWN = (1.0, 0.6, 0.3)


@dataclass(frozen=True, slots=True)
class IdlingPart:
    """The part as it is printed; without a table where a field is wrong."""

    fields: tuple[Field, ...]
    fault: str
    sentence: str = ""
    table: Table | None = None


def part(query: LabQuery, wrong: dict[str, str]) -> IdlingPart:
    """Divide."""
    faults = faults_of("c_", wrong)
    fields = with_faults(
        (
            Field("c_usd", "A GPU-hour", query.c_usd, "$", low=0.01, high=10_000, step="any"),
            Field("c_tps", "When full", query.c_tps, "output tokens/s", low=0.1, high=1_000_000, step="any"),
            Field("c_api", "API", query.c_api, "$ per 1M tokens", low=0.001, high=10_000, step="any"),
        ),
        faults,
    )
    if faults:
        return IdlingPart(fields, FAULT)
    even = calculators.break_even_of(
        usd_per_replica_hour=query.c_usd,
        capacity_tokens_per_s=query.c_tps,
        api_usd_per_mtok=query.c_api,
        spare_replicas=0,
        peak_to_mean=1,
        hours_per_month=HOURS_PER_MONTH,
    ).result
    ratio = even["break_even_utilisation_ratio"]
    rows = [(share, _price(query, share)) for share in SHOWN]
    if ratio is not None and ratio <= 1:
        rows.append((ratio, _price(query, ratio)))
    rows.sort(key=lambda item: -item[0])
    columns = (
        Column("Utilisation"),
        Column("Cost", "$ per 1M tokens", numeric=True),
        Column("Against the API", wide=True),
    )
    return IdlingPart(
        fields,
        "",
        "One replica, paid for all hours. Usually its utilisation decides, not its hourly price.",
        Table("Cost of a million tokens by utilisation", columns, tuple(_row(query, even, *item) for item in rows)),
    )


def _price(query: LabQuery, share: float) -> float:
    found = calculators.cost_per_mtok(usd_per_hour=query.c_usd, tokens_per_s=query.c_tps, utilisation_ratio=share)
    return float(found.result["usd_per_mtok"])


def _row(query: LabQuery, even: dict[str, object], share: float, price: float) -> Row:
    cells = (Cell(percent(share)), Cell(number(price, 2)))
    if share == even["break_even_utilisation_ratio"]:
        volume = float(str(even["break_even_tokens_per_month"]))
        return Row(
            (*cells, Cell(f"break-even: {number(volume / 1e6)} M of {number(volume / share / 1e6)} M tokens a month")),
            "pick",
        )
    cheaper = price < query.c_api
    return Row((*cells, Cell("cheaper" if cheaper else "dearer", state="yes" if cheaper else "no")))
