"""What /metrics says about runs and webhooks: read from the database when asked, so that all processes say the same.

Values are of all teams together, and fall where a team deletes runs; so they are gauges, not counters. Each question is
answered from an index alone, but for the webhook calls that wait, whose rows are read.
"""

from datetime import timedelta
from typing import Any

from django.db import Error
from django.db.models import Avg, Count, F, Min, Q, Sum
from django.utils import timezone

from planner.core.exposition import Family, Sample
from planner.runs import leases
from planner.runs.models import FINAL_STATES, Run, State
from planner.webhooks.models import Delivery, DeliveryState

RECENTLY = timedelta(hours=1)


def database_families() -> list[Family]:
    """`staircase_database_up`, and where it is 1 all that the database says."""
    try:
        found = [*_stored_runs(), *_recent_runs(), *_deliveries()]
    except Error:
        found = []
    up = Sample(1 if found else 0)
    return [Family("staircase_database_up", "gauge", "1 while the database answers.", [up]), *found]


def _stored_runs() -> list[Family]:
    counts = dict(Run.objects.order_by().values_list("state").annotate(runs=Count("*")))
    again = Run.objects.filter(attempts__gt=1).aggregate(attempts=Sum("attempts"), runs=Count("*"))
    oldest = Run.objects.filter(state=State.QUEUED).aggregate(asked_at=Min("created_at"))["asked_at"]
    waited_s = 0.0 if oldest is None else (timezone.now() - oldest).total_seconds()
    return [
        _gauge("staircase_runs", "Stored runs by state.", *(Sample(counts.get(s, 0), {"state": s}) for s in State)),
        _gauge(
            "staircase_oldest_queued_run_age_seconds", "Since the oldest queued run was asked for.", Sample(waited_s)
        ),
        _gauge(
            "staircase_run_attempts_beyond_first",
            "How often stored runs were taken again after their worker went silent.",
            Sample((again["attempts"] or 0) - again["runs"]),
        ),
        _gauge(
            "staircase_runs_lease_expired",
            "Runs under way whose worker went silent, until the reaper sees them.",
            Sample(leases.expired().count()),
        ),
    ]


def _recent_runs() -> list[Family]:
    recent = Run.objects.filter(finished_at__gt=timezone.now() - RECENTLY)
    asked: dict[str, Any] = {}
    for state in FINAL_STATES:  # in columns: grouping by state would have SQLite walk all runs by the index of states
        asked[state] = Count("finished_at", filter=Q(state=state))
        asked[f"{state}_mean"] = Avg(F("finished_at") - F("started_at"), filter=Q(state=state))
    found = recent.aggregate(**asked)
    counts = [Sample(found[state], {"outcome": state}) for state in FINAL_STATES]
    means = [(state, found[f"{state}_mean"]) for state in FINAL_STATES]
    known = [Sample(mean.total_seconds(), {"outcome": state}) for state, mean in means if mean is not None]
    return [
        _gauge("staircase_runs_ended_last_hour", "Runs that ended in the last hour.", *counts),
        _gauge("staircase_runs_ended_last_hour_mean_seconds", "Mean time from their last start to their end.", *known),
    ]


def _deliveries() -> list[Family]:
    pending = Delivery.objects.filter(state=DeliveryState.PENDING)
    waiting = pending.aggregate(deliveries=Count("*"), due_at=Min("due_at"))
    due_at = waiting["due_at"]
    late_s = 0.0 if due_at is None else max(0.0, (timezone.now() - due_at).total_seconds())
    return [
        _gauge(
            "staircase_webhook_deliveries_waiting",
            "Webhook calls not yet made or to be tried again.",
            Sample(waiting["deliveries"]),
        ),
        _gauge(
            "staircase_webhook_delivery_overdue_seconds",
            "How long the most overdue webhook call is due.",
            Sample(late_s),
        ),
    ]


def _gauge(name: str, meaning: str, *samples: Sample) -> Family:
    return Family(name, "gauge", meaning, samples)
