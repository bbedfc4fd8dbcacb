import pytest
from django.core.exceptions import ValidationError

from planner.teams import members
from planner.teams.audit import audit_events_of
from planner.teams.invitations import InvitationUnusable, invitation_accept, invitation_create, invitation_find
from planner.teams.models import Membership, Role, Team, User
from planner.teams.passwords import password_link_create, password_link_find
from planner.teams.services import link_token_authenticate, link_token_create, token_authenticate, token_create
from tests.factories import add_member, make_token, make_user, team_of

pytestmark = pytest.mark.django_db


def membership(user: User, team: Team) -> Membership:
    return Membership.objects.get(user=user, team=team)


def test_a_new_team_is_owned_by_who_made_it(user: User) -> None:
    team = members.team_create(user=user, name="  Platform ")
    assert (team.name, membership(user, team).role) == ("Platform", Role.OWNER)
    assert set(user.teams.all()) == {team, team_of(user)}


@pytest.mark.parametrize("name", ["", "   ", "x" * 121])
def test_a_team_needs_a_name(user: User, name: str) -> None:
    with pytest.raises(ValidationError):
        members.team_create(user=user, name=name)


def test_a_role_change_is_written_down(user: User) -> None:
    colleague = add_member(team_of(user), Role.VIEWER)
    members.member_role_change(membership=membership(colleague, team_of(user)), actor=user, role=Role.EDITOR)
    row = audit_events_of(team_of(user))[0]
    assert (row.action, row.object_label) == ("member.role_changed", colleague.email)
    assert row.details == {"before": "viewer", "after": "editor"}


def test_the_last_owner_stays_owner_and_stays(user: User) -> None:
    add_member(team_of(user), Role.EDITOR)
    own = membership(user, team_of(user))
    with pytest.raises(members.LastOwner):
        members.member_role_change(membership=own, actor=user, role=Role.EDITOR)
    with pytest.raises(members.LastOwner):
        members.member_remove(membership=own, actor=user)
    assert membership(user, team_of(user)).role == Role.OWNER


def test_an_owner_who_cannot_sign_in_does_not_count(user: User) -> None:
    other = add_member(team_of(user), Role.OWNER)
    User.objects.filter(pk=other.pk).update(is_active=False)
    with pytest.raises(members.LastOwner):
        members.member_remove(membership=membership(user, team_of(user)), actor=user)


def test_of_two_owners_one_may_leave_and_their_tokens_end(user: User) -> None:
    team = team_of(user)
    other = add_member(team, Role.OWNER)
    _, text = make_token(other)
    members.member_remove(membership=membership(other, team), actor=other)
    assert audit_events_of(team)[0].action == "member.left"
    assert token_authenticate(text) is None
    with pytest.raises(members.LastOwner):
        members.member_remove(membership=membership(user, team), actor=user)


def test_members_are_listed_by_role_then_address(user: User) -> None:
    team = team_of(user)
    people = [add_member(team, role) for role in (Role.VIEWER, Role.EDITOR, Role.OWNER)]
    assert [row.user for row in members.members_of(team)][-2:] == [people[1], people[0]]
    assert make_user() not in [row.user for row in members.members_of(team)]


@pytest.mark.parametrize("goes", ["removed", "no owner any more"])
def test_a_former_owner_leaves_no_way_back_in(user: User, goes: str) -> None:
    team = team_of(user)
    other, colleague = add_member(team, Role.OWNER), add_member(team, Role.EDITOR)
    _, of_other = invitation_create(team=team, actor=other, role=Role.OWNER)
    _, of_user = invitation_create(team=team, actor=user, role=Role.VIEWER)
    password = password_link_create(person=colleague, actor=other, team=team)
    if goes == "removed":
        members.member_remove(membership=membership(other, team), actor=user)
    else:
        members.member_role_change(membership=membership(other, team), actor=user, role=Role.EDITOR)
    with pytest.raises(InvitationUnusable):
        invitation_find(of_other)
    assert invitation_find(of_user).role == Role.VIEWER
    assert password_link_find(password) is None


def test_old_tokens_stay_dead_when_someone_joins_again(user: User) -> None:
    team = team_of(user)
    other = add_member(team, Role.OWNER)
    _, own = token_create(team=team, user=other, scope="write")
    _, sheet = link_token_create(team=team, user=other)
    _, teams = token_create(team=team, user=other, scope="read", of_team=True)
    members.member_remove(membership=membership(other, team), actor=user)
    invitation, _ = invitation_create(team=team, actor=user, role=Role.VIEWER)
    invitation_accept(invitation=invitation, user=other)
    assert (token_authenticate(own), link_token_authenticate(sheet)) == (None, None)
    assert token_authenticate(teams) is not None, "it is the team's and stays"
