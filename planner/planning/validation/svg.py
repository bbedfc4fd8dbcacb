"""The few marks that a small-multiple line chart needs, written as SVG text. No state, no styles from outside."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

INK, MUTED, GRID = "#16191b", "#62686d", "#e0e3e4"
FONTS = "system-ui, -apple-system, Segoe UI, sans-serif"
MOST_TICKS = 5


@dataclass(frozen=True, slots=True)
class Panel:
    """A plot area in pixels, and the data at its right and upper edge; both axes begin at 0."""

    left: float
    top: float
    width: float
    height: float
    x_top: float
    y_top: float

    def x(self, value: float) -> float:
        """Pixel of a value on the horizontal axis."""
        return self.left + self.width * value / self.x_top

    def y(self, value: float) -> float:
        """Pixel of a value on the vertical axis."""
        return self.top + self.height * (1 - value / self.y_top)


def document(width: int, height: int, title: str, description: str, marks: Sequence[str]) -> str:
    """A whole picture on white, with a title and a description for those who cannot see it."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{_quoted(title)}" font-family="{FONTS}" font-size="12">'
    )
    words = f"<title>{escape(title)}</title>\n<desc>{escape(description)}</desc>"
    paper = f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, words, paper, *marks, "</svg>"]) + "\n"


def text(x: float, y: float, parts: str | Sequence[tuple[str, str]], *, fill: str = INK, **style: str) -> str:
    """A line of text; `parts` may be (text, colour) pairs. Style: SVG attributes, `_` for `-`."""
    pairs = [(parts, fill)] if isinstance(parts, str) else parts
    spans = "".join(f'<tspan fill="{colour}">{escape(words)}</tspan>' for words, colour in pairs)
    return f'<text x="{x:.1f}" y="{y:.1f}"{_attributes(style)}>{spans}</text>'


def line(panel: Panel, xs: Iterable[float], ys: Iterable[float], colour: str, width: float = 2) -> str:
    """A line through points of data. Points that continue a level are left out."""
    points = [(f"{panel.x(x):.1f}", f"{panel.y(y):.1f}") for x, y in zip(xs, ys, strict=True)]
    kept = [
        point
        for number, point in enumerate(points)
        if number in (0, len(points) - 1) or not points[number - 1][1] == point[1] == points[number + 1][1]
    ]
    path = " ".join(",".join(point) for point in kept)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width:g}" stroke-linejoin="round"/>'


def dot(panel: Panel, x: float, y: float, colour: str) -> str:
    """A point of data."""
    return f'<circle cx="{panel.x(x):.1f}" cy="{panel.y(y):.1f}" r="3.5" fill="{colour}" stroke="#ffffff"/>'


def axes(panel: Panel, x_label: str, x_ticks: Sequence[float], y_ticks: Sequence[float], y_unit: str = "") -> list[str]:
    """Level lines with their values, the base line with its ticks, and what the horizontal axis says."""
    marks = []
    right, bottom = panel.left + panel.width, panel.top + panel.height
    for tick in y_ticks:
        y = panel.y(tick)
        marks.append(f'<path d="M{panel.left:.1f} {y:.1f}H{right:.1f}" stroke="{GRID if tick else MUTED}"/>')
        marks.append(text(panel.left - 6, y + 4, f"{tick:g}{y_unit}", fill=MUTED, text_anchor="end"))
    for tick in x_ticks:
        x = panel.x(tick)
        marks.append(f'<path d="M{x:.1f} {bottom:.1f}v4" stroke="{MUTED}"/>')
        marks.append(text(x, bottom + 17, f"{tick:g}", fill=MUTED, text_anchor="middle"))
    marks.append(text(panel.left + panel.width / 2, bottom + 34, x_label, fill=MUTED, text_anchor="middle"))
    return marks


def ticks(largest: float) -> list[float]:
    """Round values from 0 to the first one at or beyond `largest`, at most MOST_TICKS steps."""
    rough = max(largest, 1e-9) / MOST_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [number * step for number in range(math.ceil(largest / step - 1e-9) + 1)]


def _attributes(style: dict[str, str]) -> str:
    return "".join(f' {name.replace("_", "-")}="{_quoted(value)}"' for name, value in style.items())


def _quoted(value: str) -> str:
    return escape(value, {'"': "&quot;"})
