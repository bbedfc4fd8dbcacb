"""The first page: the question for a newcomer, the scenarios for a team at work."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods

from planner import planning
from planner.reports.sections import groups_of
from planner.reports.view import ReportView, report_view, summary
from planner.runs.models import Run, State
from planner.runs.sample import sample_done, sample_submit
from planner.scenarios.selectors import scenarios_of
from planner.web.access import Visit, for_team, must_run, page, visit_of
from planner.web.drafts import MOST_DRAFTS_SHOWN, drafts_of
from planner.web.listing import ScenarioRow, scenario_rows
from planner.web.starts import start_cards
from planner.web.views.scenarios import listing


@require_GET
def home(request: HttpRequest) -> HttpResponseBase:
    """A stranger sees the question and the sample; a member the team's scenarios, with the sample's report on top
    while there is nothing else."""
    visit = visit_of(request)
    context: dict[str, Any] = {"section": "home", "sample": planning.sample_scenario()}
    context["cards"] = start_cards()
    if visit is None:
        run = sample_done()
        return page(request, "pages/home.html", None, context | _report_of(run, reverse("sample")))
    rows = scenario_rows(scenarios_of(visit.team)[:2])
    if len(rows) == 2:
        return listing(request)
    drafts = drafts_of(visit.team, visit.user)[:MOST_DRAFTS_SHOWN]
    context |= {"rows": rows, "drafts": drafts, "section": "scenarios"} | _first_report(rows)
    return page(request, "pages/home.html", visit, context)


def _first_report(rows: list[ScenarioRow]) -> dict[str, Any]:
    run = rows[0].run if rows else None
    return {"run": run} | _report_of(run, reverse("report", args=[run.pk]) if run else "")


def _report_of(run: Run | None, address: str) -> dict[str, Any]:
    """What the sheet beside the question shows; nothing without a finished run."""
    if run is None or run.state != State.DONE:
        return {}
    shown: ReportView = report_view(json.loads(run.report), timezone.now().date())
    chart = shown.break_even or shown.cost_chart
    return {"report": shown, "chart": chart, "finished_at": run.finished_at, "address": address}


@require_http_methods(["GET", "POST"])
def sample(request: HttpRequest) -> HttpResponseBase:
    """The sample's report, for everyone; sent, the sample is saved and run for the team."""
    if request.method == "POST":
        return _sample_run(request)
    run = sample_done()
    if run is None:
        return redirect("home")
    content = json.loads(run.report)
    shown = report_view(content, timezone.now().date())
    context = {"report": shown, "groups": groups_of(shown), "summary": summary(content)}
    return page(
        request, "pages/sample.html", visit_of(request), context | {"finished_at": run.finished_at, "shared": True}
    )


@for_team
def _sample_run(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Save and run the sample for the team."""
    must_run(visit)
    run: Run = sample_submit(user=visit.user, team=visit.team)
    return redirect("report" if run.state == State.DONE else "run", run_id=run.pk)
