"""Price lists that were read, what they would change, and what of it was approved. Of the whole installation."""

import uuid

from django.conf import settings
from django.db import models


class RefreshState(models.TextChoices):
    WAITING = "waiting"
    APPROVED = "approved"
    REJECTED = "rejected"


class PriceRefresh(models.Model):
    """One reading of one list. Approved ones are never changed or deleted: results name them by their digest.

    `changes` is what was shown; `kept` what was approved of it: rows of GPU listings, or (provider, model) pairs of API
    prices that were held back. `document` is the list of API prices, compressed; empty for GPU prices.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    kind = models.CharField(max_length=3, choices=[("gpu", "GPU"), ("api", "API")])
    feed = models.CharField(max_length=60, help_text="Format and provider.")
    source = models.CharField(max_length=300, help_text="File name or address, as shown beside the prices.")
    licence = models.CharField(max_length=40)
    as_of = models.DateField(help_text="The day that the list is from.")
    document = models.BinaryField(blank=True)
    document_sha256 = models.CharField(max_length=64)
    rows = models.PositiveIntegerField(default=0, help_text="Rows that the list has; of API prices none are counted.")
    left_out = models.JSONField(default=dict, blank=True, help_text="Rows that could not be compared, by reason.")
    changes = models.JSONField(default=list, blank=True)
    changes_count = models.PositiveIntegerField(default=0)
    flagged_count = models.PositiveIntegerField(default=0)
    book_digest = models.CharField(max_length=8, blank=True, help_text="Of the approved prices it was compared with.")
    state = models.CharField(max_length=10, choices=RefreshState.choices, default=RefreshState.WAITING)
    kept = models.JSONField(default=list, blank=True)
    number = models.PositiveIntegerField(
        null=True, blank=True, unique=True, help_text="Order of approvals, from 1; none until approved."
    )
    book_after = models.CharField(max_length=8, blank=True, help_text="Digest of the approved prices from then on.")
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    decided_by_label = models.CharField(max_length=254, blank=True, help_text="Address, or where it was decided.")

    class Meta:
        ordering = ["-created_at"]
        indexes = [models.Index(fields=["state", "-created_at"])]

    def __str__(self) -> str:
        return f"{self.feed} of {self.as_of} ({self.state})"


class FeedFetch(models.Model):
    """When a scheduled list was last asked for, and what came of it; one row a feed."""

    feed = models.CharField(max_length=60, primary_key=True)
    tried_at = models.DateTimeField(help_text="When a worker was last told to fetch it.")
    outcome = models.CharField(max_length=300, blank=True)

    def __str__(self) -> str:
        return self.feed
