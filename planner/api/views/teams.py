"""The team, its members and its audit log."""

from typing import Any, ClassVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request

from planner import planning
from planner.api import openapi_teams as openapi
from planner.api.access import Caller
from planner.api.answers import answer
from planner.api.listing import list_rows
from planner.api.problems import INVALID_BODY, LAST_OWNER, ApiProblem
from planner.api.query import AuditQuery, NoQuery, TimedQuery, read_query
from planner.api.small_body import read_body
from planner.api.views.base import ApiView, ListView
from planner.api.wire import Fault
from planner.api.wire_teams import AuditRow, Member, MemberChange, TeamChange, TeamDetail, TeamSummary
from planner.datasets.own import defaults_save
from planner.planning.errors import pointer
from planner.teams import members
from planner.teams.audit import audit_events_of
from planner.teams.models import AuditEvent, Membership, Role, Team
from planner.teams.rules import Action
from planner.teams.selectors import membership_get, memberships_of

PATH = "/api/v1/teams"


class TeamList(ListView):
    """The teams that the caller sees."""

    @extend_schema(**openapi.TEAM_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, TimedQuery)
        caller = self.caller
        if caller.token is not None:
            roles = {caller.team.pk: caller.role}
        else:
            roles = {row.team_id: Role(row.role) for row in memberships_of(caller.user)}
        rows = Team.objects.filter(pk__in=roles).order_by("-created_at", "pk")
        return list_rows(request, query, rows, TeamSummary, lambda row: _summary(row, roles[row.pk]), "teams")


class TeamItem(ApiView):
    """One team."""

    actions: ClassVar = {"PATCH": Action.SETTINGS}

    @extend_schema(**openapi.TEAM_READ)
    def get(self, request: Request, team_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, _detail(self.caller.team, self.caller.role))

    @extend_schema(**openapi.TEAM_CHANGE)
    @transaction.atomic
    def patch(self, request: Request, team_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, TeamChange)
        team = self.caller.team
        if wanted.name is not None:
            try:
                team = members.team_rename(team=team, actor=self.caller.user, name=wanted.name)
            except ValidationError as refused:
                raise refused_body(refused) from None
        if wanted.defaults is not None:
            try:
                team = defaults_save(team=team, actor=self.caller.user, defaults=wanted.defaults)
            except planning.ScenarioInvalid as error:
                faults = [Fault(**{**e.as_dict(), "pointer": pointer("defaults") + e.pointer}) for e in error.errors]
                raise ApiProblem(INVALID_BODY, "These defaults make no valid scenario.", errors=faults) from None
        return answer(request, _detail(team, self.caller.role))


class MemberList(ListView):
    """Who belongs to the team."""

    @extend_schema(**openapi.MEMBER_LIST)
    def get(self, request: Request, team_id: UUID) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = Membership.objects.filter(team=self.caller.team).select_related("user").order_by("-created_at", "pk")
        return list_rows(request, query, rows, Member, _member, "members")


class MemberItem(ApiView):
    """One member. Everybody may leave; changing others takes an owner."""

    actions: ClassVar = {"PATCH": Action.MANAGE_MEMBERS, "DELETE": Action.LEAVE}

    @extend_schema(**openapi.MEMBER_READ)
    def get(self, request: Request, team_id: UUID, user_id: int) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, _member(_membership(self.caller.team, user_id)))

    @extend_schema(**openapi.MEMBER_CHANGE)
    def patch(self, request: Request, team_id: UUID, user_id: int) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, MemberChange)
        not_by_token(self.caller, wanted.role)
        try:
            row = members.member_role_change(
                membership=_membership(self.caller.team, user_id), actor=self.caller.user, role=Role(wanted.role)
            )
        except members.LastOwner as refused:
            raise ApiProblem(LAST_OWNER, str(refused)) from None
        return answer(request, _member(row))

    @extend_schema(**openapi.MEMBER_REMOVE)
    def delete(self, request: Request, team_id: UUID, user_id: int) -> HttpResponse:
        read_query(request, NoQuery)
        row = _membership(self.caller.team, user_id)
        oneself = row.user == self.caller.user and self.caller.is_person
        if not oneself and not self.caller.may(Action.MANAGE_MEMBERS):
            raise PermissionDenied("Only an owner removes others.")
        try:
            members.member_remove(membership=row, actor=self.caller.user)
        except members.LastOwner as refused:
            raise ApiProblem(LAST_OWNER, str(refused)) from None
        return HttpResponse(status=204)


class AuditList(ListView):
    """Who changed what."""

    @extend_schema(**openapi.AUDIT_LIST)
    def get(self, request: Request, team_id: UUID) -> HttpResponse:
        query = read_query(request, AuditQuery)
        rows = audit_events_of(self.caller.team)
        wanted = {
            "action": query.action,
            "actor_label": query.actor,
            "object_kind": query.object_kind,
            "object_id": query.object_id,
        }
        rows = rows.filter(**{name: value for name, value in wanted.items() if value is not None})
        return list_rows(request, query, rows, AuditRow, _audit_row, "audit")


def refused_body(refused: ValidationError) -> ApiProblem:
    """What a service refused, by field."""
    by_field = refused.message_dict if hasattr(refused, "error_dict") else {"": refused.messages}
    faults = [
        Fault(
            code="invalid", pointer=f"/{name}" if name not in ("", "__all__") else "", given="", allowed="", detail=text
        )
        for name, texts in by_field.items()
        for text in texts
    ]
    return ApiProblem(INVALID_BODY, faults[0].detail, errors=faults)


def not_by_token(caller: Caller, role: str) -> None:
    """PermissionDenied where a token would make an owner, who could do more than the token."""
    if caller.token is not None and role == Role.OWNER:
        raise PermissionDenied("A token makes no owners: do it from the pages.")


def _membership(team: Team, user_id: int) -> Membership:
    try:
        return membership_get(team, user_id)
    except Membership.DoesNotExist:
        raise NotFound("The team has no such member.") from None


def _summary(team: Team, role: Role) -> TeamSummary:
    return TeamSummary(**_fields(team, role))


def _detail(team: Team, role: Role) -> TeamDetail:
    return TeamDetail(**_fields(team, role), defaults=team.defaults)


def _fields(team: Team, role: Role) -> dict[str, Any]:
    return {
        "id": team.pk,
        "name": team.name,
        "role": role.value,
        "created_at": team.created_at,
        "link": f"{PATH}/{team.pk}",
    }


def _member(row: Membership) -> Member:
    return Member(
        id=row.user_id,
        email=row.user.email,
        name=row.user.name,
        role=Role(row.role).value,
        created_at=row.created_at,
    )


def _audit_row(row: AuditEvent) -> AuditRow:
    return AuditRow(
        id=row.pk,
        created_at=row.created_at,
        actor=row.actor_label,
        via=row.via,
        action=row.action,
        object_kind=row.object_kind,
        object_id=row.object_id,
        object_label=row.object_label,
        details=row.details,
        request_id=row.request_id,
    )
