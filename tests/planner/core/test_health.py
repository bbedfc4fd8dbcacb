from typing import Any

import pytest
from django.db import InterfaceError, OperationalError
from django.test import Client

from planner.core import health
from planner.teams.models import User


@pytest.fixture(autouse=True)
def _fresh_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_probe", health._WorkerProbe())


def workers(monkeypatch: Any, *, broker: bool, worker: bool) -> list[int]:
    asked: list[int] = []
    monkeypatch.setattr(health, "ask_workers", lambda: asked.append(1) or {"broker": broker, "worker": worker})
    return asked


@pytest.mark.django_db
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_pages_and_api_say_that_the_database_is_away(
    client: Client, monkeypatch: Any, user: User, error: type[Exception]
) -> None:
    """On the way in (session, token) as well as in a view."""
    client.force_login(user)

    def refuse(*_: Any, **__: Any) -> None:
        raise error("the server closed the connection")

    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", refuse)
    client.raise_request_exception = False
    page = client.get("/scenarios/")
    assert (page.status_code, page["Retry-After"]) == (503, "5")
    assert "The database does not answer" in page.content.decode()
    answer = client.get("/api/v1/runs")
    assert (answer.status_code, answer["Retry-After"]) == (503, "5")
    assert answer.json()["type"].endswith("#database-away")


def test_alive(client: Client) -> None:
    assert client.get("/healthz").json() == {"status": "ok"}


@pytest.mark.django_db
def test_ready(client: Client, monkeypatch: Any) -> None:
    workers(monkeypatch, broker=True, worker=True)
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {"status": "ok", "database": "ok", "broker": "ok", "worker": "ok"}


@pytest.mark.django_db
def test_what_is_down_is_named(client: Client, monkeypatch: Any) -> None:
    workers(monkeypatch, broker=True, worker=False)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"status": "unavailable", "database": "ok", "broker": "ok", "worker": "down"}


def test_a_database_that_is_away_is_named(client: Client, monkeypatch: Any) -> None:
    workers(monkeypatch, broker=True, worker=True)

    def refuse() -> None:
        raise OperationalError("no password shown")

    monkeypatch.setattr(health.connection, "cursor", refuse)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json()["database"] == "down"


@pytest.mark.django_db
def test_workers_are_asked_at_most_every_two_seconds(client: Client, monkeypatch: Any) -> None:
    asked = workers(monkeypatch, broker=True, worker=True)
    for _ in range(5):
        client.get("/readyz")
    assert asked == [1]


def test_without_a_worker_the_broker_still_answers() -> None:
    assert health.ask_workers() == {"broker": True, "worker": False}


def test_a_broker_that_is_away_is_named(monkeypatch: Any) -> None:
    monkeypatch.setattr(health.app.conf, "broker_write_url", "redis://127.0.0.1:1/0")
    assert health.ask_workers() == {"broker": False, "worker": False}


@pytest.mark.django_db
def test_pages_are_ready_without_a_worker(client: Client, monkeypatch: Any) -> None:
    asked = workers(monkeypatch, broker=False, worker=False)
    response = client.get("/readyz?of=database")
    assert (response.status_code, response.json()) == (200, {"status": "ok", "database": "ok"})
    assert asked == []
