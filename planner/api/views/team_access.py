"""What lets people and programs into a team: invitations and tokens."""

from datetime import datetime, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request

from planner.api import openapi_teams as openapi
from planner.api.access import Caller
from planner.api.answers import answer
from planner.api.listing import list_rows
from planner.api.query import NoQuery, TimedQuery, read_query
from planner.api.small_body import read_body
from planner.api.views.base import ApiView, ListView
from planner.api.views.teams import PATH, not_by_token, refused_body
from planner.api.wire_teams import Invitation, InvitationMade, InvitationRequest, Token, TokenMade, TokenRequest
from planner.teams import invitations, models
from planner.teams.models import ApiToken, Role, Scope
from planner.teams.rules import Action, scope_allows, widest_scope
from planner.teams.selectors import api_tokens_of, numbered_get, owned_get
from planner.teams.services import token_create, token_revoke

_NO_INVITATION, _NO_TOKEN = "The team has no such invitation.", "The team has no such token."


class InvitationList(ListView):
    """Invitations that can still be used."""

    makes_anew = True
    actions: ClassVar = {"POST": Action.INVITE}

    @extend_schema(**openapi.INVITATION_LIST)
    def get(self, request: Request, team_id: UUID) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = invitations.invitations_open(self.caller.team)
        return list_rows(request, query, rows, Invitation, lambda row: Invitation(**_invitation(row)), "invitations")

    @extend_schema(**openapi.INVITATION_CREATE)
    def post(self, request: Request, team_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, InvitationRequest)
        not_by_token(self.caller, wanted.role)
        try:
            row, secret = invitations.invitation_create(
                team=self.caller.team,
                actor=self.caller.user,
                role=Role(wanted.role),
                email=wanted.email,
                days=wanted.expires_in_days,
            )
        except ValidationError as refused:
            raise refused_body(refused) from None
        body = InvitationMade(**_invitation(row), join_url=request.build_absolute_uri(reverse("join", args=[secret])))
        location = f"{PATH}/{self.caller.team.pk}/invitations/{row.pk}"
        return answer(request, body, status=201, headers={"Location": location})


class InvitationItem(ApiView):
    """One invitation."""

    actions: ClassVar = {"DELETE": Action.INVITE}

    @extend_schema(**openapi.INVITATION_READ)
    def get(self, request: Request, team_id: UUID, invitation_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        row = invitations.invitations_open(self.caller.team).filter(pk=invitation_id).first()
        if row is None:
            raise NotFound(_NO_INVITATION)
        return answer(request, Invitation(**_invitation(row)))

    @extend_schema(**openapi.INVITATION_REVOKE)
    def delete(self, request: Request, team_id: UUID, invitation_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        invitations.invitation_revoke(invitation=self._find(invitation_id), actor=self.caller.user)
        return HttpResponse(status=204)

    def _find(self, invitation_id: UUID) -> models.Invitation:
        try:
            return owned_get(models.Invitation, self.caller.team, invitation_id)
        except models.Invitation.DoesNotExist:
            raise NotFound(_NO_INVITATION) from None


class TokenList(ListView):
    """API tokens of the team and of its members."""

    makes_anew = True
    actions: ClassVar = {"POST": Action.OWN_TOKENS}

    @extend_schema(**openapi.TOKEN_LIST)
    def get(self, request: Request, team_id: UUID) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = api_tokens_of(self.caller.team)
        return list_rows(request, query, rows, Token, lambda row: Token(**_token(row)), "tokens")

    @extend_schema(**openapi.TOKEN_CREATE)
    def post(self, request: Request, team_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, TokenRequest)
        row, text = token_create(
            team=self.caller.team,
            user=self.caller.user,
            scope=_no_wider(self.caller, Scope(wanted.scope)),
            name=wanted.name,
            expires_at=_no_longer(self.caller, timezone.now() + timedelta(days=wanted.expires_in_days)),
        )
        location = f"{PATH}/{self.caller.team.pk}/tokens/{row.pk}"
        return answer(request, TokenMade(**_token(row), token=text), status=201, headers={"Location": location})


class TokenItem(ApiView):
    """One API token: one's own, or as an owner anybody's."""

    actions: ClassVar = {"DELETE": Action.OWN_TOKENS}

    @extend_schema(**openapi.TOKEN_READ)
    def get(self, request: Request, team_id: UUID, token_id: int) -> HttpResponse:
        read_query(request, NoQuery)
        row = api_tokens_of(self.caller.team).filter(pk=token_id).first()
        if row is None:
            raise NotFound(_NO_TOKEN)
        return answer(request, Token(**_token(row)))

    @extend_schema(**openapi.TOKEN_REVOKE)
    def delete(self, request: Request, team_id: UUID, token_id: int) -> HttpResponse:
        read_query(request, NoQuery)
        row = self._find(token_id)
        own = self.caller.is_person and row.user == self.caller.user and not row.of_team
        if not own and not self.caller.may(Action.TEAM_TOKENS):
            raise PermissionDenied("Only an owner revokes tokens of others and of the team.")
        token_revoke(token=row, actor=self.caller.user)
        return HttpResponse(status=204)

    def _find(self, token_id: int) -> ApiToken:
        try:
            return numbered_get(ApiToken, self.caller.team, token_id)
        except ApiToken.DoesNotExist:
            raise NotFound(_NO_TOKEN) from None


def _no_wider(caller: Caller, scope: Scope) -> Scope:
    """The scope, where caller and role fill it. PermissionDenied: more than the caller may do itself."""
    if not caller.is_person:
        raise PermissionDenied("A token of the team makes no tokens.")
    given = caller.token_scope
    if given is not None and not scope_allows(given, scope):
        raise PermissionDenied(f"A token of scope {given} makes none of scope {scope.value}.")
    if not scope_allows(widest_scope(caller.role), scope):
        raise PermissionDenied(f"A {caller.role.value} of a team has no use for scope {scope.value}.")
    return scope


def _no_longer(caller: Caller, expires_at: datetime) -> datetime:
    """A token made by a token ends no later than it."""
    limit = caller.token.expires_at if caller.token else None
    return expires_at if limit is None else min(expires_at, limit)


def _invitation(row: models.Invitation) -> dict[str, Any]:
    return {
        "id": row.pk,
        "role": row.role,
        "email": row.email,
        "created_by": row.created_by.email if row.created_by else None,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
    }


def _token(row: ApiToken) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "prefix": row.prefix,
        "kind": "team" if row.of_team else "personal",
        "user": row.user.email,
        "scope": row.scope,
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "last_used_at": row.last_used_at,
    }
