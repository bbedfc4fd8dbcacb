"""One's second factor: set up with an app, shown its recovery codes once, taken away."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from planner.teams import second_factor
from planner.web.access import page, person_of
from planner.web.confirming import confirmed

SALT = "second_factor_salt"
"""Key of a session under which the salt of a factor stands that is not in force yet."""


@require_POST
@never_cache
@login_required
@confirmed
def begin(request: HttpRequest) -> HttpResponse:
    """A seed for the app, not in force before a code of it came back."""
    request.session[SALT] = second_factor.new_salt()
    return _setting_up(request)


def _setting_up(request: HttpRequest, *, wrong: bool = False) -> HttpResponse:
    salt = request.session[SALT]
    context = {
        "seed": second_factor.typed_seed(salt),
        "app_address": second_factor.app_address(person_of(request), salt),
        "wrong": wrong,
        "section": "account",
    }
    return page(request, "pages/second_factor.html", None, context, status=422 if wrong else 200)


@require_POST
@never_cache
@login_required
@confirmed
def finish(request: HttpRequest) -> HttpResponse:
    """In force, if the code is right; the recovery codes are shown this once."""
    salt = request.session.get(SALT)
    if salt is None:
        return redirect(f"{reverse('account')}#second-factor")
    codes = second_factor.factor_set(
        user=person_of(request), salt=salt, code=request.POST.get("code", ""), session_key=request.session.session_key
    )
    if codes is None:
        return _setting_up(request, wrong=True)
    del request.session[SALT]
    return page(request, "pages/second_factor.html", None, {"codes": codes, "section": "account"})


@require_POST
@login_required
@confirmed
def remove(request: HttpRequest) -> HttpResponse:
    """Signing in takes the password alone again."""
    if second_factor.factor_remove(user=person_of(request)):
        messages.success(request, "Signing in takes your password alone again.")
    return redirect(f"{reverse('account')}#second-factor")
