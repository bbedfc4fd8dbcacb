"""Saved scenarios, read only, and the check of a scenario without a run."""

import json
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from planner import planning
from planner.api import openapi
from planner.api.answers import answer
from planner.api.body import read_json_body
from planner.api.listing import list_rows
from planner.api.query import NoQuery, TimedQuery, read_query
from planner.api.scenario_body import read_scenario
from planner.api.views.base import ApiView, ListView
from planner.api.wire import ScenarioDetail, ScenarioSummary, ValidScenario, VersionSummary
from planner.scenarios.models import Scenario
from planner.scenarios.selectors import scenario_get, scenarios_of, version_newest
from planner.teams.models import Scope

PATH = "/api/v1/scenarios"
MAX_VERSIONS = 100


class ScenarioList(ListView):
    """All saved scenarios of the team."""

    @extend_schema(**openapi.SCENARIO_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, TimedQuery)
        return list_rows(request, query, scenarios_of(self.caller.team), ScenarioSummary, _shown, "scenarios")


class ScenarioItem(ApiView):
    """One saved scenario."""

    @extend_schema(**openapi.SCENARIO_READ)
    def get(self, request: Request, scenario_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        try:
            scenario = scenario_get(self.caller.team, scenario_id)
        except Scenario.DoesNotExist:
            raise NotFound("The team has no such scenario.") from None
        newest = version_newest(scenario)
        versions = scenario.versions.defer("body").order_by("-number")[:MAX_VERSIONS]
        body = ScenarioDetail(
            **_summary(scenario, newest.number),
            versions=[
                VersionSummary(number=v.number, digest=v.digest, note=v.note, created_at=v.created_at) for v in versions
            ],
            scenario=json.loads(newest.body),
        )
        return answer(request, body)


class ScenarioCheck(ApiView):
    """Says everything that is wrong with a scenario, and starts nothing."""

    scopes: ClassVar = {"POST": Scope.READ}

    @extend_schema(**openapi.SCENARIO_VALIDATE)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        scenario = read_scenario(read_json_body(request))
        canonical = planning.canonical_json(scenario)
        body = ValidScenario(digest=planning.scenario_digest(scenario), scenario=json.loads(canonical))
        return answer(request, body)


def _shown(row: Scenario) -> ScenarioSummary:
    return ScenarioSummary(**_summary(row, getattr(row, "newest_number")))  # noqa: B009 - the selector annotates it


def _summary(scenario: Scenario, newest_number: int) -> dict[str, Any]:
    return {
        "id": scenario.pk,
        "name": scenario.name,
        "newest_number": newest_number,
        "created_at": scenario.created_at,
        "link": f"{PATH}/{scenario.pk}",
    }
