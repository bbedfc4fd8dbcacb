"""A run under way: progress by candidate, cancel, and what to do when no worker answers."""

import uuid
from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST
from django_htmx.http import HttpResponseClientRedirect

from planner.core.health import worker_answers
from planner.reports.evidence import CANDIDATE_COLUMNS, candidate_row
from planner.reports.parts import Table
from planner.runs.models import FINAL_STATES, Run, State
from planner.runs.services import run_cancel
from planner.web.access import Visit, for_team, must_run, page, run_of

PATIENCE = timedelta(seconds=5)


@require_GET
@never_cache
@for_team
def progress(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The page of a run; one that is done shows its report."""
    run = run_of(visit, run_id)
    if run.state == State.DONE:
        return redirect("report", run_id=run.pk)
    return page(request, "pages/run.html", visit, _context(run))


@require_GET
@never_cache
@for_team
def progress_part(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The part of the page that is asked for again and again; it leads to the report once there is one."""
    run = run_of(visit, run_id)
    if run.state == State.DONE:
        return HttpResponseClientRedirect(reverse("report", args=[run.pk]))
    return render(request, "parts/run_progress.html", _context(run) | {"may_run": visit.may_run})


@require_POST
@for_team
def cancel(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """Ask a run to stop."""
    must_run(visit)
    run_cancel(run=run_of(visit, run_id))
    return redirect("run", run_id=run_id)


def _context(run: Run) -> dict[str, Any]:
    rows = run.partial if isinstance(run.partial, list) else []
    best = min((row for row in rows if row.get("usd_per_month")), key=_mid, default=None)
    ordered = sorted(rows, key=lambda row: (not row["feasible"], _mid(row) if row.get("usd_per_month") else 0.0))
    chosen = best["id"] if best else None
    waiting = run.state == State.QUEUED and timezone.now() - run.created_at > PATIENCE
    started = run.started_at or run.created_at
    version = run.scenario_version
    return {
        "run": run,
        "version": version,
        "scenario": version.scenario if version else None,
        "section": "scenarios",
        "final": run.state in FINAL_STATES,
        "candidates": Table(
            "Candidates of this run", CANDIDATE_COLUMNS, tuple(candidate_row(row, chosen) for row in ordered)
        ),
        "done": len(rows),
        "meeting": sum(1 for row in rows if row["feasible"]),
        "best_usd_per_month": _mid(best) if best else None,
        "elapsed_s": max(0, int(((run.finished_at or timezone.now()) - started).total_seconds())),
        "worker_down": waiting and not worker_answers(),
        "waiting": waiting,
    }


def _mid(row: dict[str, Any]) -> float:
    return float(row["usd_per_month"]["mid"])
