"""What if: the sliders of a report answered by the closed form, and a full run of where they stand."""

import json
import uuid
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from planner import planning
from planner.planning.what_if import changed_scenario
from planner.runs.models import Run
from planner.runs.selectors import run_report_bytes
from planner.runs.services import run_submit
from planner.scenarios.selectors import version_newest
from planner.scenarios.services import scenario_create, scenario_edit
from planner.web import what_if
from planner.web.access import Visit, for_team, must_edit, page, run_of


@dataclass(frozen=True, slots=True)
class Asked:
    """A report's scenario with its sliders as they were sent; `faults` says what is wrong with them."""

    run: Run
    report: dict[str, Any]
    scenario: planning.Scenario | None
    sliders: tuple[what_if.Slider, ...]
    faults: tuple[str, ...]


@require_http_methods(["GET", "POST"])
@for_team
def estimate(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The answer alone for the report's script, else a page with sliders and answer. Nothing is kept."""
    asked = _asked(visit, run_id, request.POST)
    context = _context(asked)
    template = "report/what_if_answer.html" if getattr(request, "htmx", False) else "pages/what_if.html"
    return page(request, template, visit, context, status=422 if context["faults"] else 200)


@require_POST
@for_team
def run(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """Save what the sliders say as the scenario's next version, and run it."""
    must_edit(visit)
    asked = _asked(visit, run_id, request.POST)
    faults = asked.faults
    if not faults and asked.scenario is not None:
        try:
            change = what_if.change_of(asked.report, asked.sliders)
            started = _save_and_run(visit, asked, changed_scenario(asked.scenario, change))
            return redirect("run", run_id=started.pk)
        except planning.ScenarioInvalid as invalid:
            faults = tuple(error.detail for error in invalid.errors)
    return page(request, "pages/what_if.html", visit, _context(asked) | {"faults": faults}, status=422)


def _asked(visit: Visit, run_id: uuid.UUID, texts: QueryDict) -> Asked:
    found = run_of(visit, run_id)
    stored = run_report_bytes(found)
    if stored is None:
        raise Http404
    report = json.loads(stored)
    try:
        scenario = planning.parse_scenario(report["provenance"]["scenario"])
    except planning.ScenarioInvalid as invalid:  # saved under an earlier catalog or schema
        return Asked(found, report, None, (), tuple(error.detail for error in invalid.errors))
    return Asked(found, report, scenario, *what_if.read(what_if.sliders_of(report), _texts(texts)))


def _texts(sent: QueryDict) -> dict[str, str]:
    return {name: str(text) for name, text in sent.items()}


def _context(asked: Asked) -> dict[str, Any]:
    faults, answer = asked.faults, None
    if asked.scenario is not None and not faults:
        try:
            answer = what_if.answer(asked.report, asked.scenario, asked.sliders)
        except planning.ScenarioInvalid as invalid:
            faults = tuple(error.detail for error in invalid.errors)
    return {
        "run": asked.run,
        "sliders": asked.sliders,
        "answer": answer,
        "faults": faults,
        "name": asked.report["name"],
        "section": "scenarios",
    }


@transaction.atomic
def _save_and_run(visit: Visit, asked: Asked, parsed: planning.Scenario) -> Run:
    """The next version of the run's scenario, after whatever was saved meanwhile; a run without a scenario gets one."""
    note, version = what_if.note_of(asked.sliders)[:500], asked.run.scenario_version
    if version is None or "calibrations" not in version.document:  # the run had those of the team that were in use
        parsed = parsed.model_copy(update={"calibrations": None})
    if version is None:
        saved = scenario_create(team=visit.team, user=visit.user, parsed=parsed, note=note)
    else:
        newest = version_newest(version.scenario)
        saved = scenario_edit(
            scenario=version.scenario, user=visit.user, parsed=parsed, base_number=newest.number, note=note
        )
    return run_submit(team=visit.team, user=visit.user, parsed=parsed, scenario_version=saved)
