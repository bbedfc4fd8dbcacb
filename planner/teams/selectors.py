"""Which teams a person sees, and what belongs to a team."""

import uuid
from typing import TypeVar

from django.db.models import Model, Q, QuerySet

from planner.teams.models import ApiToken, LinkToken, Membership, Team, User

Owned = TypeVar("Owned", bound=Model)
SESSION_TEAM = "team"
"""Key of a session under which the team looked at last stands."""


def memberships_of(user: User) -> QuerySet[Membership]:
    """The user's memberships with their teams, longest first; empty for someone who is no longer active."""
    rows = Membership.objects.filter(user=user).select_related("team").order_by("created_at", "id")
    return rows if user.is_active else rows.none()


def teams_of(user: User) -> QuerySet[Team]:
    """The user's teams, longest membership first; empty for someone who is no longer active."""
    teams = Team.objects.filter(memberships__user=user)
    return teams.order_by("memberships__created_at", "memberships__id") if user.is_active else teams.none()


def current_team(user: User) -> Team | None:
    """The team that pages and tokens act for: the first one joined. None when the user belongs to no team."""
    return teams_of(user).first()


def team_of(user: User, key: uuid.UUID | str) -> Team | None:
    """One of the user's teams by its id; None when it is none of theirs (malformed ids included)."""
    try:
        return teams_of(user).filter(pk=uuid.UUID(str(key))).first()
    except ValueError:
        return None


def api_tokens_of(team: Team) -> QuerySet[ApiToken]:
    """The team's API tokens that were not revoked, newest first: its own and those of its members."""
    rows = ApiToken.objects.filter(team=team, revoked_at=None).select_related("user")
    return rows.filter(Q(of_team=True) | Q(user__memberships__team=team)).order_by("-created_at", "pk")


def link_tokens_of(team: Team) -> QuerySet[LinkToken]:
    """The team's link tokens that were not revoked, newest first."""
    return LinkToken.objects.filter(team=team, revoked_at=None).order_by("-created_at", "pk")


def owned_get(model: type[Owned], team: Team, key: uuid.UUID | str) -> Owned:
    """One row of the team. The model's DoesNotExist: no such one here (malformed ids included)."""
    try:
        identity = uuid.UUID(str(key))
    except ValueError:
        raise model.DoesNotExist from None  # type: ignore[attr-defined]
    return model._default_manager.get(team=team, pk=identity)


LARGEST_ROW = 2**63 - 1


def numbered_get(model: type[Owned], team: Team, number: int, column: str = "pk") -> Owned:
    """One row of the team by a number from an address. The model's DoesNotExist: no such one here, too large included,
    which databases refuse to look up."""
    if number > LARGEST_ROW:
        raise model.DoesNotExist  # type: ignore[attr-defined]
    return model._default_manager.get(team=team, **{column: number})


def membership_get(team: Team, user_id: int) -> Membership:
    """A member of the team by the person's id. Membership.DoesNotExist."""
    return numbered_get(Membership, team, user_id, "user")
