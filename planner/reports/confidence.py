"""How sure the plan is: the chance that the targets are met, what the money may become, what would turn the verdict,
and what to measure first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.reports.marks import mark, scale_over
from planner.reports.numbers import between, chance, number, percent, significant, tidy, usd
from planner.reports.parts import Cell, Column, Row, Table

Report = Mapping[str, Any]
Figures = Mapping[str, Any]
_USD_MONTH, _USD_UNITS = "USD/month", ("USD/GPU-hour", "USD/Mtok")
_UNITS = {"USD/month": "$/month", "USD/GPU-hour": "$ per GPU-hour", "USD/Mtok": "$ per million tokens"}


@dataclass(frozen=True, slots=True)
class Confidence:
    """The section as it is printed; a table is None where there is nothing in it."""

    title: str
    sentence: str
    replicas: Table | None
    headlines: Table | None
    drivers: Table | None
    trials: Table | None
    trials_sentence: str
    draws: str


def confidence(report: Report) -> Confidence | None:
    """None without a fleet, and for reports from before this was computed."""
    known = report.get("uncertainty") or {}
    if not known.get("headlines"):
        return None
    return Confidence(
        title=_title(known),
        sentence=tidy(known.get("sentence") or ""),
        replicas=_replicas(report, known),
        headlines=_headlines(known["headlines"]),
        drivers=_drivers(known.get("drivers") or ()),
        trials=_trials(known.get("trials") or ()),
        trials_sentence=tidy(known.get("trials_sentence") or ""),
        draws=_draws(known),
    )


def _title(known: Figures) -> str:
    """The finding: how likely the targets are met, how likely the verdict turns."""
    met = known.get("slo_probability_ratio")
    turns = known.get("verdict_flip_probability_ratio")
    said = f"All targets are met with a probability of {chance(met)}" if met is not None else ""
    if turns is None:
        return said
    other = "the verdict does not turn in any draw" if turns == 0 else f"the verdict turns in {chance(turns)} of draws"
    return f"{said}; {other}" if said else other.capitalize()


def _draws(known: Figures) -> str:
    text = f"{number(known['draws'])} draws of all uncertain inputs together."
    if known.get("not_carried_ratio"):
        text += f" In {percent(known['not_carried_ratio'], 1)} of them no fleet carries the load."
    return text


def _replicas(report: Report, known: Figures) -> Table | None:
    rows = known.get("replicas") or ()
    if not rows:
        return None
    chosen = (report.get("recommended") or {}).get("serving_replicas")
    columns = (
        Column("Serving replicas"),
        Column("All targets met", "probability", numeric=True),
        Column("Cost with spares", "$/month", numeric=True),
    )
    return Table(
        "Chance that the targets are met",
        columns,
        tuple(
            Row(
                (
                    Cell(number(row["serving"]), note="recommended" if row["serving"] == chosen else ""),
                    Cell(chance(row["slo_probability_ratio"])),
                    Cell(number(row["usd_per_month"])),
                ),
                "pick" if row["serving"] == chosen else "",
            )
            for row in rows
        ),
        sheets=False,
    )


def _headlines(rows: Sequence[Figures]) -> Table:
    columns = (
        Column("Figure"),
        Column("Unit"),
        Column("10 % are below", numeric=True),
        Column("Half", numeric=True),
        Column("10 % are above", numeric=True),
    )
    return Table(
        "What the figures may become",
        columns,
        tuple(
            Row(
                (
                    Cell(row["label"]),
                    Cell(_UNITS.get(row["unit"], str(row["unit"]))),
                    *(Cell(_amount(row[key], row["unit"])) for key in ("p10", "p50", "p90")),
                )
            )
            for row in rows
        ),
    )


def _amount(value: float | None, unit: str) -> str:
    if unit == _USD_MONTH or (not unit and value is not None and value == int(value)):
        return number(value)
    return number(value, 2) if unit in _USD_UNITS else significant(value)


def _drivers(rows: Sequence[Figures]) -> Table | None:
    """Each uncertain input alone, the rest as planned; those most likely to turn the verdict first."""
    if not rows:
        return None
    savings = [row[key] for row in rows for key in ("saving_p10_usd_per_month", "saving_p90_usd_per_month")]
    scale = scale_over([*savings, 0.0])
    priced = any(value is not None for value in savings)
    columns = (
        Column("Input", whole=True),
        Column("8 of 10 times between", wide=True),
        *((Column("Saving then", "$/month", numeric=True), Column("Saving and zero", hidden=True)) if priced else ()),
        Column("Part of the spread", "%", numeric=True),
        Column("Verdict turns at", numeric=True),
        Column("Basis", wide=True),
    )
    out = []
    for row in rows:
        low, high = _ends(row["saving_p10_usd_per_month"], row["saving_p90_usd_per_month"])
        words = between(low, high, usd)
        middle = None if low is None or high is None else (low + high) / 2
        saving = (
            Cell(between(low, high), why="no API to compare with"),
            Cell("", mark=mark(scale, low, middle, high, limit=0.0, words=f"saving {words}; dashed: zero")),
        )
        out.append(
            Row(
                (
                    Cell(row["label"]),
                    Cell(f"{_amount(row['p10'], row['unit'])} to {_amount(row['p90'], row['unit'])}"
                         f" {_UNITS.get(row['unit'], row['unit'])}".rstrip()),
                    *(saving if priced else ()),
                    _part_of_spread(row),
                    _turn(row),
                    Cell(tidy(row["basis"])),
                )
            )
        )  # fmt: skip
    return Table("Uncertain inputs, each alone", columns, tuple(out))


def _part_of_spread(row: Figures) -> Cell:
    ratio = row["variance_ratio"]
    return Cell("", why="no API to compare with") if ratio is None else Cell(number(ratio * 100))


def _ends(first: float | None, second: float | None) -> tuple[float | None, float | None]:
    """The smaller and the larger of two; none of them where one is missing."""
    if first is None or second is None:
        return None, None
    return min(first, second), max(first, second)


def _turn(row: Figures) -> Cell:
    if row["flip_at"] is None:
        return Cell("never")
    note = f"{chance(row['flip_probability_ratio'])} likely"
    return Cell(_amount(row["flip_at"], row["unit"]), note=note, strong=True)


def _trials(rows: Sequence[Figures]) -> Table | None:
    if not rows:
        return None
    columns = (
        Column("What to measure"),
        Column("How", wide=True),
        Column("Tells", wide=True),
        Column("Costs", "$", numeric=True),
        Column("May save", f"$ in {rows[0]['horizon_months']} months", numeric=True),
    )
    return Table(
        "What to measure first",
        columns,
        tuple(
            Row(
                (
                    Cell(row["what"]),
                    Cell(tidy(row["how"])),
                    Cell(", ".join(row["tells"])),
                    Cell(
                        number(row["cost_usd"]),
                        note=f"{number(row['gpu_hours'])} GPU-hours" if row["gpu_hours"] else "",
                    ),
                    Cell(number(row["decision_saves_usd"] + row["sizing_saves_usd"])),
                )
            )
            for row in rows
        ),
    )
