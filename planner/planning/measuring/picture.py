"""p50 and p95 against throughput, as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.planning.validation.svg import INK, MUTED, Panel, axes, document, dot, line, text, ticks

WIDTH, HEIGHT = 760, 300
COLOURS = {"p50": "#1f6feb", "p95": "#b3541e"}
PANELS = (("ttft", "TTFT", 60.0), ("tpot", "TPOT", 440.0))


def curve_svg(measured: Mapping[str, Any]) -> str:
    """TTFT and TPOT of every step in milliseconds, over the requests per second that were served."""
    title = "Latency against throughput"
    server = measured.get("server", {})
    description = f"p50 and p95 of TTFT and TPOT in ms over requests per second served, {server.get('model', '')}"
    marks = [text(60, 26, f"{title}: {server.get('model', '')}"[:90], fill=INK, font_size="14")]
    for metric, label, left in PANELS:
        marks += _panel(measured["curve"], metric, label, left)
    return document(WIDTH, HEIGHT, title, description, marks)


def _panel(points: Sequence[Mapping[str, Any]], metric: str, label: str, left: float) -> list[str]:
    shown = [point for point in points if point["request_rps"] and point[f"{metric}_p50_ms"] is not None]
    values = [point[f"{metric}_{name}_ms"] for point in shown for name in COLOURS]
    x_ticks = ticks(max((point["request_rps"] for point in shown), default=1.0))
    y_ticks = ticks(max((value for value in values if value is not None), default=1.0))
    panel = Panel(left, 60, 270, 180, x_ticks[-1], y_ticks[-1])
    marks = axes(panel, "requests/s served", x_ticks, y_ticks)
    names = [(f"{label}, ms:  ", MUTED), *((f"{name}  ", colour) for name, colour in COLOURS.items())]
    marks.append(text(left, 48, names))
    for name, colour in COLOURS.items():
        known = [(point["request_rps"], point[f"{metric}_{name}_ms"]) for point in shown]
        line_points = [(x, y) for x, y in known if y is not None]
        if line_points:
            xs, ys = zip(*line_points, strict=True)
            marks.append(line(panel, xs, ys, colour))
            marks += [dot(panel, x, y, colour) for x, y in line_points]
    return marks
