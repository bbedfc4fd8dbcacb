"""The scenario form: new scenarios and new versions."""

import json
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from planner import planning
from planner.datasets.models import Trace
from planner.datasets.own import own_of
from planner.planning import Scenario as Parsed
from planner.runs.models import Run
from planner.runs.services import run_submit
from planner.scenarios.models import Scenario, ScenarioVersion
from planner.scenarios.selectors import scenario_get, version_newest
from planner.scenarios.services import VersionConflict, scenario_create, scenario_edit
from planner.scenarios.upkeep import copy_name
from planner.web.access import Visit, for_team, must_edit, page
from planner.web.catalog_lists import choices, with_own
from planner.web.differences import conflict_table
from planner.web.drafts import (
    MOST_DRAFTS_SHOWN,
    DraftTooLarge,
    Edited,
    draft_discard,
    draft_get,
    draft_of_edit,
    draft_save,
    drafts_of,
)
from planner.web.forms import submission
from planner.web.forms.scenario import form_view, gpu_rows, other_gpu_fields, other_gpus
from planner.web.forms.submission import Submission
from planner.web.forms.values import Values, first, values_of
from planner.web.models import Draft
from planner.web.starts import start_values, with_defaults, with_fitted, with_trace
from planner.web.traces import kept_trace, trace_options, trace_reader


@dataclass(frozen=True, slots=True)
class Desk:
    """What the form works on: the draft's id, the draft if there is one already, where the texts came from, the trace
    of the version that is edited."""

    draft_id: uuid.UUID
    draft: Draft | None = None
    start: str = ""
    kept: Mapping[str, Any] | None = None
    editing: dict[str, Any] = field(default_factory=dict)


@require_http_methods(["GET", "POST"])
@for_team
def new(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The form, filled with the sample or what the address names; sent, it saves version 1 and runs it."""
    must_edit(visit)
    if request.method == "GET":
        try:
            values, desk = _opening(request, visit)
        except Draft.DoesNotExist:
            messages.info(request, "That draft was saved as a scenario, or discarded. This is a new one.")
            return redirect("scenario-new")
        return _form(request, visit, values, None, desk)
    sent = submission.read(request.POST, timezone.now().date(), trace_reader(visit.team, None), own_of(visit.team))
    desk = Desk(sent_draft_id(request))
    if sent.parsed is None or sent.fixing:
        _keep(visit, sent, desk)
        return _form(request, visit, sent.values, sent, desk)
    return _to_run(request, _create_and_run(visit, sent.parsed, desk.draft_id))


@require_http_methods(["GET", "POST"])
@for_team
def edit(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """The form, filled with what was typed last, else with the newest version; sent, it saves the next one and runs
    it."""
    must_edit(visit)
    scenario = scenario_of(visit, scenario_id)
    newest = version_newest(scenario)
    document = json.loads(newest.body)
    editing: dict[str, Any] = {"scenario": scenario, "base_number": newest.number}
    desk = Desk(uuid.uuid4(), kept=kept_trace(document), editing=editing)
    if request.method == "GET":
        draft = draft_of_edit(visit.team, visit.user, scenario)
        values = values_of(document)
        if draft is not None:
            desk = replace(desk, draft_id=draft.pk, draft=draft, editing=editing | {"base_number": draft.base_number})
            values = draft.values
        return _form(request, visit, _with_asked_trace(request, visit, values), None, desk)
    desk = replace(desk, draft_id=sent_draft_id(request))
    traces, own_catalog = trace_reader(visit.team, desk.kept), own_of(visit.team)
    sent = submission.read(request.POST, timezone.now().date(), traces, own_catalog, document)
    base_number = sent_base_number(request) or newest.number
    note = "".join(c for c in request.POST.get("note", "") if c.isprintable()).strip()[:500]
    desk.editing.update(base_number=base_number, note=note)
    if sent.parsed is None or sent.fixing:
        _keep(visit, sent, desk)
        return _form(request, visit, sent.values, sent, desk)
    if request.POST.get("save") == "copy":
        own = sent.parsed.model_copy(update={"name": copy_name(sent.parsed.name)})
        return _to_run(request, _create_and_run(visit, own, desk.draft_id))
    try:
        run = _edit_and_run(visit, scenario, sent.parsed, base_number, note, desk.draft_id)
    except VersionConflict as conflict:
        _keep(visit, sent, desk)
        desk.editing.update(
            conflict=conflict.newest,
            base_number=conflict.newest.number,
            clash=conflict_table(scenario, base_number, conflict.newest, sent.parsed),
        )
        return _form(request, visit, sent.values, sent, desk, status=409)
    return _to_run(request, run)


def _keep(visit: Visit, sent: Submission, desk: Desk) -> None:
    """Keep what was sent and cannot be run as a draft, for those whose browser runs no scripts too."""
    edited = Edited(desk.editing["scenario"], desk.editing["base_number"]) if desk.editing else None
    with suppress(Draft.DoesNotExist, DraftTooLarge):  # the texts are on the page that answers
        draft_save(team=visit.team, user=visit.user, draft_id=desk.draft_id, values=sent.values, edited=edited)


def scenario_of(visit: Visit, scenario_id: uuid.UUID | str) -> Scenario:
    """A scenario of the visitor's team, or page not found."""
    try:
        return scenario_get(visit.team, scenario_id)
    except Scenario.DoesNotExist as missing:
        raise Http404 from missing


def sent_draft_id(request: HttpRequest) -> uuid.UUID:
    """The draft that the form was sent from; a new one where it names none."""
    try:
        return uuid.UUID(request.POST.get("draft", ""))
    except ValueError:
        return uuid.uuid4()


def sent_base_number(request: HttpRequest) -> int | None:
    """The version that the sent form began with."""
    base = request.POST.get("base_number", "")
    return int(base) if base.isdecimal() and len(base) < 10 else None


def _opening(request: HttpRequest, visit: Visit) -> tuple[Values, Desk]:
    """First texts of a new scenario, by the address: `draft`, `from` a start, `trace` or `fitted` of the team.

    Draft.DoesNotExist: it is gone.
    """
    asked = request.GET
    try:
        if "draft" in asked:
            draft = draft_get(visit.team, visit.user, uuid.UUID(asked["draft"]))
            values, desk = draft.values, Desk(draft.pk, draft)
        else:
            start = asked.get("from", "")
            values, desk = with_defaults(start_values(start), visit.team), Desk(uuid.uuid4(), start=start)
    except (KeyError, ValueError) as missing:
        raise Http404 from missing
    return _with_asked_trace(request, visit, values), desk


def _with_asked_trace(request: HttpRequest, visit: Visit, values: Values) -> Values:
    """The texts with the trace that the address names, to replay or as the traffic fitted to it."""
    asked = request.GET
    try:
        if "trace" in asked:
            return with_trace(values, visit.team, uuid.UUID(asked["trace"]))
        if "fitted" in asked:
            return with_fitted(values, visit.team, uuid.UUID(asked["fitted"]))
    except (ValueError, Trace.DoesNotExist) as missing:
        raise Http404 from missing
    return values


@transaction.atomic
def _create_and_run(visit: Visit, parsed: Parsed, draft_id: uuid.UUID) -> Run:
    version = scenario_create(team=visit.team, user=visit.user, parsed=parsed)
    draft_discard(team=visit.team, user=visit.user, draft_id=draft_id)
    return run_submit(team=visit.team, user=visit.user, parsed=parsed, scenario_version=version)


@transaction.atomic
def _edit_and_run(
    visit: Visit, scenario: Scenario, parsed: Parsed, base_number: int, note: str, draft_id: uuid.UUID
) -> Run:
    version: ScenarioVersion = scenario_edit(
        scenario=scenario, user=visit.user, parsed=parsed, base_number=base_number, note=note
    )
    draft_discard(team=visit.team, user=visit.user, draft_id=draft_id)
    return run_submit(team=visit.team, user=visit.user, parsed=parsed, scenario_version=version)


def _to_run(request: HttpRequest, run: Run) -> HttpResponse:
    if getattr(request, "htmx", False):
        return HttpResponseClientRedirect(reverse("run", args=[run.pk]))
    return redirect("run", run_id=run.pk)


def _form(
    request: HttpRequest,
    visit: Visit,
    values: Values,
    sent: Submission | None,
    desk: Desk,
    status: int | None = None,
) -> HttpResponse:
    form = form_view(
        values,
        sent.problems if sent else (),
        with_own(choices(timezone.now().date(), first(values, "model.id", "")), own_of(visit.team)),
        trace_options(visit.team, desk.kept),
    )
    context = {
        "form": form,
        "gpu_rows": gpu_rows(form, values),
        "other_gpus": other_gpus(form, values),
        "other_gpu_fields": other_gpu_fields(form, values),
        "fixed": bool(sent and sent.fixing),
        "draft": desk.draft,
        "draft_id": desk.draft_id,
        "section": "scenarios",
        **desk.editing,
    }
    if getattr(request, "htmx", False):
        return page(request, "forms/scenario.html", visit, context, status=status or (422 if form.problems else 200))
    drafts = drafts_of(visit.team, visit.user).exclude(pk=desk.draft_id)
    context |= {
        "presets": planning.presets(),
        "start": desk.start,
        "preset": next((preset for preset in planning.presets() if preset.id == desk.start), None),
        "drafts": () if desk.editing else drafts.filter(scenario=None)[:MOST_DRAFTS_SHOWN],
    }
    return page(request, "pages/scenario_form.html", visit, context, status=status or (422 if form.problems else 200))
