"""What cells of a spreadsheet ask: one row or one value by GET, and the links that let them."""

from datetime import timedelta
from typing import Any, ClassVar

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from planner import planning
from planner.api import openapi_estimates as openapi
from planner.api.answers import answer
from planner.api.cells import CellView, row_answer
from planner.api.fields import chosen_fields
from planner.api.flat_scenario import FlatInvalid, scenario_from_flat
from planner.api.listing import list_rows
from planner.api.problems import INVALID_PARAMETER, ApiProblem
from planner.api.query import NoQuery, TimedQuery, read_query
from planner.api.sheet_query import SheetQuery
from planner.api.small_body import read_body
from planner.api.views.base import ApiView, ListView
from planner.api.wire import Fault, LinkCreated, LinkRequest, LinkSummary
from planner.datasets.calibrating import with_team_calibrations
from planner.datasets.own import own_of
from planner.scenarios.estimating import cells
from planner.teams.models import LinkToken, Scope
from planner.teams.selectors import link_tokens_of, numbered_get
from planner.teams.services import link_token_create, token_revoke

PATH = "/api/v1/sheets/links"
_NO_LINK = "The team has no such link token."


class SheetEstimate(CellView):
    """The estimate as one row, or one cell; nothing is stored."""

    @extend_schema(**openapi.SHEET_ESTIMATE)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, SheetQuery)
        chosen_fields(query.fields, tuple(planning.ESTIMATE_COLUMNS))  # a wrong column is told before it is computed
        given = query.model_dump(exclude={"fields", "header"}, exclude_none=True)
        try:
            scenario = scenario_from_flat(given, today=timezone.now().date(), own=own_of(self.caller.team))
        except FlatInvalid as error:
            faults = [Fault(**{**e.as_dict(), "pointer": f"?{e.pointer}"}) for e in error.errors]
            raise ApiProblem(INVALID_PARAMETER, "These parameters make no scenario.", errors=faults) from None
        return row_answer(request, query, cells(with_team_calibrations(self.caller.team, scenario)))


class SheetLinks(ListView):
    """The team's link tokens. Making one lends the team's limits to whoever has the address, so it takes `write`."""

    makes_anew = True
    scopes: ClassVar = {"POST": Scope.WRITE}

    @extend_schema(**openapi.LINK_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = link_tokens_of(self.caller.team)
        return list_rows(request, query, rows, LinkSummary, lambda row: LinkSummary(**_summary(row)), "links")

    @extend_schema(**openapi.LINK_CREATE)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, LinkRequest)
        expires_at = timezone.now() + timedelta(days=wanted.expires_in_days)
        row, text = link_token_create(
            team=self.caller.team, user=self.caller.user, name=wanted.name, expires_at=expires_at
        )
        body = LinkCreated(**_summary(row), token=text)
        return answer(request, body, status=201, headers={"Location": f"{PATH}/{row.pk}"})


class SheetLink(ApiView):
    """One link token."""

    scopes: ClassVar = {"DELETE": Scope.WRITE}

    @extend_schema(**openapi.LINK_READ)
    def get(self, request: Request, link_id: int) -> HttpResponse:
        read_query(request, NoQuery)
        row = link_tokens_of(self.caller.team).filter(pk=link_id).first()
        if row is None:
            raise NotFound(_NO_LINK)
        return answer(request, LinkSummary(**_summary(row)))

    @extend_schema(**openapi.LINK_REVOKE)
    def delete(self, request: Request, link_id: int) -> HttpResponse:
        read_query(request, NoQuery)
        token_revoke(token=self._find(link_id), actor=self.caller.user)
        return HttpResponse(status=204)

    def _find(self, link_id: int) -> LinkToken:
        try:
            return numbered_get(LinkToken, self.caller.team, link_id)
        except LinkToken.DoesNotExist:
            raise NotFound(_NO_LINK) from None


def _summary(row: LinkToken) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "prefix": row.prefix,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "last_used_at": row.last_used_at,
    }
