"""Pages of the operator (`is_staff`): runs that are stuck, price lists that wait, limits of teams. To others there are
no such addresses. Of a team's work they show counts and states, never names or contents."""

import uuid
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from planner.core.health import worker_answers
from planner.prices.models import FeedFetch, PriceRefresh
from planner.prices.services import RefreshRefused, refresh_approve, refresh_reject
from planner.runs.limits import limits_set
from planner.runs.models import Run
from planner.runs.services import run_cancel
from planner.runs.stuck import stuck_runs, teams_at_work
from planner.teams.models import Team, User
from planner.web.access import NoTeam, page, visit_of
from planner.web.confirming import confirmed

P = ParamSpec("P")
PER_PAGE = 50
REFRESHES = 12
CHANGES = 300


class LimitsForm(forms.Form):
    """A team's own limits; an empty one is that of all teams, 0 is none."""

    open_runs = forms.IntegerField(min_value=0, max_value=1_000_000, required=False)
    stored_runs = forms.IntegerField(min_value=0, max_value=100_000_000, required=False)
    keep_days = forms.IntegerField(min_value=0, max_value=36_500, required=False)


def for_operator(
    view: Callable[Concatenate[HttpRequest, User, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """A view for operators, who get themselves as the second argument. Http404 to everybody else."""

    def inner(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        user = request.user
        if not (isinstance(user, User) and user.is_active and user.is_staff):
            raise Http404
        return view(request, user, *args, **kwargs)

    update_wrapper(inner, view)
    return inner


@require_GET
@never_cache
@for_operator
def operations(request: HttpRequest, user: User) -> HttpResponse:
    """What needs an operator, on one page."""
    teams = Paginator(teams_at_work(), PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "worker_answers": worker_answers(),
        "runs": list(stuck_runs()),
        "now": timezone.now(),
        "refreshes": PriceRefresh.objects.defer("changes", "kept", "document")[:REFRESHES],
        "fetches": FeedFetch.objects.order_by("feed"),
        "refresh_hours": settings.PRICE_REFRESH_HOURS,
        "teams_shown": teams,
        "of_all": {
            "open_runs": settings.OPEN_RUNS_PER_TEAM,
            "stored_runs": settings.STORED_RUNS_PER_TEAM,
            "keep_days": settings.KEEP_RUNS_DAYS,
        },
    }
    return _page(request, "pages/operations.html", context)


@require_POST
@for_operator
@confirmed
def stop(request: HttpRequest, user: User, run_id: uuid.UUID) -> HttpResponse:
    """Cancels a run of whatever team; its audit log says who did."""
    run_cancel(run=get_object_or_404(Run, pk=run_id), user=user)
    messages.success(request, f"Run {run_id} was asked to stop.")
    return redirect("operations")


@require_GET
@never_cache
@for_operator
def prices(request: HttpRequest, user: User, refresh_id: uuid.UUID) -> HttpResponse:
    """What one price list would change, or changed."""
    row = get_object_or_404(PriceRefresh.objects.defer("document", "kept"), pk=refresh_id)
    shown = sorted(row.changes, key=lambda change: not change["flag"])
    context = {"refresh": row, "changes": [_shown(change) for change in shown[:CHANGES]], "more": len(shown) - CHANGES}
    return _page(request, "pages/operations_prices.html", context)


@require_POST
@for_operator
@confirmed
def decide(request: HttpRequest, user: User, refresh_id: uuid.UUID) -> HttpResponse:
    """Approves a waiting list, with what needs a look or without, or turns it down."""
    row = get_object_or_404(PriceRefresh.objects.defer("document"), pk=refresh_id)
    what = request.POST.get("what")
    try:
        if what == "reject":
            refresh_reject(refresh=row, user=user)
            messages.success(request, "Turned down. The prices in force are as before.")
        elif what in ("approve", "approve-flagged"):
            refresh_approve(refresh=row, user=user, flagged=what == "approve-flagged")
            messages.success(request, "Approved. All processes use these prices within seconds.")
        else:
            raise Http404
    except RefreshRefused as refused:
        messages.error(request, f"Nothing was done: {refused}.")
    return redirect("operations-prices", refresh_id)


@require_POST
@for_operator
@confirmed
def limits(request: HttpRequest, user: User, team_id: uuid.UUID) -> HttpResponse:
    """Sets a team's own limits."""
    team = get_object_or_404(Team, pk=team_id)
    form = LimitsForm(request.POST)
    if form.is_valid():
        limits_set(team=team, actor=user, **form.cleaned_data)
        messages.success(request, f"Limits of {team.name} are set.")
    else:
        faults = "; ".join(
            f"{name.replace('_', ' ')}: {' '.join(map(str, said))}" for name, said in form.errors.items()
        )
        messages.error(request, f"Nothing was set. {faults}")
    return redirect("operations")


def _shown(change: dict[str, Any]) -> dict[str, Any]:
    ratio = change["change_ratio"]
    return {**change, "moved": "" if ratio is None else f"{ratio * 100:+.1f} %"}


def _page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    try:
        visit = visit_of(request)
    except NoTeam:  # an operator need not be in a team
        visit = None
    return page(request, template, visit, {"section": "operations", **context})
