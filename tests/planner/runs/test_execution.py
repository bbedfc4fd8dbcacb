"""What a worker does with a claimed run, with a stand-in for the engine that these tests can steer."""

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from billiard.exceptions import SoftTimeLimitExceeded
from django.db import InterfaceError, OperationalError

from planner import planning
from planner.runs import execution, leases
from planner.runs.models import Run, State
from planner.runs.services import run_cancel
from planner.runs.tasks import execute_run
from planner.teams.models import User
from tests.factories import make_run, make_user

pytestmark = pytest.mark.django_db(transaction=True)  # the lease is renewed over a connection of its own

Step = Callable[[Callable[[Any], bool]], dict[str, Any]]


@dataclass
class Progress:
    fraction_ratio: float
    stage: str = "stage"
    candidates: list[Any] = field(default_factory=list)


@pytest.fixture
def run(transactional_db: None) -> Run:
    return make_run(make_user())


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[Step], None]:
    """Replaces `plan` by the given function of the progress callback."""

    def use(step: Step) -> None:
        monkeypatch.setattr(
            planning, "plan", lambda scenario, on_progress, on_requests: step(on_progress), raising=False
        )
        monkeypatch.setattr(planning, "report_bytes", lambda report: json.dumps(report).encode(), raising=False)

    return use


def work(run: Run) -> Run:
    execute_run(str(run.pk))
    return Run.objects.get(pk=run.pk)


def test_the_report_is_written_byte_for_byte(run: Run, engine: Any) -> None:
    engine(lambda on_progress: {"é": 1})
    done = work(run)
    assert (done.state, done.report, done.progress_ratio) == (State.DONE, json.dumps({"é": 1}), 1.0)
    assert done.started_at is not None
    assert done.finished_at is not None


def test_a_doubled_message_does_nothing(run: Run, engine: Any) -> None:
    calls: list[int] = []
    engine(lambda on_progress: calls.append(1) or {})
    work(run)
    work(run)
    assert calls == [1]


def test_progress_is_stored_while_it_works(run: Run, engine: Any) -> None:
    def step(on_progress: Any) -> dict[str, Any]:
        assert on_progress(Progress(0.5, "two of four", [{"id": "a"}]))
        seen = Run.objects.get(pk=run.pk)
        assert (seen.progress_ratio, seen.stage, seen.partial) == (0.5, "two of four", [{"id": "a"}])
        return {}

    engine(step)
    assert work(run).state == State.DONE


def test_progress_is_written_at_most_four_times_a_second(run: Run, engine: Any, monkeypatch: Any) -> None:
    now_s = [100.0]
    monkeypatch.setattr(execution, "monotonic", lambda: now_s[0])
    written: list[float] = []
    real = leases.report_progress

    def count(*given: Any, **columns: Any) -> bool:
        written.append(columns["progress_ratio"])
        return real(*given, **columns)

    monkeypatch.setattr(leases, "report_progress", count)
    lease = leases.claim(run.pk)
    assert lease is not None
    writer = execution.ProgressWriter(lease, execution.Renewal(lease))
    for i in range(101):  # ten seconds
        now_s[0] = 100.0 + i / 10
        assert writer(Progress(i / 100))
    assert 30 <= len(written) <= 41


def test_cancelling_stops_the_engine(run: Run, engine: Any) -> None:
    def step(on_progress: Any) -> dict[str, Any]:
        run_cancel(run=run)
        assert not on_progress(Progress(0.5))
        raise planning.PlanCancelled

    engine(step)
    assert work(run).state == State.CANCELLED


def test_the_lease_is_renewed_while_the_engine_does_not_call_back(run: Run, engine: Any, settings: Any) -> None:
    settings.RUN_LEASE_S = 0.4

    def step(on_progress: Any) -> dict[str, Any]:
        first = Run.objects.get(pk=run.pk).lease_until
        renewed = threading.Event()
        for _ in range(100):
            if Run.objects.get(pk=run.pk).lease_until > first:
                renewed.set()
                break
            renewed.wait(0.02)
        assert renewed.is_set()
        return {}

    engine(step)
    assert work(run).state == State.DONE


def test_a_worker_that_lost_its_run_writes_nothing(run: Run, engine: Any) -> None:
    def step(on_progress: Any) -> dict[str, Any]:
        Run.objects.filter(pk=run.pk).update(lease_token="another")
        assert not on_progress(Progress(0.5))
        return {}

    engine(step)
    after = work(run)
    assert (after.state, after.report) == (State.RUNNING, "")


def test_readers_of_a_failure_see_no_internals(run: Run, engine: Any, caplog: pytest.LogCaptureFixture) -> None:
    def step(on_progress: Any) -> dict[str, Any]:
        raise RuntimeError("secret path /srv/x")

    engine(step)
    with caplog.at_level(logging.ERROR):
        after = work(run)
    assert after.state == State.FAILED
    assert after.failure is not None
    assert after.failure["code"] == "internal_error"
    assert str(run.pk) in after.failure["detail"]
    assert "secret" not in after.failure["detail"]
    assert "secret path" in caplog.text


def test_a_run_over_the_time_limit_fails_with_the_limit(run: Run, engine: Any) -> None:
    def step(on_progress: Any) -> dict[str, Any]:
        raise SoftTimeLimitExceeded

    engine(step)
    after = work(run)
    assert after.failure == {
        "code": "time_limit",
        "detail": "The run took longer than 25 minutes and was stopped.",
    }


def test_a_stored_scenario_that_is_no_longer_valid_fails_with_its_faults(run: Run, engine: Any) -> None:
    engine(lambda on_progress: {})
    Run.objects.filter(pk=run.pk).update(body='{"name": 1}')
    after = work(run)
    assert after.failure is not None
    assert after.failure["code"] == "scenario_invalid"
    assert "/name" in after.failure["detail"]


def test_a_broker_that_is_away_loses_no_run(user: User, settings: Any, monkeypatch: Any, caplog: Any) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError("amqp://me:secret@host")

    monkeypatch.setattr("planner.celery.app.send_task", refuse)
    run = make_run(user)
    assert run.state == State.QUEUED
    assert "the broker took no message" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize(("attempts", "state"), [(0, State.RUNNING), (2, State.FAILED)])
def test_a_process_without_memory_ends_and_its_run_is_tried_again_thrice(
    run: Run, engine: Any, attempts: int, state: State
) -> None:
    Run.objects.filter(pk=run.pk).update(attempts=attempts)

    def hungry(on_progress: Any) -> dict[str, Any]:
        raise MemoryError

    engine(hungry)
    with pytest.raises(SystemExit, match=str(execution.ENDED_FOR_MEMORY)):
        execute_run(str(run.pk))
    ended = Run.objects.get(pk=run.pk)
    assert ended.state == state
    assert state == State.RUNNING or ended.failure["code"] == "out_of_memory"


@pytest.mark.parametrize("away", [OperationalError, InterfaceError])
def test_a_run_whose_connection_broke_is_tried_again_and_does_not_fail(
    run: Run, engine: Any, away: type[Exception]
) -> None:
    def cut_off(on_progress: Any) -> dict[str, Any]:
        raise away("the connection is closed")

    engine(cut_off)
    with pytest.raises(away):
        execute_run(str(run.pk))
    assert Run.objects.get(pk=run.pk).state == State.RUNNING  # its lease runs out, then another worker takes it
