"""Invitations: made and revoked by owners, used by whoever has the link."""

import uuid

from django.contrib.auth import login
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from planner.teams import invitations
from planner.teams.invitations import InvitationUnusable
from planner.teams.models import Invitation, Role, Team, User
from planner.teams.rules import Action
from planner.teams.selectors import owned_get
from planner.web.access import TEAM_PARAMETER, Visit, for_team, must
from planner.web.confirming import confirmed
from planner.web.team_forms import InviteForm, JoinForm, add_errors
from planner.web.views.auth import MODEL_BACKEND
from planner.web.views.team import team_page, to_team


@require_POST
@never_cache
@for_team
@confirmed
def create(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Make a link; it is shown this once."""
    must(visit, Action.INVITE)
    form = InviteForm(request.POST, auto_id="invite-%s")
    if form.is_valid():
        given = form.cleaned_data
        try:
            _, secret = invitations.invitation_create(
                team=visit.team, actor=visit.user, role=Role(given["role"]), email=given["email"], days=given["days"]
            )
        except ValidationError as refused:
            add_errors(form, refused)
        else:
            address = request.build_absolute_uri(reverse("join", args=[secret]))
            who = given["email"] or "one person"
            note = f"For {who}, as {given['role']}. Works once, for {given['days']} days."
            return team_page(request, visit, made={"title": "Invitation", "text": address, "note": note})
    return team_page(request, visit, invite_form=form)


@require_POST
@for_team
def revoke(request: HttpRequest, visit: Visit, invitation_id: uuid.UUID) -> HttpResponse:
    """End an invitation."""
    must(visit, Action.INVITE)
    try:
        invitation = owned_get(Invitation, visit.team, invitation_id)
    except Invitation.DoesNotExist as missing:
        raise Http404 from missing
    invitations.invitation_revoke(invitation=invitation, actor=visit.user)
    return to_team(visit, "#invitations")


@require_http_methods(["GET", "POST"])
@never_cache
def join(request: HttpRequest, secret: str) -> HttpResponse:
    """Take up an invitation: signed in by one press, as someone new with a name and a password."""
    try:
        invitation = invitations.invitation_find(secret)
        if isinstance(request.user, User):
            return _join_as(request, invitation, request.user)
        return _join_new(request, invitation)
    except InvitationUnusable as unusable:
        context = {"status": 410, "title": "This invitation cannot be used", "detail": str(unusable)}
        return render(request, "pages/error.html", context, status=410)


def _join_as(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    wrong_person = bool(invitation.email) and invitation.email != user.email
    if request.method == "POST":
        return _to_scenarios(invitations.invitation_accept(invitation=invitation, user=user))
    return render(request, "pages/join.html", {"invitation": invitation, "wrong_person": wrong_person})


def _join_new(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    known = bool(invitation.email) and User.objects.filter(email=invitation.email).exists()
    form = JoinForm(request.POST or None, email=invitation.email, auto_id="join-%s")
    if request.method == "POST" and not known and form.is_valid():
        given = form.cleaned_data
        try:
            user = invitations.invitation_accept_new(
                invitation=invitation, email=given["email"], name=given["name"], password=given["password"]
            )
        except ValidationError as refused:
            add_errors(form, refused)
        else:
            login(request, user, backend=MODEL_BACKEND)
            return _to_scenarios(invitation.team)
    context = {"invitation": invitation, "form": form, "known": known, "hide_sign_in": True}
    return render(request, "pages/join.html", context, status=422 if form.errors else 200)


def _to_scenarios(team: Team) -> HttpResponse:
    return redirect(f"{reverse('scenarios')}?{TEAM_PARAMETER}={team.pk}")
