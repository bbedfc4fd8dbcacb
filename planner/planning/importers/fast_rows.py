"""Regular rows of a text table parsed as arrays; what does not fit is named, for the careful reader.

A cell is taken only where its reading is beyond doubt: plain digits, at most one point, or a calendar stamp laid out
like that of the block's first row. For such cells the result is that of `tokens`, `offset_ns` and `stamp_ns` in cells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.planning.importers.cells import MAX_TOKENS, NS_PER_S, stamp_ns
from planner.planning.importers.columns import BoolArray, IntArray
from planner.planning.importers.errors import BadCell

Bytes = npt.NDArray[np.uint8]

NEWLINE, POINT, ZERO = 10, 46, 48
MOST_DIGITS = 12
_TEMPLATE = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,9})?(Z|UTC|[+-]\d\d(:?\d\d)?)?")


@dataclass(frozen=True, slots=True, eq=False)
class FastRows:
    """Lines of a block: parsed columns (zero where not `ok`), and where each line starts and ends in the block."""

    ok: BoolArray
    time_ns: IntArray
    counts: tuple[IntArray, ...]
    starts: IntArray
    ends: IntArray


def parse_block(block: bytes, delimiter: str, width: int, places: tuple[int, ...], unit_ns: int | None) -> FastRows:
    """Parses lines of `width` cells; `places`: of the time, then of token counts. unit_ns None: calendar stamps."""
    if not block.endswith(b"\n"):
        block += b"\n"
    buffer = np.frombuffer(block, dtype=np.uint8)
    marks = np.flatnonzero((buffer == ord(delimiter)) | (buffer == NEWLINE))
    line_ends = marks[buffer[marks] == NEWLINE]
    starts = np.concatenate(([0], line_ends[:-1] + 1))
    last = np.searchsorted(marks, line_ends)
    regular = np.diff(last, prepend=-1) == width
    grid = marks.reshape(-1, width) if regular.all() else marks[last[regular][:, None] + np.arange(1 - width, 1)]
    time_ns = np.zeros(len(line_ends), dtype=np.int64)
    ok = regular.copy()
    first = starts[regular]

    def bounds(place: int) -> tuple[IntArray, IntArray]:
        return (first if place == 0 else grid[:, place - 1] + 1), grid[:, place]

    parse_time = _stamps if unit_ns is None else _offsets
    fits, time_ns[regular] = parse_time(buffer, *bounds(places[0]), unit_ns or 1)
    counts = []
    for place in places[1:]:
        fit, values = _digits(buffer, *bounds(place), 8)
        fits = fits & fit & (values <= MAX_TOKENS)
        column = np.zeros(len(line_ends), dtype=np.int64)
        column[regular] = values
        counts.append(column)
    ok[regular] = fits
    return FastRows(ok, time_ns, tuple(counts), starts, line_ends)


def _digits(buffer: Bytes, start: IntArray, end: IntArray, most: int) -> tuple[BoolArray, IntArray]:
    """Unsigned whole numbers of 1 to `most` digits."""
    width = end - start
    ok = (width >= 1) & (width <= most)
    value = np.zeros(len(start), dtype=np.int64)
    scale = 1
    for place in range(int(min(most, width.max(initial=0)))):
        here = width > place
        digit = buffer[np.maximum(end - 1 - place, 0)] - ZERO  # wraps round below zero: then it is above 9
        ok &= (digit < 10) | ~here
        value += np.where(here, digit, 0).astype(np.int64) * scale
        scale *= 10
    return ok, value


def _offsets(buffer: Bytes, start: IntArray, end: IntArray, unit_ns: int) -> tuple[BoolArray, IntArray]:
    """Digits with at most one point, in units of `unit_ns`."""
    points = np.flatnonzero(buffer == POINT)
    after = np.searchsorted(points, start)
    found = points[np.minimum(after, len(points) - 1)] if len(points) else end
    point = np.where((after < len(points)) & (found < end), found, end)
    ok, whole = _digits(buffer, start, point, MOST_DIGITS)
    fraction_digits = len(str(unit_ns)) - 1
    has_fraction = point < end
    fraction_ok, fraction = _digits(buffer, np.minimum(point + 1, end), end, MOST_DIGITS)
    width = end - point - 1
    ok &= ~has_fraction | (fraction_ok & (width <= fraction_digits))
    ok &= whole <= (1 << 61) // unit_ns
    scale = 10 ** np.clip(fraction_digits - width, 0, fraction_digits).astype(np.int64)
    value = np.where(ok, whole, 0) * unit_ns + np.where(has_fraction & ok, fraction * scale, 0)
    return ok, value


def _stamps(buffer: Bytes, start: IntArray, end: IntArray, _unit_ns: int) -> tuple[BoolArray, IntArray]:
    """Calendar stamps laid out like the first."""
    value = np.zeros(len(start), dtype=np.int64)
    if not len(start):
        return np.zeros(0, dtype=np.bool_), value
    template = buffer[start[0] : end[0]].tobytes()
    match = _TEMPLATE.fullmatch(template)
    if not match:
        return np.zeros(len(start), dtype=np.bool_), value
    length = len(template)
    ok = (end - start) == length
    text = buffer[np.minimum(start[:, None] + np.arange(length), len(buffer) - 1)]
    zone_at = match.start(2) if match.group(2) else length
    is_digit = np.array([48 <= c <= 57 and i < zone_at for i, c in enumerate(template)])
    ok &= (text[:, ~is_digit] == np.frombuffer(template, dtype=np.uint8)[~is_digit]).all(axis=1)
    digits = text[:, is_digit] - ZERO
    ok &= (digits < 10).all(axis=1)
    columns = digits.T.astype(np.int64)
    clock = [columns[i] * 10 + columns[i + 1] for i in (8, 10, 12)]
    ok &= (clock[0] < 24) & (clock[1] < 60) & (clock[2] <= 60)
    fraction = np.zeros(len(start), dtype=np.int64)
    for column in columns[14:]:
        fraction = fraction * 10 + column
    fraction *= 10 ** (9 - (len(columns) - 14))
    day_ok, day_ns = _days(columns[:8], template[zone_at:].decode())
    ok &= day_ok
    seconds = clock[0] * 3_600 + clock[1] * 60 + clock[2]
    value = np.where(ok, day_ns + seconds * NS_PER_S + fraction, 0)
    return ok, value


def _days(columns: IntArray, zone: str) -> tuple[BoolArray, IntArray]:
    """Start of each day in ns since 1970; a block seldom holds more than a few days."""
    key = columns[0].copy()
    for column in columns[1:]:
        key = key * 10 + column
    known, inverse = np.unique(key, return_inverse=True)
    ok = np.zeros(len(known), dtype=np.bool_)
    start = np.zeros(len(known), dtype=np.int64)
    for i, day in enumerate(known.tolist()):
        text = f"{day:08d}"
        try:
            start[i] = stamp_ns(f"{text[:4]}-{text[4:6]}-{text[6:]} 00:00:00{zone}")
            ok[i] = True
        except BadCell:
            continue
    return ok[inverse], start[inverse]
