"""Which teams a person sees, and what belongs to a team."""

import uuid
from typing import TypeVar

from django.db.models import Model, QuerySet

from planner.teams.models import LinkToken, Team, User

Owned = TypeVar("Owned", bound=Model)


def teams_of(user: User) -> QuerySet[Team]:
    """The user's teams, longest membership first; empty for someone who is no longer active."""
    teams = Team.objects.filter(memberships__user=user)
    return teams.order_by("memberships__created_at", "memberships__id") if user.is_active else teams.none()


def current_team(user: User) -> Team | None:
    """The team that pages and tokens act for: the first one joined. None when the user belongs to no team."""
    return teams_of(user).first()


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
