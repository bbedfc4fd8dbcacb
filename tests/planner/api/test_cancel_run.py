"""DELETE /api/v1/runs/{id}."""

import pytest

from planner.runs.models import Run, State
from planner.teams.models import User
from tests.factories import make_run
from tests.planner.api.support import Api


def test_a_queued_run_is_cancelled_at_once(api: Api, user: User) -> None:
    run = make_run(user)
    response = api.delete(f"/runs/{run.pk}")
    assert (response.status_code, response.content) == (204, b"")
    assert Run.objects.get().state == State.CANCELLED


def test_a_running_run_is_asked_to_stop(api: Api, user: User) -> None:
    run = make_run(user)
    Run.objects.update(state=State.RUNNING)
    for _ in range(2):
        response = api.delete(f"/runs/{run.pk}")
        assert response.status_code == 202
        assert response.json()["cancel_requested"] is True
        assert response["Location"] == f"/api/v1/runs/{run.pk}"
        assert response["Retry-After"] == "2"


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.CANCELLED])
def test_cancelling_what_has_ended_changes_nothing(api: Api, user: User, state: State) -> None:
    run = make_run(user)
    Run.objects.update(state=state)
    assert [api.delete(f"/runs/{run.pk}").status_code for _ in range(2)] == [204, 204]
    assert Run.objects.get().state == state
