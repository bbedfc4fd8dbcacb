"""The first page: the question for a newcomer, the scenarios for a team at work."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from planner import planning
from planner.reports.view import ReportView, report_view
from planner.runs.models import Run, State
from planner.runs.sample import sample_submit
from planner.scenarios.selectors import scenarios_of
from planner.web.access import Visit, for_team, must_run, page, visit_of
from planner.web.listing import ScenarioRow, scenario_rows

SHOWN = 25


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """A stranger sees the question and the sample; a member the team's scenarios, with the sample's report on top
    while there is nothing else."""
    visit = visit_of(request)
    context: dict[str, Any] = {"section": "home", "sample": planning.sample_scenario()}
    if visit is None:
        return page(request, "pages/home.html", None, context)
    rows = scenario_rows(scenarios_of(visit.team)[:SHOWN])
    context |= {"rows": rows, "total": scenarios_of(visit.team).count(), "section": "scenarios"}
    if len(rows) < 2:
        context |= _first_report(rows)
        return page(request, "pages/home.html", visit, context)
    return page(request, "pages/scenarios.html", visit, context)


def _first_report(rows: list[ScenarioRow]) -> dict[str, Any]:
    run = rows[0].run if rows else None
    shown: ReportView | None = None
    if run is not None and run.state == State.DONE:
        shown = report_view(json.loads(run.report), timezone.now().date())
    return {"run": run, "report": shown, "chart": shown.break_even or shown.cost_chart if shown else None}


@require_POST
@for_team
def sample_run(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Save and run the sample for the team."""
    must_run(visit)
    run: Run = sample_submit(user=visit.user, team=visit.team)
    return redirect("report" if run.state == State.DONE else "run", run_id=run.pk)
