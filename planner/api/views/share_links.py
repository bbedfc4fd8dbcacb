"""Share links: read-only addresses of one report, for people outside the team."""

from typing import Any, ClassVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from planner.api import openapi_sharing as openapi
from planner.api.answers import answer
from planner.api.listing import list_rows
from planner.api.problems import INVALID_BODY, ApiProblem
from planner.api.query import NoQuery, ShareLinkListQuery, read_query
from planner.api.small_body import read_body, refused
from planner.api.views.base import ApiView, ListView
from planner.api.wire import Fault
from planner.api.wire_sharing import ShareLinkCreated, ShareLinkRequest, ShareLinkSummary
from planner.reports.models import ShareLink
from planner.reports.share_links import share_link_create, share_link_path, share_link_revoke, share_links_of
from planner.runs.models import Run
from planner.runs.selectors import run_get
from planner.scenarios.selectors import person
from planner.teams.models import Scope
from planner.teams.selectors import owned_get

PATH = "/api/v1/share-links"


class ShareLinks(ListView):
    """The team's share links."""

    makes_anew = True
    scopes: ClassVar = {"POST": Scope.WRITE}

    @extend_schema(**openapi.SHARE_LINK_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, ShareLinkListQuery)
        rows = share_links_of(self.caller.team)
        if query.run_id is not None:
            rows = rows.filter(run_id=query.run_id)
        return list_rows(request, query, rows, ShareLinkSummary, lambda row: ShareLinkSummary(**_shown(row)), "links")

    @extend_schema(**openapi.SHARE_LINK_CREATE)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, ShareLinkRequest)
        try:
            run = run_get(self.caller.team, wanted.run_id)
            link, secret = share_link_create(
                run=run, user=self.caller.user, name=wanted.name, expires_in_days=wanted.expires_in_days
            )
        except Run.DoesNotExist:
            raise _no_run(wanted.run_id) from None
        except ValidationError as error:
            raise refused(error, "run_id") from None
        body = ShareLinkCreated(**_shown(link), path=share_link_path(secret))
        return answer(request, body, status=201, headers={"Location": body.link})


class ShareLinkItem(ApiView):
    """One share link."""

    scopes: ClassVar = {"DELETE": Scope.WRITE}

    @extend_schema(**openapi.SHARE_LINK_READ)
    def get(self, request: Request, share_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, ShareLinkSummary(**_shown(self._link(share_id))))

    @extend_schema(**openapi.SHARE_LINK_REVOKE)
    def delete(self, request: Request, share_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        share_link_revoke(link=self._link(share_id), user=self.caller.user)
        return HttpResponse(status=204)

    def _link(self, share_id: UUID) -> ShareLink:
        try:
            return owned_get(ShareLink, self.caller.team, share_id)
        except ShareLink.DoesNotExist:
            raise NotFound("The team has no such share link.") from None


def _no_run(run_id: UUID) -> ApiProblem:
    fault = Fault(
        code="not_found",
        pointer="/run_id",
        given=str(run_id),
        allowed="the id of a finished run of the team",
        detail="The team has no such run.",
    )
    return ApiProblem(INVALID_BODY, fault.detail, errors=[fault])


def _shown(link: ShareLink) -> dict[str, Any]:
    return {
        "id": link.pk,
        "name": link.name,
        "run_id": link.run_id,
        "author": person(link.created_by),
        "created_at": link.created_at,
        "expires_at": link.expires_at,
        "expired": link.expires_at <= timezone.now(),
        "last_used_at": link.last_used_at,
        "link": f"{PATH}/{link.pk}",
    }
