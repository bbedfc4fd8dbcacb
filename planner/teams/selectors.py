"""Which teams a person sees."""

from django.db.models import QuerySet

from planner.teams.models import Team, User


def teams_of(user: User) -> QuerySet[Team]:
    """The user's teams, longest membership first; empty for someone who is no longer active."""
    teams = Team.objects.filter(memberships__user=user)
    return teams.order_by("memberships__created_at", "memberships__id") if user.is_active else teams.none()


def current_team(user: User) -> Team | None:
    """The team that pages and tokens act for: the first one joined. None when the user belongs to no team."""
    return teams_of(user).first()
