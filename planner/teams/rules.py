"""Who may do what: one matrix of role and action, asked by pages and API alike."""

from enum import StrEnum

from planner.teams.models import Membership, Role, Scope, Team, User

_SCOPE_ORDER = (Scope.READ, Scope.RUN, Scope.WRITE)


class Action(StrEnum):
    """Something that can be done in a team."""

    VIEW = "view"  # everything of the team: scenarios, runs, reports, catalog, members, audit log
    RUN = "run"  # start and cancel runs
    EDIT = "edit"  # scenarios, traces, link tokens, the team's own catalog entries
    OWN_TOKENS = "own tokens"  # make and revoke tokens of one's own, of no wider scope than the role
    LEAVE = "leave"
    INVITE = "invite"  # make and revoke invitations
    MANAGE_MEMBERS = "manage members"  # roles, removal, links for a new password
    TEAM_TOKENS = "team tokens"  # make tokens of the team, revoke anybody's
    SETTINGS = "settings"  # name and default assumptions
    EXPORT = "export"  # all of the team's data as one file
    DELETE_TEAM = "delete team"


_EVERYONE = frozenset({Action.VIEW, Action.OWN_TOKENS, Action.LEAVE})
MATRIX: dict[Role, frozenset[Action]] = {
    Role.VIEWER: _EVERYONE,
    Role.EDITOR: _EVERYONE | {Action.RUN, Action.EDIT},
    Role.OWNER: frozenset(Action),
}
TEAM_TOKEN_ROLE = Role.EDITOR
"""A token of the team, behind which no person stands, never manages people."""

GIVE_ACCESS = frozenset({Action.OWN_TOKENS, Action.TEAM_TOKENS, Action.INVITE, Action.MANAGE_MEMBERS})
ALWAYS_CONFIRMED = frozenset({Action.EXPORT, Action.DELETE_TEAM})
"""What a browser session does only shortly after its person signed in or typed the password again."""

SCOPE_NEEDED: dict[Action, Scope] = {Action.VIEW: Scope.READ, Action.EXPORT: Scope.READ, Action.RUN: Scope.RUN}
"""What a token needs for an action; everything else is writing."""


def role_of(user: User, team: Team) -> Role | None:
    """The user's role in the team, None when not a member or no longer active."""
    if not user.is_active:
        return None
    role = Membership.objects.filter(user=user, team=team).values_list("role", flat=True).first()
    return None if role is None else Role(role)


def allows(role: Role | None, action: Action) -> bool:
    """Whether a role includes an action; None is "not a member" and includes nothing."""
    return role is not None and action in MATRIX[role]


def scope_needed(action: Action) -> Scope:
    """The least scope of a token that may do it."""
    return SCOPE_NEEDED.get(action, Scope.WRITE)


def action_of(scope: Scope) -> Action:
    """The plain action behind a scope: read, run or change."""
    return {Scope.READ: Action.VIEW, Scope.RUN: Action.RUN, Scope.WRITE: Action.EDIT}[scope]


def widest_scope(role: Role) -> Scope:
    """The widest scope that a role fills."""
    return next(scope for scope in reversed(_SCOPE_ORDER) if allows(role, action_of(scope)))


def scope_rank(scope: str) -> int:
    """Wider scopes have higher ranks: write > run > read."""
    return _SCOPE_ORDER.index(Scope(scope))


def scope_allows(given: str, needed: Scope) -> bool:
    """True when a token of scope `given` includes `needed`."""
    return scope_rank(given) >= scope_rank(needed)
