"""A team's own traffic: files on their way in, and what was kept of them."""

import uuid

from django.conf import settings
from django.db import models

from planner.teams.models import Team


class TraceUpload(models.Model):
    """A file that arrives in parts. It ends with a trace, or is swept a day later."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    size_bytes = models.PositiveBigIntegerField(default=0)
    parts = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [models.Index(fields=["team", "created_at"])]

    def __str__(self) -> str:
        return self.name


class UploadPart(models.Model):
    """Some bytes of an upload, counted from 1."""

    upload = models.ForeignKey(TraceUpload, on_delete=models.CASCADE, related_name="pieces")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["upload", "number"], name="one_part_per_number")]
        ordering = ["number"]

    def __str__(self) -> str:
        return f"{self.upload} part {self.number}"


class Trace(models.Model):
    """Recorded traffic of a team: its profile, and its requests as a scenario takes them; not the file."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="traces")
    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the file's bytes and the answers given about it.")
    format = models.CharField(max_length=40)
    requests = models.PositiveBigIntegerField()
    inspection = models.JSONField(help_text="What inspect_source told: reading and profile.")
    csv_gzip = models.BinaryField(null=True, help_text="The requests as CSV, packed; null above what a scenario takes.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "digest"], name="one_trace_per_file")]
        indexes = [models.Index(fields=["team", "-created_at"])]

    def __str__(self) -> str:
        return self.name


class EntryKind(models.TextChoices):
    """Which list of the catalog an entry stands in; the names are planning's."""

    ACCELERATOR = "accelerators", "Accelerator"
    MODEL = "models", "Model"
    GPU_PRICE = "gpu-prices", "GPU price"
    API_PRICE = "api-prices", "API price"


class CatalogEntry(models.Model):
    """Something that a team knows better than the catalog. `value` is as it was sent, `name` as planning calls it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="catalog_entries")
    kind = models.CharField(max_length=12, choices=EntryKind.choices)
    name = models.CharField(max_length=401)
    value = models.JSONField()
    source = models.CharField(max_length=200)
    as_of = models.DateField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "kind", "name"], name="one_entry_of_a_name")]
        indexes = [models.Index(fields=["team", "-created_at"])]

    def __str__(self) -> str:
        return self.name
