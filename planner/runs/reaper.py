"""Brings lost runs back: those whose worker went silent, and those whose message was lost."""

import logging
import threading
import uuid
from datetime import timedelta
from pathlib import Path
from time import monotonic

from django.conf import settings
from django.db import Error, close_old_connections
from django.db.models import F, Q
from django.db.models.functions import Now

from planner.datasets.jobs import wake_due as wake_due_jobs
from planner.datasets.messages import CALIBRATE, COMPARE
from planner.datasets.models import Calibration, Measurement
from planner.prices.scheduled import wake_due_fetches
from planner.runs import leases
from planner.runs.announcing import announce_ended
from planner.runs.limits import delete_outlived
from planner.runs.messages import wake
from planner.runs.models import Run, State
from planner.webhooks.delivering import wake_due

RESEND_DOUBLINGS = 5  # waits 10 s, 20 s, ... 320 s: a long queue must not fill the broker with repeated messages
RESENDS_PER_TICK = 50
INTERVAL_S = 1.0
OUTLIVED_INTERVAL_S = 600.0
OUTLIVED_MORE_S = 5.0

logger = logging.getLogger(__name__)


def reap() -> list[uuid.UUID]:
    """One look at the table; returns the runs that a message was sent for. Any number of reapers may run at once."""
    leases.end_expired()
    lost = [pk for pk in leases.expired().values_list("pk", flat=True) if leases.requeue_expired(pk)]
    for pk in lost:
        logger.warning("run %s: its worker went silent, queued again", pk)
    sent = []
    for pk in [*lost, *_stale()]:
        if not wake(pk):
            break  # the broker is away; the next look tries again
        if pk not in lost:
            Run.objects.filter(pk=pk, state=State.QUEUED).update(queued_at=Now(), resends=F("resends") + 1)
        sent.append(pk)
    return sent


def _stale() -> list[uuid.UUID]:
    """Queued runs that no worker took for a while, longest waiting first: perhaps their message was lost."""
    step_s = settings.RUN_RESEND_QUEUED_AFTER_S
    due = Q()
    for resends in range(RESEND_DOUBLINGS + 1):
        lookup = "resends" if resends < RESEND_DOUBLINGS else "resends__gte"
        waited = Now() - timedelta(seconds=step_s * 2**resends)
        due |= Q(**{lookup: resends}, queued_at__lt=waited)
    due |= Q(queued_at__gt=Now() + leases.CLOCK_SLACK)  # the clock was set back since
    rows = Run.objects.filter(due, state=State.QUEUED, cancel_requested=False)
    return list(rows.order_by("queued_at").values_list("pk", flat=True)[:RESENDS_PER_TICK])


def reap_until(stop: threading.Event, sign_of_life: Path | None = None) -> None:
    """Looks once a second until told to stop; outlives a database or broker that is away for a while.

    Touches the file `sign_of_life` after each look that worked.
    """
    outlived_due_s = 0.0
    while not stop.wait(INTERVAL_S):
        try:
            reap()
            announce_ended()
            wake_due()
            wake_due_jobs(Measurement, COMPARE)
            wake_due_jobs(Calibration, CALIBRATE)
            wake_due_fetches()
            if monotonic() >= outlived_due_s:
                more = delete_outlived()
                outlived_due_s = monotonic() + (OUTLIVED_MORE_S if more else OUTLIVED_INTERVAL_S)
            if sign_of_life is not None:
                sign_of_life.touch()
        except Error as error:
            logger.warning("the reaper could not look: %s", type(error).__name__)
        close_old_connections()
