"""API tokens and link tokens: made, shown once, revoked."""

from django.core.exceptions import PermissionDenied, ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from planner.teams.models import ApiToken, LinkToken
from planner.teams.rules import Action
from planner.teams.selectors import numbered_get
from planner.teams.services import AnyToken, link_token_create, token_create, token_revoke
from planner.web.access import Visit, for_team, must
from planner.web.confirming import confirmed
from planner.web.team_forms import TokenForm, add_errors
from planner.web.views.team import team_page, to_team, token_form


@require_POST
@never_cache
@for_team
@confirmed
def create(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Make a token; its text is shown this once."""
    must(visit, Action.OWN_TOKENS)
    form = token_form(visit, request.POST)
    if form.is_valid():
        try:
            text = _make(visit, form)
        except ValidationError as refused:
            add_errors(form, refused)
        else:
            made = {"title": f"Token: {form.cleaned_data['name']}", "text": text}
            return team_page(request, visit, made=made | {"note": "It is not stored; copy it now."})
    return team_page(request, visit, token_form=form)


def _make(visit: Visit, form: TokenForm) -> str:
    """The form offers no kind and no scope that the role does not include."""
    given = form.cleaned_data
    if given["kind"] == "link":
        return link_token_create(team=visit.team, user=visit.user, name=given["name"], expires_at=form.expires_at)[1]
    return token_create(
        team=visit.team,
        user=visit.user,
        scope=given["scope"],
        name=given["name"],
        expires_at=form.expires_at,
        of_team=given["kind"] == "team",
    )[1]


def _token(kind: type[AnyToken], visit: Visit, token_id: int) -> AnyToken:
    try:
        return numbered_get(kind, visit.team, token_id)
    except kind.DoesNotExist as missing:
        raise Http404 from missing


@require_POST
@for_team
def revoke(request: HttpRequest, visit: Visit, token_id: int) -> HttpResponse:
    """End a token: one's own, or as an owner anybody's."""
    token = _token(ApiToken, visit, token_id)
    must(visit, Action.OWN_TOKENS if token.user == visit.user and not token.of_team else Action.TEAM_TOKENS)
    token_revoke(token=token, actor=visit.user)
    return to_team(visit, "#tokens")


@require_POST
@for_team
def revoke_link(request: HttpRequest, visit: Visit, token_id: int) -> HttpResponse:
    """End a link token."""
    token = _token(LinkToken, visit, token_id)
    if not visit.may(Action.EDIT):
        raise PermissionDenied("A viewer may not revoke link tokens.")
    token_revoke(token=token, actor=visit.user)
    return to_team(visit, "#tokens")
