"""What lets strangers read one report."""

import uuid

from django.conf import settings
from django.db import models

from planner.runs.models import Run
from planner.teams.models import Team


class ShareLink(models.Model):
    """A link that shows the report of one run to whoever has its address, until it expires or is revoked.

    Of the secret in the address only the SHA-256 is kept.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="share_links")
    name = models.CharField(max_length=120, blank=True, help_text="Whom it is for.")
    secret_sha256 = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["team", "-created_at"])]

    def __str__(self) -> str:
        return self.name or f"link of {self.created_at:%Y-%m-%d}"
