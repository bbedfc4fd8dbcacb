"""The team: its members, who is invited, tokens, and what may be done about them."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from planner import planning
from planner.datasets.own import defaults_save
from planner.teams import members, passwords
from planner.teams.audit import audit_events_of
from planner.teams.invitations import invitations_open
from planner.teams.models import Membership, Role, Scope, User
from planner.teams.rules import Action, scope_rank, widest_scope
from planner.teams.selectors import api_tokens_of, link_tokens_of, membership_get
from planner.web.access import Visit, for_team, must, page
from planner.web.audit_table import audit_table
from planner.web.confirming import confirmed
from planner.web.own_forms import DefaultsForm
from planner.web.team_forms import InviteForm, TeamNameForm, TokenForm, WebhookForm, add_errors
from planner.webhooks.selectors import webhooks_of

LATEST_EVENTS = 8


@require_GET
@never_cache
@for_team
def team(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Everything about the team on one page."""
    return team_page(request, visit)


def team_page(request: HttpRequest, visit: Visit, *, made: dict[str, Any] | None = None, **sent: Form) -> HttpResponse:
    """The page, with forms that came back because something in them is wrong, or with a secret that was just `made`
    and is shown this once."""
    rows = members.members_of(visit.team)
    context = {
        "section": "team",
        "made": made,
        "now": timezone.now(),
        "members": [(row, passwords.may_reset(visit.user, row.user, visit.team)) for row in rows],
        "roles": Role.choices,
        "invitations": invitations_open(visit.team),
        "tokens": api_tokens_of(visit.team),
        "link_tokens": link_tokens_of(visit.team).select_related("user"),
        "invite_form": sent.get("invite_form") or InviteForm(auto_id="invite-%s"),
        "token_form": sent.get("token_form") or token_form(visit),
        "webhooks": webhooks_of(visit.team) if visit.may_edit else (),  # their addresses may hold a secret
        "webhook_form": sent.get("webhook_form") or WebhookForm(auto_id="webhook-%s"),
        "name_form": sent.get("name_form") or TeamNameForm(auto_id="team-%s", initial={"name": visit.team.name}),
        "defaults_form": sent.get("defaults_form")
        or DefaultsForm(auto_id="defaults-%s", initial=DefaultsForm.texts_of(visit.team.defaults)),
        "events": audit_table(audit_events_of(visit.team)[:LATEST_EVENTS], "Latest changes"),
        "may_invite": visit.may(Action.INVITE),
        "may_manage": visit.may(Action.MANAGE_MEMBERS),
        "may_team_tokens": visit.may(Action.TEAM_TOKENS),
        "may_settings": visit.may(Action.SETTINGS),
        "may_export": visit.may(Action.EXPORT),
        "may_delete": visit.may(Action.DELETE_TEAM),
    }
    return page(request, "pages/team.html", visit, context, status=422 if sent else 201 if made else 200)


def token_form(visit: Visit, data: Any = None) -> TokenForm:
    """The form for a new token, with what the visitor's role offers."""
    assert visit.role is not None
    widest = scope_rank(widest_scope(visit.role))
    return TokenForm(
        data,
        auto_id="token-%s",
        scopes=[scope for scope in Scope if scope_rank(scope) <= widest],
        team=visit.may(Action.TEAM_TOKENS),
        link=visit.may(Action.EDIT),
    )


def to_team(visit: Visit, part: str = "") -> HttpResponse:
    """Back to the team's page."""
    return redirect(f"{reverse('team')}{visit.team_query}{part}")


def member_of(visit: Visit, member_id: int) -> Membership:
    """A member of the visitor's team by the person's id, or page not found."""
    try:
        return membership_get(visit.team, member_id)
    except Membership.DoesNotExist as missing:
        raise Http404 from missing


@require_POST
@for_team
def rename(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Another name for the team."""
    must(visit, Action.SETTINGS)
    form = TeamNameForm(request.POST, auto_id="team-%s")
    if form.is_valid():
        try:
            members.team_rename(team=visit.team, actor=visit.user, name=form.cleaned_data["name"])
        except ValidationError as refused:
            add_errors(form, refused)
        else:
            return to_team(visit, "#settings")
    return team_page(request, visit, name_form=form)


@require_POST
@for_team
def defaults(request: HttpRequest, visit: Visit) -> HttpResponse:
    """What the team's plans start from."""
    must(visit, Action.SETTINGS)
    form = DefaultsForm(request.POST, auto_id="defaults-%s")
    if form.is_valid():
        try:
            defaults_save(team=visit.team, actor=visit.user, defaults=form.defaults(visit.team.defaults))
        except planning.ScenarioInvalid as invalid:
            form.show_errors(invalid)
        else:
            messages.success(request, "New scenarios start from these assumptions now.")
            return to_team(visit, "#settings")
    return team_page(request, visit, defaults_form=form)


@require_POST
@for_team
@confirmed
def member_role(request: HttpRequest, visit: Visit, member_id: int) -> HttpResponse:
    """Another role for a member."""
    must(visit, Action.MANAGE_MEMBERS)
    row = member_of(visit, member_id)
    role = request.POST.get("role", "")
    if role not in Role.values:
        raise PermissionDenied("There is no such role.")
    try:
        members.member_role_change(membership=row, actor=visit.user, role=Role(role))
        messages.success(request, f"{row.user} is {role} now.")
    except members.LastOwner as refused:
        messages.error(request, str(refused))
    return to_team(visit)


@require_POST
@for_team
def member_remove(request: HttpRequest, visit: Visit, member_id: int) -> HttpResponse:
    """Take a member out of the team."""
    must(visit, Action.MANAGE_MEMBERS)
    row = member_of(visit, member_id)
    try:
        members.member_remove(membership=row, actor=visit.user)
        messages.success(request, f"{row.user} is no longer in the team.")
    except members.LastOwner as refused:
        messages.error(request, str(refused))
    return to_team(visit) if row.user != visit.user else redirect("home")


@require_POST
@for_team
def leave(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Leave the team."""
    must(visit, Action.LEAVE)
    row = member_of(visit, visit.user.pk)
    try:
        members.member_remove(membership=row, actor=visit.user)
    except members.LastOwner as refused:
        messages.error(request, str(refused))
        return to_team(visit)
    messages.success(request, f"You left {visit.team.name}.")
    return redirect("account")


@require_POST
@never_cache
@for_team
@confirmed
def member_password_link(request: HttpRequest, visit: Visit, member_id: int) -> HttpResponse:
    """A link with which a member sets a new password; see `planner.teams.passwords` for who may make it for whom."""
    person: User = member_of(visit, member_id).user
    if not passwords.may_reset(visit.user, person, visit.team):
        raise PermissionDenied(
            "A link for a new password is made by an owner for members who are in no other team, and by an operator."
        )
    secret = passwords.password_link_create(person=person, actor=visit.user, team=visit.team)
    address = request.build_absolute_uri(reverse("password-link", args=[secret]))
    made = {"title": f"New password for {person}", "text": address, "note": "Works once, for 24 hours."}
    return team_page(request, visit, made=made)
