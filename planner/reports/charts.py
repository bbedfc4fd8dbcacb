"""ECharts options of the report's charts, as plain JSON.

No option holds a colour or a function: "@accent" names a custom property, "@fmt.usd0" a formatter; the page resolves
both from fixed lists when it draws, so a change of theme needs no server. Points are [x, y] pairs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planner.reports.chart_parts import (
    SMALL,
    Option,
    Point,
    base_option,
    end_label,
    hollow_points,
    line_series,
    nice_axis,
    quiet_line,
    spread_end_labels,
    target_line,
    whole_ticks,
    x_name,
)
from planner.reports.numbers import number, significant

API_DASHES: tuple[Any, ...] = ("solid", [6, 3], [2, 3], [8, 3, 2, 3])
_HATCH = {"symbol": "rect", "dashArrayX": [1, 0], "dashArrayY": [2, 5], "rotation": -0.785, "color": "@bg"}
_IDLE_HATCH = {"symbol": "rect", "dashArrayX": [1, 0], "dashArrayY": [1.5, 6], "rotation": 0.785, "color": "@c-axis"}


@dataclass(frozen=True, slots=True)
class Bar:
    """One way to pay: its stacked parts in USD a month by series name, its total as text, its interval if any."""

    label: str
    parts: dict[str, float]
    total: float
    total_text: str
    low: float | None = None
    high: float | None = None


def cost_option(bars: Sequence[Bar], roles: dict[str, tuple[str, bool]]) -> Option:
    """Stacked monthly cost of each way; `roles` gives each part's colour role and whether it is hatched."""
    top = max((bar.high or bar.total for bar in bars), default=1.0)
    option = base_option(formatter="usd0", grid={"left": 4, "right": 16, "top": 6, "bottom": 4}, pointer="shadow")
    option["xAxis"] = {"type": "value", **nice_axis(top * 1.12), "axisLabel": {"formatter": "@fmt.usdk"}}
    option["yAxis"] = {
        "type": "category",
        "inverse": True,
        "data": [bar.label for bar in bars],
        "axisLabel": {"color": "@ink", "fontSize": 13},
    }
    option["series"] = [
        {
            "name": name,
            "type": "bar",
            "stack": "cost",
            "barMaxWidth": 24,
            "data": [bar.parts.get(name) for bar in bars],
            "itemStyle": {"color": f"@{role}", **({"decal": _HATCH} if hatched else {})},
        }
        for name, (role, hatched) in roles.items()
    ]
    option["series"].append(_totals(bars))
    return option


def _totals(bars: Sequence[Bar]) -> Option:
    """Totals as text at the ends of the bars, and thin lines for their intervals on a gap of the ground's colour."""
    lines: list[list[Option]] = []
    for row, bar in enumerate(bars):
        if bar.low is not None and bar.high is not None and bar.high > bar.low:
            for colour, width in (("@bg", 6), ("@ink", 2)):
                lines.append(
                    [
                        {"coord": [bar.low, row], "lineStyle": {"color": colour, "width": width}},
                        {"coord": [bar.high, row]},
                    ]
                )
    return {
        "name": "Total",
        "type": "scatter",
        "symbolSize": 0.1,
        "silent": True,
        "tooltip": {"show": False},
        "data": [{"value": [bar.high or bar.total, row], "name": bar.total_text} for row, bar in enumerate(bars)],
        "label": {
            "show": True,
            "position": "right",
            "distance": 8,
            "formatter": "{b}",
            "color": "@ink",
            "fontWeight": 600,
            "fontSize": 13,
        },
        "markLine": {
            "silent": True,
            "symbol": "none",
            "label": {"show": False},
            "lineStyle": {"type": "solid"},
            "data": lines,
        },
    }


def break_even_option(
    *,
    staircase: Sequence[Point],
    apis: Sequence[tuple[str, Sequence[Point]]],
    today_rps: float | None,
    today_text: str,
    crossings: Sequence[tuple[str, float, float]],
    cheaper: Sequence[tuple[float, float]],
    self_label: str = "Self-host",
) -> Option:
    """Monthly cost by mean load: the staircase of whole replicas against the straight lines of the APIs.

    cheaper: spans of load, shaded, in which self-hosting costs less than the API that the verdict compares with.
    """
    x_top = max((x for x, _ in staircase), default=1.0)
    y_top = max((y or 0.0 for _, points in (("", staircase), *apis) for _, y in points), default=1.0)
    option = base_option(formatter="usd0", grid={"left": 8, "right": 108, "top": 34, "bottom": 26})
    option["xAxis"] = {"type": "value", "min": 0, "max": x_top, **whole_ticks(), **x_name("mean load, req/s")}
    option["yAxis"] = {"type": "value", **nice_axis(y_top, steps=6), "axisLabel": {"formatter": "@fmt.usdk"}}
    ours: Option = {
        **line_series(self_label, staircase, "@c-self", 2.25),
        "step": "end",
        "z": 4,
        "endLabel": end_label(self_label, "@accent", 600),
        "markPoint": hollow_points([(name, x, y, "top") for name, x, y in crossings]),
    }
    if cheaper:
        ours["markArea"] = {
            "silent": True,
            "itemStyle": {"color": "@c-self-soft", "opacity": 0.55},
            "data": [[{"xAxis": low}, {"xAxis": high}] for low, high in cheaper],
        }
    if today_rps is not None and today_rps <= x_top:
        today = quiet_line("xAxis", today_rps, today_text)
        today["lineStyle"] = {"color": "@ink", "type": "solid", "width": 1}
        today["label"] |= {"color": "@ink", "fontWeight": 600}
        ours["markLine"] = {"silent": True, "symbol": "none", "data": [today]}
    option["series"] = [ours]
    for index, (label, points) in enumerate(apis):
        strong = index == 0
        line = line_series(label, points, "@c-api" if strong else "@c-api-2", 2 if strong else 1.5)
        line["lineStyle"]["type"] = API_DASHES[index % len(API_DASHES)]
        line["endLabel"] = end_label(label, "@ink" if strong else "@ink-2", 400)
        option["series"].append(line)
    spread_end_labels(option["series"], option["yAxis"]["max"])
    return option


def latency_option(
    *,
    p95: Sequence[Point],
    p50: Sequence[Point],
    name: str,
    target: tuple[float, str] | None,
    capacity: tuple[float, str] | None,
    at_peak: tuple[str, float, float] | None,
    formatter: str,
) -> Option:
    """One latency against the load of one replica: p95 solid, p50 thin, its target dashed, its capacity upright."""
    values = [y for points in (p95, p50) for _, y in points if y is not None]
    top = max([*values, *([target[0]] if target else [])], default=1.0)
    x_values = [x for x, _ in p95]
    option = base_option(formatter=formatter, grid={"left": 8, "right": 18, "top": 26, "bottom": 26})
    option["xAxis"] = {
        "type": "value",
        "min": 0,
        "max": max([*x_values, capacity[0] if capacity else 0.0], default=1.0),
        **whole_ticks(),
        **x_name("req/s on the serving replicas"),
    }
    option["yAxis"] = {"type": "value", **nice_axis(top * 1.02)}
    lines = []
    if target:
        lines.append(target_line("yAxis", target[0], target[1], "insideStartTop"))
    if capacity:
        lines.append(quiet_line("xAxis", *capacity))
    main = {**line_series(f"{name} p95", p95, "@c-self", 2), "z": 4}
    main["markLine"] = {"silent": True, "symbol": "none", "data": lines}
    if at_peak:
        main["markPoint"] = hollow_points([(*at_peak, "top")], "@c-self")
    thin = line_series(f"{name} p50", p50, "@c-self-2", 1.25)
    thin["lineStyle"]["type"] = [2, 3]
    option["series"] = [main, thin]
    return option


def week_option(
    *, hours: Sequence[str], rps: Sequence[float], capacity_rps: Sequence[float | None], mean_rps: float | None
) -> Option:
    """Load of each hour of a week, and the capacity of the replicas that this hour needs."""
    top = max([*rps, *(c or 0.0 for c in capacity_rps)], default=1.0)
    option = base_option(formatter="rps", grid={"left": 8, "right": 76, "top": 14, "bottom": 6})
    option["xAxis"] = {
        "type": "category",
        "boundaryGap": False,
        "data": list(hours),
        "axisLabel": {"interval": 23, "formatter": "@fmt.day", "align": "left"},
        "axisTick": {"interval": 23, "length": 6},
    }
    option["yAxis"] = {"type": "value", **nice_axis(top * 1.04)}
    load = line_series("Load", [], "@c-self", 1.5)
    load["data"] = list(rps)
    load["step"] = "middle"
    load["areaStyle"] = {"color": "@c-self-soft", "opacity": 0.9}
    if mean_rps is not None:
        mean = quiet_line("yAxis", mean_rps, f"mean {significant(mean_rps)}")
        mean["lineStyle"]["type"] = [2, 3]
        load["markLine"] = {"silent": True, "symbol": "none", "data": [mean]}
    if rps:
        hour = max(range(len(rps)), key=rps.__getitem__)
        load["markPoint"] = hollow_points([(significant(rps[hour]), hour, rps[hour], "top")])
    capacity = line_series("Capacity of the replicas needed", [], "@c-api", 1.25)
    capacity["data"] = list(capacity_rps)
    capacity["step"] = "middle"
    option["series"] = [load, capacity]
    return option


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of the memory bar, in GiB, with its colour role; `hatched` for what stays unused."""

    label: str
    gib: float
    role: str
    hatched: bool = False
    on_dark: bool = False


def memory_option(slices: Sequence[Slice]) -> Option:
    """One GPU's memory as one bar."""
    total = sum(part.gib for part in slices)
    option = base_option(formatter="gib", grid={"left": 8, "right": 12, "top": 4, "bottom": 4}, trigger="item")
    option["xAxis"] = {"type": "value", **nice_axis(total), "max": total, **whole_ticks()}
    option["yAxis"] = {"type": "category", "data": [""], "axisLabel": {"show": False}, "axisLine": {"show": False}}
    option["series"] = [
        {
            "name": part.label,
            "type": "bar",
            "stack": "memory",
            "barWidth": 44,
            "data": [round(part.gib, 3)],
            "itemStyle": {
                "color": f"@{part.role}",
                "borderColor": "@bg",
                "borderWidth": 1,
                **({"decal": _IDLE_HATCH} if part.hatched else {}),
            },
            "label": {
                "show": part.gib > total * 0.055,
                "formatter": number(part.gib, 1),
                "color": "@bg" if part.on_dark else "@ink",
                "fontWeight": 600,
            },
        }
        for part in slices
    ]
    return option


def tornado_option(rows: Sequence[tuple[str, float, float]], flip: float | None, flip_label: str) -> Option:
    """Change of the monthly saving when one input moves: (label with both values, first change, second change)."""
    changes = [change for _, first, second in rows for change in (first, second)]
    edge = max((abs(change) for change in changes), default=1.0) or 1.0
    axis = nice_axis(edge, smallest=-edge, steps=6)
    option = base_option(formatter="dusd0", grid={"left": 4, "right": 24, "top": 26, "bottom": 4}, pointer="shadow")
    option["xAxis"] = {"type": "value", **axis, "axisLabel": {"formatter": "@fmt.dusdk"}}
    option["yAxis"] = {
        "type": "category",
        "inverse": True,
        "data": [label for label, _, _ in rows],
        "axisLabel": {"color": "@ink", "fontSize": SMALL, "lineHeight": 15},
        "axisTick": {"show": False},
    }
    second: Option = {
        "name": "second value",
        "type": "bar",
        "barMaxWidth": 9,
        "data": [value for _, _, value in rows],
        "itemStyle": {"color": "@c-api-2"},
    }
    if flip is not None and axis["min"] <= flip <= axis["max"]:
        second["markLine"] = {
            "silent": True,
            "symbol": "none",
            "data": [target_line("xAxis", flip, flip_label, "start")],
        }
    first: Option = {
        "name": "first value",
        "type": "bar",
        "barMaxWidth": 9,
        "barGap": "15%",
        "data": [value for _, value, _ in rows],
        "itemStyle": {"color": "@c-self-2"},
    }
    option["series"] = [first, second]
    return option
