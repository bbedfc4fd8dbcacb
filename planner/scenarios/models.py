"""Saved scenarios. A version never changes; an edit makes the next one."""

import uuid

from django.conf import settings
from django.db import models

from planner.teams.models import Team


class Scenario(models.Model):
    """A named scenario of a team; its content lives in its versions."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="scenarios")
    name = models.CharField(max_length=200)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["team", "-created_at"])]

    def __str__(self) -> str:
        return self.name


class ScenarioVersion(models.Model):
    """One immutable state of a scenario: the canonical JSON of the schema and its digest."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    body = models.TextField(help_text="Canonical JSON of the scenario schema.")
    digest = models.CharField(max_length=64, db_index=True)
    note = models.CharField(max_length=500, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scenario", "number"], name="one_version_per_number")]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.scenario} v{self.number}"
