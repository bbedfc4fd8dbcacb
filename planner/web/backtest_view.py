"""A plan beside what its deployment did, as tables."""

from collections.abc import Callable, Mapping
from typing import Any

from planner.reports import names
from planner.reports.numbers import DASH, between, milliseconds, number, percent, requests_per_s, significant
from planner.reports.parts import Cell, Column, Row, Table
from planner.web.measurement_view import signed

Told = Mapping[str, Any]
WHAT: dict[str, tuple[str, Callable[[Any], str]]] = {
    "model": ("Model", names.model),
    "gpu": ("GPU", names.gpu),
    "engine": ("Engine", names.engine),
    "weight_dtype": ("Weights", str),
    "tensor_parallel": ("Tensor parallel", number),
    "replicas": ("Replicas", number),
    "mean_rps": ("Requests, mean", requests_per_s),
    "peak_rps": ("Requests, busiest hour", requests_per_s),
    "prompt_tokens_mean": ("Prompt, mean", number),
    "output_tokens_mean": ("Output, mean", number),
}


def targets_table(told: Told) -> Table | None:
    """Every target: what the plan predicted for its peak hour, and what was measured."""
    columns = (
        Column("Target"),
        Column("Limit", numeric=True),
        Column("Planned", numeric=True),
        Column("Interval", numeric=True),
        Column("Measured", numeric=True),
        Column("Against the plan"),
        Column("Against the limit"),
    )
    rows = tuple(_target(figure) for figure in told["figures"])
    return Table("What the plan promised, and what was measured", columns, rows) if rows else None


def _target(figure: Told) -> Row:
    show = percent if figure["metric"] == "goodput" else milliseconds
    low, high = figure["measured_low"], figure["measured_high"]
    bucket = "" if low is None else f"in the bucket from {show(low)} to {show(high)}"
    inside = figure["inside"]
    verdict = {
        True: Cell("inside", state="yes"),
        False: Cell("outside", state="no", warn=True),
        None: Cell(DASH, why="the plan gives no interval"),
    }[inside]
    met = Cell("met", state="yes") if figure["met"] else Cell("missed", state="no", warn=True)
    return Row(
        (
            Cell(names.metric(figure), note=figure["unit"] if figure["metric"] != "goodput" else ""),
            Cell(show(figure["target"])),
            Cell(show(figure["predicted"])),
            Cell(between(figure["low"], figure["high"], show)),
            Cell(show(figure["measured"]), note=bucket),
            verdict,
            met,
        )
    )


def followed_table(told: Told) -> Table:
    """Fleet and traffic as planned and as they were."""
    columns = (Column("What"), Column("Planned", numeric=True), Column("Measured", numeric=True), Column("Difference"))
    rows = [_fleet(row) for row in told["fleet"]] + [_traffic(row) for row in told["traffic"]]
    return Table("Fleet and traffic, planned and measured", columns, tuple(rows), small=True)


def _fleet(row: Told) -> Row:
    label, show = WHAT[row["what"]]
    result = Cell("as planned", state="yes") if row["same"] else Cell("another", state="no", warn=True)
    return Row((Cell(label), Cell(show(row["planned"])), Cell(show(row["measured"])), result))


def _traffic(row: Told) -> Row:
    label, show = WHAT[row["what"]]
    change = Cell(DASH, why="not measured") if row["ratio"] is None else Cell(f"{signed(100 * (row['ratio'] - 1))} %")
    return Row((Cell(label, note=row["unit"]), Cell(show(row["planned"])), Cell(show(row["measured"])), change))


def littles_sentence(told: Told) -> str:
    """Little's law of the measured hours in words; "" where the file does not tell enough."""
    law = told["littles_law"]
    if law is None:
        return ""
    product = (
        f"Little's law: {requests_per_s(law['arrival_rps'])} requests/s × {significant(law['mean_e2e_s'])} s = "
        f"{significant(law['product'])} in flight"
    )
    if law["measured"] is None:
        return f"{product}; the file has no count of its own to hold it against."
    agrees = "which agrees" if law["ok"] else "which disagrees: some figure is of other requests or hours"
    return f"{product}; {significant(law['measured'])} were counted, {agrees}."
