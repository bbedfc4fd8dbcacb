"""Recorded traffic of a scenario: a trace of arrivals and token counts, read by the importers and judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from planner.planning.errors import FieldError, ScenarioInvalid
from planner.planning.importers import Answers, Chunk, ImportRefused, TraceFile, bytes_source, joined, open_trace
from planner.planning.traffic.block_cache import chained
from simulator import BlockHashes

IntArray = npt.NDArray[np.int64]

NS_PER_S = 1_000_000_000
MAX_BACKSTEP_S = 1.0
MAX_BACKWARD_RATIO = 0.01
BACKWARD_RATIO_ROWS = 1_000
MAX_SPAN_S = 86_400
MAX_ROWS = 200_000
MAX_BAD_ROWS_SHOWN = 10
MAX_BLOCKS = 3_000_000

KNOWN_TABLES = "TIMESTAMP,ContextTokens,GeneratedTokens or timestamp_s,prompt_tokens,output_tokens"
HARMLESS_DROPS = frozenset({"answered_by_gateway_cache", "not_a_generation", "duplicate_id"})
"""Rows that are no request of a model server, or are told twice; leaving them out loses nothing."""
_CODES = {
    "empty": "trace_empty",
    "binary": "trace_binary",
    "archive_refused": "trace_binary",
    "packing_unknown": "trace_binary",
    "workbook_refused": "trace_binary",
    "unknown_format": "trace_columns",
    "formula_header": "trace_columns",
    "unanswered": "trace_ambiguous",
    "no_rows": "trace_no_requests",
    "clock_backward": "trace_clock_backward",
    "too_many_rows_to_sort": "trace_too_many_rows",
}


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Requests in order of arrival, and what was found while reading them.

    session: number of the conversation, −1: none. blocks: hashed content of the prompts.
    arrival_ns: since the first row. A request with 0 output tokens failed: it counts as an arrival and in error_ratio,
    not in the token means, and is not replayed. rate_rps: arrivals per second, (rows − 1) / span.
    """

    name: str
    arrival_ns: IntArray
    prompt_tokens: IntArray
    output_tokens: IntArray
    out_of_order_rows: int = 0
    max_backstep_s: float = 0.0
    session: IntArray | None = None
    blocks: BlockHashes | None = None

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


def read_trace_csv(
    data: bytes | str, *, pointer: str = "/traffic/trace/csv", name: str = "trace", block_tokens: int | None = None
) -> Trace:
    """Read a trace from a table in which numbers without a unit are seconds; block_tokens: of its hashed blocks.

    Raises ScenarioInvalid with codes trace_empty, trace_binary, trace_columns, trace_ambiguous, trace_bad_row,
    trace_no_requests, trace_single_row, trace_no_span, trace_clock_backward, trace_too_long, trace_too_many_rows; for
    damage that tables seldom have, with the importers' own codes after "trace_".
    """
    source = bytes_source(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)
    answers = Answers(negative_times="reject", block_tokens=None if block_tokens is None else str(block_tokens))
    try:
        file = open_trace(source, answers)
        if any(question.answer == "time_unit" for question in file.reading.questions):
            file = open_trace(source, replace(answers, time_unit="s"))
        rows = read_requests(file, pointer)
    except ImportRefused as refused:
        raise refused_trace(refused, pointer) from None
    read = _trace(rows, file.reading.out_of_order_rows, file.reading.max_backstep_ns / NS_PER_S, pointer, name)
    return _with_content(read, rows, file.reading.block_tokens)


def _with_content(trace: Trace, rows: Chunk, block_tokens: int | None) -> Trace:
    """The trace with its conversations of several turns, and with its hashed blocks."""
    named = rows.session[rows.session >= 0]
    session = rows.session if len(np.unique(named)) < len(named) else None
    if rows.blocks is None or not len(rows.blocks.ids) or block_tokens is None:
        return replace(trace, session=session)
    blocks = chained(rows.blocks)
    return replace(trace, session=session, blocks=BlockHashes(blocks.offsets, blocks.ids, block_tokens))


def read_requests(file: TraceFile, pointer: str, *, leave_out_bad_rows: bool = False) -> Chunk:
    """At most MAX_ROWS requests. Raises ImportRefused, and ScenarioInvalid(trace_bad_row, trace_columns or
    trace_too_many_rows)."""
    if file.layout.kind != "requests":
        _fail("trace_columns", pointer, file.layout.title, KNOWN_TABLES, "The file does not hold single requests.")
    problems = file.reading.problems
    chunks: list[Chunk] = []
    rows = blocks = 0
    try:
        for chunk in file.chunks():
            chunks.append(chunk)
            rows += len(chunk)
            blocks += 0 if chunk.blocks is None else len(chunk.blocks.ids)
            if blocks > MAX_BLOCKS:
                allowed = f"at most {MAX_BLOCKS:,} hashed blocks"
                _fail("trace_too_many_blocks", pointer, f"{blocks:,}", allowed, "The trace tells too much content.")
            if rows > MAX_ROWS:
                allowed = f"at most {MAX_ROWS} rows"
                _fail("trace_too_many_rows", pointer, f"more than {MAX_ROWS} rows", allowed, "The trace is too long.")
    except ImportRefused as refused:
        if refused.code != "no_rows" or not problems.dropped:
            raise
    bad = [problem for problem in problems if not problem.kept and problem.code not in HARMLESS_DROPS]
    if bad and not leave_out_bad_rows:
        bad.sort(key=lambda problem: problem.row)
        errors = (
            FieldError(
                "trace_bad_row", pointer, problem.code, "time, tokens, tokens", f"Row {problem.row}: {problem.detail}"
            )
            for problem in bad[:MAX_BAD_ROWS_SHOWN]
        )
        raise ScenarioInvalid(tuple(errors))
    if not chunks:
        raise ImportRefused("no_rows", "No row can be used as a request.")
    return joined(chunks)


def refused_trace(refused: ImportRefused, pointer: str) -> ScenarioInvalid:
    """The refusal of a file as a fault of the scenario that names it."""
    code = _CODES.get(refused.code, f"trace_{refused.code}")
    return ScenarioInvalid((FieldError(code, pointer, refused.code, KNOWN_TABLES, str(refused)),))


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
    prompt, output = (np.array([row[place] for row in rows], dtype=np.int64)[order] for place in (1, 2))
    return _judged(times[order], prompt, output, backward, backstep_s, pointer, name)


def recorded_trace(rows: Chunk, block_tokens: int | None, name: str = "trace") -> Trace:
    """Rows as a trace with all the content that they tell, not judged yet."""
    output = np.where(rows.failed, 0, rows.output_tokens)
    trace = Trace(name, rows.arrival_ns - rows.arrival_ns[0], rows.prompt_tokens, output)
    return _with_content(trace, rows, block_tokens)


def _trace(rows: Chunk, backward: int, backstep_s: float, pointer: str, name: str) -> Trace:
    """A failed request has no output, whatever the file says it had."""
    if len(rows) == 1:
        _fail("trace_single_row", pointer, "1 row", "at least 2 rows", "One arrival has no rate.")
    output = np.where(rows.failed, 0, rows.output_tokens)
    return _judged(rows.arrival_ns, rows.prompt_tokens, output, backward, backstep_s, pointer, name)


def _judged(
    times: IntArray, prompt: IntArray, output: IntArray, backward: int, backstep_s: float, pointer: str, name: str
) -> Trace:
    trace = Trace(name, times - times.min(), prompt, output, backward, backstep_s)
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


def _fail(code: str, pointer: str, given: str, allowed: str, detail: str) -> NoReturn:
    raise ScenarioInvalid((FieldError(code, pointer, given, allowed, detail),))
