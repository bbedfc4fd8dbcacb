"""Catalog tables: accelerators, models, rental prices, API prices; as JSON pages or as one CSV table."""

import difflib
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request

from planner import planning
from planner.api import openapi_parts as openapi
from planner.api.answers import REVALIDATE
from planner.api.listing import list_table
from planner.api.problems import INVALID_PARAMETER, ApiProblem
from planner.api.query import (
    AcceleratorsQuery,
    ApiPricesQuery,
    CatalogQuery,
    GpuPricesQuery,
    ModelsQuery,
    read_query,
)
from planner.api.views.base import ListView
from planner.api.wire import Fault
from planner.datasets.own import entries_of
from planner.planning.errors import show
from planner.reports.own_rows import ORIGIN, own_rows, public_rows
from planner.reports.tables import Table

Rows = Sequence[Mapping[str, Any]]


class CatalogView(ListView):
    """One table. `kind` is its name in planning; the parameters of `query` beyond those of a page are filters."""

    kind: ClassVar[str]
    query: ClassVar[type[CatalogQuery]]

    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, self.query)
        day = query.priced_at or timezone.now().date()
        public = _listing(self.kind, day)
        own = own_rows(self.kind, _columns(public), entries_of(self.caller.team))
        rows = [row for row in (*own, *public) if query.origin in (None, row[ORIGIN])]
        filters = query.model_dump(exclude=set(CatalogQuery.model_fields), exclude_none=True)
        found = _ordered(_filtered(rows, filters), query.order, _columns(public))
        table, name, also = Table(_columns(public), found), f"{self.kind}-{day}", {"priced_at": day.isoformat()}
        return list_table(request, query, table, name, also=also, cache_control=REVALIDATE)


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


def _listing(kind: str, day: date) -> Rows:
    return _kept(planning.result_version(), kind, day)


@lru_cache(maxsize=32)
def _kept(_version: str, kind: str, day: date) -> Rows:
    return public_rows(kind, day)


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


def _ordered(rows: Rows, order: str | None, columns: Sequence[str]) -> Rows:
    """By one column, what lacks it last, equal ones in the catalog's order. ApiProblem: there is no such column."""
    if order is None:
        return rows
    name = order.removeprefix("-")
    if name not in columns:
        fault = Fault(
            code="unknown_choice",
            pointer="?order",
            given=show(order),
            allowed=", ".join(columns),
            detail="There is no such column.",
        )
        raise ApiProblem(INVALID_PARAMETER, "This order is not offered.", errors=[fault])
    there = [row for row in rows if row[name] is not None]
    absent = [row for row in rows if row[name] is None]
    numbers = all(isinstance(row[name], int | float | Decimal) for row in there)
    there.sort(key=lambda row: row[name] if numbers else str(row[name]), reverse=order.startswith("-"))
    return [*there, *absent]


def _unknown(rows: Rows, name: str, value: str) -> Fault | None:
    known = {str(row[name]).casefold(): str(row[name]) for row in rows}
    if value.casefold() in known:
        return None
    holding = sorted(text for text in known if value.casefold() in text)  # "H100" for H100-SXM5-80GB and its kin
    alike = difflib.get_close_matches(value.casefold(), known, n=5, cutoff=0.5)
    near = list(dict.fromkeys([*holding, *alike]))[:5] or sorted(known)[:5]
    return Fault(
        code="unknown_id",
        pointer=f"?{name}",
        given=show(value),
        allowed=", ".join(known[text] for text in near),
        detail="Nothing in the catalog has it on that day; the nearest are shown.",
    )
