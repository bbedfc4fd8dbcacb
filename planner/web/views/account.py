"""One's own account: name, password, teams."""

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from planner.teams import members, passwords
from planner.teams.browser_sessions import mark_of, sessions_end, sessions_of
from planner.teams.second_factor import factor_of
from planner.teams.selectors import memberships_of
from planner.teams.signing_in import password_is
from planner.web.access import TEAM_PARAMETER, NoTeam, page, person_of, visit_of
from planner.web.confirming import confirmed
from planner.web.team_forms import ChangePasswordForm, NewPasswordForm, PersonForm, TeamNameForm, add_errors

MOST_SESSIONS_SHOWN = 20


@require_GET
@login_required
def account(request: HttpRequest) -> HttpResponse:
    """Name, password and teams; also for someone who belongs to none."""
    return _account_page(request)


def _account_page(request: HttpRequest, **sent: Form) -> HttpResponse:
    user = person_of(request)
    try:
        visit = visit_of(request)
    except NoTeam:
        visit = None
    context = {
        "memberships": memberships_of(user),
        "person_form": sent.get("person_form") or PersonForm(auto_id="person-%s", initial={"name": user.name}),
        "password_form": sent.get("password_form") or ChangePasswordForm(auto_id="password-%s"),
        "new_team_form": sent.get("new_team_form") or TeamNameForm(auto_id="new-team-%s"),
        "sessions": [
            (row, mark_of(row.session_key), row.session_key == request.session.session_key)
            for row in sessions_of(user)[:MOST_SESSIONS_SHOWN]
        ],
        "second_factor": factor_of(user),
        "section": "account",
    }
    return page(request, "pages/account.html", visit, context, status=422 if sent else 200)


@require_POST
@login_required
@confirmed
def sign_out_elsewhere(request: HttpRequest) -> HttpResponse:
    """End one of one's sessions, or all but this one."""
    mark = request.POST.get("session") or None
    ended = sessions_end(person_of(request), mark=mark, but=request.session.session_key)
    messages.success(request, "Signed out there." if ended else "There was nothing to sign out.")
    return redirect(f"{reverse('account')}#sessions")


@require_POST
@login_required
def rename(request: HttpRequest) -> HttpResponse:
    """Another name of one's own."""
    form = PersonForm(request.POST, auto_id="person-%s")
    if not form.is_valid():
        return _account_page(request, person_form=form)
    user = person_of(request)
    user.name = form.cleaned_data["name"]
    user.save(update_fields=["name"])
    messages.success(request, "Your name was changed.")
    return redirect("account")


@require_POST
@login_required
def change_password(request: HttpRequest) -> HttpResponse:
    """A new password, for whoever knows the one in force; wrong ones count as failed attempts to sign in."""
    user = person_of(request)
    form = ChangePasswordForm(request.POST, auto_id="password-%s")
    if form.is_valid():
        if not password_is(request, form.cleaned_data["old"]):
            form.add_error("old", "This is not your password.")
        else:
            try:
                passwords.password_change(user=user, password=form.cleaned_data["password"])
            except ValidationError as refused:
                form.add_error("password", refused.messages)
            else:
                update_session_auth_hash(request, user)
                messages.success(request, "Your password was changed. Other browsers are signed out.")
                return redirect("account")
    return _account_page(request, password_form=form)


@require_POST
@login_required
def new_team(request: HttpRequest) -> HttpResponse:
    """A team of one's own."""
    form = TeamNameForm(request.POST, auto_id="new-team-%s")
    if form.is_valid():
        try:
            team = members.team_create(user=person_of(request), name=form.cleaned_data["name"])
        except ValidationError as refused:
            add_errors(form, refused)
        else:
            return redirect(f"{reverse('team')}?{TEAM_PARAMETER}={team.pk}")
    return _account_page(request, new_team_form=form)


@require_http_methods(["GET", "POST"])
@never_cache
def password_link(request: HttpRequest, secret: str) -> HttpResponse:
    """Set a new password by a link; signing in comes after."""
    link = passwords.password_link_find(secret)
    form = NewPasswordForm(request.POST or None, auto_id="password-%s")
    if link is not None and request.method == "POST" and form.is_valid():
        try:
            user = passwords.password_link_use(link=link, password=form.cleaned_data["password"])
        except ValidationError as refused:
            add_errors(form, ValidationError({"password": refused.messages}))
        else:
            if user is not None:
                messages.success(request, "Your password is set. Sign in with it.")
                return redirect("sign-in")
            link = None
    if link is None:
        detail = "A link for a new password works once and for 24 hours. Ask for a new one."
        context = {"status": 410, "title": "This link cannot be used", "detail": detail}
        return render(request, "pages/error.html", context, status=410)
    context = {"person": link.user, "form": form, "hide_sign_in": True}
    return render(request, "pages/new_password.html", context, status=422 if form.errors else 200)
