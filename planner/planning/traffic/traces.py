"""Recorded traffic: reading and judging a trace of arrivals and token counts.

Two formats, told apart by their columns and cells: Azure's TIMESTAMP,ContextTokens,GeneratedTokens with wall-clock
stamps of seven fractional digits (with or without a zone), and three columns of seconds, prompt tokens, output tokens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from planner.planning.errors import FieldError, ScenarioInvalid, show

IntArray = npt.NDArray[np.int64]

NS_PER_S = 1_000_000_000
MAX_BACKSTEP_S = 1.0
MAX_BACKWARD_RATIO = 0.01
BACKWARD_RATIO_ROWS = 1_000
MAX_SPAN_S = 86_400
MAX_ROWS = 200_000
MAX_TOKENS = 10_000_000
MAX_BAD_ROWS_SHOWN = 10

TIME_COLUMNS = frozenset({"timestamp", "timestamp_s", "time_s", "arrival_s", "seconds"})
PROMPT_COLUMNS = frozenset({"contexttokens", "prompt_tokens", "input_tokens", "input_length"})
OUTPUT_COLUMNS = frozenset({"generatedtokens", "output_tokens", "completion_tokens", "output_length"})

_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?")
_SECONDS = re.compile(r"[+-]?\d{1,12}(?:\.(\d{1,12}))?")


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Requests in order of arrival, and what was found while reading them.

    arrival_ns: since the first row. A request with 0 output tokens failed: it counts as an arrival and in error_ratio,
    not in the token means, and is not replayed. rate_rps: arrivals per second, (rows − 1) / span.
    """

    name: str
    arrival_ns: IntArray
    prompt_tokens: IntArray
    output_tokens: IntArray
    out_of_order_rows: int = 0
    max_backstep_s: float = 0.0

    @property
    def rows(self) -> int:
        return len(self.arrival_ns)

    @property
    def span_s(self) -> float:
        return float(self.arrival_ns[-1] - self.arrival_ns[0]) / NS_PER_S

    @property
    def rate_rps(self) -> float:
        return (self.rows - 1) / self.span_s

    @property
    def served(self) -> npt.NDArray[np.bool_]:
        return self.output_tokens > 0

    @property
    def failed_requests(self) -> int:
        return int(np.count_nonzero(self.output_tokens == 0))

    @property
    def error_ratio(self) -> float:
        return self.failed_requests / self.rows

    @property
    def prompt_tokens_mean(self) -> float:
        return float(self.prompt_tokens[self.served].mean())

    @property
    def output_tokens_mean(self) -> float:
        return float(self.output_tokens[self.served].mean())


def read_trace_csv(data: bytes | str, *, pointer: str = "/traffic/trace/csv", name: str = "trace") -> Trace:
    """Read a trace from CSV. Raises ScenarioInvalid with codes trace_empty, trace_binary, trace_columns, trace_bad_row,
    trace_no_requests, trace_single_row, trace_no_span, trace_clock_backward, trace_too_long, trace_too_many_rows."""
    lines = _lines(data, pointer)
    body, columns, first_row = _columns(lines, pointer)
    if len(body) > MAX_ROWS:
        _fail("trace_too_many_rows", pointer, f"{len(body)} rows", f"at most {MAX_ROWS} rows", "The trace is too long.")
    rows: list[tuple[int, int, int]] = []
    errors: list[FieldError] = []
    for number, line in enumerate(body, start=first_row):
        try:
            rows.append(_row(line.split(","), columns))
        except ValueError as error:
            errors.append(
                FieldError("trace_bad_row", pointer, show(line), "time, tokens, tokens", f"Row {number}: {error}.")
            )
            if len(errors) >= MAX_BAD_ROWS_SHOWN:
                break
    if errors:
        raise ScenarioInvalid(tuple(errors))
    return trace_from_rows(rows, pointer=pointer, name=name)


def trace_from_rows(rows: Sequence[tuple[int, int, int]], *, pointer: str, name: str) -> Trace:
    """A trace from (time in ns, prompt tokens, output tokens) in the order of the record."""
    if not rows:
        _fail("trace_no_requests", pointer, "0 rows", "at least 2 rows", "The trace holds no requests.")
    if len(rows) == 1:
        _fail("trace_single_row", pointer, "1 row", "at least 2 rows", "One arrival has no rate.")
    times = np.array([row[0] for row in rows], dtype=np.int64)
    steps = np.diff(times)
    backward = int(np.count_nonzero(steps < 0))
    backstep_s = float(max(0, -int(steps.min()))) / NS_PER_S
    _check_clock(len(rows), backward, backstep_s, pointer)
    order = np.argsort(times, kind="stable")
    trace = Trace(
        name=name,
        arrival_ns=times[order] - times.min(),
        prompt_tokens=np.array([row[1] for row in rows], dtype=np.int64)[order],
        output_tokens=np.array([row[2] for row in rows], dtype=np.int64)[order],
        out_of_order_rows=backward,
        max_backstep_s=backstep_s,
    )
    _check_trace(trace, pointer)
    return trace


def rows_in_ns(rows: Iterable[tuple[float, int, int]]) -> list[tuple[int, int, int]]:
    """Rows of a scenario (seconds, tokens, tokens) with the time in nanoseconds."""
    return [(round(time_s * NS_PER_S), prompt, output) for time_s, prompt, output in rows]


def _check_clock(rows: int, backward: int, backstep_s: float, pointer: str) -> None:
    if backstep_s > MAX_BACKSTEP_S:
        allowed = f"back-steps of at most {MAX_BACKSTEP_S:g} s"
        detail = f"The clock goes back by up to {backstep_s:.6g} s in {backward} rows."
        _fail("trace_clock_backward", pointer, f"{backstep_s:.6g} s", allowed, detail)
    if rows >= BACKWARD_RATIO_ROWS and backward > MAX_BACKWARD_RATIO * rows:
        detail = f"The clock goes back in {backward} of {rows} rows."
        _fail("trace_clock_backward", pointer, f"{backward} rows", "at most 1 % of rows", detail)


def _check_trace(trace: Trace, pointer: str) -> None:
    if trace.span_s <= 0:
        _fail("trace_no_span", pointer, "0 s", "two different times", "All rows have one time; there is no rate.")
    if trace.span_s > MAX_SPAN_S:
        detail = "Traces longer than a day are not offered yet; cut out the busiest hour."
        _fail("trace_too_long", pointer, f"{trace.span_s:.6g} s", f"at most {MAX_SPAN_S} s", detail)
    if int(np.count_nonzero(trace.served)) < 2:
        _fail("trace_no_requests", pointer, "no served rows", "at least 2 served rows", "Every request failed.")
    served = trace.arrival_ns[trace.served]
    if served[0] == served[-1]:
        detail = "All served rows have one time; there is no rate."
        _fail("trace_no_span", pointer, "0 s", "served rows at two different times", detail)
    if not 0.0001 <= trace.rate_rps <= 10_000:
        detail = f"The rate of the trace is {trace.rate_rps:g} requests/s."
        _fail("out_of_range", pointer, f"{trace.rate_rps:g}", "0.0001 to 10000 requests/s", detail)


def _lines(data: bytes | str, pointer: str) -> list[str]:
    if isinstance(data, bytes):
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            _fail("trace_binary", pointer, "bytes", "UTF-8 text", "The trace is not text.")
    else:
        text = data.removeprefix("\ufeff")
    if any(c < " " and c not in "\r\n\t" for c in set(text)):
        _fail("trace_binary", pointer, "control characters", "UTF-8 text", "The trace is not text.")
    lines = [line.strip() for line in text.splitlines()]
    if not any(lines):
        _fail("trace_empty", pointer, "nothing", "CSV rows", "The trace is empty.")
    return lines


def _columns(lines: list[str], pointer: str) -> tuple[list[str], tuple[int, int, int], int]:
    """The body, the places of time, prompt and output in it, and the number of its first row."""
    start = next(i for i, line in enumerate(lines) if line)
    end = max(i for i, line in enumerate(lines) if line) + 1
    cells = [cell.strip().strip('"').lower() for cell in lines[start].split(",")]
    if cells and (_SECONDS.fullmatch(cells[0]) or _STAMP.fullmatch(cells[0].upper())):
        return lines[start:end], (0, 1, 2), start + 1
    places = tuple(
        next((i for i, cell in enumerate(cells) if cell in names), -1)
        for names in (TIME_COLUMNS, PROMPT_COLUMNS, OUTPUT_COLUMNS)
    )
    if -1 in places:
        allowed = "TIMESTAMP,ContextTokens,GeneratedTokens or timestamp_s,prompt_tokens,output_tokens"
        _fail("trace_columns", pointer, show(lines[start]), allowed, "The columns are not those of a known trace.")
    return lines[start + 1 : end], (places[0], places[1], places[2]), start + 2


def _row(cells: list[str], columns: tuple[int, int, int]) -> tuple[int, int, int]:
    if len(cells) <= max(columns):
        raise ValueError(f"has {len(cells)} columns")
    time_ns = _time_ns(cells[columns[0]].strip().strip('"'))
    prompt, output = (_tokens(cells[place].strip().strip('"')) for place in columns[1:])
    if output > 0 and prompt == 0:
        raise ValueError("an answered request has no prompt tokens")
    return time_ns, prompt, output


def _time_ns(text: str) -> int:
    stamp = _STAMP.fullmatch(text)
    if stamp:
        return _stamp_ns(*stamp.groups())
    number = _SECONDS.fullmatch(text)
    if not number:
        raise ValueError(f"{show(text)} is not a time")
    if text.startswith("-"):
        raise ValueError("the time is negative")
    whole, _, fraction = text.partition(".")
    return int(whole) * NS_PER_S + int((fraction + "000000000")[:9])


def _stamp_ns(day: str, hour: str, minute: str, second: str, fraction: str | None, zone: str | None) -> int:
    days = date.fromisoformat(day).toordinal() - date(1970, 1, 1).toordinal()
    if int(hour) > 23 or int(minute) > 59 or int(second) > 60:
        raise ValueError("the time of day does not exist")
    seconds = days * 86_400 + int(hour) * 3_600 + int(minute) * 60 + int(second)
    if zone and zone != "Z":
        offset = int(zone[1:3]) * 3_600 + int(zone[-2:]) * 60
        seconds -= offset if zone[0] == "+" else -offset
    return seconds * NS_PER_S + int(((fraction or "") + "000000000")[:9])


def _tokens(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,12}(\.0+)?", text):
        raise ValueError(f"{show(text)} is not a token count")
    tokens = int(text.partition(".")[0])
    if not 0 <= tokens <= MAX_TOKENS:
        raise ValueError(f"{tokens} tokens is out of range")
    return tokens


def _fail(code: str, pointer: str, given: str, allowed: str, detail: str) -> NoReturn:
    raise ScenarioInvalid((FieldError(code, pointer, given, allowed, detail),))
