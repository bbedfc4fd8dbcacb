"""Reads of webhooks; the team comes first, so that nothing of another team can be named."""

import uuid

from django.db.models import OuterRef, Prefetch, QuerySet, Subquery

from planner.teams.models import Team
from planner.teams.selectors import owned_get
from planner.webhooks.models import Delivery, Webhook


def webhooks_of(team: Team) -> QuerySet[Webhook]:
    """The team's webhooks, newest first, each with its newest delivery as `last`."""
    webhooks = Webhook.objects.filter(team=team)
    of_one = Delivery.objects.filter(webhook=OuterRef("pk")).order_by("-created_at", "pk").values("pk")[:1]
    newest = webhooks.annotate(newest=Subquery(of_one)).values("newest")  # by index, however many deliveries there are
    last = Prefetch("deliveries", Delivery.objects.filter(pk__in=newest).defer("body"), to_attr="last")
    return webhooks.prefetch_related(last).order_by("-created_at", "pk")


def webhook_get(team: Team, webhook_id: uuid.UUID | str) -> Webhook:
    """One webhook of the team. Webhook.DoesNotExist: no such one here (malformed ids included)."""
    return owned_get(Webhook, team, webhook_id)


def deliveries_of(webhook: Webhook) -> QuerySet[Delivery]:
    """What was sent to a webhook, or will be, newest first."""
    return Delivery.objects.filter(webhook=webhook).order_by("-created_at", "pk")
