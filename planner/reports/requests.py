"""The simulated requests of a run, read from its parts: rows where they are asked for, or a Parquet file."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, overload

from planner import planning
from planner.reports.tables import Row
from planner.runs.models import RequestPart, Run
from planner.runs.selectors import run_requests

Columns = dict[str, list[Any]]
_WHOLE = {"request", "replica", "prompt_tokens", "output_tokens", "cached_tokens", "preemptions"}
_TEXT = {"class", "outcome"}


class ParquetMissing(Exception):  # noqa: N818 - the name says what is the case
    """pyarrow, which is optional, is not installed."""


class RequestRows(Sequence[Row]):
    """The rows by position; a slice reads only the parts that it touches."""

    def __init__(self, run: Run) -> None:
        self._parts = list(run_requests(run).defer("data"))
        self._ends = list(accumulate(part.requests for part in self._parts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, int):
            return self[place : place + 1][0]
        start, stop, _ = place.indices(len(self))
        rows: list[Row] = []
        for part, end in zip(self._parts, self._ends, strict=True):
            first = end - part.requests
            if first < stop and end > start:
                names, *columns = _transposed(_columns(part, first))
                within = columns[max(0, start - first) : stop - first]
                rows += [dict(zip(names, values, strict=True)) for values in within]
        return rows

    def columns(self) -> Iterator[Columns]:
        """Whole parts, one at a time."""
        for part, end in zip(self._parts, self._ends, strict=True):
            yield _columns(part, end - part.requests)


def _columns(part: RequestPart, first: int) -> Columns:
    data = RequestPart.objects.values_list("data", flat=True).get(pk=part.pk)
    return planning.request_columns(bytes(data), first)


def _transposed(columns: Columns) -> list[tuple[Any, ...]]:
    return [tuple(columns), *zip(*columns.values(), strict=True)]


def requests_parquet(rows: RequestRows, names: Sequence[str]) -> bytes:
    """These columns as a Parquet file, a row group for each part. ParquetMissing."""
    try:
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ParquetMissing from None
    schema = arrow.schema([(name, _type(arrow, name)) for name in names])
    out = io.BytesIO()
    with parquet.ParquetWriter(out, schema) as writer:
        for columns in rows.columns():
            writer.write_table(arrow.table({name: columns[name] for name in names}, schema=schema))
    return out.getvalue()


def _type(arrow: Any, name: str) -> Any:
    if name in _WHOLE:
        return arrow.int64()
    if name in _TEXT:
        return arrow.string()
    return arrow.bool_() if name == "judged" else arrow.float64()
