"""Who may do what: the team comes from the token or the session, the right from scope and role together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from planner.core.context import team_id, via_token
from planner.teams import rules
from planner.teams.models import ApiToken, LinkToken, Role, Scope, Team, User
from planner.teams.selectors import SESSION_TEAM, current_team, team_of
from planner.teams.signing_in import confirmed_lately

if TYPE_CHECKING:  # the settings name this module, and REST framework's views read them while they load
    from rest_framework.views import APIView


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is calling, and the one team that the call sees."""

    user: User
    team: Team
    role: Role
    token: ApiToken | LinkToken | None

    @property
    def key(self) -> str:
        """Names the token, or the session's user, for limits."""
        if self.token is None:
            return f"user:{self.user.pk}"
        return f"{'link' if isinstance(self.token, LinkToken) else 'token'}:{self.token.pk}"

    @property
    def is_person(self) -> bool:
        """False for a token of the team, whose `user` only made it."""
        return not (isinstance(self.token, ApiToken) and self.token.of_team)

    def may(self, action: rules.Action) -> bool:
        """Whether the caller's role includes the action."""
        return rules.allows(self.role, action)

    @property
    def token_scope(self) -> str | None:
        """What the token may do at most; None for a session."""
        if self.token is None:
            return None
        return Scope.READ if isinstance(self.token, LinkToken) else self.token.scope


class TeamScope(BasePermission):
    """Finds the caller and holds the call to what the view does by its method: a scope of `scopes`, or an action of
    `actions` where the scope alone does not tell the role."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = request.user
        if not isinstance(user, User):
            return False
        caller = _caller(user, request, view.kwargs.get("team_id"))
        scope: Scope = getattr(view, "scopes", {}).get(request.method, Scope.READ)
        action: rules.Action = getattr(view, "actions", {}).get(request.method, rules.action_of(scope))
        needed = max(scope, rules.scope_needed(action), key=rules.scope_rank)
        given = caller.token_scope
        if given is not None and not rules.scope_allows(given, needed):
            raise PermissionDenied(f"This needs a token of scope {needed.value}; this one has {given}.")
        if not rules.allows(caller.role, action):
            raise PermissionDenied(f"A {caller.role.value} of a team may not do this.")
        if (
            caller.token is None
            and _asks_for_password(request, action)
            and not confirmed_lately(request._request.session)
        ):
            raise PermissionDenied("Sign in again first, or confirm your password on a page: it counts for 15 minutes.")
        via_token.set(caller.token.prefix if caller.token else "")
        team_id.set(str(caller.team.pk))
        view.caller = caller  # type: ignore[attr-defined]
        return True


def _asks_for_password(request: Request, action: rules.Action) -> bool:
    """Whether a browser session must be confirmed for it, as on pages; revoking needs no more than the session."""
    return (request.method in ("POST", "PATCH") and action in rules.GIVE_ACCESS) or action in rules.ALWAYS_CONFIRMED


def _caller(user: User, request: Request, named: UUID | None) -> Caller:
    """named: the team in the address, which a token must belong to and a session's user too."""
    token = request.auth if isinstance(request.auth, ApiToken | LinkToken) else None
    team = _team(user, request, token, named)
    if isinstance(token, ApiToken) and token.of_team:
        return Caller(user, token.team, rules.TEAM_TOKEN_ROLE, token)
    role = token.member_role if token else rules.role_of(user, team) if team else None
    if team is None or role is None:
        raise PermissionDenied("You belong to no team.")
    return Caller(user, team, role, token)


def _team(user: User, request: Request, token: ApiToken | LinkToken | None, named: UUID | None) -> Team | None:
    if token is not None:
        if named not in (None, token.team_id):
            raise NotFound("This token belongs to another team.")
        return token.team
    if named is not None:
        team = team_of(user, named)
        if team is None and current_team(user) is not None:
            raise NotFound("You belong to no such team.")
        return team
    looked_at = request._request.session.get(SESSION_TEAM)
    return (team_of(user, looked_at) if looked_at else None) or current_team(user)
