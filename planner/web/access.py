"""Who is asking: pages act for one team of the signed-in person, and look everything up through it.

Which team: that of the scenario or run in the address, else the one that `?team=` names, else the one looked at last,
else the first one joined. Someone in several teams is sent to the address with `?team=`, so that every address says
what it shows, can be passed on, and a form sent from it lands in the team it was opened for.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse

from planner.core.context import team_id
from planner.datasets.models import Calibration, Measurement, Trace, TraceUpload
from planner.runs.models import Run
from planner.runs.selectors import run_get
from planner.scenarios.models import Scenario
from planner.teams.models import Membership, Role, Team, User
from planner.teams.rules import Action, allows
from planner.teams.selectors import SESSION_TEAM, memberships_of
from planner.web.models import Draft
from planner.webhooks.models import Webhook

P = ParamSpec("P")
TEAM_PARAMETER = "team"
OWNED: Mapping[str, type[Model]] = {
    "scenario_id": Scenario,
    "run_id": Run,
    "trace_id": Trace,
    "upload_id": TraceUpload,
    "measurement_id": Measurement,
    "calibration_id": Calibration,
    "draft_id": Draft,
    "webhook_id": Webhook,
}
"""Parts of addresses that name a thing of a team."""


@dataclass(frozen=True, slots=True)
class Visit:
    """The person, the team that the page acts for, the role in it, and all the person's teams."""

    user: User
    team: Team
    role: Role | None
    teams: tuple[Team, ...] = ()

    def may(self, action: Action) -> bool:
        """Whether the visitor's role includes the action."""
        return allows(self.role, action)

    @property
    def may_run(self) -> bool:
        return self.may(Action.RUN)

    @property
    def may_edit(self) -> bool:
        return self.may(Action.EDIT)

    @property
    def team_query(self) -> str:
        """What an address without a thing of the team ends with, where the person has several teams."""
        return f"?{TEAM_PARAMETER}={self.team.pk}" if len(self.teams) > 1 else ""

    @property
    def team_and(self) -> str:
        """The same for an address that has a query already."""
        return self.team_query.replace("?", "&")


class NoTeam(PermissionDenied):
    """The person belongs to no team, so there is nothing to show."""


def person_of(request: HttpRequest) -> User:
    """Who is signed in. PermissionDenied: nobody, which `login_required` does not let through."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def visit_of(request: HttpRequest, parts: Mapping[str, Any] | None = None) -> Visit | None:
    """The visit of a signed-in person; None for a stranger. parts: the named parts of the address.

    NoTeam: signed in, but in no team. Http404: `?team=` names none of theirs.
    """
    user = request.user
    if not isinstance(user, User):
        return None
    memberships = list(memberships_of(user))
    if not memberships:
        raise NoTeam("You belong to no team. Ask a colleague for an invitation, or make a team on your account page.")
    chosen = _chosen(request, memberships, parts or {})
    if len(memberships) > 1 and request.session.get(SESSION_TEAM) != str(chosen.team_id):
        request.session[SESSION_TEAM] = str(chosen.team_id)
    team_id.set(str(chosen.team_id))
    return Visit(user, chosen.team, Role(chosen.role), tuple(membership.team for membership in memberships))


def _chosen(request: HttpRequest, memberships: list[Membership], parts: Mapping[str, Any]) -> Membership:
    by_team = {str(membership.team_id): membership for membership in memberships}
    named = request.GET.get(TEAM_PARAMETER)
    if named is not None and named not in by_team:
        raise Http404
    if len(memberships) == 1:
        return memberships[0]
    for part, model in OWNED.items():
        if part in parts:
            owner = model._default_manager.filter(pk=parts[part]).values_list("team", flat=True).first()
            if str(owner) in by_team:
                return by_team[str(owner)]
    return by_team.get(named or request.session.get(SESSION_TEAM, ""), memberships[0])


def for_team(
    view: Callable[Concatenate[HttpRequest, Visit, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """A view for members: strangers are sent to sign in, members get their visit as the second argument. What a page
    asks for by itself answers strangers with 401, and the page says that they were signed out."""

    def inner(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        visit = visit_of(request, kwargs)
        if visit is None:  # login_required lets only users through
            raise PermissionDenied
        if request.method == "GET" and len(visit.teams) > 1 and not _says_team(request, kwargs):
            query = request.GET.copy()
            query[TEAM_PARAMETER] = str(visit.team.pk)
            return redirect(f"{request.path}?{query.urlencode()}")
        return view(request, visit, *args, **kwargs)

    update_wrapper(inner, view)
    guarded = login_required(inner)

    def asked(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if getattr(request, "htmx", False) and not request.user.is_authenticated:
            return HttpResponse(status=401)  # a redirect would put the sign-in page into a part of this one
        return guarded(request, *args, **kwargs)

    update_wrapper(asked, view)
    return asked


def _says_team(request: HttpRequest, parts: Mapping[str, Any]) -> bool:
    return (
        TEAM_PARAMETER in request.GET or any(part in parts for part in OWNED) or bool(getattr(request, "htmx", False))
    )


def run_of(visit: Visit, run_id: uuid.UUID) -> Run:
    """A run of the visitor's team, or page not found."""
    try:
        return run_get(visit.team, run_id)
    except Run.DoesNotExist as missing:
        raise Http404 from missing


def must(visit: Visit, action: Action) -> None:
    """PermissionDenied unless the visitor's role includes the action."""
    if not visit.may(action):
        raise PermissionDenied(f"As {visit.role} of {visit.team.name} you may not do this. Ask an owner of the team.")


@contextmanager
def found_or_404(missing: type[Exception]) -> Iterator[None]:
    """What is missing inside is a page not found."""
    try:
        yield
    except missing as absent:
        raise Http404 from absent


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
        "role": visit.role if visit else None,
        "teams": visit.teams if visit else (),
        "switch_path": _switch_path(request),
        "team_query": visit.team_query if visit else "",
        "team_and": visit.team_and if visit else "",
        "may_edit": visit.may_edit if visit else False,
        "may_run": visit.may_run if visit else False,
    }
    return render(request, template, frame | context, status=status)


def _switch_path(request: HttpRequest) -> str:
    """Where another team's view of the same page is; of a page that belongs to one team, its scenarios."""
    match = request.resolver_match
    return request.path if request.method == "GET" and match and not match.kwargs else reverse("scenarios")
