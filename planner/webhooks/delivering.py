"""Attempts: claimed by a conditional UPDATE, repeated with growing pauses, given up after the last.

As with runs, the row is the truth; see `planner.runs.leases`. Times are the database's clock.
"""

import time
import uuid
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from planner.core.addresses import TargetRefused
from planner.webhooks import signing
from planner.webhooks.messages import wake
from planner.webhooks.models import PING, Delivery, DeliveryState, Webhook
from planner.webhooks.sending import Outcome, post
from planner.webhooks.services import disable
from planner.webhooks.targets import parse_target, resolve

PAUSES_S = (10, 60, 300, 1_800, 7_200, 18_000, 36_000)
MAX_ATTEMPTS = len(PAUSES_S) + 1
"""The last one about 18 hours after the first."""
LEASE = timedelta(seconds=120)
RESEND = timedelta(seconds=60)
"""A worker that was woken and did not come is woken again after this long."""
DISABLE_AFTER = 5
"""Deliveries given up in a row."""
GONE = 410
WOKEN_AT_ONCE = 50
USER_AGENT = "Staircase-Webhooks/1"


def attempt(delivery_id: uuid.UUID) -> None:
    """One attempt, if it is due and no other worker is at it."""
    token = uuid.uuid4().hex
    if not _claim(delivery_id, token):
        return
    row = Delivery.objects.select_related("webhook").get(pk=delivery_id)
    outcome = _send(row)
    held = Delivery.objects.filter(pk=row.pk, lease_token=token, state=DeliveryState.PENDING)
    if not outcome.error:
        if _end(held, DeliveryState.DELIVERED, outcome):
            Webhook.objects.filter(pk=row.webhook_id).update(failures=0)
    elif row.event == PING or outcome.status == GONE or row.attempts >= MAX_ATTEMPTS:
        if _end(held, DeliveryState.FAILED, outcome):
            _count_failure(row, outcome)
    else:
        pause = timedelta(seconds=PAUSES_S[row.attempts - 1])
        held.update(lease_token="", lease_until=None, due_at=Now() + pause, **_told(outcome))


def _claim(delivery_id: uuid.UUID, token: str) -> bool:
    free = Q(lease_until=None) | Q(lease_until__lt=Now()) | Q(lease_until__gt=Now() + 2 * LEASE)
    rows = Delivery.objects.filter(free, pk=delivery_id, state=DeliveryState.PENDING, attempts__lt=MAX_ATTEMPTS)
    lease = {"lease_token": token, "lease_until": Now() + LEASE, "due_at": Now() + LEASE}
    return bool(rows.update(attempts=F("attempts") + 1, **lease))


def _send(row: Delivery) -> Outcome:
    webhook = row.webhook
    private = settings.WEBHOOK_PRIVATE_TARGETS
    secret = signing.secret_of(webhook.salt)
    if signing.secret_sha256(secret) != webhook.secret_sha256:
        return Outcome(None, "The server's SECRET_KEY changed, and the secret with it: make the webhook anew.", 0)
    try:
        target = parse_target(webhook.url, private=private)
        addresses = resolve(target, private=private)
    except TargetRefused as refused:
        return Outcome(None, refused.detail, 0)
    body, timestamp_s = row.body.encode(), int(time.time())
    headers = {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "Webhook-Id": str(row.pk),
        "Webhook-Timestamp": str(timestamp_s),
        "Webhook-Signature": signing.signature(secret, str(row.pk), timestamp_s, body),
    }
    return post(target, addresses, headers, body)


def _told(outcome: Outcome) -> dict[str, Any]:
    return {"status": outcome.status, "error": outcome.error, "duration_ms": outcome.duration_ms}


def _end(rows: QuerySet[Delivery], state: DeliveryState, outcome: Outcome) -> int:
    return rows.update(state=state, lease_token="", lease_until=None, ended_at=Now(), **_told(outcome))


def _count_failure(row: Delivery, outcome: Outcome) -> None:
    """A test is no failure. A receiver that says 410 wants no more."""
    if row.event == PING:
        return
    hook = Webhook.objects.filter(pk=row.webhook_id, disabled_at=None)
    hook.update(failures=F("failures") + 1)
    if outcome.status == GONE:
        disable(hook, row.webhook_id, "The receiver answered 410 Gone.")
    else:
        reason = f"{DISABLE_AFTER} deliveries in a row were given up; the last: {outcome.error}"[:200]
        disable(hook.filter(failures__gte=DISABLE_AFTER), row.webhook_id, reason)


def wake_due() -> None:
    """Wakes workers for what is due: pauses that are over, lost messages, lost workers. For the reaper."""
    # What was never tried is due at once: one that is due later was made before the clock was set back.
    due = Q(due_at__lte=Now()) | Q(attempts=0, due_at__gt=Now() + 2 * LEASE)
    pending = Delivery.objects.filter(due, state=DeliveryState.PENDING)
    lost = pending.filter(attempts__gte=MAX_ATTEMPTS)
    lost.update(state=DeliveryState.FAILED, ended_at=Now(), error="The worker was lost during the last attempt.")
    for pk in pending.order_by("due_at").values_list("pk", flat=True)[:WOKEN_AT_ONCE]:
        if not wake(pk):
            return  # the broker is away; the next look tries again
        Delivery.objects.filter(due, pk=pk).update(due_at=Now() + RESEND)
