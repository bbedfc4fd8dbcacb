"""Tables as text: which delimiter, which header, and rows one by one with their line numbers."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass

from planner.planning.importers.cells import is_stamp, number
from planner.planning.importers.errors import BadCell, ImportRefused, Problems
from planner.planning.importers.layouts import normalised, recognise
from planner.planning.importers.reading import Answers, Reading

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}
SAMPLE_LINES = 5_000
MAX_COLUMNS = 500
MOST_LINES_ABOVE = 20
_FORMULA_NAME = re.compile(r"=|@(?!\w+$)")
SERVEGEN_GAPS = frozenset({"gamma", "weibull"})
SERVEGEN_COLUMNS = ("window_start_s", "rate_rps", "cv_interarrival", "distribution", "param1", "param2")


@dataclass(frozen=True, slots=True)
class Table:
    """How a text table is laid out. names: normalised, in order; first_row: line of the first row of data;
    quoted: a quotation mark was seen in the first MiB."""

    delimiter: str
    names: tuple[str, ...]
    has_header: bool
    quoted: bool
    first_row: int


def find_table(head: bytes, is_whole: bool, answers: Answers, reading: Reading) -> tuple[Table, list[list[str]]]:
    """The layout of the table and the rows of its first MiB, `is_whole` if that is all of it. Raises ImportRefused."""
    text = head.decode("utf-8", "replace")
    lines = text.split("\n")
    if len(lines) > 1 and (not lines[-1] or not is_whole):
        lines.pop()  # empty, or cut by the end of the sample
    blank = next((i for i, line in enumerate(lines) if line.strip()), 0)
    lines = lines[blank : blank + SAMPLE_LINES]
    named = _declared(lines[0])
    if named:
        lines, blank = lines[1:], blank + 1
    if not lines:
        raise ImportRefused("empty", "The table holds no rows.")
    above = 0 if named else _lines_above(lines, answers)
    if above:
        lines, blank = lines[above:], blank + above
        reading.assume("lines above the table", f"{above} skipped", "the columns are named below them")
    delimiter = named or _delimiter(lines, answers, reading)
    rows = _sample(lines, delimiter)
    if not rows:
        raise ImportRefused("unknown_format", "The first line is no row of a table.")
    if len(rows[0]) > MAX_COLUMNS:
        raise ImportRefused("unknown_format", f"The table has more than {MAX_COLUMNS} columns.")
    has_header = not _is_data(rows[0])
    names = tuple(normalised(cell) for cell in rows[0]) if has_header else _positions(rows)
    if has_header and any(_FORMULA_NAME.match(cell.strip()) for cell in rows[0]):
        raise ImportRefused("formula_header", "A column's name is a formula.", blank + 1)
    reading.columns = tuple(cell.strip()[:80] for cell in rows[0]) if has_header else names
    if not has_header:
        reading.assume("header", "none; columns by position", "the first line holds numbers or times only")
    table = Table(delimiter, names, has_header, b'"' in head, blank + 1 + has_header)
    return table, rows[1:] if has_header else rows


def _lines_above(lines: list[str], answers: Answers) -> int:
    """Lines of title before the one that names the columns; 0 where the first does, or none is known."""
    for at, line in enumerate(lines[:MOST_LINES_ABOVE]):
        for delimiter in DELIMITERS.values():
            rows = _sample([line], delimiter)
            if rows and len(rows[0]) > 1 and _known(rows[0], answers):
                return at if at == 0 or not _is_data(rows[0]) else 0
    return 0


def careful_rows(
    lines: Iterator[bytes], table: Table, problems: Problems, start_row: int
) -> Iterator[tuple[int, list[str]]]:
    """Rows with the number of their last line, quotation marks understood; damaged rows are counted and left out.

    `lines` are blocks of whole lines from line `start_row` on. Raises ImportRefused(cell_too_long).
    """
    decoded = (line for block in lines for line in _lines_of(block))
    reader = csv.reader(decoded, delimiter=table.delimiter, strict=True)
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            row = start_row + reader.line_num - 1
            if "field limit" in str(error):
                raise ImportRefused(
                    "cell_too_long", "A cell is too long; is a quotation mark left open?", row
                ) from None
            problems.drop("bad_quoting", row, "Quotation marks do not match.")
            continue
        if cells and any(cell.strip() for cell in cells):
            yield start_row + reader.line_num - 1, cells


def _lines_of(block: bytes) -> Iterator[str]:
    for line in block.split(b"\n"):
        if line:
            yield line.decode("utf-8", "replace") + "\n"
        else:
            yield "\n"


def _declared(line: str) -> str | None:
    """The delimiter of a line `sep=;`, which spreadsheets write."""
    text = line.strip().strip('"')
    return text[4] if len(text) == 5 and text.lower().startswith("sep=") and text[4] in DELIMITERS.values() else None


def _sample(lines: list[str], delimiter: str) -> list[list[str]]:
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter)
    rows: list[list[str]] = []
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return rows
        except csv.Error as error:
            if "field limit" in str(error):
                raise ImportRefused("cell_too_long", "A cell is too long; is a quotation mark left open?") from None
            continue
        if any(cell.strip() for cell in cells):
            rows.append(cells)


def _delimiter(lines: list[str], answers: Answers, reading: Reading) -> str:
    """The delimiter that makes even rows with names that are known; asked where two do."""
    if answers.delimiter is not None:
        return DELIMITERS[answers.delimiter]
    fitting: list[tuple[str, str, bool]] = []
    for word, delimiter in DELIMITERS.items():
        rows = _sample(lines[:200], delimiter)
        if not rows or len(rows[0]) < 2:
            continue
        width = len(rows[0])
        even = sum(len(row) == width for row in rows) / len(rows)
        if even >= 0.9:
            fitting.append((word, delimiter, _known(rows[0], answers)))
    known = [each for each in fitting if each[2]] or fitting
    if len(known) > 1:
        choices = tuple((word, f"{len(_sample(lines[:1], mark)[0])} columns") for word, mark, _ in known)
        reading.ask("delimiter", "The columns may be parted in more than one way.", *choices)
    if known:
        word, delimiter, _ = known[0]
        if word != "comma":
            reading.assume("delimiter", word, "it parts every row into as many cells as the first line")
        return delimiter
    return ","


def _known(cells: list[str], answers: Answers) -> bool:
    if _is_data(cells):
        return len(cells) >= 3
    try:
        recognise(tuple(normalised(cell) for cell in cells), answers)
    except ImportRefused:
        return False
    return True


def _is_data(cells: list[str]) -> bool:
    """Whether a line holds numbers and times (and names of distributions) but no names of columns."""
    numeric = 0
    for cell in cells:
        text = cell.strip()
        if not text or text.lower() in SERVEGEN_GAPS | {"nan", "none"}:
            continue
        if is_stamp(text) or _is_number(text):
            numeric += 1
            continue
        return False
    return numeric >= 2


def _is_number(text: str) -> bool:
    for decimal in ("point", "comma"):
        try:
            number(text, decimal)
        except BadCell:
            continue
        return True
    return False


def _positions(rows: list[list[str]]) -> tuple[str, ...]:
    """Names for columns without a header: seconds, prompt and output tokens first, or ServeGen's.

    A client of ServeGen that sent nothing in a window has no distribution there: `600,0,0,,0,0`.
    """
    cells = rows[0]
    if len(cells) == len(SERVEGEN_COLUMNS):
        gaps = {row[3].strip().lower() for row in rows if len(row) == len(cells)} - {""}
        if gaps and gaps <= SERVEGEN_GAPS:
            return SERVEGEN_COLUMNS
    first = ("seconds" if not is_stamp(cells[0]) else "timestamp", "prompt_tokens", "output_tokens")
    return tuple(first[i] if i < len(first) else f"column_{i + 1}" for i in range(len(cells)))
