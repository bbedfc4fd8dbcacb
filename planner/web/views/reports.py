"""The report of a finished run, as a page and as its exact bytes."""

import json
import uuid
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from planner.reports.view import report_view, summary
from planner.runs.models import Run
from planner.runs.selectors import run_report_bytes
from planner.web.access import Visit, for_team, page, run_of


@require_GET
@for_team
def report(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The report; a run without one yet shows its progress."""
    run = run_of(visit, run_id)
    stored = run_report_bytes(run)
    if stored is None:
        return redirect("run", run_id=run.pk)
    content = json.loads(stored)
    context = {
        "run": run,
        "report": report_view(content, timezone.now().date()),
        "summary": summary(content),
        "section": "scenarios",
    }
    return page(request, "pages/report.html", visit, context | _saved(run))


@require_GET
@for_team
def report_json(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The bytes that the API and the command give too."""
    run = run_of(visit, run_id)
    stored = run_report_bytes(run)
    if stored is None:
        raise Http404
    name = slugify(run.name) or "report"
    return HttpResponse(
        stored,
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}.json"', "Cache-Control": "private, no-cache"},
    )


def _saved(run: Run) -> dict[str, Any]:
    """The saved scenario behind the run, if it has one, and whether it has moved on."""
    version = run.scenario_version
    if version is None:
        return {"scenario": None, "version": None}
    newest = version.scenario.versions.latest("number").number
    return {
        "scenario": version.scenario,
        "version": version,
        "next_number": newest + 1,
        "newer_version": newest if newest != version.number else None,
    }
