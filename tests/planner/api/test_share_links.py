"""/api/v1/share-links."""

from datetime import timedelta

import pytest
from django.utils import timezone

from planner.reports.models import ShareLink
from planner.runs.models import Run, State
from planner.teams.models import User
from tests.factories import make_run, make_user
from tests.planner.api.support import Api, problem


@pytest.fixture
def done(user: User) -> Run:
    run = make_run(user)
    run.state, run.report = State.DONE, "{}"
    run.save()
    return run


def test_a_link_is_made_listed_and_revoked(api: Api, user: User, done: Run) -> None:
    response = api.post("/share-links", {"run_id": str(done.pk), "name": "Board", "expires_in_days": 7})
    assert response.status_code == 201
    made = response.json()
    assert made["path"].startswith("/shared/")
    assert (made["name"], made["author"], made["expired"]) == ("Board", user.email, False)
    listed = api.get("/share-links").json()["items"]
    assert listed == [{name: value for name, value in made.items() if name != "path"}]
    assert api.get(response["Location"]).json() == listed[0]
    assert api.delete(made["link"]).status_code == 204
    assert api.delete(made["link"]).status_code == 204
    assert api.get("/share-links").json()["items"] == []


def test_the_secret_is_shown_once(api: Api, done: Run) -> None:
    path = api.post("/share-links", {"run_id": str(done.pk)}).json()["path"]
    assert path.split("/")[2] not in api.get("/share-links").content.decode()


def test_an_expired_link_is_listed_as_such(api: Api, done: Run) -> None:
    api.post("/share-links", {"run_id": str(done.pk)})
    ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert api.get("/share-links").json()["items"][0]["expired"] is True


def test_links_of_one_run(api: Api, user: User, done: Run) -> None:
    api.post("/share-links", {"run_id": str(done.pk)})
    assert len(api.get(f"/share-links?run_id={done.pk}").json()["items"]) == 1
    assert api.get(f"/share-links?run_id={make_run(user, seed=9).pk}").json()["items"] == []


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"expires_in_days": 0}, "/expires_in_days"),
        ({"expires_in_days": 367}, "/expires_in_days"),
        ({"name": "\n"}, "/name"),
    ],
)
def test_bad_values_are_told(api: Api, done: Run, change: dict[str, object], pointer: str) -> None:
    response = api.post("/share-links", {"run_id": str(done.pk)} | change)
    assert problem(response, 422, "invalid-body")["errors"][0]["pointer"] == pointer


def test_only_ones_own_finished_run_is_shared(api: Api, user: User) -> None:
    for run in (make_run(user), make_run(make_user())):
        problem(api.post("/share-links", {"run_id": str(run.pk)}), 422, "invalid-body")
    assert not ShareLink.objects.exists()
