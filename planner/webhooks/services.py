"""Making, testing and ending webhooks, and telling them of events."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from planner.teams.audit import record
from planner.teams.models import Team, User
from planner.webhooks import signing
from planner.webhooks.messages import wake
from planner.webhooks.models import PING, Delivery, DeliveryState, Event, Webhook
from planner.webhooks.targets import parse_target

MAX_PER_TEAM = 20
PAUSED = "Paused by a member of the team."
DELIVERIES_LAST = timedelta(days=30)


class TooManyWebhooks(Exception):  # noqa: N818 - the name says what is the case
    """A team has at most MAX_PER_TEAM."""


@transaction.atomic
def webhook_create(
    *, team: Team, user: User | None, url: str, events: Sequence[str], name: str = ""
) -> tuple[Webhook, str]:
    """Makes a webhook and returns it with its secret, which is shown this once.

    TargetRefused: the address may not be called. TooManyWebhooks. ValidationError: name too long.
    """
    target = parse_target(url, private=settings.WEBHOOK_PRIVATE_TARGETS)
    Team.objects.select_for_update().get(pk=team.pk)
    if Webhook.objects.filter(team=team).count() >= MAX_PER_TEAM:
        raise TooManyWebhooks
    salt = signing.new_salt()
    secret = signing.secret_of(salt)
    wanted = [event for event in Event.values if event in events]
    webhook = Webhook(team=team, created_by=user, name=name, url=url, events=wanted, salt=salt)
    webhook.secret_sha256 = signing.secret_sha256(secret)
    webhook.full_clean()
    webhook.save()
    record(team=team, actor=user, action="webhook.made", thing=webhook, details={"host": target.host})
    return webhook, signing.secret_text(secret)


@transaction.atomic
def webhook_delete(*, webhook: Webhook, actor: User | None = None) -> None:
    """Ends a webhook, with what it was sent."""
    record(team=webhook.team, actor=actor, action="webhook.deleted", thing=webhook)
    webhook.delete()


@transaction.atomic
def webhook_pause(*, webhook: Webhook, actor: User | None = None) -> None:
    """Tells a webhook of nothing more until it is enabled again; one that is disabled already keeps its reason."""
    record(team=webhook.team, actor=actor, action="webhook.paused", thing=webhook)
    disable(Webhook.objects.filter(pk=webhook.pk, disabled_at=None), webhook.pk, PAUSED)


def disable(hook: QuerySet[Webhook], webhook_id: uuid.UUID, reason: str) -> None:
    """Tells it of nothing more, and ends what is waiting. hook: the row, where it is not disabled already."""
    if hook.update(disabled_at=Now(), disabled_reason=reason):
        waiting = Delivery.objects.filter(webhook=webhook_id, state=DeliveryState.PENDING).exclude(event=PING)
        waiting.update(state=DeliveryState.FAILED, ended_at=Now(), error="The webhook was disabled.", lease_token="")


@transaction.atomic
def webhook_enable(*, webhook: Webhook, actor: User | None = None) -> Webhook:
    """Lets a disabled webhook be told of events again, from now on; it then has all its chances."""
    record(team=webhook.team, actor=actor, action="webhook.enabled", thing=webhook)
    row = Webhook.objects.filter(pk=webhook.pk)
    row.update(disabled_at=None, disabled_reason="", failures=0)
    return row.get()


def webhook_ping(*, webhook: Webhook) -> Delivery:
    """Sends a test event once, to a disabled webhook too."""
    return _deliver(webhook, PING, {"webhook": str(webhook.pk)})


def event_record(*, team_id: uuid.UUID, event: str, data: Callable[[], Mapping[str, Any]]) -> list[Delivery]:
    """Tells every webhook of the team that wants events of this kind; belongs into the transaction of what happened.

    data: asked only where there is such a webhook.
    """
    wanting = [hook for hook in Webhook.objects.filter(team=team_id, disabled_at=None) if event in hook.events]
    told = data() if wanting else {}
    return [_deliver(webhook, event, told) for webhook in wanting]


def _deliver(webhook: Webhook, event: str, data: Mapping[str, Any]) -> Delivery:
    now = timezone.now()
    old = Delivery.objects.filter(webhook=webhook, created_at__lt=now - DELIVERIES_LAST)
    old.exclude(state=DeliveryState.PENDING).delete()
    row = Delivery(webhook=webhook, event=event, due_at=now)
    row.body = json.dumps(
        {"id": str(row.pk), "type": event, "timestamp": now.isoformat().replace("+00:00", "Z"), "data": data},
        ensure_ascii=False,
        separators=(",", ":"),
    )
    row.save()
    transaction.on_commit(lambda: wake(row.pk))
    return row
