import pytest
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError

from planner.teams.members import team_create
from planner.teams.models import Membership, PasswordLink, Role, User
from planner.teams.passwords import (
    may_reset,
    password_change,
    password_link_create,
    password_link_find,
    password_link_use,
)
from tests.factories import add_member, make_user, team_of

pytestmark = pytest.mark.django_db
NEW = "a completely different phrase"


@pytest.fixture
def colleague(user: User) -> User:
    return add_member(team_of(user), Role.EDITOR)


def test_an_owner_resets_a_member_of_the_team_alone(user: User, colleague: User) -> None:
    assert may_reset(user, colleague, team_of(user))
    secret = password_link_create(person=colleague, actor=user, team=team_of(user))
    link = password_link_find(secret)
    assert link is not None
    assert password_link_use(link=link, password=NEW) == colleague
    assert authenticate(username=colleague.email, password=NEW) == colleague
    assert password_link_find(secret) is None
    assert password_link_use(link=link, password=NEW) is None


def test_nobody_takes_over_who_belongs_elsewhere_too(user: User, colleague: User) -> None:
    team_create(user=colleague, name="Elsewhere")
    assert not may_reset(user, colleague, team_of(user))


def test_a_link_ends_when_its_person_joins_another_team(user: User, colleague: User) -> None:
    secret = password_link_create(person=colleague, actor=user, team=team_of(user))
    Membership.objects.create(team=team_of(make_user()), user=colleague, role=Role.VIEWER)
    assert password_link_find(secret) is None


def test_a_link_ends_when_its_person_leaves_the_team(user: User, colleague: User) -> None:
    secret = password_link_create(person=colleague, actor=user, team=team_of(user))
    colleague.memberships.all().delete()
    assert password_link_find(secret) is None


def test_only_owners_and_operators_reset_and_never_an_operator(user: User, colleague: User) -> None:
    team = team_of(user)
    viewer = add_member(team, Role.VIEWER)
    assert not may_reset(colleague, viewer, team)
    assert not may_reset(user, user, team)
    assert not may_reset(make_user(), viewer, team)
    assert not may_reset(user, make_user(), team)
    operator = add_member(team, Role.VIEWER)
    User.objects.filter(pk=operator.pk).update(is_staff=True)
    operator.refresh_from_db()
    assert not may_reset(user, operator, team)
    team_create(user=viewer, name="Elsewhere")
    assert may_reset(operator, viewer, team)


def test_a_new_link_ends_the_one_before(user: User, colleague: User) -> None:
    first, second = (password_link_create(person=colleague, actor=user, team=team_of(user)) for _ in range(2))
    assert password_link_find(first) is None
    assert password_link_find(second) is not None


def test_a_weak_password_uses_no_link_up(user: User, colleague: User) -> None:
    secret = password_link_create(person=colleague, actor=user, team=team_of(user))
    link = password_link_find(secret)
    assert link is not None
    with pytest.raises(ValidationError):
        password_link_use(link=link, password="password1234")
    assert password_link_find(secret) is not None


def test_changing_ones_own_password_ends_links_to_it(user: User, colleague: User) -> None:
    password_link_create(person=colleague, actor=user, team=team_of(user))
    password_change(user=colleague, password=NEW)
    assert not PasswordLink.objects.exists()
    assert authenticate(username=colleague.email, password=NEW) == colleague
