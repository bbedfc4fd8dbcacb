"""A run under way: progress by candidate, cancel, and what to do when no worker answers."""

import uuid

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRefresh

from planner.core.health import worker_answers
from planner.runs.models import FINAL_STATES, Run, State
from planner.runs.selectors import run_progress_get, runs_before, usual_durations_s
from planner.runs.services import run_cancel
from planner.web.access import Visit, for_team, found_or_404, must_run, page, run_of
from planner.web.run_view import Line, RunView, run_view


@require_GET
@never_cache
@for_team
def progress(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The page of a run; one that is done shows its report."""
    run = _run(visit, run_id)
    if run.state == State.DONE:
        return redirect("report", run_id=run.pk)
    return page(request, "pages/run.html", visit, {"run": run, "view": _view(run), "section": "scenarios"})


@require_GET
@never_cache
@for_team
def progress_part(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The part of the page that is asked for again and again. Once the run is done it says so, and the page goes to the
    report if someone is looking at it."""
    run = _run(visit, run_id)
    return render(request, "parts/run_progress.html", {"run": run, "view": _view(run), "may_run": visit.may_run})


@require_GET
@never_cache
@for_team
def line(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The run's progress in a list of scenarios; once it has ended the list is asked for anew."""
    run = _run(visit, run_id)
    if run.state in FINAL_STATES:
        return HttpResponseClientRefresh()
    return render(request, "parts/run_line.html", {"run": run})


@require_POST
@for_team
def cancel(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """Ask a run to stop."""
    must_run(visit)
    run_cancel(run=run_of(visit, run_id), user=visit.user)
    return redirect("run", run_id=run_id)


def _run(visit: Visit, run_id: uuid.UUID) -> Run:
    with found_or_404(Run.DoesNotExist):
        return run_progress_get(visit.team, run_id)


def _view(run: Run) -> RunView:
    queued = run.state == State.QUEUED
    line = Line(runs_before(run) if queued else 0, usual_durations_s(run.team) if queued else None)
    return run_view(run, now=timezone.now(), worker_answers=queued and worker_answers(), line=line)
