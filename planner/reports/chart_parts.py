"""Parts that ECharts options are made of: axes, lines, labels, marks. Colours are names of roles, see `charts`."""

import math
from collections.abc import Sequence
from typing import Any

Option = dict[str, Any]
Point = tuple[float, float | None]

SMALL = 12
TARGET_DASH = [5, 3]


def nice_axis(largest: float, *, smallest: float = 0.0, steps: int = 5) -> dict[str, float]:
    """Ends and interval of an axis in round numbers, from zero unless something is negative."""
    span = max(largest, 0.0) - min(smallest, 0.0)
    if span <= 0:
        return {"min": 0.0, "max": 1.0, "interval": 1.0}
    rough = span / steps
    power = 10.0 ** math.floor(math.log10(rough))
    interval = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * 0.999)
    low = math.floor(min(smallest, 0.0) / interval + 1e-9) * interval
    high = math.ceil(max(largest, 0.0) / interval - 1e-9) * interval
    return {"min": round(low, 9), "max": round(high, 9), "interval": round(interval, 9)}


def base_option(*, formatter: str, grid: dict[str, Any], pointer: str = "line", trigger: str = "axis") -> Option:
    """What all charts share; numbers in tooltips go through the formatter."""
    return {
        "animationDuration": 250,
        "textStyle": {"fontFamily": "@font-ui", "fontSize": SMALL},
        "aria": {"enabled": True},
        "tooltip": {
            "trigger": trigger,
            "confine": True,
            "axisPointer": {"type": pointer},
            "valueFormatter": f"@fmt.{formatter}",
        },
        "grid": {"containLabel": True, **grid},
    }


def x_name(text: str) -> Option:
    """The name under an axis."""
    return {"name": text, "nameLocation": "middle", "nameGap": 28}


def whole_ticks() -> Option:
    """No label at an end that is not a round number."""
    return {"axisLabel": {"showMaxLabel": False}}


def target_line(axis: str, value: float, label: str, position: str) -> Option:
    """A dashed line at a target, in the warning colour."""
    return {
        axis: value,
        "lineStyle": {"color": "@warn", "type": TARGET_DASH, "width": 1.5},
        "label": {"formatter": label, "position": position, "color": "@warn", "fontSize": SMALL},
    }


def quiet_line(axis: str, value: float, label: str, position: str = "end") -> Option:
    """A thin line at a value worth knowing."""
    return {
        axis: value,
        "lineStyle": {"color": "@c-axis", "type": "solid", "width": 1},
        "label": {"formatter": label, "position": position, "color": "@ink-2", "fontSize": SMALL},
    }


def hollow_points(points: Sequence[tuple[str, float, float, str]], colour: str = "@ink") -> Option:
    """Hollow dots for the states that the text talks about: (label, x, y, position of the label)."""
    return {
        "symbol": "circle",
        "symbolSize": 8,
        "silent": True,
        "itemStyle": {"color": "@bg", "borderColor": colour, "borderWidth": 1.75},
        "label": {"show": True, "color": "@ink", "fontSize": SMALL, "fontWeight": 600, "formatter": "{b}"},
        "data": [{"name": name, "coord": [x, y], "label": {"position": where}} for name, x, y, where in points],
    }


def line_series(name: str, points: Sequence[Point], colour: str, width: float) -> Option:
    """A line without points."""
    return {
        "name": name,
        "type": "line",
        "symbol": "none",
        "data": [[x, y] for x, y in points],
        "lineStyle": {"width": width, "color": colour},
        "itemStyle": {"color": colour},
    }


def end_label(text: str, colour: str, weight: int) -> Option:
    """A label where a line ends."""
    return {"show": True, "formatter": text, "color": colour, "fontSize": SMALL, "fontWeight": weight, "distance": 6}


LABEL_PX = 14.0
USUAL_PLOT_PX = 190.0
"""Height of a plot between its axes, about; on a higher one labels stand a little further apart than they must."""


def spread_end_labels(series: Sequence[Option], top: float) -> None:
    """Move the labels of lines that end close to one another apart, upwards from the lowest."""
    ends = [(line["data"][-1][1], line) for line in series if line.get("endLabel") and line["data"][-1][1] is not None]
    taken_px = -LABEL_PX
    for value, line in sorted(ends, key=lambda end: float(end[0])):
        wanted_px = value / top * USUAL_PLOT_PX
        taken_px = max(wanted_px, taken_px + LABEL_PX)
        line["endLabel"]["offset"] = [0, round(wanted_px - taken_px, 1)]
