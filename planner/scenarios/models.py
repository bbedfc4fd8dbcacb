"""Saved scenarios. A version never changes; an edit makes the next one."""

import json
import uuid
from typing import Any

from django.conf import settings
from django.core.validators import MaxLengthValidator
from django.db import models
from django.utils import timezone

from planner.teams.models import Team

MAX_TAG_CHARACTERS = 40
MAX_COMMENT_CHARACTERS = 4_000


class Scenario(models.Model):
    """A named scenario of a team; its content lives in its versions."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="scenarios")
    name = models.CharField(max_length=200)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(default=timezone.now, help_text="When the newest version was saved.")
    archived_at = models.DateTimeField(null=True, blank=True)
    words = models.TextField(blank=True, help_text="What a search looks in, in small letters.")

    class Meta:
        indexes = [models.Index(fields=["team", "-created_at"]), models.Index(fields=["team", "-changed_at"])]

    def __str__(self) -> str:
        return self.name


class ScenarioVersion(models.Model):
    """One immutable state of a scenario: the canonical JSON of the schema and its digest."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    body = models.TextField(help_text="Canonical JSON of the scenario schema.")
    digest = models.CharField(max_length=64, db_index=True)
    priced_at = models.DateField(null=True, help_text="The body's date of prices.")
    note = models.CharField(max_length=500, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scenario", "number"], name="one_version_per_number")]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.scenario} v{self.number}"

    @property
    def document(self) -> dict[str, Any]:
        """The scenario as plain values."""
        document: dict[str, Any] = json.loads(self.body)
        return document


class ScenarioTag(models.Model):
    """A word that a team files a scenario under."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=MAX_TAG_CHARACTERS)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["scenario", "name"], name="one_tag_of_a_name")]
        indexes = [models.Index(fields=["name"])]
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Comment(models.Model):
    """Plain text that someone said about a scenario while `version` was its newest."""

    scenario = models.ForeignKey(Scenario, on_delete=models.CASCADE, related_name="comments")
    version = models.ForeignKey(ScenarioVersion, on_delete=models.CASCADE, related_name="+")
    text = models.TextField(validators=[MaxLengthValidator(MAX_COMMENT_CHARACTERS)])
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["scenario", "-created_at"])]

    def __str__(self) -> str:
        return f"on {self.scenario}, {self.created_at:%Y-%m-%d}"
