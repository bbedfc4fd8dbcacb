"""What a role may do. Pure predicates over a role; `None` is "not a member"."""

from planner.teams.models import Membership, Role, Scope, Team, User

_SCOPE_ORDER = (Scope.READ, Scope.RUN, Scope.WRITE)


def role_of(user: User, team: Team) -> Role | None:
    """The user's role in the team, None when not a member or no longer active."""
    if not user.is_active:
        return None
    role = Membership.objects.filter(user=user, team=team).values_list("role", flat=True).first()
    return None if role is None else Role(role)


def can_view(role: Role | None) -> bool:
    """Reads everything of the team."""
    return role is not None


def can_run(role: Role | None) -> bool:
    """Starts and cancels runs."""
    return role in (Role.OWNER, Role.EDITOR)


def can_edit(role: Role | None) -> bool:
    """Saves and changes scenarios."""
    return role in (Role.OWNER, Role.EDITOR)


def can_manage(role: Role | None) -> bool:
    """Changes members and other people's tokens."""
    return role == Role.OWNER


def scope_allows(given: str, needed: Scope) -> bool:
    """True when a token of scope `given` includes `needed` (write > run > read)."""
    return _SCOPE_ORDER.index(Scope(given)) >= _SCOPE_ORDER.index(needed)
