"""The report on one sheet, for whoever decides: the answer, what it costs, what would turn it, on what it rests."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from planner.reports import evidence, headline, money, names
from planner.reports.headline import against
from planner.reports.marks import mark, scale_over
from planner.reports.numbers import (
    DASH,
    between,
    chance,
    milliseconds,
    number,
    percent,
    range_text,
    requests_per_s,
    tokens,
    unit_price,
    usd,
)
from planner.reports.parts import Cell, Chart, Column, Fact, Figure, Row, Table

Report = Mapping[str, Any]
MONTHS = 12
MOST_CHANGES = 4
NOT_INCLUDED = "staff and on-call, storage, network, tax, commitments, the cost of moving, and how good the answers are"


@dataclass(frozen=True, slots=True)
class Sheet:
    """One page. Charts and tables are None where the report has nothing to show in them."""

    name: str
    verdict: headline.Verdict
    volume: str
    figures: tuple[Figure, ...]
    cost_chart: Chart | None
    break_even: Chart | None
    changes: Table | None
    rests_on: tuple[Fact, ...]
    causes: tuple[tuple[str, str, str], ...]
    old_prices: tuple[tuple[str, int], ...]


def sheet_view(report: Report, today: date) -> Sheet:
    """Format a report for one sheet. today: the day from which ages count."""
    feasible = report.get("recommended") is not None
    chart = money.break_even_chart(report)
    return Sheet(
        name=report["name"],
        verdict=headline.verdict(report),
        volume=_volume(report),
        figures=tuple(replace(figure, how=None) for figure in _figures(report)),
        cost_chart=money.cost_chart(report),
        break_even=replace(chart, size="mid") if chart else None,
        changes=_changes(report),
        rests_on=_rests_on(report),
        causes=() if feasible else evidence.causes(report)[:MOST_CHANGES],
        old_prices=evidence.old_prices(report, today),
    )


def _volume(report: Report) -> str:
    used = (report.get("cost") or {}).get("monthly_tokens")
    mean = (report.get("load") or {}).get("mean_rps")
    return f"{requests_per_s(mean)} req/s on average, {tokens(used['total'])} tokens a month" if used and mean else ""


def _figures(report: Report) -> list[Figure]:
    """Both bills and their difference, over a year too, and how sure the promise is."""
    found = list(headline.figures(report))
    saving = report["verdict"].get("saving_usd_per_month")
    if saving and not report["verdict"].get("hybrid"):
        found[-1] = _year(saving)
    known = (report.get("uncertainty") or {}).get("slo_probability_ratio")
    if known is not None:
        met = [row for row in report["slo"] if row["met"]]
        note = f"chance that all {len(report['slo'])} targets are met, model error included"
        if len(met) < len(report["slo"]):
            note = f"{len(met)} of {len(report['slo'])} targets met"
        found.append(Figure("Service level", chance(known), note=note))
    return found


def _year(saving: Mapping[str, Any]) -> Figure:
    """The difference over a year; an interval that spans zero says so."""
    low, mid, high = (saving[key] * MONTHS for key in ("low", "mid", "high"))
    loses = mid < 0
    shown = (-high, -low) if loses else (low, high)
    words = f"{usd(shown[0])} to {usd(shown[1])}"
    scale = scale_over([low, high, 0.0])
    return Figure(
        f"Over {MONTHS} months",
        usd(abs(mid)),
        "more" if loses else "less",
        note=f"by self-hosting; {words}",
        mark=mark(scale, low, mid, high, limit=0.0, words=f"{words}; dashed: zero"),
        tone="warn" if loses else "accent",
    )


def _changes(report: Report) -> Table | None:
    """What would turn the answer, else what moves it most: single inputs, the rest unchanged."""
    rows = [
        row
        for row in report.get("sensitivity") or ()
        if row["saving_low_usd_per_month"] is not None and row["saving_high_usd_per_month"] is not None
    ]
    if not rows or against(report) is None:
        return None
    rows.sort(key=lambda row: not row["flips"])
    columns = (
        Column("If this changes", whole=True),
        Column("to"),
        Column("Saving becomes", "$/month", numeric=True),
        Column("or to"),
        Column("Saving becomes", "$/month", numeric=True),
        Column("So"),
    )
    return Table(
        "What would change the answer",
        columns,
        tuple(_change_row(row, split=bool(report["verdict"].get("hybrid"))) for row in rows[:MOST_CHANGES]),
        small=True,
    )


def _change_row(row: Mapping[str, Any], *, split: bool) -> Row:
    so = f"{'the cheaper side alone' if split else 'the answer'} {'turns' if row['flips'] else 'stays'}"
    return Row(
        (
            Cell(row["label"]),
            Cell(row["low_label"]),
            Cell(number(row["saving_low_usd_per_month"])),
            Cell(row["high_label"]),
            Cell(number(row["saving_high_usd_per_month"])),
            Cell(so, state="clock" if row["flips"] else "dash"),
        )
    )


def _rests_on(report: Report) -> tuple[Fact, ...]:
    """Prices, targets, prediction, and what is left out."""
    facts: list[Fact] = []
    row = headline.candidate_of(report)
    if row and row["usd_per_gpu_hour"]:
        turn = report["verdict"].get("flip_gpu_usd_per_hour")
        note = f"the answer turns at {unit_price(turn)}" if turn else ""
        if split := report["verdict"].get("hybrid"):
            low, high = split["cheapest_gpu_usd_per_hour"]["low"], split["cheapest_gpu_usd_per_hour"]["high"]
            note = f"the split is cheapest {between(low, high, unit_price)}"
        facts.append(
            Fact("GPU price", f"{unit_price(row['usd_per_gpu_hour'])} per {names.gpu(row['gpu'])} hour", note=note)
        )
    bill = against(report)
    if bill:
        facts.append(Fact(f"{names.provider(bill['provider'])} price", f"list price of {bill['priced_at']}"))
    for slo in report.get("slo") or ():
        ratio = slo["unit"] == "ratio"
        predicted = _latency(slo["predicted"], ratio=ratio)
        interval = "" if slo["low"] is None or slo["high"] is None else range_text(slo, milliseconds)
        note = "" if ratio or not interval else f"interval {interval}"
        facts.append(Fact(f"{names.metric(slo)}, target {_latency(slo['target'], ratio=ratio)}", predicted, note=note))
    known = evidence.coverage(report)
    if known:
        facts.append(Fact("Prediction", known.sentence))
    facts.append(Fact("Not included", NOT_INCLUDED))
    return tuple(facts)


def _latency(value: float | None, *, ratio: bool) -> str:
    if value is None:
        return DASH
    return percent(value, 1) if ratio else f"{milliseconds(value)} ms"
