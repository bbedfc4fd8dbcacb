import pytest
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError

from planner.teams import rules
from planner.teams.models import Membership, Role, Scope, User
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


@pytest.mark.parametrize(
    ("role", "view", "run", "edit", "manage"),
    [
        (Role.OWNER, True, True, True, True),
        (Role.EDITOR, True, True, True, False),
        (Role.VIEWER, True, False, False, False),
        (None, False, False, False, False),
    ],
)
def test_what_each_role_may_do(role: Role | None, view: bool, run: bool, edit: bool, manage: bool) -> None:
    asked = (rules.can_view(role), rules.can_run(role), rules.can_edit(role), rules.can_manage(role))
    assert asked == (view, run, edit, manage)


def test_a_members_role_is_read_from_the_team() -> None:
    owner = make_user()
    assert rules.role_of(add_member(team_of(owner), Role.VIEWER), team_of(owner)) == Role.VIEWER


def test_a_scope_includes_the_ones_before_it() -> None:
    assert rules.scope_allows("write", Scope.READ)
    assert rules.scope_allows("run", Scope.RUN)
    assert not rules.scope_allows("read", Scope.RUN)
