"""What pages keep between two requests."""

import uuid

from django.conf import settings
from django.db import models

from planner.scenarios.models import Scenario
from planner.teams.models import Team


class Draft(models.Model):
    """What someone typed into the scenario form and did not save yet: texts, right or wrong. Only its author sees it.

    It lies on the server, not in the browser, so that it follows its author to another machine and stays hidden from
    whoever signs in next on a shared one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    scenario = models.ForeignKey(
        Scenario, on_delete=models.CASCADE, null=True, related_name="+", help_text="What is edited; null for a new one."
    )
    base_number = models.PositiveIntegerField(null=True, help_text="The version that the edit began with.")
    name = models.CharField(max_length=200, blank=True)
    values = models.JSONField(help_text="Texts by field.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [models.Index(fields=["team", "user", "-updated_at"])]

    def __str__(self) -> str:
        return self.name or "draft"
