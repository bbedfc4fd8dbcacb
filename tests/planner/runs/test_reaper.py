import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from planner.runs import leases, reaper
from planner.runs.models import Run, State
from planner.runs.services import run_cancel
from planner.teams.models import User
from tests.factories import make_run


class Broker:
    """Takes messages, or not."""

    def __init__(self) -> None:
        self.up = True
        self.sent: list[uuid.UUID] = []

    def wake(self, run_id: uuid.UUID) -> bool:
        if self.up:
            self.sent.append(run_id)
        return self.up


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    broker = Broker()
    monkeypatch.setattr(reaper, "wake", broker.wake)
    return broker


def ago(seconds: float) -> object:
    return timezone.now() - timedelta(seconds=seconds)


def lose(run: Run, attempts: int = 1) -> None:
    """Its worker was killed in mid-run."""
    leases.claim(run.pk)
    Run.objects.filter(pk=run.pk).update(lease_until=ago(1), attempts=attempts)


def row(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def test_a_lost_run_is_queued_and_sent_again_once(user: User, broker: Broker) -> None:
    run = make_run(user)
    lose(run)
    assert reaper.reap() == [run.pk]
    assert (row(run).state, row(run).lease_token) == (State.QUEUED, "")
    assert reaper.reap() == []
    assert broker.sent == [run.pk]


def test_a_lost_run_fails_after_three_attempts_with_the_reason(user: User, broker: Broker) -> None:
    run = make_run(user)
    lose(run, attempts=3)
    assert reaper.reap() == []
    assert row(run).state == State.FAILED
    assert row(run).failure == {"code": "worker_lost", "detail": "The worker was lost 3 times during this run."}


def test_a_run_cancelled_while_its_worker_died_ends_cancelled(user: User, broker: Broker) -> None:
    run = make_run(user)
    lose(run, attempts=3)
    run_cancel(run=run)
    reaper.reap()
    assert row(run).state == State.CANCELLED
    assert broker.sent == []


def test_a_live_run_is_left_alone(user: User, broker: Broker) -> None:
    run = make_run(user)
    leases.claim(run.pk)
    assert reaper.reap() == []
    assert row(run).state == State.RUNNING


def test_a_message_that_was_lost_is_sent_again_ever_more_rarely(user: User, broker: Broker) -> None:
    run = make_run(user)
    assert reaper.reap() == []
    for waited_s, expected in ((11, 1), (11, 1), (21, 2), (39, 2), (41, 3)):
        Run.objects.filter(pk=run.pk).update(queued_at=ago(waited_s))
        reaper.reap()
        assert len(broker.sent) == expected
    Run.objects.filter(pk=run.pk).update(queued_at=ago(321), resends=40)
    assert reaper.reap() == [run.pk]


def test_a_cancelled_run_is_not_sent(user: User, broker: Broker) -> None:
    run = make_run(user)
    Run.objects.filter(pk=run.pk).update(queued_at=ago(100))
    run_cancel(run=run)
    assert reaper.reap() == []


def test_while_the_broker_is_away_nothing_is_lost(user: User, broker: Broker) -> None:
    lost, stale = make_run(user), make_run(user, seed=2)
    lose(lost)
    Run.objects.filter(pk=stale.pk).update(queued_at=ago(11))
    broker.up = False
    assert reaper.reap() == []
    broker.up = True
    assert reaper.reap() == [stale.pk]
    Run.objects.filter(pk=lost.pk).update(queued_at=ago(11))
    assert reaper.reap() == [lost.pk]


def test_a_run_held_by_a_clock_that_was_set_back_since_comes_back(user: User, broker: Broker) -> None:
    """Its worker was lost with the clock an hour ahead: nobody waits for that hour."""
    run = make_run(user)
    leases.claim(run.pk)
    Run.objects.filter(pk=run.pk).update(lease_until=ago(-3600))
    assert reaper.reap() == [run.pk]
    assert row(run).state == State.QUEUED
    Run.objects.filter(pk=run.pk).update(queued_at=ago(-3600))
    assert reaper.reap() == [run.pk]
    assert row(run).queued_at <= timezone.now()
