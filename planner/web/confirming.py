"""Asking for the password again before what would outlast a borrowed browser: tokens, invitations, roles, deletion."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from planner.teams.models import User
from planner.teams.signing_in import confirm, confirmed_lately
from planner.web.access import Visit, page

P = ParamSpec("P")
FIELD = "confirm_password"
_NOT_CARRIED = frozenset({FIELD, "csrfmiddlewaretoken", "username"})


def confirmed(
    view: Callable[Concatenate[HttpRequest, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """A view whose POST asks for the password first, unless the person signed in or typed it in the last 15 minutes.
    What was sent is carried along, so that nothing has to be typed again."""

    @wraps(view)
    def asked(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method != "POST" or confirmed_lately(request.session):
            return view(request, *args, **kwargs)
        given = request.POST.get(FIELD)
        if given is not None and confirm(request, given):
            return view(request, *args, **kwargs)
        return _ask(request, next((part for part in args if isinstance(part, Visit)), None), wrong=given is not None)

    return asked


def _ask(request: HttpRequest, visit: Visit | None, *, wrong: bool) -> HttpResponse:
    carried = [(name, value) for name, values in request.POST.lists() if name not in _NOT_CARRIED for value in values]
    context: dict[str, Any] = {
        "carried": carried,
        "wrong": wrong,
        "field": FIELD,
        "has_password": isinstance(request.user, User) and request.user.has_usable_password(),
    }
    return page(request, "pages/confirm.html", visit, context, status=422 if wrong else 403)
