"""Who belongs to a team, in which role. A team always has an owner who can sign in."""

from django.db import transaction

from planner.teams.audit import record
from planner.teams.invitations import invitation_revoke, invitations_open
from planner.teams.models import ApiToken, LinkToken, Membership, PasswordLink, Role, Team, User
from planner.teams.services import token_revoke


class LastOwner(Exception):  # noqa: N818 - the name says what is the case
    """The team would be left without an owner."""

    def __init__(self) -> None:
        super().__init__("The last owner of a team stays: make someone else an owner first, or delete the team.")


@transaction.atomic
def team_create(*, user: User, name: str) -> Team:
    """Makes a team that the user owns. ValidationError: name empty or too long."""
    team = Team(name=name.strip())
    team.full_clean()
    team.save()
    Membership.objects.create(team=team, user=user, role=Role.OWNER)
    record(team=team, actor=user, action="team.made", thing=team)
    return team


@transaction.atomic
def team_rename(*, team: Team, actor: User, name: str) -> Team:
    """Gives the team another name. ValidationError: empty or too long."""
    before, team.name = team.name, name.strip()
    team.full_clean()
    if team.name != before:
        team.save(update_fields=["name"])
        record(team=team, actor=actor, action="team.renamed", thing=team, details={"before": before})
    return team


@transaction.atomic
def member_role_change(*, membership: Membership, actor: User, role: Role) -> Membership:
    """Gives a member another role. A former owner leaves no open invitation or link for a new password behind.
    LastOwner: the only owner would lose it.
    """
    _lock(membership.team)
    membership.refresh_from_db()
    before = membership.role
    if role == before:
        return membership
    if before == Role.OWNER:
        _another_owner(membership)
    membership.role = role
    membership.save(update_fields=["role"])
    if before == Role.OWNER:
        _end_ways_in(membership, actor)
    details = {"before": str(before), "after": str(role)}
    _record(membership, actor, "member.role_changed", details)
    return membership


@transaction.atomic
def member_remove(*, membership: Membership, actor: User) -> None:
    """Ends a membership: one's own is leaving. Tokens of that person in the team and the ways in that they opened end
    for good, so that nothing comes back to life when they join again. LastOwner.
    """
    _lock(membership.team)
    membership.refresh_from_db()
    if membership.role == Role.OWNER:
        _another_owner(membership)
    if membership.role == Role.OWNER:
        _end_ways_in(membership, actor)
    for kind in (ApiToken, LinkToken):
        for token in kind._default_manager.filter(team=membership.team, user=membership.user, revoked_at=None):
            if not (isinstance(token, ApiToken) and token.of_team):
                token_revoke(token=token, actor=actor)
    _record(
        membership, actor, "member.left" if actor == membership.user else "member.removed", {"role": membership.role}
    )
    membership.delete()


def members_of(team: Team) -> list[Membership]:
    """The team's memberships with their people, owners first, then by address."""
    order = list(Role)
    rows = Membership.objects.filter(team=team).select_related("user")
    return sorted(rows, key=lambda row: (order.index(Role(row.role)), row.user.email))


def _lock(team: Team) -> None:
    """Two owners who step down at once: the second sees the first."""
    Team.objects.select_for_update().get(pk=team.pk)


def _end_ways_in(membership: Membership, actor: User) -> None:
    """Ends a former owner's open invitations, and all links for a new password that owners of the team made: who made
    which is not kept, and a new one is a press away."""
    for invitation in invitations_open(membership.team).filter(created_by=membership.user):
        invitation_revoke(invitation=invitation, actor=actor)
    PasswordLink.objects.filter(team=membership.team, used_at=None).delete()


def _another_owner(membership: Membership) -> None:
    others = Membership.objects.filter(team=membership.team, role=Role.OWNER, user__is_active=True)
    if not others.exclude(pk=membership.pk).exists():
        raise LastOwner


def _record(membership: Membership, actor: User, action: str, details: dict[str, str]) -> None:
    record(
        team=membership.team,
        actor=actor,
        action=action,
        thing=membership.user,
        kind="member",
        details=details,
    )
