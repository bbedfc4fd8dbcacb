"""Teams take turns at the workers."""

import pytest

from planner.runs import leases, turns
from planner.runs.models import Run, State
from planner.runs.selectors import runs_before
from planner.teams.models import User
from tests.factories import make_run, make_user

pytestmark = pytest.mark.django_db


def taken() -> str | None:
    """The name of the run whose turn it is; it stays under way."""
    lease = turns.take_turn()
    return None if lease is None else Run.objects.get(pk=lease.run_id).name


def ended() -> None:
    for run in Run.objects.filter(state=State.RUNNING):
        assert leases.finish(leases.Lease(run.pk, run.lease_token), "{}")


@pytest.fixture
def busy() -> User:
    """A team with five runs, asked for before anyone else's."""
    user = make_user()
    for number in range(5):
        make_run(user, name=f"busy {number}", seed=number)
    return user


def test_a_team_of_many_runs_does_not_delay_another_teams_first(busy: User) -> None:
    assert taken() == "busy 0"
    first = make_run(make_user(), name="first")
    assert runs_before(first) == 2  # the one under way, and one of the other team at most
    ended()
    assert taken() == "first"
    assert [taken() for _ in range(5)] == ["busy 1", "busy 2", "busy 3", "busy 4", None]


def test_free_workers_go_to_the_team_with_the_fewest_runs_under_way(busy: User) -> None:
    assert [taken(), taken()] == ["busy 0", "busy 1"]
    late = make_user()
    for number in range(3):
        make_run(late, name=f"late {number}", seed=number)
    assert [taken() for _ in range(4)] == ["late 0", "late 1", "busy 2", "late 2"]
