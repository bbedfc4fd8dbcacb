"""Saved scenarios: the list, one with its versions, and running one again."""

import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_GET, require_POST

from planner import planning
from planner.runs.models import Run
from planner.runs.services import run_submit
from planner.scenarios.selectors import scenarios_of, version_newest
from planner.web.access import Visit, for_team, must_run, page
from planner.web.listing import paged, scenario_rows
from planner.web.views.scenario_form import scenario_of


@require_GET
@for_team
def listing(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The team's scenarios, newest first."""
    shown = paged(request, scenarios_of(visit.team))
    context = {"rows": scenario_rows(shown.object_list), "shown": shown, "total": shown.paginator.count}
    return page(request, "pages/scenarios.html", visit, context | {"section": "scenarios"})


@require_GET
@for_team
def detail(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """One scenario with its versions and their runs."""
    scenario = scenario_of(visit, scenario_id)
    versions = list(scenario.versions.select_related("created_by").order_by("-number"))
    runs: dict[Any, list[Run]] = {}
    for run in (
        Run.objects.filter(scenario_version__in=versions).defer("body", "partial", "report").order_by("-created_at")
    ):
        runs.setdefault(run.scenario_version_id, []).append(run)
    context = {
        "scenario": scenario,
        "versions": [(version, runs.get(version.pk, [])) for version in versions],
        "row": scenario_rows([scenario])[0],
        "section": "scenarios",
    }
    return page(request, "pages/scenario.html", visit, context)


@require_POST
@for_team
def rerun(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """Run the newest version again; the same question with the same versions gives the report that is there."""
    must_run(visit)
    version = version_newest(scenario_of(visit, scenario_id))
    parsed = planning.parse_scenario(version.body)
    return redirect(
        "run", run_id=run_submit(team=visit.team, user=visit.user, parsed=parsed, scenario_version=version).pk
    )
