"""Small computations that a web process must not do: a row that waits, taken by a worker under a lease.

As with runs, the row is the truth and the message only wakes a worker. The result follows from the row alone, so that
a computation that was lost or doubled harms nothing; a worker writes only while it holds the lease.
"""

import logging
import uuid
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from django.db import Error, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now

from planner.celery import wake_worker

MAX_ATTEMPTS = 3
LEASE = timedelta(minutes=10)
UNLIKELY = 2 * LEASE
"""A lease that ends later was given before the clock was set back."""
RESEND = timedelta(seconds=30)
"""A worker that was woken and did not come is woken again after this long."""
WOKEN_AT_ONCE = 20

logger = logging.getLogger(__name__)


class JobState(models.TextChoices):
    WAITING = "waiting"
    READY = "ready"
    FAILED = "failed"


class Job(models.Model):
    """Columns of a row that a worker completes."""

    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="How often a worker took it.")
    due_at = models.DateTimeField(db_default=Now(), help_text="When a worker is to be woken, if it waits still.")
    lease_token = models.CharField(max_length=32, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    failure = models.CharField(max_length=300, blank=True, help_text="Why there is no result.")

    class Meta:
        abstract = True


def work_on(
    model: type[Job],
    key: uuid.UUID,
    compute: Callable[[Any], Mapping[str, Any]],
    settle: Callable[[Any], None] = lambda _: None,
) -> None:
    """Take the row if it waits and nobody else has it, compute, and write the columns that came out.

    compute gets the row and writes nothing; a JobFailed of its ends the job with its sentence, anything else with a
    plain one. settle gets the row once it is ready, and changes other rows in the same transaction: all of it stands,
    or nothing does and the job waits still.
    """
    token = uuid.uuid4().hex
    rows = model._default_manager.filter(pk=key)
    free = Q(lease_until=None) | Q(lease_until__lt=Now()) | Q(lease_until__gt=Now() + UNLIKELY)
    lease = {"lease_token": token, "lease_until": Now() + LEASE, "due_at": Now() + LEASE}
    waiting = rows.filter(free, state=JobState.WAITING, attempts__lt=MAX_ATTEMPTS)
    if not waiting.update(attempts=F("attempts") + 1, **lease):
        return
    try:
        done: Mapping[str, Any] = {**compute(rows.get()), "state": JobState.READY}
    except JobFailed as failed:
        done = {"state": JobState.FAILED, "failure": str(failed)[:300]}
    except model.DoesNotExist:
        return
    except (Error, MemoryError):
        raise  # nothing can be written now: the lease runs out and it is tried again
    except Exception:
        logger.exception("%s %s failed", model._meta.model_name, key)
        done = {"state": JobState.FAILED, "failure": "Something went wrong inside the planner; its log says more."}
    with transaction.atomic():
        held = rows.filter(lease_token=token, state=JobState.WAITING)
        written = held.update(lease_token="", lease_until=None, **done)
        if written and done["state"] == JobState.READY:
            settle(rows.get())


class JobFailed(Exception):  # noqa: N818 - the name says what happened
    """A computation that cannot be done; the message is for people."""


def wake_due(model: type[Job], task: str) -> None:
    """Wakes workers for what waits: lost messages, lost workers. For the reaper."""
    due = Q(due_at__lte=Now()) | Q(due_at__gt=Now() + UNLIKELY)
    waiting = model._default_manager.filter(due, state=JobState.WAITING)
    lost = waiting.filter(attempts__gte=MAX_ATTEMPTS)
    lost.update(state=JobState.FAILED, failure="The worker was lost three times while computing it.")
    for pk in waiting.order_by("due_at").values_list("pk", flat=True)[:WOKEN_AT_ONCE]:
        if not wake_worker(task, pk):
            return  # the broker is away; the next look tries again
        model._default_manager.filter(due, pk=pk).update(due_at=Now() + RESEND)
