"""A team's own traffic and measurements: files on their way in, and what was kept of them."""

import uuid

from django.conf import settings
from django.db import models

from planner.datasets.jobs import Job
from planner.planning.schema.calibration import Calibration as StatedCalibration
from planner.teams.models import Team


class Purpose(models.TextChoices):
    """What a file is sent for."""

    TRACE = "trace"
    MEASUREMENT = "measurement"


class TraceUpload(models.Model):
    """A file that arrives in parts. It ends with a trace or a measurement, or is swept a day later."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=200)
    purpose = models.CharField(max_length=12, choices=Purpose.choices, default=Purpose.TRACE)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    size_bytes = models.PositiveBigIntegerField(default=0)
    parts = models.PositiveIntegerField(default=0)
    is_complete = models.BooleanField(
        default=False, help_text="It was looked at: no part is added, and what it said of people is gone."
    )

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


class Measurement(Job):
    """What a load test or a server said of itself: runs in one set of definitions, and where they were made.

    The columns of the deployment are as resolved: they say which calibration it takes part in. `comparison` is what
    the simulator says of the same runs, once a worker has made it; `outside` counts figures beyond their interval.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="measurements")
    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, help_text="SHA-256 of the file's bytes.")
    format = models.CharField(max_length=40)
    model = models.CharField(max_length=200)
    weight_dtype = models.CharField(max_length=40)
    gpu = models.CharField(max_length=200)
    engine = models.CharField(max_length=20)
    measured_on = models.DateField()
    runs = models.PositiveIntegerField()
    deployment = models.JSONField(help_text="What was said about where it ran.")
    inspection = models.JSONField(help_text="What was read from the file: runs, checks, notes.")
    plan_replicas = models.PositiveIntegerField(
        null=True, blank=True, help_text="Replicas of the plan that it follows, which count where nobody stated any."
    )
    comparison = models.JSONField(null=True, blank=True, help_text="Predicted beside measured.")
    outside = models.PositiveIntegerField(null=True, blank=True, help_text="Figures outside their interval.")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "digest"], name="one_measurement_per_file")]
        indexes = [
            models.Index(fields=["team", "-created_at"]),
            models.Index(fields=["team", "model", "gpu", "engine", "weight_dtype"]),
            models.Index(fields=["due_at"], condition=models.Q(state="waiting"), name="measurements_due"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a calibration must be of to match it."""
        return self.model, self.weight_dtype, self.gpu, self.engine

    @property
    def replicas(self) -> int:
        """Replicas that its figures are of: as stated, else those of the plan that it follows, else one."""
        return int(self.deployment.get("replicas") or self.plan_replicas or 1)


class Calibration(Job):
    """Step-time factors fitted to measurements of one deployment. Once ready it never changes, but for `in_use`.

    At most one of a deployment is in use: scenarios of the team that match it are planned with it.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="calibrations")
    model = models.CharField(max_length=200)
    weight_dtype = models.CharField(max_length=40)
    gpu = models.CharField(max_length=200)
    engine = models.CharField(max_length=20)
    number = models.PositiveIntegerField(help_text="Counted from 1 for each deployment.")
    sources = models.JSONField(help_text="Measurements that it was made from: id, name, digest, day.")
    stated = models.JSONField(null=True, blank=True, help_text="As a scenario carries it.")
    told = models.JSONField(null=True, blank=True, help_text="Factors, and every figure before and after.")
    in_use = models.BooleanField(default=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "model", "weight_dtype", "gpu", "engine", "number"], name="one_calibration_of_a_number"
            ),
            models.UniqueConstraint(
                fields=["team", "model", "weight_dtype", "gpu", "engine"],
                condition=models.Q(in_use=True),
                name="one_calibration_in_use",
            ),
        ]
        indexes = [
            models.Index(fields=["team", "-created_at"]),
            models.Index(fields=["due_at"], condition=models.Q(state="waiting"), name="calibrations_due"),
        ]

    def __str__(self) -> str:
        return f"{self.model} on {self.gpu}, {self.number}"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a deployment must be to match it."""
        return self.model, self.weight_dtype, self.gpu, self.engine

    @property
    def scenario_part(self) -> StatedCalibration:
        """As a scenario carries it."""
        return StatedCalibration.model_validate(self.stated)
