"""Catalog tables: accelerators, models, rental prices, API prices; as JSON pages or as one CSV table."""

import difflib
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import Any, ClassVar

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request

from planner import planning
from planner.api import openapi
from planner.api.answers import ONE_MINUTE, answer
from planner.api.pagination import page_by_position
from planner.api.problems import INVALID_PARAMETER, ApiProblem
from planner.api.query import (
    AcceleratorsQuery,
    ApiPricesQuery,
    CatalogQuery,
    GpuPricesQuery,
    ModelsQuery,
    read_query,
)
from planner.api.renderers import Csv, Json, Table
from planner.api.views.base import ApiView
from planner.api.wire import CatalogPage, Fault
from planner.planning.errors import show

Rows = Sequence[Mapping[str, Any]]


class CatalogView(ApiView):
    """One table. `kind` is its name in planning; the parameters of `query` beyond those of a page are filters."""

    kind: ClassVar[str]
    query: ClassVar[type[CatalogQuery]]
    renderer_classes = [Json, Csv]

    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, self.query)
        day = query.priced_at or timezone.now().date()
        rows = _listing(self.kind, day)
        filters = query.model_dump(exclude=set(CatalogQuery.model_fields), exclude_none=True)
        found = _filtered(rows, filters)
        if request.accepted_renderer.format == Csv.format:
            name = f"{self.kind}-{day}.csv"
            headers = {"Content-Disposition": f'inline; filename="{name}"'}
            return answer(request, Table(_columns(rows), found), headers=headers, cache_control=ONE_MINUTE)
        page = page_by_position(request, query, found)
        items = [dict(row) for _, row in page.items]
        body = CatalogPage(priced_at=day.isoformat(), items=items, next=page.next_path)
        return answer(request, body, headers=page.headers, cache_control=ONE_MINUTE)


@extend_schema_view(get=extend_schema(**openapi.catalog("accelerators", AcceleratorsQuery)))
class Accelerators(CatalogView):
    kind, query = "accelerators", AcceleratorsQuery


@extend_schema_view(get=extend_schema(**openapi.catalog("models", ModelsQuery)))
class Models(CatalogView):
    kind, query = "models", ModelsQuery


@extend_schema_view(get=extend_schema(**openapi.catalog("gpu-prices", GpuPricesQuery)))
class GpuPrices(CatalogView):
    kind, query = "gpu-prices", GpuPricesQuery


@extend_schema_view(get=extend_schema(**openapi.catalog("api-prices", ApiPricesQuery)))
class ApiPrices(CatalogView):
    kind, query = "api-prices", ApiPricesQuery


@lru_cache(maxsize=32)
def _listing(kind: str, day: date) -> Rows:
    return tuple(planning.catalog_listing(kind, day))


def _columns(rows: Rows) -> tuple[str, ...]:
    """Planning's own order; taken from all rows, so that a filter does not change it."""
    return tuple(dict.fromkeys(name for row in rows for name in row))


def _filtered(rows: Rows, filters: Mapping[str, str]) -> Rows:
    """Rows equal to every filter, whatever the case. ApiProblem: no row has this value; the nearest are named."""
    unknown = [fault for name, value in filters.items() if (fault := _unknown(rows, name, value))]
    if unknown:
        raise ApiProblem(INVALID_PARAMETER, "The catalog has nothing of this name.", errors=unknown)
    wanted = {name: value.casefold() for name, value in filters.items()}
    return [row for row in rows if all(str(row[name]).casefold() == value for name, value in wanted.items())]


def _unknown(rows: Rows, name: str, value: str) -> Fault | None:
    known = {str(row[name]).casefold(): str(row[name]) for row in rows}
    if value.casefold() in known:
        return None
    near = difflib.get_close_matches(value.casefold(), known, n=5, cutoff=0.5) or sorted(known)[:5]
    return Fault(
        code="unknown_id",
        pointer=f"?{name}",
        given=show(value),
        allowed=", ".join(known[text] for text in near),
        detail="Nothing in the catalog has it on that day; the nearest are shown.",
    )
