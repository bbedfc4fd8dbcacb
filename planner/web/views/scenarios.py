"""Saved scenarios: the list, the form for new ones and new versions, and running one again."""

import json
import uuid
from typing import Any

from django.core.paginator import Paginator
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from planner import planning
from planner.planning import Scenario as Parsed
from planner.runs.models import Run
from planner.runs.services import run_submit
from planner.scenarios.models import Scenario, ScenarioVersion
from planner.scenarios.selectors import scenario_get, scenarios_of, version_newest
from planner.scenarios.services import VersionConflict, scenario_create, scenario_edit
from planner.web.access import Visit, for_team, must_edit, must_run, page
from planner.web.catalog_lists import choices
from planner.web.forms import submission
from planner.web.forms.scenario import form_view, gpu_rows, other_gpus
from planner.web.forms.submission import Submission
from planner.web.forms.values import Values, first, values_of
from planner.web.listing import scenario_rows

PER_PAGE = 25


@require_GET
@for_team
def listing(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The team's scenarios, newest first."""
    shown = Paginator(scenarios_of(visit.team), PER_PAGE).get_page(request.GET.get("page"))
    context = {"rows": scenario_rows(shown.object_list), "shown": shown, "total": shown.paginator.count}
    return page(request, "pages/scenarios.html", visit, context | {"section": "scenarios"})


@require_GET
@for_team
def detail(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """One scenario with its versions and their runs."""
    scenario = _scenario(visit, scenario_id)
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


@require_http_methods(["GET", "POST"])
@for_team
def new(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The form, filled with the sample; sent, it saves version 1 and runs it."""
    must_edit(visit)
    if request.method == "GET":
        return _form(request, visit, _blank(), None)
    sent = submission.read(request, timezone.now().date())
    if sent.parsed is None or sent.fixing:
        return _form(request, visit, sent.values, sent)
    return _to_run(request, _create_and_run(visit, sent.parsed))


@require_http_methods(["GET", "POST"])
@for_team
def edit(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """The form, filled with the newest version; sent, it saves the next one and runs it."""
    must_edit(visit)
    scenario = _scenario(visit, scenario_id)
    newest = version_newest(scenario)
    editing: dict[str, Any] = {"scenario": scenario, "base_number": newest.number}
    if request.method == "GET":
        return _form(request, visit, values_of(json.loads(newest.body)), None, editing)
    sent = submission.read(request, timezone.now().date())
    base = request.POST.get("base_number", "")
    base_number = int(base) if base.isdecimal() and len(base) < 10 else newest.number
    note = "".join(c for c in request.POST.get("note", "") if c.isprintable()).strip()[:500]
    editing |= {"base_number": base_number, "note": note}
    if sent.parsed is None or sent.fixing:
        return _form(request, visit, sent.values, sent, editing)
    try:
        run = _edit_and_run(visit, scenario, sent.parsed, base_number, note)
    except VersionConflict as conflict:
        editing |= {"conflict": conflict.newest, "base_number": conflict.newest.number}
        return _form(request, visit, sent.values, sent, editing, status=409)
    return _to_run(request, run)


@require_POST
@for_team
def rerun(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """Run the newest version again; the same question with the same versions gives the report that is there."""
    must_run(visit)
    version = version_newest(_scenario(visit, scenario_id))
    parsed = planning.parse_scenario(version.body)
    return redirect(
        "run", run_id=run_submit(team=visit.team, user=visit.user, parsed=parsed, scenario_version=version).pk
    )


@transaction.atomic
def _create_and_run(visit: Visit, parsed: Parsed) -> Run:
    version = scenario_create(team=visit.team, user=visit.user, parsed=parsed)
    return run_submit(team=visit.team, user=visit.user, parsed=parsed, scenario_version=version)


@transaction.atomic
def _edit_and_run(visit: Visit, scenario: Scenario, parsed: Parsed, base_number: int, note: str) -> Run:
    version: ScenarioVersion = scenario_edit(
        scenario=scenario, user=visit.user, parsed=parsed, base_number=base_number, note=note
    )
    return run_submit(team=visit.team, user=visit.user, parsed=parsed, scenario_version=version)


def _to_run(request: HttpRequest, run: Run) -> HttpResponse:
    if getattr(request, "htmx", False):
        return HttpResponseClientRedirect(reverse("run", args=[run.pk]))
    return redirect("run", run_id=run.pk)


def _blank() -> Values:
    """The sample, under a name of its own."""
    values = values_of(planning.sample_scenario())
    values["name"] = ["New scenario"]
    return values


def _form(
    request: HttpRequest,
    visit: Visit,
    values: Values,
    sent: Submission | None,
    editing: dict[str, Any] | None = None,
    status: int | None = None,
) -> HttpResponse:
    form = form_view(
        values, sent.problems if sent else (), choices(timezone.now().date(), first(values, "model.id", ""))
    )
    context = {
        "form": form,
        "gpu_rows": gpu_rows(form, values),
        "other_gpus": other_gpus(form, values),
        "trace_text": values.get(submission.TRACE, [""])[0],
        "fixed": bool(sent and sent.fixing),
        "section": "scenarios",
        **(editing or {}),
    }
    template = "forms/scenario.html" if getattr(request, "htmx", False) else "pages/scenario_form.html"
    return page(request, template, visit, context, status=status or (422 if form.problems else 200))


def _scenario(visit: Visit, scenario_id: uuid.UUID) -> Scenario:
    try:
        return scenario_get(visit.team, scenario_id)
    except Scenario.DoesNotExist as missing:
        raise Http404 from missing
