"""Saved scenarios and their versions, and the check of a scenario without a run."""

import json
from typing import Any, ClassVar
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from planner import planning
from planner.api import openapi_runs, openapi_scenarios
from planner.api.answers import answer
from planner.api.body import read_json_body
from planner.api.conditional import check_version, conflict
from planner.api.listing import list_rows
from planner.api.query import NoQuery, ScenarioListQuery, TimedQuery, read_query
from planner.api.scenario_body import read_scenario, scenario_within
from planner.api.small_body import read_body, refused
from planner.api.views.base import ApiView, ListView
from planner.api.wire import ValidScenario
from planner.api.wire_scenarios import (
    ScenarioDetail,
    ScenarioRequest,
    ScenarioSummary,
    VersionDetail,
    VersionRequest,
    VersionSummary,
)
from planner.datasets.own import own_of
from planner.scenarios.models import Scenario, ScenarioVersion
from planner.scenarios.selectors import person, scenario_get, scenarios_of, version_newest, versions_of
from planner.scenarios.services import VersionConflict, scenario_create, scenario_edit
from planner.scenarios.upkeep import scenario_tag
from planner.teams.models import Scope

PATH = "/api/v1/scenarios"
MAX_VERSIONS = 100


class ScenarioView(ApiView):
    """A view of one saved scenario."""

    def scenario(self, scenario_id: UUID) -> Scenario:
        """NotFound: the team has no such scenario."""
        try:
            return scenario_get(self.caller.team, scenario_id)
        except Scenario.DoesNotExist:
            raise NotFound("The team has no such scenario.") from None

    def version(self, scenario: Scenario, number: int | None) -> ScenarioVersion:
        """The newest without a number. NotFound: the scenario has no such version."""
        try:
            found = scenario.versions.select_related("created_by")
            return version_newest(scenario) if number is None else found.get(number=number)
        except (ScenarioVersion.DoesNotExist, OverflowError):
            raise NotFound("The scenario has no such version.") from None


class ScenarioList(ListView):
    """All saved scenarios of the team."""

    makes_anew = True
    scopes: ClassVar = {"POST": Scope.WRITE}

    @extend_schema(**openapi_scenarios.SCENARIO_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, ScenarioListQuery)
        rows = scenarios_of(self.caller.team, archived=query.archived, tag=query.tag, search=query.search or "")
        return list_rows(request, query, rows.prefetch_related("tags"), ScenarioSummary, _shown, "scenarios")

    @extend_schema(**openapi_scenarios.SCENARIO_CREATE)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, ScenarioRequest)
        parsed = scenario_within(wanted.scenario, "scenario", own_of(self.caller.team))
        try:
            with transaction.atomic():
                team, user = self.caller.team, self.caller.user
                version = scenario_create(team=team, user=user, parsed=parsed, note=wanted.note)
                if wanted.tags:
                    scenario_tag(scenario=version.scenario, user=user, names=wanted.tags)
        except ValidationError as error:
            raise refused(error, "tags") from None
        return created(request, version.scenario, version)


class ScenarioItem(ScenarioView):
    """One saved scenario."""

    @extend_schema(**openapi_scenarios.SCENARIO_READ)
    def get(self, request: Request, scenario_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        scenario = self.scenario(scenario_id)
        newest = version_newest(scenario)
        return answer(request, _detail(scenario, newest), version=newest.number)


class VersionList(ListView, ScenarioView):
    """The versions of a scenario; posting makes the next one."""

    scopes: ClassVar = {"POST": Scope.WRITE}

    @extend_schema(**openapi_scenarios.VERSION_LIST)
    def get(self, request: Request, scenario_id: UUID) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = versions_of(self.scenario(scenario_id))
        return list_rows(request, query, rows, VersionSummary, _version, f"versions-{scenario_id}")

    @extend_schema(**openapi_scenarios.VERSION_CREATE)
    def post(self, request: Request, scenario_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        scenario = self.scenario(scenario_id)
        wanted = read_body(request, VersionRequest)
        newest = version_newest(scenario)
        check_version(request, newest, required=True)
        parsed = scenario_within(wanted.scenario, "scenario", own_of(self.caller.team))
        try:
            saved = scenario_edit(
                scenario=scenario,
                user=self.caller.user,
                parsed=parsed,
                base_number=newest.number,
                note=wanted.note,
            )
        except VersionConflict as meanwhile:
            raise conflict(meanwhile.newest, request.headers.get("If-Match", "")) from None
        except ValidationError as error:
            raise refused(error) from None
        unchanged = saved.pk == newest.pk
        headers = {"Location": version_path(saved)}
        return answer(request, version_detail(saved), status=200 if unchanged else 201, headers=headers)


class VersionItem(ScenarioView):
    """One version; it never changes."""

    @extend_schema(**openapi_scenarios.VERSION_READ)
    def get(self, request: Request, scenario_id: UUID, number: int) -> HttpResponse:
        read_query(request, NoQuery)
        version = self.version(self.scenario(scenario_id), number)
        return answer(request, version_detail(version), version=version.number)


class ScenarioCheck(ApiView):
    """Says everything that is wrong with a scenario, and starts nothing."""

    scopes: ClassVar = {"POST": Scope.READ}

    @extend_schema(**openapi_runs.SCENARIO_VALIDATE)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        scenario = read_scenario(read_json_body(request), own_of(self.caller.team))
        canonical = planning.canonical_json(scenario)
        body = ValidScenario(digest=planning.scenario_digest(scenario), scenario=json.loads(canonical))
        return answer(request, body)


def created(request: Request, scenario: Scenario, newest: ScenarioVersion) -> HttpResponse:
    """The answer to a scenario that was just made."""
    return answer(request, _detail(scenario, newest), status=201, headers={"Location": f"{PATH}/{scenario.pk}"})


def version_detail(version: ScenarioVersion) -> VersionDetail:
    """A version with its content."""
    return VersionDetail(**_version(version).model_dump(), scenario=version.document)


def version_path(version: ScenarioVersion) -> str:
    """Where a version is read."""
    return f"{PATH}/{version.scenario_id}/versions/{version.number}"


def _shown(row: Scenario) -> ScenarioSummary:
    return ScenarioSummary(**_summary(row, getattr(row, "newest_number")))  # noqa: B009 - the selector annotates it


def _detail(scenario: Scenario, newest: ScenarioVersion) -> ScenarioDetail:
    return ScenarioDetail(
        **_summary(scenario, newest.number),
        versions=[_version(version) for version in versions_of(scenario)[:MAX_VERSIONS]],
        scenario=newest.document,
    )


def _version(version: ScenarioVersion) -> VersionSummary:
    return VersionSummary(
        number=version.number,
        digest=version.digest,
        note=version.note,
        created_at=version.created_at,
        author=person(version.created_by),
        priced_at=version.priced_at,
        link=version_path(version),
    )


def _summary(scenario: Scenario, newest_number: int) -> dict[str, Any]:
    return {
        "id": scenario.pk,
        "name": scenario.name,
        "newest_number": newest_number,
        "created_at": scenario.created_at,
        "link": f"{PATH}/{scenario.pk}",
        "changed_at": scenario.changed_at,
        "archived_at": scenario.archived_at,
        "tags": [tag.name for tag in scenario.tags.all()],
    }
