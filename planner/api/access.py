"""Who may do what: the team comes from the token or the session, the right from scope and role together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from planner.teams import rules
from planner.teams.models import ApiToken, LinkToken, Role, Scope, Team, User
from planner.teams.selectors import current_team

if TYPE_CHECKING:  # the settings name this module, and REST framework's views read them while they load
    from rest_framework.views import APIView

_ALLOWED_BY_ROLE = {Scope.READ: rules.can_view, Scope.RUN: rules.can_run, Scope.WRITE: rules.can_edit}


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
    def token_scope(self) -> str | None:
        """What the token may do at most; None for a session."""
        if self.token is None:
            return None
        return Scope.READ if isinstance(self.token, LinkToken) else self.token.scope


class TeamScope(BasePermission):
    """Finds the caller and holds the call to the scope that the view names for its method."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        user = request.user
        if not isinstance(user, User):
            return False
        caller = _caller(user, request.auth)
        needed: Scope = getattr(view, "scopes", {}).get(request.method, Scope.READ)
        given = caller.token_scope
        if given is not None and not rules.scope_allows(given, needed):
            raise PermissionDenied(f"This needs a token of scope {needed.value}; this one has {given}.")
        if not _ALLOWED_BY_ROLE[needed](caller.role):
            raise PermissionDenied(f"A {caller.role.value} of a team may not do this.")
        view.caller = caller  # type: ignore[attr-defined]
        return True


def _caller(user: User, auth: object) -> Caller:
    token = auth if isinstance(auth, ApiToken | LinkToken) else None
    team = token.team if token else current_team(user)
    role = rules.role_of(user, team) if team else None
    if team is None or role is None:
        raise PermissionDenied("You belong to no team.")
    return Caller(user, team, role, token)
