"""Charts of several reports laid over each other: one line for each, told apart by place, label and dash first."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner.reports.chart_parts import (
    Option,
    Point,
    base_option,
    end_label,
    line_series,
    nice_axis,
    whole_ticks,
    x_name,
)
from planner.reports.numbers import milliseconds, number, requests_per_s
from planner.reports.parts import Cell, Chart, Column, Key, Row, Table

Report = Mapping[str, Any]
ROLES = ("c-self", "c-api", "c-self-2", "warn", "c-api-2")
DASHES: tuple[str, ...] = ("", "6 3", "2 3", "8 3 2 3", "1 4")


def overlays(labels: Sequence[str], reports: Sequence[Report | None]) -> tuple[Chart, ...]:
    """Cost by load, and TTFT and TPOT by load, of the sides that have them; a chart that fewer than two could fill is
    left out."""
    charts = (
        _chart(
            "compare-cost",
            "Self-host cost by load",
            "$/month by mean load, whole replicas.",
            "mean load, req/s",
            "usd0",
            number,
            _lines(labels, reports, _staircase),
            steps=True,
        ),
        *(
            _chart(
                f"compare-{metric}",
                f"{name} p95 by load",
                "ms, serving replicas together; only loads at which the queue is stable.",
                "req/s on the serving replicas",
                form,
                milliseconds,
                _lines(labels, reports, _curve(f"{metric}_p95_ms")),
            )
            for metric, name, form in (("ttft", "TTFT", "ms0"), ("tpot", "TPOT", "ms1"))
        ),
    )
    return tuple(chart for chart in charts if chart is not None)


Line = tuple[int, str, list[Point]]


def _lines(
    labels: Sequence[str], reports: Sequence[Report | None], take: Callable[[Report], list[Point]]
) -> list[Line]:
    """(place, label, points) of each side with at least two points; the place keeps its colour in every chart."""
    taken = [
        (place, label, take(report))
        for place, (label, report) in enumerate(zip(labels, reports, strict=True))
        if report
    ]
    return [line for line in taken if len(line[2]) > 1]


def _staircase(report: Report) -> list[Point]:
    curve = (report.get("break_even") or {}).get("curve") or ()
    return [(point["mean_rps"], point["self_host_usd_per_month"]) for point in curve]


def _curve(key: str) -> Callable[[Report], list[Point]]:
    return lambda report: [(p["rps"], p[key]) for p in report.get("curves") or () if p["stable"] and p[key] is not None]


def _chart(
    name: str,
    title: str,
    unit: str,
    across: str,
    form: str,
    show: Callable[[float | None], str],
    lines: Sequence[Line],
    *,
    steps: bool = False,
) -> Chart | None:
    if len(lines) < 2:
        return None
    option = _option(lines, across, form, steps=steps)
    keys = tuple(Key(label, ROLES[place], "line", DASHES[place]) for place, label, _ in lines)
    return Chart(name, title, unit, option, _table(title, lines, show), keys=keys, size="mid")


def _option(lines: Sequence[Line], across: str, form: str, *, steps: bool) -> Option:
    values = [(x, y or 0.0) for _, _, points in lines for x, y in points]
    option = base_option(formatter=form, grid={"left": 8, "right": 132, "top": 14, "bottom": 26})
    option["xAxis"] = {"type": "value", "min": 0, "max": max(x for x, _ in values), **whole_ticks(), **x_name(across)}
    option["yAxis"] = {"type": "value", **nice_axis(max(y for _, y in values) * 1.02)}
    if form.startswith("usd"):
        option["yAxis"]["axisLabel"] = {"formatter": "@fmt.usdk"}
    option["series"] = [_series(place, label, points, steps=steps) for place, label, points in lines]
    return option


def _series(place: int, label: str, points: Sequence[Point], *, steps: bool) -> Option:
    colour = f"@{ROLES[place]}"
    line = line_series(label, points, colour, 2)
    dash = DASHES[place]
    line["lineStyle"]["type"] = [int(part) for part in dash.split()] if dash else "solid"
    line["endLabel"] = end_label(_short(label), "@ink", 500)
    line["labelLayout"] = {"moveOverlap": "shiftY"}
    return {**line, "step": "end"} if steps else line


def _short(label: str, most: int = 18) -> str:
    """The end of a long label: what tells versions and prices apart stands there. The keys have all of it."""
    return label if len(label) <= most else "…" + label[-(most - 1) :]


def _table(title: str, lines: Sequence[Line], show: Callable[[float | None], str]) -> Table:
    """Every point of every line, since the sides have loads of their own."""
    columns = (Column("Side"), Column("Load", "req/s", numeric=True), Column("Value", numeric=True))
    rows = tuple(
        Row((Cell(label), Cell(requests_per_s(x)), Cell(show(y)))) for _, label, points in lines for x, y in points
    )
    return Table(title, columns, rows, small=True, sheets=False)
