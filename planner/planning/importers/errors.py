"""Why a file is not read at all, and what was wrong with single rows of one that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

MOST_ROWS_NAMED = 10


class ImportRefused(ValueError):  # noqa: N818 - the name reads as the state of the file
    """A file that is not read. `code` is stable, `row` the first line it concerns (1 is the first line), if any.

    Codes: not_a_file, file_unreadable, symlink_refused, empty, too_large, binary, archive_refused, packing_unknown,
    workbook_refused, decompression_bomb, gzip_damaged, line_too_long, cell_too_long, json_invalid, json_too_deep,
    json_too_large, parquet_missing, parquet_damaged, parquet_too_wide, unknown_format, unknown_column, column_twice,
    no_day, no_series, no_token_counts, formula_header,
    unanswered, unknown_answer, not_requests, no_rows, clock_backward, too_many_rows_to_sort.
    """

    def __init__(self, code: str, detail: str, row: int | None = None) -> None:
        self.code = code
        self.detail = detail
        self.row = row
        super().__init__(detail if row is None else f"Row {row}: {detail}")

    def as_dict(self) -> dict[str, object]:
        return {"code": self.code, "detail": self.detail, "row": self.row}


class BadCell(ValueError):  # noqa: N818 - raised and caught for one row
    """A cell that cannot be read; `code` names the rule."""

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        self.detail = detail
        super().__init__(detail)


class Dropped(Exception):  # noqa: N818 - not an error: the row is of another kind
    """A readable row that is no request of the server: `code` is the reason."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


@dataclass(frozen=True, slots=True)
class RowProblem:
    """One row that a rule concerns. code: the rule; row: its line in the file; kept: it is used all the same."""

    code: str
    row: int
    detail: str
    kept: bool


@dataclass(slots=True)
class Problems:
    """Rows that rules concern: all counted, the first ten of each rule named."""

    dropped: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    _named: dict[str, list[RowProblem]] = field(default_factory=dict)

    def drop(self, code: str, row: int, detail: str) -> None:
        """A row that is left out."""
        self._note(code, row, detail, kept=False)

    def keep(self, code: str, row: int, detail: str) -> None:
        """A row that is used although something is odd about it."""
        self._note(code, row, detail, kept=True)

    def _note(self, code: str, row: int, detail: str, *, kept: bool) -> None:
        (self.kept if kept else self.dropped)[code] += 1
        rows = self._named.setdefault(code, [])
        if len(rows) < MOST_ROWS_NAMED:
            rows.append(RowProblem(code, row, detail, kept))

    def __iter__(self) -> Iterator[RowProblem]:
        for rows in self._named.values():
            yield from rows
