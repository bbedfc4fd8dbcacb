"""A replayed log as a picture (requests running and waiting over time, latency distributions) and as a table.

Measured figures are grey, predicted ones in the accent colour, both drawn from the same four times of each request.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from planner.planning.validation import svg
from planner.planning.validation.request_logs import LATENCIES, STATISTICS, FloatArray, Replay, Served, statistic

MEASURED, PREDICTED = "#868d91", "#0b6478"
MEASURED_TEXT = "#62686d"
WIDTH, HEIGHT = 960, 610
CURVE_POINTS = 240
ROOM_FOR_NAMES = 1.06
UNITS = {"ttft": ("s", 1e3), "tpot": ("ms", 1.0), "e2e": ("s", 1e3)}
MARKED_PERCENTILES = (50, 95)


@dataclass(frozen=True, slots=True)
class ReplayPicture:
    """`file_name` ends in .svg; `table` is Markdown."""

    file_name: str
    svg: str
    table: str


def replay_picture(replay: Replay) -> ReplayPicture:
    """Draw a replay."""
    name = replay.log.name
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")
    return ReplayPicture(f"replay-{slug}.svg", _drawing(replay), replay_table(replay))


def replay_table(replay: Replay) -> str:
    """Markdown: a row per latency with mean, p50 and p95 measured and predicted, then what the curves come to."""
    measured, predicted = replay.log.measured, replay.predicted
    head = "".join(f" {label} measured | predicted | error |" for label in STATISTICS)
    rows = [f"| |{head}", "|---|" + "---|" * 3 * len(STATISTICS)]
    for latency in LATENCIES:
        pair = measured.latency_ms(latency), predicted.latency_ms(latency)
        if pair[0].size:
            unit, per_ms = UNITS[latency]
            values = [[statistic(side, percentile) / per_ms for side in pair] for percentile in STATISTICS.values()]
            cells = "".join(f" {_short(a)} | {_short(b)} | {_error(a, b)} |" for a, b in values)
            rows.append(f"| {latency.upper()}, {unit} |{cells}")
    ends = [float(side.last_token_s.max()) for side in (measured, predicted)]
    peaks = [
        int(waiting_at(side, np.concatenate([side.sent_s, side.scheduled_s])).max()) for side in (measured, predicted)
    ]
    rows.append("")
    rows.append(
        f"Last token after {_short(ends[0])} s measured and {_short(ends[1])} s predicted ({_error(*ends)}); at most"
        f" {peaks[0]} and {peaks[1]} requests waiting."
    )
    return "\n".join(rows)


def running_at(served: Served, times_s: FloatArray) -> FloatArray:
    """Requests that had been scheduled and not given their last token at each time, preempted ones included."""
    return _between(served.scheduled_s, served.last_token_s, times_s)


def waiting_at(served: Served, times_s: FloatArray) -> FloatArray:
    """Requests that had been sent and not been scheduled at each time."""
    return _between(served.sent_s, served.scheduled_s, times_s)


def _between(begin_s: FloatArray, end_s: FloatArray, times_s: FloatArray) -> FloatArray:
    begun = np.searchsorted(np.sort(begin_s), times_s, "right")
    ended = np.searchsorted(np.sort(end_s), times_s, "right")
    return (begun - ended).astype(np.float64)


def _drawing(replay: Replay) -> str:
    measured, predicted = replay.log.measured, replay.predicted
    deployment = replay.deployment
    gpus = deployment.parallelism.gpus
    where = f"{gpus} x {deployment.accelerator.id}" if gpus > 1 else deployment.accelerator.id
    what = f"{deployment.model.id} on {where}: "
    title = [(what, svg.INK), ("measured", MEASURED_TEXT), (" and ", svg.INK), ("predicted", PREDICTED)]
    marks = [svg.text(24, 26, title, font_size="15", font_weight="600")]
    end_s = max(float(measured.last_token_s.max()), float(predicted.last_token_s.max()))
    times_s = np.linspace(0.0, end_s, CURVE_POINTS + 1)
    for left, words, count in ((56, "Requests running", running_at), (540, "Requests waiting", waiting_at)):
        marks += _curve_panel(left, words, times_s, count(measured, times_s), count(predicted, times_s))
    defined = [latency for latency in LATENCIES if measured.latency_ms(latency).size]
    for number, latency in enumerate(defined):
        marks += _latency_panel(56 + 313 * number, latency, measured.latency_ms(latency), predicted.latency_ms(latency))
    description = (
        f"Upper row: requests running and waiting over time. Lower row: cumulative distributions of"
        f" {', '.join(latency.upper() for latency in defined)}, with p50 and p95. Grey: measured; teal: predicted."
    )
    return svg.document(WIDTH, HEIGHT, f"{what}measured and predicted", description, marks)


def _curve_panel(
    left: float, words: str, times_s: FloatArray, measured: FloatArray, predicted: FloatArray
) -> list[str]:
    y_ticks = svg.ticks(max(1.0, measured.max(), predicted.max()))
    panel = svg.Panel(left, 72, 396, 176, ROOM_FOR_NAMES * float(times_s[-1]), y_ticks[-1])
    x_ticks = [tick for tick in svg.ticks(panel.x_top) if tick <= panel.x_top]
    marks = [svg.text(left, 56, words, font_weight="600")]
    marks += svg.axes(panel, "time from the first request, s", x_ticks, y_ticks)
    marks += [svg.line(panel, times_s, measured, MEASURED), svg.line(panel, times_s, predicted, PREDICTED)]
    half = max(measured.max(), predicted.max()) / 2
    ends_s = [float(times_s[side >= half].max(initial=0.0)) for side in (measured, predicted)]
    return marks + _curve_names(panel, min(ends_s), max(ends_s), half, half, measured_first=ends_s[0] < ends_s[1])


def _latency_panel(left: float, latency: str, measured_ms: FloatArray, predicted_ms: FloatArray) -> list[str]:
    unit, per_ms = UNITS[latency]
    sides = (measured_ms / per_ms, predicted_ms / per_ms)
    x_ticks = svg.ticks(max(float(side.max()) for side in sides))
    panel = svg.Panel(left, 376, 254, 176, x_ticks[-1], 100)
    words: list[tuple[str, str]] = []
    for percentile in MARKED_PERCENTILES:
        a, b = (statistic(side, percentile) for side in sides)
        words += [
            (f"p{percentile} ", svg.INK),
            (_short(a), MEASURED_TEXT),
            (" / ", svg.INK),
            (f"{_short(b)} {unit}   ", PREDICTED),
        ]
    marks = [
        svg.text(left, 338, f"{latency.upper()}, share of requests at or below", font_weight="600"),
        svg.text(left, 357, words, **{"xml:space": "preserve"}),
        *svg.axes(panel, f"{latency.upper()}, {unit}", x_ticks, (0, *MARKED_PERCENTILES), " %"),
    ]
    shares = np.arange(0, 101)
    for side, colour in zip(sides, (MEASURED, PREDICTED), strict=True):
        marks.append(svg.line(panel, [statistic(side, int(share)) for share in shares], shares, colour))
        marks += [svg.dot(panel, statistic(side, share), share, colour) for share in MARKED_PERCENTILES]
    left, right = (pick(statistic(side, share) for side in sides) for pick, share in ((min, 75), (max, 24)))
    measured_first = statistic(sides[0], 75) < statistic(sides[1], 75)
    return marks + _curve_names(panel, left, right, 75, 12, measured_first=measured_first)


def _curve_names(
    panel: svg.Panel, left: float, right: float, left_y: float, right_y: float, *, measured_first: bool
) -> list[str]:
    """One curve's name left of a point of data, the other's right of another, where the curves leave room."""
    pair = [("measured", MEASURED_TEXT), ("predicted", PREDICTED)]
    (one, one_colour), (other, other_colour) = pair if measured_first else pair[::-1]
    return [
        svg.text(panel.x(left) - 8, panel.y(left_y), one, fill=one_colour, text_anchor="end"),
        svg.text(panel.x(right) + 8, panel.y(right_y), other, fill=other_colour),
    ]


def _short(value: float) -> str:
    """Three significant digits, four from 100 on."""
    return f"{value:.0f}" if value >= 100 else f"{value:.{1 if value >= 10 else 2}f}"


def _error(measured: float, predicted: float) -> str:
    return f"{100 * (predicted / measured - 1):+.0f} %"
