"""A team's own prices, models and accelerators."""

from typing import ClassVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from planner import planning
from planner.api import openapi_catalog as openapi
from planner.api.answers import answer, json_etag
from planner.api.conditional import check_if_match
from planner.api.listing import list_rows
from planner.api.problems import IF_MATCH_NEEDED, INVALID_BODY, VERSION_CONFLICT, ApiProblem
from planner.api.query import NoQuery, TimedQuery, read_query
from planner.api.small_body import read_body
from planner.api.views.base import ApiView, ListView
from planner.api.views.teams import refused_body
from planner.api.wire import Fault
from planner.api.wire_catalog import Entry, EntryChange, EntryRequest
from planner.datasets.models import CatalogEntry, EntryKind
from planner.datasets.own import entries_of, entry_delete, entry_save
from planner.planning.errors import pointer
from planner.teams.models import Scope
from planner.teams.selectors import owned_get

PATH = "/api/v1/catalog/entries"


class EntryList(ListView):
    """Everything that the team keeps of its own."""

    scopes: ClassVar = {"POST": Scope.WRITE}

    @extend_schema(**openapi.ENTRY_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, TimedQuery)
        return list_rows(request, query, entries_of(self.caller.team), Entry, _entry, "entries")

    @extend_schema(**openapi.ENTRY_SAVE)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, EntryRequest)
        try:
            row, is_new = entry_save(
                team=self.caller.team,
                actor=self.caller.user,
                kind=EntryKind(wanted.kind),
                value=wanted.value,
                source=wanted.source,
                as_of=wanted.as_of,
                guard=lambda known: _as_expected(request, known),
            )
        except planning.ScenarioInvalid as error:
            raise _refused(error) from None
        except ValidationError as refused:
            raise refused_body(refused) from None
        return answer(request, _entry(row), status=201 if is_new else 200, headers={"Location": f"{PATH}/{row.pk}"})


def _as_expected(request: Request, known: CatalogEntry | None) -> None:
    """ApiProblem 412: what would be replaced is not what the caller's headers allow."""
    if "If-Match" in request.headers:
        check_if_match(request, json_etag(_entry(known)) if known else None)
    if request.headers.get("If-None-Match", "").strip() == "*" and known is not None:
        raise ApiProblem(VERSION_CONFLICT, f"The team has {known.name} already; nothing was changed.")


class EntryItem(ApiView):
    """One entry."""

    scopes: ClassVar = {"PUT": Scope.WRITE, "DELETE": Scope.WRITE}

    @extend_schema(**openapi.ENTRY_READ)
    def get(self, request: Request, entry_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, _entry(self._find(entry_id)))

    @extend_schema(**openapi.ENTRY_CHANGE)
    def put(self, request: Request, entry_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        if "If-Match" not in request.headers:
            raise ApiProblem(IF_MATCH_NEEDED, "Send If-Match with the ETag of the entry that you read.")
        old, wanted = self._find(entry_id), read_body(request, EntryChange)

        def same_name(known: CatalogEntry | None) -> None:
            if known != old:
                raise ApiProblem(INVALID_BODY, "The value has another name.", errors=[_renamed(old)])

        try:
            row, _ = entry_save(
                team=self.caller.team,
                actor=self.caller.user,
                kind=EntryKind(old.kind),
                value=wanted.value,
                source=wanted.source,
                as_of=wanted.as_of,
                guard=same_name,
            )
        except planning.ScenarioInvalid as error:
            raise _refused(error) from None
        return answer(request, _entry(row))

    @extend_schema(**openapi.ENTRY_DELETE)
    def delete(self, request: Request, entry_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        entry_delete(entry=self._find(entry_id), actor=self.caller.user)
        return HttpResponse(status=204)

    def _find(self, entry_id: UUID) -> CatalogEntry:
        try:
            return owned_get(CatalogEntry, self.caller.team, entry_id)
        except CatalogEntry.DoesNotExist:
            raise NotFound("The team has no such entry.") from None


def _refused(error: planning.ScenarioInvalid) -> ApiProblem:
    """Every fault, with pointers into the body."""
    faults = [
        Fault(**{**e.as_dict(), "pointer": e.pointer if e.pointer == "/source" else pointer("value") + e.pointer})
        for e in error.errors
    ]
    return ApiProblem(INVALID_BODY, "This would make no valid scenario; nothing was saved.", errors=faults)


def _renamed(old: CatalogEntry) -> Fault:
    detail = "An entry keeps its name; post the other one, and delete this."
    return Fault(code="another_name", pointer="/value", given="", allowed=old.name, detail=detail)


def _entry(row: CatalogEntry) -> Entry:
    return Entry(
        id=row.pk,
        kind=EntryKind(row.kind).value,
        name=row.name,
        value=row.value,
        source=row.source,
        as_of=row.as_of,
        created_by=row.created_by.email if row.created_by else None,
        created_at=row.created_at,
    )
