"""GET /api/v1/runs/{id}: state, progress, waiting, ETag."""

import threading
import uuid

import pytest
from django.db import connections

from planner.api import waiting
from planner.runs.models import Run, State
from planner.teams.models import User
from tests.factories import make_run, make_token, make_user
from tests.planner.api.support import Api, problem


@pytest.fixture
def run(user: User) -> Run:
    return make_run(user)


def test_a_running_run_shows_how_far_it_is(api: Api, run: Run) -> None:
    found = [{"id": "h100-tp1", "feasible": True}]
    Run.objects.update(state=State.RUNNING, progress_ratio=0.25, stage="Simulating", partial=found)
    response = api.get(f"/runs/{run.pk}")
    body = response.json()
    assert (body["state"], body["progress_ratio"], body["stage"]) == ("running", 0.25, "Simulating")
    assert body["candidates"] == found
    assert response["Retry-After"] == "2"
    assert body["created_at"].endswith("Z")


@pytest.mark.parametrize("state", [State.DONE, State.FAILED, State.CANCELLED])
def test_an_ended_run_needs_no_more_asking(api: Api, run: Run, state: State) -> None:
    Run.objects.update(state=state, failure={"code": "worker_lost", "detail": "Three workers died."})
    response = api.get(f"/runs/{run.pk}")
    assert "Retry-After" not in response
    assert response.json()["failure"] == {"code": "worker_lost", "detail": "Three workers died."}


def test_an_unknown_run_is_404(api: Api) -> None:
    problem(api.get(f"/runs/{uuid.uuid4()}"), 404, "not-found")


@pytest.mark.parametrize("tag", ["{0}", "W/{0}", '"x", {0}', "*"])
def test_what_the_caller_has_already_is_not_sent(api: Api, run: Run, tag: str) -> None:
    first = api.get(f"/runs/{run.pk}")
    again = api.get(f"/runs/{run.pk}", If_None_Match=tag.format(first["ETag"]))
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert again["Retry-After"] == "2"


def test_any_change_changes_the_etag(api: Api, run: Run) -> None:
    first = api.get(f"/runs/{run.pk}")
    Run.objects.update(progress_ratio=0.5)
    again = api.get(f"/runs/{run.pk}", If_None_Match=first["ETag"])
    assert again.status_code == 200
    assert again["ETag"] != first["ETag"]


def test_caches_keep_callers_apart(api: Api, run: Run) -> None:
    response = api.get(f"/runs/{run.pk}")
    assert response["Cache-Control"] == "private, no-cache"
    assert {"Authorization", "Cookie"} <= set(response["Vary"].split(", "))


def test_head_sends_the_headers_alone(api: Api, run: Run) -> None:
    response = api.call("HEAD", f"/runs/{run.pk}")
    assert (response.status_code, response.content) == (200, b"")
    assert response["ETag"] == api.get(f"/runs/{run.pk}")["ETag"]


def test_waiting_ends_with_the_run() -> None:
    states = iter([True, True, False])
    slept: list[float] = []
    waiting.wait_while(lambda: next(states), 20, sleep=slept.append, clock=lambda: 0.0)
    assert slept == [waiting.POLL_S] * 2


def test_waiting_ends_with_its_time() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    waiting.wait_while(lambda: True, 1.1, sleep=sleep, clock=lambda: now[0])
    assert now[0] == pytest.approx(1.1)


def test_too_many_waiters_are_answered_at_once() -> None:
    held = [waiting._slots.acquire(blocking=False) for _ in range(waiting.MAX_WAITERS)]
    try:
        waiting.wait_while(lambda: pytest.fail("it waited"), 20)
    finally:
        for _ in held:
            waiting._slots.release()


def test_a_finished_run_is_not_waited_for(api: Api, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "POLL_S", 1e9)
    Run.objects.update(state=State.DONE)
    assert api.get(f"/runs/{run.pk}?wait=20").json()["state"] == "done"


@pytest.mark.django_db(transaction=True)
def test_wait_holds_the_answer_until_the_run_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    user = make_user()
    run = make_run(user)
    asked = threading.Event()

    def finish() -> None:
        asked.wait(10)
        Run.objects.update(state=State.DONE)
        connections.close_all()

    def sleep(seconds: float) -> None:
        asked.set()
        finisher.join(10)

    finisher = threading.Thread(target=finish)
    finisher.start()
    monkeypatch.setattr(waiting.wait_while, "__kwdefaults__", {**waiting.wait_while.__kwdefaults__, "sleep": sleep})
    body = Api(make_token(user)[1]).get(f"/runs/{run.pk}?wait=20").json()
    assert body["state"] == "done"


@pytest.mark.parametrize("wait", ["21", "-1", "x", "1.5", "", "1e1", "٣٣٣"])
def test_a_wait_that_is_none_is_refused(api: Api, run: Run, wait: str) -> None:
    body = problem(api.get(f"/runs/{run.pk}?wait={wait}"), 400, "invalid-parameter")
    assert body["errors"][0]["pointer"] == "?wait"
