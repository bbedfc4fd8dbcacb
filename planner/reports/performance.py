"""Latency targets, latency against load, and the load of the week."""

from collections.abc import Mapping
from typing import Any

from planner.reports import charts, computed, names
from planner.reports.headline import candidate_of
from planner.reports.marks import mark, scale_over
from planner.reports.numbers import DASH, between, milliseconds, number, percent, requests_per_s
from planner.reports.parts import Cell, Chart, Column, Key, Row, Table

Report = Mapping[str, Any]
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
FEW_SAMPLES = "too few samples for this percentile"


def slo_table(report: Report) -> Table | None:
    """Target, prediction, interval and result of every target."""
    rows = report.get("slo") or []
    if not rows:
        return None
    replicas = (report.get("recommended") or {}).get("serving_replicas")
    columns = (
        Column("Metric"),
        Column("Target", numeric=True),
        Column("Predicted", numeric=True),
        Column("Interval", numeric=True),
        Column("Interval and target", hidden=True, wide=True),
        Column("Room", numeric=True),
        Column("Samples", numeric=True),
        Column("Result", wide=True),
    )
    return Table(
        "Latency targets and predictions",
        columns,
        tuple(_slo_row(row, index, replicas) for index, row in enumerate(rows)),
    )


def _slo_row(row: Mapping[str, Any], index: int, replicas: int | None) -> Row:
    ratio = row["unit"] == "ratio"
    target, predicted, low, high = row["target"], row["predicted"], row["low"], row["high"]
    show = _ratio_with_unit if ratio else _ms_with_unit
    bare = _ratio_bare if ratio else milliseconds
    scale = scale_over([target, low, high, predicted])
    unbounded = low is not None and high is None
    interval = f"{bare(low)} or more" if unbounded else between(low, high, bare, joiner=f" {DASH} ")
    picture = mark(scale, low, predicted, high, limit=target, words=f"interval {interval}, target {show(target)}")
    open_end = picture is not None and picture.crosses
    result = Cell(
        "meets" if row["met"] else "misses",
        state="yes" if row["met"] else "no",
        note="the interval reaches past the target" if open_end or unbounded else "",
    )
    if row["met"] is None:
        result = Cell("unknown", state="dash")
    return Row(
        (
            Cell(names.metric(row), term=row["metric"]),
            Cell(f"{'≥' if ratio else '≤'} {show(target)}"),
            Cell(DASH, why=FEW_SAMPLES)
            if predicted is None
            else Cell(show(predicted), strong=True, how=computed.slo_how(row, index, replicas)),
            Cell(interval, why="" if interval != DASH else FEW_SAMPLES),
            Cell("", mark=picture),
            _room(target, predicted, ratio),
            Cell(number(row.get("samples"))),
            result,
        )
    )


def _ratio_with_unit(value: float | None) -> str:
    return percent(value, 1)


def _ratio_bare(value: float) -> str:
    return number(value * 100, 1)


def _ms_with_unit(value: float | None) -> str:
    return DASH if value is None else f"{milliseconds(value)} ms"


def _room(target: float, predicted: float | None, ratio: bool) -> Cell:
    if predicted is None:
        return Cell(DASH, why=FEW_SAMPLES)
    if ratio:
        return Cell(f"{number((predicted - target) * 100, 1)} points")
    return Cell(f"{number((target - predicted) / target * 100)} %")


def latency_charts(report: Report) -> tuple[Chart, ...]:
    """TTFT and TPOT of the recommended candidate at rising load; empty when there is no curve."""
    curve = report.get("curves") or []
    if len(curve) < 2:
        return ()
    specs = (("ttft", "TTFT", "ms0"), ("tpot", "TPOT", "ms1"))
    return tuple(_latency_chart(report, curve, metric, name, fmt) for metric, name, fmt in specs)


def _latency_chart(report: Report, curve: list[Mapping[str, Any]], metric: str, name: str, fmt: str) -> Chart:
    row = next((s for s in report.get("slo") or () if s["metric"] == metric and s["percentile"] == 95), None)
    load = report.get("load") or {}
    capacity, peak = load.get("capacity_rps"), load.get("offered_rps")
    stable = [point for point in curve if point["stable"]]
    at_peak = None
    if row and row["predicted"] is not None and peak is not None:
        at_peak = (f"{milliseconds(row['predicted'])} ms", peak, row["predicted"])
    option = charts.latency_option(
        p95=[(point["rps"], point[f"{metric}_p95_ms"]) for point in stable],
        p50=[(point["rps"], point[f"{metric}_p50_ms"]) for point in stable],
        name=name,
        target=(row["target"], f"target {milliseconds(row['target'])} ms") if row else None,
        capacity=(capacity, f"capacity {requests_per_s(capacity)}") if capacity else None,
        at_peak=at_peak,
        formatter=fmt,
    )
    unit = "ms, serving replicas together. Solid: p95, dotted: p50."
    if at_peak:
        unit += " Hollow point: the peak hour."
    return Chart(f"{metric}", _latency_title(row, name), unit, option, _curve_table(curve, metric, name), size="mid")


def _latency_title(row: Mapping[str, Any] | None, name: str) -> str:
    if not row or row["predicted"] is None:
        return f"{name} as load rises"
    said = f"{name} p95 is {milliseconds(row['predicted'])} ms at the peak hour"
    return f"{said}, target {milliseconds(row['target'])} ms"


def _curve_table(curve: list[Mapping[str, Any]], metric: str, name: str) -> Table:
    columns = (
        Column("Load", "req/s"),
        Column("Output", "tokens/s", numeric=True),
        Column(f"{name} p50", "ms", numeric=True),
        Column(f"{name} p95", "ms", numeric=True),
    )
    rows = []
    for point in curve:
        why = "" if point["stable"] else "the queue grows without end at this load"
        rows.append(
            Row(
                (
                    Cell(requests_per_s(point["rps"]), note="" if point["stable"] else "unstable"),
                    Cell(number(point["served_tokens_per_s"])),
                    Cell(milliseconds(point[f"{metric}_p50_ms"]), why=why),
                    Cell(milliseconds(point[f"{metric}_p95_ms"]), why=why),
                ),
                "" if point["stable"] else "off",
            )
        )
    return Table(f"{name} by load", columns, tuple(rows), small=True, sheets=False)


def week_chart(report: Report) -> Chart | None:
    """Load and replicas needed, hour by hour."""
    load = report.get("load") or {}
    week = load.get("week") or []
    if not week:
        return None
    each = ((candidate_of(report) or {}).get("capacity_rps") or {}).get("mid")
    needed = [hour["replicas_needed"] for hour in week]
    option = charts.week_option(
        hours=[f"{DAYS[hour['hour'] // 24 % 7]} {hour['hour'] % 24:02d}:00" for hour in week],
        rps=[hour["rps"] for hour in week],
        capacity_rps=[n * each if n is not None and each is not None else None for n in needed],
        mean_rps=load.get("mean_rps"),
    )
    return Chart(
        "week",
        _week_title(needed),
        "req/s, hourly means. Stepped line: capacity of the replicas that the hour needs.",
        option,
        _week_table(week),
        keys=(Key("load", "c-self", "line"), Key("capacity of the replicas needed", "c-api", "line")),
        size="mid",
    )


def _week_title(needed: list[int | None]) -> str:
    known = [n for n in needed if n is not None]
    if not known:
        return "Load over the week"
    most = max(known)
    hours = sum(1 for n in known if n == most)
    if hours == len(known):
        return f"Every hour needs {most} serving replica{'s' if most > 1 else ''}"
    return f"{most} serving replicas are needed in {hours} of {len(known)} hours"


def _week_table(week: list[Mapping[str, Any]]) -> Table:
    columns = (
        Column("Day"),
        Column("Lowest", "req/s", numeric=True),
        Column("Mean", "req/s", numeric=True),
        Column("Highest", "req/s", numeric=True),
        Column("Replicas needed", numeric=True),
    )
    rows = []
    for start in range(0, len(week), 24):
        day = week[start : start + 24]
        rates = [hour["rps"] for hour in day]
        needed = [hour["replicas_needed"] for hour in day if hour["replicas_needed"] is not None]
        rows.append(
            Row(
                (
                    Cell(DAYS[day[0]["hour"] // 24 % 7]),
                    Cell(requests_per_s(min(rates))),
                    Cell(requests_per_s(sum(rates) / len(rates))),
                    Cell(requests_per_s(max(rates))),
                    Cell(between(min(needed), max(needed), joiner=f" {DASH} ") if needed else DASH),
                )
            )
        )
    return Table("Load by day", columns, tuple(rows), small=True, sheets=False)
