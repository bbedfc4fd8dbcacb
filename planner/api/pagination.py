"""Cursor pages: a cursor names the last item seen, so that rows that come or go meanwhile shift nothing."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Generic, TypeVar

from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet
from rest_framework.request import Request

from planner.api.problems import INVALID_PARAMETER, TOO_MANY_ROWS, ApiProblem
from planner.api.query import PageQuery, TimedQuery
from planner.api.wire import Fault
from planner.planning.errors import show

Item = TypeVar("Item")
Row = TypeVar("Row", bound=Model)
MAX_CSV_ROWS = 10_000
_NEWEST_FIRST = ("-created_at", "pk")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Items of one page and the path of the next, None on the last."""

    items: list[Item]
    next_path: str | None

    @property
    def headers(self) -> dict[str, str]:
        return {"Link": f'<{self.next_path}>; rel="next"'} if self.next_path else {}


def page_newest_first(
    request: Request, query: PageQuery, rows: "QuerySet[Row]", *, oldest_first: bool = False
) -> Page[Row]:
    """A page of rows ordered by (created_at descending, primary key), or turned round; any other order is a fault of
    ours."""
    if tuple(rows.query.order_by) != _NEWEST_FIRST:
        raise ValueError(f"not totally ordered: {rows.query.order_by}")
    if oldest_first:
        rows = rows.order_by("created_at", "-pk")
    if query.cursor is not None:
        at, pk = _read_cursor(query.cursor, rows)
        newer = Q(created_at__gt=at) | Q(created_at=at, pk__lt=pk)
        older = Q(created_at__lt=at) | Q(created_at=at, pk__gt=pk)
        rows = rows.filter(newer if oldest_first else older)
    items = list(rows[: query.limit + 1])
    return _page(request, items, query.limit, lambda row: [row.created_at.isoformat(), str(row.pk)])  # type: ignore[attr-defined]


def page_by_position(
    request: Request, query: PageQuery, rows: Sequence[Mapping[str, Any]]
) -> Page[tuple[int, Mapping[str, Any]]]:
    """A page, with positions, of rows whose order is fixed (a catalog shipped with the program)."""
    start = 0
    if query.cursor is not None:
        parts = _decode(query.cursor)
        if len(parts) != 1 or not (parts[0].isascii() and parts[0].isdecimal() and len(parts[0]) < 10):
            raise _invalid(query.cursor)
        start = int(parts[0])
    numbered = list(enumerate(rows[start : start + query.limit + 1], start))
    return _page(request, numbered, query.limit, lambda item: [str(item[0] + 1)])


def within(rows: "QuerySet[Row]", query: TimedQuery) -> "QuerySet[Row]":
    """The rows made in the days that the query names."""
    if query.created_from is not None:
        rows = rows.filter(created_at__gte=_midnight(query.created_from))
    if query.created_before is not None:
        rows = rows.filter(created_at__lt=_midnight(query.created_before))
    return rows


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def whole_list(rows: "QuerySet[Row]", *, oldest_first: bool = False) -> list[Row]:
    """All rows, for a format that has no pages. ApiProblem 413: more than 10,000."""
    ordered = rows.order_by("created_at", "-pk") if oldest_first else rows
    found = list(ordered[: MAX_CSV_ROWS + 1])
    if len(found) > MAX_CSV_ROWS:
        detail = f"More than {MAX_CSV_ROWS:,} rows; narrow the list with its filters, or take JSON pages."
        raise ApiProblem(TOO_MANY_ROWS, detail)
    return found


def _page(request: Request, items: list[Item], limit: int, cursor: Callable[[Item], list[str]]) -> Page[Item]:
    if len(items) <= limit:
        return Page(items, None)
    kept = items[:limit]
    parameters = request.query_params.copy()
    parameters["cursor"] = _encode(cursor(kept[-1]))
    return Page(kept, f"{request.path}?{parameters.urlencode()}")


def _encode(parts: list[str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def _decode(cursor: str) -> list[str]:
    try:
        parts = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        raise _invalid(cursor) from None
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise _invalid(cursor)
    return parts


def _read_cursor(cursor: str, rows: "QuerySet[Row]") -> tuple[object, object]:
    try:
        at_text, pk_text = _decode(cursor)
        at = datetime.fromisoformat(at_text).astimezone(UTC)
        return at, rows.model._meta.pk.to_python(pk_text)
    except (ValueError, OverflowError, ValidationError):
        raise _invalid(cursor) from None


def _invalid(cursor: str) -> ApiProblem:
    fault = Fault(
        code="invalid_cursor",
        pointer="?cursor",
        given=show(cursor),
        allowed="the cursor of a `next` path",
        detail="This cursor did not come from this list.",
    )
    return ApiProblem(INVALID_PARAMETER, "The cursor is not valid.", errors=[fault])
