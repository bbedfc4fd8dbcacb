from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from planner.runs import leases
from planner.runs.leases import Lease
from planner.runs.models import Run, State
from planner.runs.services import run_cancel
from planner.teams.models import User
from tests.factories import make_run


@pytest.fixture
def run(user: User) -> Run:
    return make_run(user)


def claimed(run: Run) -> Lease:
    lease = leases.claim(run.pk)
    assert lease is not None
    return lease


def expire(run: Run, **columns: Any) -> None:
    """As if the worker had gone silent."""
    Run.objects.filter(pk=run.pk).update(lease_until=timezone.now() - timedelta(seconds=1), **columns)


def row(run: Run) -> Run:
    return Run.objects.get(pk=run.pk)


def test_a_queued_run_is_claimed_once(run: Run) -> None:
    assert leases.claim(run.pk) is not None
    assert leases.claim(run.pk) is None
    assert (row(run).state, row(run).attempts) == (State.RUNNING, 1)


def test_an_expired_lease_is_claimed_anew_from_the_start(run: Run) -> None:
    first = claimed(run)
    leases.report_progress(first, progress_ratio=0.5, stage="half", partial=[1])
    expire(run)
    second = claimed(run)
    assert second.token != first.token
    assert (row(run).attempts, row(run).progress_ratio, row(run).partial) == (2, 0.0, [])


def test_a_run_out_of_attempts_is_not_claimed(run: Run) -> None:
    claimed(run)
    expire(run, attempts=3)
    assert leases.claim(run.pk) is None


def test_finished_and_cancelled_runs_are_not_claimed(run: Run) -> None:
    for state in (State.DONE, State.FAILED, State.CANCELLED):
        Run.objects.filter(pk=run.pk).update(state=state)
        assert leases.claim(run.pk) is None


def test_only_the_newest_owner_writes(run: Run) -> None:
    old = claimed(run)
    expire(run)
    new = claimed(run)
    assert not leases.renew(old)
    assert not leases.report_progress(old, progress_ratio=0.9, stage="zombie", partial=[])
    assert not leases.finish(old, "zombie")
    assert not leases.fail(old, code="x", detail="zombie")
    assert leases.finish(new, "mine")
    assert (row(run).state, row(run).report) == (State.DONE, "mine")


def test_a_result_is_written_once(run: Run) -> None:
    lease = claimed(run)
    assert leases.finish(lease, "first")
    assert not leases.finish(lease, "second")
    assert row(run).report == "first"


def test_renewing_extends_the_lease(run: Run, settings: Any) -> None:
    lease = claimed(run)
    expire(run)
    settings.RUN_LEASE_S = 100.0
    assert leases.renew(lease)
    remaining = row(run).lease_until - timezone.now()
    assert timedelta(seconds=90) < remaining <= timedelta(seconds=101)


def test_a_cancel_is_seen_at_the_next_beat(run: Run) -> None:
    lease = claimed(run)
    run_cancel(run=run)
    assert not leases.renew(lease)
    assert not leases.report_progress(lease, progress_ratio=0.9, stage="", partial=[])
    assert leases.stop(lease)
    assert row(run).state == State.CANCELLED


def test_nothing_is_stopped_that_nobody_cancelled(run: Run) -> None:
    assert not leases.stop(claimed(run))
    assert row(run).state == State.RUNNING


def test_a_cancel_that_came_too_late_is_forgotten(run: Run) -> None:
    lease = claimed(run)
    run_cancel(run=run)
    assert leases.finish(lease, "report")
    assert (row(run).state, row(run).cancel_requested) == (State.DONE, False)


def test_a_deleted_run_stops_its_worker(run: Run) -> None:
    lease = claimed(run)
    row(run).delete()
    assert not leases.renew(lease)
    assert not leases.finish(lease, "report")


def test_releasing_puts_running_runs_back_uncounted(run: Run) -> None:
    claimed(run)
    leases.release_all()
    assert (row(run).state, row(run).attempts) == (State.QUEUED, 0)
    assert not leases.any_held()
