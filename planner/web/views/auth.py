"""Signing in and out, by password or by the one-time link that the machine's own operator gets."""

import logging
import math
import time
from ipaddress import ip_address
from typing import Any

from django.contrib.auth import login
from django.contrib.auth.views import LoginView, LogoutView
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from planner.teams.models import User
from planner.teams.second_factor import code_use, factor_of
from planner.teams.services import sign_in_link_use
from planner.teams.signing_in import wait_before_trying

logger = logging.getLogger("planner.signing_in")
AWAITED = "second_factor_awaited"
CODE_AWAITED_S, MOST_CODES = 300, 5
MODEL_BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignIn(LoginView):
    """E-mail and password; axes counts failures and locks for a while."""

    template_name = "pages/sign_in.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "code" in request.POST:
            return self._second(request)
        if wait_s := wait_before_trying(request, request.POST.get("username", "")):
            return too_many(request, f"There were very many attempts. Try again in {math.ceil(wait_s / 60)} minutes.")
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        """Right, but someone with a second factor is not signed in before that came too."""
        user = form.get_user()
        if factor_of(user) is None:
            return super().form_valid(form)
        self.request.session.cycle_key()
        self.request.session[AWAITED] = {"user": user.pk, "at": time.time(), "next": self.get_success_url(), "tries": 0}
        return render(self.request, "pages/sign_in_code.html", {"hide_sign_in": True})

    def _second(self, request: HttpRequest) -> HttpResponse:
        """The code of whoever typed the password within five minutes; five wrong ones, and that starts again."""
        awaited = request.session.get(AWAITED)
        user = User.objects.filter(pk=awaited["user"], is_active=True).first() if awaited else None
        if awaited is None or user is None or not 0 <= time.time() - awaited["at"] < CODE_AWAITED_S:
            request.session.pop(AWAITED, None)
            return HttpResponseRedirect(reverse("sign-in"))
        if wait_before_trying(request, user.email):
            return too_many(request, "There were very many attempts. Try again in an hour.")
        if code_use(user=user, code=request.POST["code"]):
            del request.session[AWAITED]
            login(request, user, backend=MODEL_BACKEND)
            return HttpResponseRedirect(awaited["next"])
        logger.warning("second factor failed: person=%s", user.pk)
        awaited["tries"] += 1
        if awaited["tries"] >= MOST_CODES:
            del request.session[AWAITED]
            return HttpResponseRedirect(reverse("sign-in"))
        request.session[AWAITED] = awaited
        return render(request, "pages/sign_in_code.html", {"hide_sign_in": True, "wrong": True}, status=422)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"hide_sign_in": True}

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 422
        return response


class SignOut(LogoutView):
    """POST only, as Django has it; the browser forgets what it kept of the pages."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        response = super().post(request, *args, **kwargs)
        response["Clear-Site-Data"] = '"cache", "storage"'
        return response


def typed_address(request: HttpRequest, credentials: dict[str, Any] | None = None) -> str:
    """Whose failures axes counts: the address as the user model spells it, so that capitals open no new account of
    failures. Django's form sends it as `username`."""
    given = (credentials or {}).get("username") or request.POST.get("username", "")
    return str(given).lower()


def locked_out(request: HttpRequest, credentials: dict[str, Any], *args: Any, **kwargs: Any) -> HttpResponse:
    """What axes answers after too many failures."""
    return too_many(request, "Signing in with this address is locked for 15 minutes after 10 failures. Then try again.")


def too_many(request: HttpRequest, detail: str) -> HttpResponse:
    """That one has to wait."""
    context = {"status": 429, "title": "Too many attempts", "hide_sign_in": True, "detail": detail}
    return render(request, "pages/error.html", context, status=429)


@require_GET
@never_cache
def sign_in_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Sign in once with the link that `manage.py up` printed. Only this machine itself may use it."""
    if not _from_this_machine(request):
        raise Http404
    link = sign_in_link_use(secret=secret)
    if link is None:
        context = {"status": 410, "title": "This link is used up"}
        context["detail"] = (
            "A sign-in link works once and for 30 minutes. "
            "Sign in with your password, or start Staircase again for a new link."
        )
        return render(request, "pages/error.html", context, status=410)
    login(request, link.user, backend=MODEL_BACKEND)
    local = url_has_allowed_host_and_scheme(link.next_path, allowed_hosts=None) and link.next_path.startswith("/")
    return HttpResponseRedirect(link.next_path if local else "/")


def _from_this_machine(request: HttpRequest) -> bool:
    """By the address of the connection alone; a proxy in between means that someone else may be asking."""
    if "X-Forwarded-For" in request.headers or "Forwarded" in request.headers:
        return False
    try:
        return ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:
        return False
