"""Lists in the format asked for: JSON pages, or one CSV table; with the columns asked for."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from planner.api.answers import REVALIDATE, answer
from planner.api.fields import chosen_fields
from planner.api.pagination import Row, page_by_position, page_newest_first, whole_list, within
from planner.api.query import ListQuery, TimedQuery
from planner.api.renderers import Csv, Xlsx
from planner.api.wire import Wire
from planner.reports.tables import Table


def as_table(request: Request) -> bool:
    """Whether the answer is to be a whole table, CSV or a workbook."""
    return request.accepted_renderer.format in (Csv.format, Xlsx.format)


def list_rows(
    request: Request, query: TimedQuery, rows: "QuerySet[Row]", kind: type[Wire], show: Callable[[Row], Wire], name: str
) -> HttpResponse:
    """Rows of the database, newest first unless asked otherwise. kind: what `show` makes of a row."""
    rows, oldest_first = within(rows, query), query.order == "created_at"
    if as_table(request):
        found = [flat_row(_dumped(show(row))) for row in whole_list(rows, oldest_first=oldest_first)]
        known = flat_columns(kind)
        return table_answer(request, Table(chosen_fields(query.fields, known), found), name)
    columns = chosen_fields(query.fields, _names(kind))
    page = page_newest_first(request, query, rows, oldest_first=oldest_first)
    items = [{name: value for name, value in _dumped(show(row)).items() if name in columns} for row in page.items]
    ordered = [{name: item[name] for name in columns} for item in items]
    return answer(request, {"items": ordered, "next": page.next_path}, headers=page.headers)


def list_table(
    request: Request,
    query: ListQuery,
    table: Table,
    name: str,
    *,
    also: Mapping[str, Any] | None = None,
    cache_control: str = REVALIDATE,
) -> HttpResponse:
    """Rows of a fixed order. also: what a JSON page says beside them."""
    columns = chosen_fields(query.fields, table.columns)
    if as_table(request):
        return table_answer(request, Table(columns, table.rows), name, cache_control=cache_control)
    page = page_by_position(request, query, table.rows)
    items = [{column: row.get(column) for column in columns} for _, row in page.items]
    body = {**(also or {}), "items": items, "next": page.next_path}
    return answer(request, body, headers=page.headers, cache_control=cache_control)


def table_answer(request: Request, table: Table, name: str, *, cache_control: str = REVALIDATE) -> HttpResponse:
    """A file of this name."""
    headers = {"Content-Disposition": f'inline; filename="{name}.{request.accepted_renderer.format}"'}
    return answer(request, table, headers=headers, cache_control=cache_control)


def _dumped(item: Wire) -> dict[str, Any]:
    return item.model_dump(mode="python", by_alias=True)


def _names(kind: type[Wire]) -> tuple[str, ...]:
    return tuple(field.serialization_alias or name for name, field in kind.model_fields.items())


def flat_columns(kind: type[Wire]) -> tuple[str, ...]:
    """Columns of a flat row: what is an object becomes a column per value, `links.self` as `links_self`."""
    columns: list[str] = []
    for name, field in kind.model_fields.items():
        inner = _inner(field.annotation)
        own = field.serialization_alias or name
        columns += [f"{own}_{below}" for below in _names(inner)] if inner else [own]
    return tuple(columns)


def _inner(annotation: Any) -> type[Wire] | None:
    options: Sequence[Any] = getattr(annotation, "__args__", (annotation,))
    return next((option for option in options if isinstance(option, type) and issubclass(option, Wire)), None)


def flat_row(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as a row of these columns."""
    flat: dict[str, Any] = {}
    for name, value in item.items():
        flat[name] = value  # of an object without fields of its own there is one column, with its JSON
        if isinstance(value, dict):
            flat.update({f"{name}_{below}": inner for below, inner in value.items()})
    return flat
