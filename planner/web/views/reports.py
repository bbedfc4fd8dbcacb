"""The report of a finished run: whole for the engineer, on one sheet for the manager, and as files."""

import json
import uuid
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_GET

from planner.reports.csv_text import csv_of_table
from planner.reports.export_xlsx import MEDIA_TYPE as XLSX
from planner.reports.export_xlsx import report_xlsx
from planner.reports.moved_prices import moved_prices
from planner.reports.sections import groups_of
from planner.reports.sheet import sheet_view
from planner.reports.tables import LABELS, TABLES
from planner.reports.view import report_view, summary
from planner.runs.backtests import measurements_after
from planner.runs.models import Run
from planner.runs.selectors import run_report_bytes
from planner.web.access import Visit, for_team, page, run_of
from planner.web.what_if import sliders_of

MEASUREMENTS_SHOWN = 5


@require_GET
@for_team
def report(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """Every section; a run without a report yet shows its progress."""
    run = run_of(visit, run_id)
    stored = run_report_bytes(run)
    if stored is None:
        return redirect("run", run_id=run.pk)
    content = json.loads(stored)
    shown, sliders = report_view(content, timezone.now().date()), sliders_of(content)
    context = {
        "report": shown,
        "groups": groups_of(shown, sliders=bool(sliders)),
        "summary": summary(content),
        "sliders": sliders,
        "moved_prices": moved_prices(content, timezone.now().date()),
        "tables": LABELS.items(),
        "measured": measurements_after(run)[:MEASUREMENTS_SHOWN],
    }
    return page(request, "pages/report.html", visit, _frame(run) | context)


@require_GET
@for_team
def sheet(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The answer and what it rests on, on one sheet of paper."""
    run = run_of(visit, run_id)
    stored = run_report_bytes(run)
    if stored is None:
        return redirect("run", run_id=run.pk)
    content = json.loads(stored)
    context = {"sheet": sheet_view(content, timezone.now().date()), "summary": summary(content)}
    return page(request, "pages/report_sheet.html", visit, _frame(run) | context)


@require_GET
@for_team
def report_json(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The bytes that the API and the command give too."""
    run, stored = _stored(visit, run_id)
    return _file(stored, "application/json", f"{_file_name(run)}.json")


@require_GET
@for_team
def report_workbook(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The report as a workbook with live formulas."""
    run, stored = _stored(visit, run_id)
    return _file(report_xlsx(json.loads(stored)), XLSX, f"{_file_name(run)}.xlsx")


@require_GET
@for_team
def report_csv(request: HttpRequest, visit: Visit, run_id: uuid.UUID, table: str) -> HttpResponse:
    """One table of the report, as the API gives it."""
    run, stored = _stored(visit, run_id)
    if table not in TABLES:
        raise Http404
    return _file(csv_of_table(TABLES[table](json.loads(stored))), "text/csv", f"{_file_name(run)}-{table}.csv")


def _stored(visit: Visit, run_id: uuid.UUID) -> tuple[Run, bytes]:
    run = run_of(visit, run_id)
    stored = run_report_bytes(run)
    if stored is None:
        raise Http404
    return run, stored


def _file(content: bytes, media_type: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "private, no-cache"}
    return HttpResponse(content, content_type=media_type, headers=headers)


def _file_name(run: Run) -> str:
    return slugify(run.name) or "report"


def _frame(run: Run) -> dict[str, Any]:
    """The run, the saved scenario behind it, if it has one, and whether it has moved on."""
    frame: dict[str, Any] = {"run": run, "section": "scenarios", "scenario": None, "version": None}
    version = run.scenario_version
    if version is None:
        return frame
    newest = version.scenario.versions.latest("number").number
    return frame | {
        "scenario": version.scenario,
        "version": version,
        "moved_number": version.number,
        "next_number": newest + 1,
        "newer_version": newest if newest != version.number else None,
    }
