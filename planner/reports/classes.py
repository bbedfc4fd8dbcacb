"""Kinds of requests on one fleet: what each was promised, gets, and would cost at an API."""

from collections.abc import Mapping
from typing import Any

from planner.reports import names
from planner.reports.headline import against
from planner.reports.numbers import DASH, milliseconds, number, percent, requests_per_s
from planner.reports.parts import Cell, Column, Row, Table

Report = Mapping[str, Any]


def class_table(report: Report) -> Table | None:
    """A row for each target of each class; share, goodput and bill stand in its first one. None with one kind."""
    classes = report.get("classes") or []
    if not classes:
        return None
    bill = against(report)
    seller = f"{names.provider(bill['provider'])}, {bill['model']}" if bill else ""
    columns = (
        Column("Kind of requests"),
        Column("Share", numeric=True),
        Column("Target", wide=True),
        Column("Predicted", numeric=True),
        Column("Result"),
        Column("Goodput", numeric=True),
        Column("API bill", "$/month", numeric=True),
    )
    caption = f"Kinds of requests; API bill: {seller}, before any minimum" if seller else "Kinds of requests"
    return Table(caption, columns, tuple(row for each in classes for row in _rows(report, each, bill)))


def _rows(report: Report, own: Mapping[str, Any], bill: Mapping[str, Any] | None) -> list[Row]:
    targets = [row for row in report.get("slo") or () if row.get("traffic_class") == own["name"]]
    lengths = f"{number(own['prompt_tokens_mean'])} tokens in, {number(own['output_tokens_mean'])} out"
    bound = ", the first to fail" if own.get("binding") else ""
    good, rate = own.get("goodput_ratio"), own.get("goodput_rps")
    goodput = Cell(DASH) if good is None else Cell(percent(good, 1), note=f"{requests_per_s(rate)} req/s")
    first = (Cell(own["name"], note=f"{lengths}{bound}"), Cell(percent(own["share_ratio"], 1)))
    last = (goodput, Cell(_bill(own, bill)))
    if not targets:
        return [Row((*first, Cell("those of all requests"), Cell(""), Cell(""), *last))]
    blank = (Cell(""), Cell(""))
    heads = [first, *[(Cell(own["name"]), Cell(""))] * (len(targets) - 1)]
    return [
        Row((*head, *_target(target), *(last if place == 0 else blank)))
        for place, (head, target) in enumerate(zip(heads, targets, strict=True))
    ]


def _target(row: Mapping[str, Any]) -> tuple[Cell, Cell, Cell]:
    ratio = row["unit"] == "ratio"

    def show(value: float | None) -> str:
        return DASH if value is None else percent(value, 1) if ratio else f"{milliseconds(value)} ms"

    metric = names.metric({"metric": row["metric"], "percentile": row["percentile"]})
    result = Cell("meets", state="yes") if row["met"] else Cell("misses", state="no")
    return (
        Cell(f"{metric} {'≥' if ratio else '≤'} {show(row['target'])}"),
        Cell(show(row["predicted"]), strong=True),
        Cell("unknown", state="dash") if row["met"] is None else result,
    )


def _bill(own: Mapping[str, Any], bill: Mapping[str, Any] | None) -> str:
    """What the API that the verdict compares with charges for this class."""
    if bill is None:
        return DASH
    same = (row for row in own["api"] if (row["provider"], row["model"]) == (bill["provider"], bill["model"]))
    amount = next((row["usd_per_month"] for row in same), None)
    return DASH if amount is None else number(amount, 2)
