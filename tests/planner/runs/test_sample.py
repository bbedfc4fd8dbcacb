import pytest
from django.core.exceptions import ValidationError

from planner import planning
from planner.runs.models import Run
from planner.runs.sample import sample_submit
from planner.scenarios.models import ScenarioVersion
from planner.teams.first_admin import admin_get, first_admin
from planner.teams.models import User
from tests.factories import PASSWORD, make_user, team_of


def test_the_sample_is_saved_and_run_once(user: User) -> None:
    first = sample_submit(user=user)
    assert sample_submit(user=user) == first
    assert first.team == team_of(user)
    assert first.body == planning.canonical_json(planning.parse_scenario(planning.sample_scenario()))
    assert (Run.objects.count(), ScenarioVersion.objects.count()) == (1, 1)


@pytest.mark.django_db
def test_a_generated_password_is_returned_once() -> None:
    user, generated = first_admin(email="a@example.com", password=None)
    assert generated is not None
    assert user.check_password(generated)
    assert user.is_staff
    assert first_admin(email="b@example.com", password=None) == (user, None)
    assert admin_get() == user


@pytest.mark.django_db
def test_a_given_password_is_used_and_not_returned() -> None:
    user, generated = first_admin(email="a@example.com", password=PASSWORD)
    assert generated is None
    assert user.check_password(PASSWORD)


@pytest.mark.django_db
def test_a_weak_password_makes_nobody() -> None:
    with pytest.raises(ValidationError):
        first_admin(email="a@example.com", password="short")
    assert not User.objects.exists()


@pytest.mark.django_db
def test_people_without_the_office_are_no_admins() -> None:
    make_user()
    user, _ = first_admin(email="admin@example.com", password=None)
    assert user.email == "admin@example.com"
