"""Small pictures as points of an SVG, beside a form or a trace: no axis to read values from, the figures stand as text.

All are drawn in a box of 306 × `height` units; templates/parts/picture.html prints them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.reports.numbers import number, percent, requests_per_s, significant

WIDTH = 306
HEIGHT = 62
HEADROOM = 4
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SCALES = {1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3_600: "1 h"}
LEAST_APART = 13
"""Labels nearer than this would overlap."""


@dataclass(frozen=True, slots=True)
class Label:
    """A text of a picture. end: it ends at x instead of starting there."""

    text: str
    x: str
    y: str
    end: bool = False
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line. dashed: a reference, else an axis or a mark."""

    x1: str
    y1: str
    x2: str
    y2: str
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A filled curve with its labels. words: what it shows, for those who do not see it."""

    title: str
    unit: str
    words: str
    area: str
    curve: str
    lines: tuple[Line, ...]
    labels: tuple[Label, ...]

    @property
    def box(self) -> str:
        """The view box, with room for labels at the left and below."""
        return f"-34 -2 {WIDTH + 36} {HEIGHT + 20}"


def week_picture(week_rps: Sequence[float], title: str = "The week") -> Picture:
    """Load by hour of a week, Monday first, with its mean and its busiest hour."""
    top, mean = max(week_rps), sum(week_rps) / len(week_rps)
    rising = [_scaled(rate, top) for rate in week_rps]
    mean_y = _scaled(mean, top)
    labels = [
        Label(requests_per_s(top), "-6", _text(HEADROOM + 4), end=True),
        Label("0", "-6", _text(HEIGHT), end=True),
    ]
    if mean_y - HEADROOM > LEAST_APART and HEIGHT - mean_y > LEAST_APART:
        labels.append(Label(requests_per_s(mean), "-6", _text(mean_y + 4), end=True))
    labels += [Label(day, _text(WIDTH * at / 7 + 2), _text(HEIGHT + 15)) for at, day in enumerate(DAYS)]
    busiest = week_rps.index(top)
    when = f", busiest {DAYS[busiest // 24]} {busiest % 24:02d}:00" if top > mean * 1.001 else ""
    words = f"Load by hour over a week: mean {requests_per_s(mean)}, peak {requests_per_s(top)} requests a second{when}"
    lines = (_floor(), Line("0", _text(mean_y), str(WIDTH), _text(mean_y), dashed=True))
    return _picture(title, "req/s by hour", words, rising, lines, tuple(labels))


def rate_picture(rate: Mapping[str, Any]) -> Picture:
    """The rate over a recording, in equal windows."""
    rps, window_s = rate["rps"], rate["window_s"]
    top, mean = max(rps) or 1.0, sum(rps) / len(rps)
    minutes = len(rps) * window_s / 60
    span = f"{number(minutes)} minutes" if minutes < 180 else f"{number(minutes / 60)} hours"
    labels = (
        Label(requests_per_s(top), "-6", _text(HEADROOM + 4), end=True),
        Label("0", "-6", _text(HEIGHT), end=True),
        Label(span, str(WIDTH), _text(HEIGHT + 15), end=True),
    )
    said = f"mean {requests_per_s(mean)}, most {requests_per_s(top)} requests a second"
    words = f"Rate over {span}, in windows of {window_s} s: {said}"
    mean_y = _scaled(mean, top)
    lines = (_floor(), Line("0", _text(mean_y), str(WIDTH), _text(mean_y), dashed=True))
    return _picture(
        "As recorded", f"req/s in windows of {window_s} s", words, [_scaled(r, top) for r in rps], lines, labels
    )


def lengths_picture(title: str, lengths: Mapping[str, Any]) -> Picture:
    """How long requests are: the share in each bin of `traffic_picture`, with mean and p95."""
    mean, p95, until = lengths["mean"], lengths["p95"], lengths["until"]
    top = max(lengths["shares"]) or 1.0
    rising = [_scaled(share, top) for share in lengths["shares"]]
    marks = [("mean", mean, 6), ("p95", p95, 20)]
    lines, labels = [_floor()], []
    for name, value, y in marks:
        x = min(value / until, 1.0) * WIDTH
        lines.append(Line(_text(x), str(HEADROOM), _text(x), str(HEIGHT), dashed=name == "p95"))
        near_the_end = x > WIDTH * 0.7
        place = _text(x - 4 if near_the_end else x + 4)
        labels.append(Label(f"{name} {number(value)}", place, _text(y + 4), end=near_the_end, strong=True))
    labels.append(Label("0", "0", _text(HEIGHT + 15)))
    labels.append(Label(f"{number(until)} tokens", str(WIDTH), _text(HEIGHT + 15), end=True))
    words = f"{title}: mean {number(mean)}, 95th percentile {number(p95)} tokens"
    return _picture(title, "share of requests by tokens", words, rising, tuple(lines), tuple(labels))


def scales_picture(dispersion_by_scale_s: Mapping[str, float | None]) -> Picture | None:
    """Burstiness by the length of windows, in logarithms; None where fewer than two lengths are known.

    It spans 0.5 to 2 at least, so that chance around 1 does not look like bursts.
    """
    known = [(int(scale), value) for scale, value in dispersion_by_scale_s.items() if value]
    if len(known) < 2:
        return None
    highest, least = max(2.0, *(v for _, v in known)), min(0.5, *(v for _, v in known))
    top = math.log(highest / least)
    rising = [_scaled(math.log(value / least), top) for _, value in known]
    one_y = _scaled(math.log(1 / least), top)
    labels = [Label(significant(highest, 2), "-6", _text(HEADROOM + 4), end=True)]
    if one_y - HEADROOM > LEAST_APART:
        labels.append(Label("1", "-6", _text(one_y + 4), end=True))
    labels += _below([SCALES.get(scale, f"{scale} s") for scale, _ in known])
    said = ", ".join(f"{significant(value)} in {SCALES.get(scale, f'{scale} s')}" for scale, value in known)
    lines = (_floor(), Line("0", _text(one_y), str(WIDTH), _text(one_y), dashed=True))
    words = f"Burstiness by length of windows, 1 is random: {said}"
    return _picture("Burstiness", "variance ÷ mean by window", words, rising, lines, tuple(labels))


def reuse_picture(ratio_by_cache_tokens: Mapping[str, float]) -> Picture:
    """The share of prompt tokens that came before and a cache of each size still holds."""
    sizes = {"unbounded": "no limit"} | {str(1 << power): _binary(power) for power in range(10, 31)}
    known = [(sizes.get(size, size), ratio) for size, ratio in ratio_by_cache_tokens.items()]
    said = ", ".join(f"{percent(ratio)} with {name}" for name, ratio in known)
    words = f"Prompt tokens that came before, by the tokens that a cache holds: {said}"
    rising = [_scaled(ratio, 1.0) for _, ratio in known]
    return _picture("Reuse", "share by tokens of cache", words, rising, (_floor(),), _shares(), [n for n, _ in known])


def clients_picture(shares: Sequence[float]) -> Picture:
    """The share of requests that the busiest clients send; straight where all send alike."""
    tenth, half = shares[len(shares) // 10], shares[len(shares) // 2]
    words = f"The busiest tenth of the clients sends {percent(tenth)} of the requests, the busiest half {percent(half)}"
    lines = (_floor(), Line("0", str(HEIGHT), str(WIDTH), str(HEADROOM), dashed=True))
    rising = [_scaled(share, 1.0) for share in shares]
    below = ["busiest", "all clients"]
    return _picture("Clients", "share of requests", words, rising, lines, _shares(), below)


def turns_picture(shares: Sequence[float]) -> Picture:
    """How many turns conversations have."""
    top = max(shares) or 1.0
    labels = (Label(percent(top), "-6", _text(HEADROOM + 4), end=True), Label("0", "-6", _text(HEIGHT), end=True))
    words = f"Conversations of one turn: {percent(shares[0])}, of {len(shares)} or more: {percent(shares[-1])}"
    below = ["1 turn", f"{len(shares)} or more"]
    rising = [_scaled(share, top) for share in shares]
    return _picture("Conversations", "share by turns", words, rising, (_floor(),), labels, below)


def pairs_picture(classes: Sequence[Mapping[str, float]]) -> Picture:
    """The mean output of prompts of each size: flat where lengths say nothing of each other."""
    means = [each["output_tokens_mean"] for each in classes]
    top, sizes = max(means) or 1.0, [number(each["prompt_tokens_from"]) for each in classes]
    labels = (Label(number(top), "-6", _text(HEADROOM + 4), end=True), Label("0", "-6", _text(HEIGHT), end=True))
    said = f"{number(means[0])} tokens after prompts of {sizes[0]}, {number(means[-1])} after prompts of {sizes[-1]}"
    words = f"Mean output by length of the prompt: {said} tokens or more"
    rising = [_scaled(mean, top) for mean in means]
    below = [sizes[0], f"{sizes[-1]} prompt tokens"]
    return _picture("Outputs by prompts", "mean output tokens", words, rising, (_floor(),), labels, below)


def _binary(power: int) -> str:
    return f"{1 << power % 10} {('', 'Ki', 'Mi', 'Gi')[power // 10]}"


def _shares() -> tuple[Label, ...]:
    return Label("100 %", "-6", _text(HEADROOM + 4), end=True), Label("0", "-6", _text(HEIGHT), end=True)


def _below(texts: Sequence[str]) -> list[Label]:
    """Texts under the points of a curve, as many as there are points, or under its two ends."""
    last = len(texts) - 1
    return [Label(text, _text(WIDTH * at / last), _text(HEIGHT + 15), end=at == last) for at, text in enumerate(texts)]


def _picture(
    title: str,
    unit: str,
    words: str,
    rising: Sequence[float],
    lines: tuple[Line, ...],
    labels: tuple[Label, ...],
    below: Sequence[str] = (),
) -> Picture:
    step = WIDTH / max(1, len(rising) - 1)
    curve = " ".join(f"{_text(at * step)},{_text(y)}" for at, y in enumerate(rising))
    return Picture(title, unit, words, f"0,{HEIGHT} {curve} {WIDTH},{HEIGHT}", curve, lines, (*labels, *_below(below)))


def _scaled(value: float, top: float) -> float:
    """y of a value; the largest stands just below the upper edge."""
    return HEIGHT - value / top * (HEIGHT - HEADROOM) if top > 0 else float(HEIGHT)


def _floor() -> Line:
    return Line("0", str(HEIGHT), str(WIDTH), str(HEIGHT))


def _text(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
