"""Who owns a run. Every change of a run's state is one conditional UPDATE here, so no two workers can both make it.

Times are the database's clock, so workers whose clocks differ agree on when a lease ends. A lease that ends later than
any that could be given now was given before that clock was set back, and counts as ended: its worker renews it within
seconds if it is there.
"""

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from planner.runs.models import Run, State

CLOCK_SLACK = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Lease:
    """A worker's claim on a run; worthless once another worker holds a newer token."""

    run_id: uuid.UUID
    token: str


def _until() -> Any:
    return Now() + timedelta(seconds=settings.RUN_LEASE_S)


def _ended() -> Q:
    """Leases that nobody renewed, by a clock that may have been set back."""
    unlikely = Now() + timedelta(seconds=2 * settings.RUN_LEASE_S) + CLOCK_SLACK
    return Q(lease_until__lt=Now()) | Q(lease_until__gt=unlikely)


def _held(lease: Lease) -> QuerySet[Run]:
    return Run.objects.filter(pk=lease.run_id, lease_token=lease.token, state=State.RUNNING)


def claim(run_id: uuid.UUID) -> Lease | None:
    """Takes a queued run, or a running one whose worker went silent; None when it is not to be had."""
    lease = Lease(run_id, uuid.uuid4().hex)
    free = Q(state=State.QUEUED) | Q(_ended(), state=State.RUNNING)
    claimable = Run.objects.filter(free, pk=run_id, cancel_requested=False, attempts__lt=settings.RUN_MAX_ATTEMPTS)
    taken = claimable.update(
        state=State.RUNNING,
        lease_token=lease.token,
        lease_until=_until(),
        attempts=F("attempts") + 1,
        started_at=Now(),
        progress_ratio=0.0,
        stage="",
        partial=[],
    )
    return lease if taken else None


def renew(lease: Lease) -> bool:
    """Keeps the run for another lease; False: stop, it was cancelled, taken over or deleted."""
    return bool(_held(lease).filter(cancel_requested=False).update(lease_until=_until()))


def report_progress(lease: Lease, *, progress_ratio: float, stage: str, partial: list[Any]) -> bool:
    """Stores progress and renews; False as in `renew`."""
    row = _held(lease).filter(cancel_requested=False)
    return bool(row.update(lease_until=_until(), progress_ratio=progress_ratio, stage=stage[:200], partial=partial))


def _end(rows: QuerySet[Run], state: State, **columns: Any) -> int:
    return rows.update(state=state, lease_token="", lease_until=None, finished_at=Now(), **columns)


def finish(lease: Lease, report: str) -> bool:
    """Writes the result; False: the run is no longer this worker's, and nothing was written.

    A cancel that came too late is forgotten: the report is there, so it can be shared like any other.
    """
    done = {"report": report, "progress_ratio": 1.0, "stage": "", "partial": [], "cancel_requested": False}
    return bool(_end(_held(lease), State.DONE, **done))


def fail(lease: Lease, *, code: str, detail: str) -> bool:
    """Ends the run with a reason that its reader can act on; False as in `finish`."""
    return bool(_end(_held(lease), State.FAILED, failure={"code": code, "detail": detail}))


def stop(lease: Lease) -> bool:
    """Ends a run whose cancelling was asked for; False when it was not, or is no longer this worker's."""
    return bool(_end(_held(lease).filter(cancel_requested=True), State.CANCELLED))


def end_short_of_memory(lease: Lease) -> bool:
    """Ends a run that found too little memory at its last attempt; False: it is to be tried again, or not ours."""
    last = _held(lease).filter(attempts__gte=settings.RUN_MAX_ATTEMPTS)
    detail = f"The run needed more memory than a worker may take, {settings.RUN_MAX_ATTEMPTS} times."
    return bool(_end(last, State.FAILED, failure={"code": "out_of_memory", "detail": detail}))


def expired() -> QuerySet[Run]:
    """Running runs whose worker went silent."""
    return Run.objects.filter(_ended(), state=State.RUNNING)


def end_expired() -> int:
    """Ends lost runs that are not to be tried again: cancelled meanwhile, or out of attempts. Returns how many."""
    lost = {"code": "worker_lost", "detail": f"The worker was lost {settings.RUN_MAX_ATTEMPTS} times during this run."}
    cancelled = _end(expired().filter(cancel_requested=True), State.CANCELLED)
    return cancelled + _end(expired().filter(attempts__gte=settings.RUN_MAX_ATTEMPTS), State.FAILED, failure=lost)


def any_held() -> bool:
    """True while some worker is computing."""
    return Run.objects.filter(state=State.RUNNING, lease_until__gte=Now()).exists()


def release_all() -> None:
    """Puts every running run back in the queue at once, without counting the attempt.

    Only for whoever just ended all workers there are; the next reaper's first look sends the messages.
    """
    held = Run.objects.filter(state=State.RUNNING)
    long_ago = Now() - timedelta(days=1)
    held.update(
        state=State.QUEUED,
        lease_token="",
        lease_until=None,
        attempts=F("attempts") - 1,
        queued_at=long_ago,
        resends=0,
    )


def requeue_expired(run_id: uuid.UUID) -> bool:
    """Puts a lost run back in the queue; its silent worker's token is void from here on."""
    row = expired().filter(pk=run_id)
    return bool(row.update(state=State.QUEUED, lease_token="", lease_until=None, queued_at=Now(), resends=0))
