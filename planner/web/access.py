"""Who is asking: pages act for one team of the signed-in person, and look everything up through it."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from planner.runs.models import Run
from planner.runs.selectors import run_get
from planner.teams.models import Role, Team, User
from planner.teams.rules import can_edit, can_run, role_of
from planner.teams.selectors import current_team

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Visit:
    """The person, the team that the page acts for, and the role in it."""

    user: User
    team: Team
    role: Role | None

    @property
    def may_run(self) -> bool:
        return can_run(self.role)

    @property
    def may_edit(self) -> bool:
        return can_edit(self.role)


class NoTeam(PermissionDenied):
    """The person belongs to no team, so there is nothing to show."""


def visit_of(request: HttpRequest) -> Visit | None:
    """The visit of a signed-in person; None for a stranger. NoTeam: signed in, but in no team."""
    user = request.user
    if not isinstance(user, User):
        return None
    team = current_team(user)
    if team is None:
        raise NoTeam("You belong to no team yet. Ask a colleague to add you to theirs.")
    return Visit(user, team, role_of(user, team))


def for_team(
    view: Callable[Concatenate[HttpRequest, Visit, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A view for members: strangers are sent to sign in, members get their visit as the second argument. What a page
    asks for by itself answers strangers with 401, and the page says that they were signed out."""

    def inner(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        visit = visit_of(request)
        if visit is None:  # login_required lets only users through
            raise PermissionDenied
        return view(request, visit, *args, **kwargs)

    update_wrapper(inner, view)
    guarded = login_required(inner)

    def asked(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if getattr(request, "htmx", False) and not request.user.is_authenticated:
            return HttpResponse(status=401)  # a redirect would put the sign-in page into a part of this one
        return guarded(request, *args, **kwargs)

    update_wrapper(asked, view)
    return asked


def run_of(visit: Visit, run_id: uuid.UUID) -> Run:
    """A run of the visitor's team, or page not found."""
    try:
        return run_get(visit.team, run_id)
    except Run.DoesNotExist as missing:
        raise Http404 from missing


def must_edit(visit: Visit) -> None:
    """PermissionDenied unless the visitor may save scenarios."""
    if not visit.may_edit:
        raise PermissionDenied("A viewer can read everything of the team, but not change or run it.")


def must_run(visit: Visit) -> None:
    """PermissionDenied unless the visitor may start and cancel runs."""
    if not visit.may_run:
        raise PermissionDenied("A viewer can read everything of the team, but not change or run it.")


def page(
    request: HttpRequest, template: str, visit: Visit | None, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render a page with what its frame needs."""
    frame = {
        "team": visit.team if visit else None,
        "may_edit": visit.may_edit if visit else False,
        "may_run": visit.may_run if visit else False,
    }
    return render(request, template, frame | context, status=status)
