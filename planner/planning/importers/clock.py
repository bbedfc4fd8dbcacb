"""What the times of a file are, and putting rows into the order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.planning.importers.cells import (
    NS_PER_S,
    UNIT_NS,
    date_evidence,
    is_stamp,
    names_zone,
    number,
    offset_ns,
    stamp_ns,
)
from planner.planning.importers.columns import Chunk, joined
from planner.planning.importers.errors import BadCell, ImportRefused
from planner.planning.importers.reading import Answers, Reading

MAX_BACKSTEP_NS = NS_PER_S
HOUR_NS = 3_600 * NS_PER_S
MAX_BACKWARD_RATIO = 0.01
BACKWARD_RATIO_ROWS = 1_000
MAX_SORTED_ROWS = 1_000_000
SORTED_PIECE_ROWS = 50_000
_EPOCHS = (("ns", 1e17), ("us", 1e14), ("ms", 1e11), ("s", 1e9))
"""Counts since 1970 from 2001 on, by unit; an offset as large as that would be of 31 years."""


@dataclass(frozen=True, slots=True)
class Clock:
    """How a cell becomes a time. stamps: cells are calendar times; unit_ns: of numbers; dates: order of day and month;
    decimal: of numbers; rebase: whether negative offsets are allowed."""

    stamps: bool
    unit_ns: int
    dates: str | None
    decimal: str
    rebase: bool

    def ns(self, value: object) -> int:
        """A time in ns. Raises BadCell."""
        if isinstance(value, str) and (self.stamps or is_stamp(value)):
            try:
                return stamp_ns(value, self.dates)
            except BadCell as bad:
                if bad.code != "bare_number":
                    raise
        if value is None or value == "":
            raise BadCell("bad_time", "The time is missing.")
        try:
            time_ns = offset_ns(value, self.unit_ns, self.decimal)
        except BadCell as bad:
            raise BadCell("bad_time" if bad.code == "not_a_number" else bad.code, bad.detail) from None
        if time_ns < 0 and not self.rebase:
            raise BadCell("negative_time", "The time is negative.")
        return time_ns


def find_clock(cells: Sequence[object], unit: str | None, decimal: str, answers: Answers, reading: Reading) -> Clock:
    """The clock of a file from the first times in it; asks where more than one is legal."""
    texts = [cell for cell in cells if isinstance(cell, str) and is_stamp(cell)]
    dates = _dates(texts, answers, reading) if texts else None
    numbers = _numbers(cells, decimal)
    unit_found = "s"
    stamps = len(texts) >= len(numbers)
    if stamps:
        reading.clock = "wall"
        if texts and not any(names_zone(text) for text in texts):
            reading.assume("time zone", "UTC", "the times name none")
    else:
        unit_found = _unit(numbers, unit, answers, reading)
    rebase = answers.negative_times == "rebase"
    if any(value < 0 for value in numbers):
        if answers.negative_times is None:
            detail = "Some times are negative: leave out those rows, or take the earliest time as the start?"
            reading.ask("negative_times", detail, ("reject", "left out"), ("rebase", "the earliest is the start"))
        elif rebase:
            reading.assume("negative times", "the earliest is the start", "as answered")
    return Clock(stamps, UNIT_NS[unit_found], dates, decimal, rebase)


def _numbers(cells: Iterable[object], decimal: str) -> list[float]:
    values = []
    for cell in cells:
        if isinstance(cell, str) and is_stamp(cell):
            continue
        try:
            values.append(float(number(cell, decimal)))
        except (BadCell, OverflowError):
            continue
    return values


def _dates(texts: list[str], answers: Answers, reading: Reading) -> str | None:
    day_first, month_first, dots, example = date_evidence(texts)
    if answers.dates is not None:
        reading.assume("dates", answers.dates.replace("_", " "), "as answered")
        return answers.dates
    if day_first and month_first:
        reading.ask("dates", "Some dates have the day first and some the month; which is meant?", *_BOTH)
        return None
    if month_first:
        reading.assume("dates", "month first", "a second number above 12 is a day")
        return "month_first"
    if day_first:
        reading.assume("dates", "day first", "a first number above 12 is a day")
    elif dots:
        reading.assume("dates", "day first", "dates with dots are written that way")
    elif example is not None:
        reading.ask("dates", f"{example[:20]!r}: is the day or the month first?", *_BOTH)
        return None
    return "day_first"


_BOTH = (("day_first", "01/02 is 1 February"), ("month_first", "01/02 is 2 January"))


def _unit(numbers: list[float], unit: str | None, answers: Answers, reading: Reading) -> str:
    middle = float(np.median(np.abs(numbers)))
    epoch = _epoch(middle)
    others = {_epoch(value) for value in numbers} - {epoch, None}
    if epoch and others:
        detail = (
            f"Some times are in {epoch} since 1970 and some in {', '.join(sorted(map(str, others)))}; use one unit."
        )
        raise ImportRefused("mixed_time_units", detail)
    reading.clock = "wall" if epoch else "offset"
    if answers.time_unit is not None:
        return answers.time_unit
    if unit is not None and not (epoch and epoch != unit):
        return unit
    if epoch:
        reading.assume("time unit", f"{epoch} since 1970", f"{middle:.0f} is such a time after 2001")
        return epoch
    choices = tuple((name, f"{max(numbers) * UNIT_NS[name] / 1e9:.6g} s in all") for name in ("s", "ms", "us", "ns"))
    reading.ask("time_unit", "The times are numbers without a unit: seconds or milliseconds?", *choices)
    return "s"


def _epoch(value: float) -> str | None:
    """The unit in which a number is a time since 1970 after 2001; None where it is too small for that."""
    return next((name for name, least in _EPOCHS if value >= least), None)


def in_order(chunks: Iterator[Chunk], reading: Reading, *, ordered: bool) -> Iterator[Chunk]:
    """Chunks in order of time. An ordered file may go back by up to 1 s, in up to 1 % of 1,000 rows or more; rows are
    then sorted and counted. Others are sorted as a whole. Raises ImportRefused with clock_backward, no_rows or
    too_many_rows_to_sort."""
    yield from (_sorted_stream(chunks, reading) if ordered else _sorted_whole(chunks))
    if not reading.rows_used:
        first = next(iter(reading.problems), None)
        because = f": {first.detail}" if first else "."
        raise ImportRefused("no_rows", f"No row can be used as a request{because}", first.row if first else None)
    backward = reading.out_of_order_rows
    if ordered and reading.rows_used >= BACKWARD_RATIO_ROWS and backward > MAX_BACKWARD_RATIO * reading.rows_used:
        detail = f"The clock goes back in {backward} of {reading.rows_used} rows; at most 1 % may."
        raise ImportRefused("clock_backward", detail)


def _sorted_whole(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    kept: list[Chunk] = []
    rows = 0
    for chunk in chunks:
        rows += len(chunk)
        if rows > MAX_SORTED_ROWS:
            detail = f"The file is not in order of time and has more than {MAX_SORTED_ROWS:,} rows; sort it first."
            raise ImportRefused("too_many_rows_to_sort", detail)
        kept.append(chunk)
    if kept:
        yield from _merged(kept)


def _merged(chunks: list[Chunk]) -> Iterator[Chunk]:
    """All rows in order of time, a piece at a time: a whole sorted copy would double the memory."""
    order = np.argsort(np.concatenate([chunk.arrival_ns for chunk in chunks]), kind="stable")
    starts = np.cumsum([0, *(len(chunk) for chunk in chunks)])
    for at in range(0, len(order), SORTED_PIECE_ROWS):
        rows = order[at : at + SORTED_PIECE_ROWS]
        home = np.searchsorted(starts, rows, side="right") - 1
        found = [chunks[i].take(rows[home == i] - starts[i]) for i in np.unique(home).tolist()]
        back = np.argsort(np.argsort(home, kind="stable"), kind="stable")
        yield joined(found).take(back)


def _sorted_stream(chunks: Iterator[Chunk], reading: Reading) -> Iterator[Chunk]:
    """Holds back the last second, in which a later row may still belong."""
    held: Chunk | None = None
    last_ns: int | None = None
    given_ns: int | None = None
    for chunk in chunks:
        _count_backsteps(chunk, last_ns, reading)
        last_ns = int(chunk.arrival_ns[-1])
        whole = chunk if held is None else joined([held, chunk])
        if given_ns is not None and int(chunk.arrival_ns.min()) < given_ns:
            row = int(chunk.row[int(np.argmin(chunk.arrival_ns))])
            raise ImportRefused("clock_backward", "The clock goes back by more than 1 s in several steps.", row)
        whole = _sorted(whole)
        cut = int(np.searchsorted(whole.arrival_ns, whole.arrival_ns[-1] - MAX_BACKSTEP_NS))
        if cut:
            given_ns = int(whole.arrival_ns[cut - 1])
            yield whole.take(np.arange(cut))
        held = whole.take(np.arange(cut, len(whole)))
    if held is not None:
        yield held


def _sorted(chunk: Chunk) -> Chunk:
    if len(chunk) < 2 or bool((np.diff(chunk.arrival_ns) >= 0).all()):
        return chunk
    return chunk.take(np.argsort(chunk.arrival_ns, kind="stable"))


def _count_backsteps(chunk: Chunk, last_ns: int | None, reading: Reading) -> None:
    steps = np.diff(chunk.arrival_ns) if last_ns is None else np.diff(chunk.arrival_ns, prepend=last_ns)
    back = np.flatnonzero(steps < 0)
    if not len(back):
        return
    far = int(-steps.min())
    offset = 1 if last_ns is None else 0
    if far > MAX_BACKSTEP_NS:
        row = int(chunk.row[int(np.argmin(steps)) + offset])
        detail = f"The clock goes back by {far / 1e9:.6g} s; at most 1 s is sorted."
        if reading.clock == "wall" and abs(far - HOUR_NS) < HOUR_NS // 4:
            detail += " Is it local time where summer time ends? Write the times in UTC."
        raise ImportRefused("clock_backward", detail, row)
    reading.out_of_order_rows += len(back)
    reading.max_backstep_ns = max(reading.max_backstep_ns, far)
