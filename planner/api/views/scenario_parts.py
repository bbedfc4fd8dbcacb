"""What belongs to a saved scenario: differences, copies, archive, tags, comments."""

from typing import ClassVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request

from planner import planning
from planner.api import openapi_scenarios as openapi
from planner.api.answers import answer
from planner.api.conditional import check_version
from planner.api.listing import as_table, list_rows, table_answer
from planner.api.query import DiffQuery, NoQuery, TimedQuery, read_query
from planner.api.scenario_body import invalid_scenario
from planner.api.small_body import read_body, refused
from planner.api.views.base import ListView
from planner.api.views.scenarios import PATH, ScenarioView, created, version_path
from planner.api.wire_scenarios import (
    CommentRequest,
    CommentSummary,
    CopyRequest,
    Diff,
    DifferenceRow,
    Tags,
    VersionAt,
)
from planner.reports.tables import Table
from planner.scenarios.diff import differences
from planner.scenarios.models import Comment, ScenarioVersion
from planner.scenarios.selectors import comments_of, person, version_newest
from planner.scenarios.upkeep import (
    comment_add,
    comment_delete,
    scenario_archive,
    scenario_copy,
    scenario_tag,
    scenario_unarchive,
)
from planner.teams.models import Scope, Team
from planner.teams.selectors import teams_of


class ScenarioDiff(ListView, ScenarioView):
    """Where two versions differ, of one scenario or of two."""

    @extend_schema(**openapi.DIFF)
    def get(self, request: Request, scenario_id: UUID) -> HttpResponse:
        query = read_query(request, DiffQuery)
        scenario = self.scenario(scenario_id)
        other = scenario if query.other is None else self.scenario(query.other)
        first, second = self.version(scenario, query.from_number), self.version(other, query.to)
        rows = [
            DifferenceRow(pointer=row.pointer, old=row.old, new=row.new)
            for row in differences([first.document, second.document])
        ]
        if as_table(request):
            table = Table(("pointer", "old", "new"), [row.model_dump() for row in rows])
            return table_answer(request, table, f"differences-{scenario_id}")
        return answer(request, Diff(first=_at(first), second=_at(second), differences=rows))


class ScenarioCopy(ScenarioView):
    """A version as version 1 of a new scenario."""

    makes_anew = True
    scopes: ClassVar = {"POST": Scope.WRITE}
    http_method_names = ["post"]

    @extend_schema(**openapi.COPY)
    def post(self, request: Request, scenario_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        version = self.version(self.scenario(scenario_id), (wanted := read_body(request, CopyRequest)).number)
        team = self.caller.team if wanted.team_id is None else self._other_team(wanted.team_id)
        try:
            copy = scenario_copy(version=version, team=team, user=self.caller.user, name=wanted.name)
        except planning.ScenarioInvalid as error:
            raise invalid_scenario(error) from None
        except ValidationError as error:
            raise refused(error) from None
        return created(request, copy.scenario, copy)

    def _other_team(self, team_id: UUID) -> Team:
        if self.caller.token is not None and team_id != self.caller.team.pk:
            raise PermissionDenied("A token acts for one team: read here and save there with a token of that team.")
        team = teams_of(self.caller.user).filter(pk=team_id).first()
        if team is None:
            raise PermissionDenied("You may not save scenarios in that team.")
        return team


class ScenarioArchive(ScenarioView):
    """PUT puts the scenario away, DELETE brings it back; twice is once."""

    scopes: ClassVar = {"PUT": Scope.WRITE, "DELETE": Scope.WRITE}
    http_method_names = ["put", "delete"]

    @extend_schema(**openapi.ARCHIVE)
    def put(self, request: Request, scenario_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        scenario = self.scenario(scenario_id)
        check_version(request, version_newest(scenario))
        scenario_archive(scenario=scenario, user=self.caller.user)
        return HttpResponse(status=204)

    @extend_schema(**openapi.UNARCHIVE)
    def delete(self, request: Request, scenario_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        scenario = self.scenario(scenario_id)
        check_version(request, version_newest(scenario))
        scenario_unarchive(scenario=scenario, user=self.caller.user)
        return HttpResponse(status=204)


class ScenarioTags(ScenarioView):
    """The tags of a scenario, as a whole."""

    scopes: ClassVar = {"PUT": Scope.WRITE}
    by_version = True
    http_method_names = ["get", "head", "put"]

    @extend_schema(**openapi.TAGS_READ)
    def get(self, request: Request, scenario_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, Tags(tags=[tag.name for tag in self.scenario(scenario_id).tags.all()]))

    @extend_schema(**openapi.TAGS_WRITE)
    def put(self, request: Request, scenario_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        scenario = self.scenario(scenario_id)
        wanted = read_body(request, Tags)
        own = self.shown_etag(request, self.get, {"scenario_id": scenario_id})
        check_version(request, version_newest(scenario), etag=own)
        try:
            return answer(request, Tags(tags=scenario_tag(scenario=scenario, user=self.caller.user, names=wanted.tags)))
        except ValidationError as error:
            raise refused(error, "tags") from None


class CommentList(ListView, ScenarioView):
    """What was said about a scenario."""

    makes_anew = True
    scopes: ClassVar = {"POST": Scope.WRITE}

    @extend_schema(**openapi.COMMENT_LIST)
    def get(self, request: Request, scenario_id: UUID) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = comments_of(self.scenario(scenario_id))
        return list_rows(request, query, rows, CommentSummary, _comment, f"comments-{scenario_id}")

    @extend_schema(**openapi.COMMENT_CREATE)
    def post(self, request: Request, scenario_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        scenario = self.scenario(scenario_id)
        wanted = read_body(request, CommentRequest)
        try:
            comment = comment_add(scenario=scenario, user=self.caller.user, text=wanted.text)
        except ValidationError as error:
            raise refused(error, "text") from None
        body = _comment(comment)
        return answer(request, body, status=201, headers={"Location": body.link})


class CommentItem(ScenarioView):
    """One comment; who wrote it and owners of the team delete it."""

    scopes: ClassVar = {"DELETE": Scope.WRITE}
    http_method_names = ["get", "head", "delete"]

    @extend_schema(**openapi.COMMENT_READ)
    def get(self, request: Request, scenario_id: UUID, comment_id: int) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, _comment(self._find(scenario_id, comment_id)))

    @extend_schema(**openapi.COMMENT_DELETE)
    def delete(self, request: Request, scenario_id: UUID, comment_id: int) -> HttpResponse:
        read_query(request, NoQuery)
        comment = self._find(scenario_id, comment_id)
        if not self.caller.is_person:
            raise PermissionDenied("A token of the team takes back no comments: they are of people.")
        comment_delete(comment=comment, user=self.caller.user)
        return HttpResponse(status=204)

    def _find(self, scenario_id: UUID, comment_id: int) -> Comment:
        comment = comments_of(self.scenario(scenario_id)).filter(pk=comment_id).first()
        if comment is None:
            raise NotFound("The scenario has no such comment.")
        return comment


def _at(version: ScenarioVersion) -> VersionAt:
    return VersionAt(scenario_id=version.scenario_id, number=version.number, link=version_path(version))


def _comment(comment: Comment) -> CommentSummary:
    return CommentSummary(
        id=comment.pk,
        text=comment.text,
        author=person(comment.created_by),
        version_number=comment.version.number,
        created_at=comment.created_at,
        link=f"{PATH}/{comment.scenario_id}/comments/{comment.pk}",
    )
