import pytest
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError

from planner.teams import rules
from planner.teams.models import Membership, Role, Scope, User
from planner.teams.rules import Action
from planner.teams.selectors import current_team, teams_of
from tests.factories import PASSWORD, add_member, make_user, team_of

pytestmark = pytest.mark.django_db


def test_a_new_user_owns_a_team_of_one() -> None:
    user = make_user()
    assert [m.role for m in user.memberships.all()] == [Role.OWNER]
    assert list(teams_of(user)) == [team_of(user)]


def test_people_sign_in_by_e_mail_in_any_case() -> None:
    user = make_user("Ada@Example.com")
    assert authenticate(username="ada@example.com", password=PASSWORD) == user
    assert User.objects.get_by_natural_key("ADA@EXAMPLE.COM") == user


@pytest.mark.parametrize("email", ["", "ada", "ada@", "a" * 250 + "@example.com"])
def test_a_malformed_address_is_refused(email: str) -> None:
    with pytest.raises(ValidationError):
        make_user(email or " ")
    assert not User.objects.exists()


def test_an_address_is_taken_once() -> None:
    make_user("ada@example.com")
    with pytest.raises(ValidationError):
        make_user("ADA@example.com")


def test_the_first_team_joined_is_the_current_one() -> None:
    owner, guest = make_user(), make_user()
    Membership.objects.create(team=team_of(owner), user=guest, role=Role.VIEWER)
    assert current_team(guest) != current_team(owner)
    assert set(teams_of(guest)) == {team_of(owner), team_of(guest)}


def test_someone_inactive_sees_no_team_and_has_no_role() -> None:
    user = make_user()
    team = team_of(user)
    user.is_active = False
    assert current_team(user) is None
    assert rules.role_of(user, team) is None


def test_a_stranger_has_no_role() -> None:
    assert rules.role_of(make_user(), team_of(make_user())) is None


@pytest.mark.parametrize("action", Action)
def test_an_owner_may_do_everything_and_a_stranger_nothing(action: Action) -> None:
    assert rules.allows(Role.OWNER, action)
    assert not rules.allows(None, action)


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (Role.EDITOR, {Action.VIEW, Action.RUN, Action.EDIT, Action.OWN_TOKENS, Action.LEAVE}),
        (Role.VIEWER, {Action.VIEW, Action.OWN_TOKENS, Action.LEAVE}),
    ],
)
def test_what_the_other_roles_may_do(role: Role, allowed: set[Action]) -> None:
    assert {action for action in Action if rules.allows(role, action)} == allowed


@pytest.mark.parametrize(("role", "scope"), [("owner", "write"), ("editor", "write"), ("viewer", "read")])
def test_the_widest_scope_of_a_role(role: str, scope: str) -> None:
    assert rules.widest_scope(Role(role)) == scope


def test_a_members_role_is_read_from_the_team() -> None:
    owner = make_user()
    assert rules.role_of(add_member(team_of(owner), Role.VIEWER), team_of(owner)) == Role.VIEWER


def test_a_scope_includes_the_ones_before_it() -> None:
    assert rules.scope_allows("write", Scope.READ)
    assert rules.scope_allows("run", Scope.RUN)
    assert not rules.scope_allows("read", Scope.RUN)
