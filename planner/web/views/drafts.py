"""What answers while the form is being typed: the estimate, and the draft that keeps the texts."""

import json
import uuid

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST
from django_htmx.http import replace_url

from planner.datasets.calibrating import with_team_calibrations
from planner.datasets.own import own_of
from planner.reports.numbers import number
from planner.scenarios.selectors import version_newest
from planner.web.access import Visit, for_team, must_edit, page
from planner.web.drafts import MAX_DRAFT_CHARACTERS, DraftTooLarge, Edited, draft_discard, draft_save
from planner.web.forms import submission
from planner.web.forms.chain import chain_of
from planner.web.forms.estimate import estimate_view
from planner.web.models import Draft
from planner.web.traces import kept_trace, trace_reader
from planner.web.views.scenario_form import scenario_of, sent_base_number


@require_POST
@for_team
def estimate(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The estimate of the form as it stands; keeps nothing."""
    must_edit(visit)
    return _estimate(request, visit, _edited(request, visit), "")


@require_POST
@for_team
def keep(request: HttpRequest, visit: Visit, draft_id: uuid.UUID) -> HttpResponse:
    """Keep the form as a draft, and answer with its estimate. The address of a new scenario then names the draft, so
    that it comes back on reload and after signing in."""
    must_edit(visit)
    edited = _edited(request, visit)
    values = submission.texts_of(request.POST)
    try:
        draft_save(team=visit.team, user=visit.user, draft_id=draft_id, values=values, edited=edited)
        said = f"Draft saved {timezone.now():%H:%M} UTC. It survives reload and sign-in."
    except Draft.DoesNotExist as others:
        raise Http404 from others
    except DraftTooLarge:
        said = f"Not saved as a draft: more than {number(MAX_DRAFT_CHARACTERS)} characters."
    answer = _estimate(request, visit, edited, said)
    return answer if edited else replace_url(answer, f"{reverse('scenario-new')}?draft={draft_id}{visit.team_and}")


@require_POST
@for_team
def discard(request: HttpRequest, visit: Visit, draft_id: uuid.UUID) -> HttpResponse:
    """Forget a draft and go back to where it began."""
    must_edit(visit)
    scenario = request.POST.get("scenario", "")
    draft_discard(team=visit.team, user=visit.user, draft_id=draft_id)
    return redirect("scenario-edit", scenario_of(visit, scenario).pk) if scenario else redirect("scenario-new")


def _edited(request: HttpRequest, visit: Visit) -> Edited | None:
    scenario_id = request.POST.get("scenario", "")
    if not scenario_id:
        return None
    scenario = scenario_of(visit, scenario_id)
    return Edited(scenario, sent_base_number(request) or version_newest(scenario).number)


def _estimate(request: HttpRequest, visit: Visit, edited: Edited | None, said: str) -> HttpResponse:
    document = json.loads(version_newest(edited.scenario).body) if edited else {}
    values = submission.texts_of(request.POST)
    today = timezone.now().date()
    problems, parsed = submission.judge(
        values, today, trace_reader(visit.team, kept_trace(document)), own_of(visit.team), document
    )
    context = {
        "estimate": estimate_view(with_team_calibrations(visit.team, parsed)) if parsed else None,
        "problems": problems,
        "chain": chain_of(values),
        "draft_said": said,
    }
    return page(request, "forms/estimate.html", visit, context)
