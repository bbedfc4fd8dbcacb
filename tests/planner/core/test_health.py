from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from planner.core import health


@pytest.fixture(autouse=True)
def _fresh_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_probe", health._WorkerProbe())


def workers(monkeypatch: Any, *, broker: bool, worker: bool) -> list[int]:
    asked: list[int] = []
    monkeypatch.setattr(health, "ask_workers", lambda: asked.append(1) or {"broker": broker, "worker": worker})
    return asked


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
