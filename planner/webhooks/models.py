"""Where a team wants to be told of what happens, and each time that it was."""

import uuid
from urllib.parse import urlsplit

from django.conf import settings
from django.db import models
from django.db.models import Q

from planner.teams.models import Team


class Event(models.TextChoices):
    RUN_DONE = "run.done"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"


PING = "ping"
"""An event that only someone's asking causes."""


class Webhook(models.Model):
    """An address of a team's. Its secret is not stored: it follows from `salt` and SECRET_KEY (see signing.py)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="webhooks")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=120, blank=True)
    url = models.CharField(max_length=500)
    events = models.JSONField(help_text="Kinds of events that it wants.")
    salt = models.CharField(max_length=32)
    secret_sha256 = models.CharField(
        max_length=64, help_text="Tells when SECRET_KEY is no longer the one it began with."
    )
    failures = models.PositiveSmallIntegerField(default=0, help_text="Deliveries given up since the last that arrived.")
    disabled_at = models.DateTimeField(null=True, blank=True)
    disabled_reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["team", "-created_at"])]

    def __str__(self) -> str:
        return self.name or urlsplit(self.url).hostname or str(self.id)


class DeliveryState(models.TextChoices):
    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


class Delivery(models.Model):
    """One event for one webhook. The row is the truth; a Celery message only wakes a worker to look at it.

    Its id goes out with every attempt, so that a receiver that gets it twice can tell.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=40)
    body = models.TextField(help_text="JSON, sent byte for byte at every attempt.")
    state = models.CharField(max_length=10, choices=DeliveryState.choices, default=DeliveryState.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(help_text="When a worker is to be woken, if it is pending still.")
    lease_token = models.CharField(max_length=32, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    status = models.PositiveSmallIntegerField(null=True, blank=True, help_text="What the receiver answered last.")
    error = models.CharField(max_length=200, blank=True, help_text="Why the last attempt failed.")
    duration_ms = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(fields=["webhook", "-created_at"]),
            models.Index(fields=["due_at"], condition=Q(state="pending"), name="webhook_deliveries_due"),
        ]

    def __str__(self) -> str:
        return f"{self.event} ({self.state})"
