"""Runs. The row is the truth; a Celery message only wakes a worker to look at it."""

import uuid

from django.conf import settings
from django.db import models
from django.db.models import Q

from planner.datasets.models import Measurement
from planner.scenarios.models import ScenarioVersion
from planner.teams.models import Team


class State(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL_STATES = (State.DONE, State.FAILED, State.CANCELLED)


class Run(models.Model):
    """One evaluation of one scenario for one team, on the prices of one day by one version of engine and catalog.

    A run of a saved version has the version's content and, when it was asked for on today's prices, another
    `priced_at` in its body.

    `lease_token` names the worker that owns the run until `lease_until`; only its owner may write progress or a
    result. `digest` identifies the result (canonical scenario, seed, engine and catalog versions): equal digests of a
    team share one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="runs")
    scenario_version = models.ForeignKey(
        ScenarioVersion, on_delete=models.CASCADE, null=True, blank=True, related_name="runs"
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    name = models.CharField(max_length=200)
    body = models.TextField(help_text="Canonical JSON of the scenario.")
    digest = models.CharField(max_length=64)
    priced_at = models.DateField(null=True, help_text="The day whose prices it takes.")
    result_version = models.CharField(max_length=100, blank=True, help_text="Engine and catalog that it was asked of.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    progress_ratio = models.FloatField(default=0.0)
    stage = models.CharField(max_length=200, blank=True)
    partial = models.JSONField(default=list, blank=True, help_text="Candidates finished so far.")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="How often a worker took it.")
    resends = models.PositiveSmallIntegerField(default=0, help_text="How often a message was sent again while queued.")
    cancel_requested = models.BooleanField(default=False)
    lease_token = models.CharField(max_length=32, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)
    report = models.TextField(blank=True, help_text="The report's JSON, byte for byte as every way in returns it.")
    failure = models.JSONField(null=True, blank=True, help_text="{code, detail} when the run failed.")
    announced = models.BooleanField(default=False, help_text="Whether webhooks were told that it ended.")
    created_at = models.DateTimeField(auto_now_add=True)
    queued_at = models.DateTimeField(auto_now_add=True, help_text="When a message was last sent.")
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["team", "-created_at"]),
            models.Index(fields=["team", "state", "-created_at"]),
            models.Index(fields=["scenario_version", "-created_at"]),
            models.Index(fields=["digest", "state", "team"]),
            models.Index(fields=["state", "lease_until"]),
            models.Index(fields=["state", "queued_at"]),
            models.Index(fields=["finished_at"], condition=Q(announced=False), name="runs_to_announce"),
            models.Index(fields=["state", "created_at"], condition=Q(state="queued"), name="runs_waiting"),
            models.Index(fields=["team", "created_at"], condition=Q(state="queued"), name="runs_waiting_by_team"),
            models.Index(fields=["attempts"], condition=Q(attempts__gt=1), name="runs_taken_again"),
            models.Index(
                fields=["finished_at", "state", "started_at"],
                condition=Q(finished_at__isnull=False),
                name="runs_by_end",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.state})"

    @property
    def taken_s(self) -> int | None:
        """Whole seconds from start to end; None before it ended."""
        if self.started_at is None or self.finished_at is None:
            return None
        return round((self.finished_at - self.started_at).total_seconds())

    @property
    def repriced(self) -> bool:
        """Whether it takes the prices of another day than its saved version names."""
        return self.scenario_version is not None and self.priced_at != self.scenario_version.priced_at


class TeamTurn(models.Model):
    """When a worker last took a run of the team (see turns.py)."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, primary_key=True, related_name="+")
    served_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.team_id} at {self.served_at}"


class TeamLimits(models.Model):
    """What one team may have, where an operator set it apart from all teams. Empty: as for all; 0: no limit."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="limits")
    open_runs = models.PositiveIntegerField(null=True, blank=True, help_text="Runs waiting or under way.")
    stored_runs = models.PositiveIntegerField(null=True, blank=True, help_text="Runs kept.")
    keep_days = models.PositiveIntegerField(null=True, blank=True, help_text="Days that a finished run is kept.")

    def __str__(self) -> str:
        return f"limits of {self.team}"


class RequestPart(models.Model):
    """Some of the simulated requests behind a run's report, packed by `planning.RequestLog.parts`.

    In a table of their own, since web processes and workers share nothing but the database, and in parts, so that a
    reader holds one at a time.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="request_parts")
    number = models.PositiveSmallIntegerField(help_text="Counted from 0.")
    requests = models.PositiveIntegerField(help_text="Rows in this part.")
    data = models.BinaryField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="one_request_part_per_number")]

    def __str__(self) -> str:
        return f"{self.run_id} part {self.number}"


class Backtest(models.Model):
    """A measurement of the deployment that followed a plan: a run, or a saved version whose newest report counts."""

    measurement = models.OneToOneField(Measurement, on_delete=models.CASCADE, related_name="backtest")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    scenario_version = models.ForeignKey(
        ScenarioVersion, on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(run__isnull=True) ^ Q(scenario_version__isnull=True), name="one_plan_of_a_measurement"
            )
        ]

    def __str__(self) -> str:
        return f"{self.measurement_id} after {self.run_id or self.scenario_version_id}"


class IdempotencyKey(models.Model):
    """The run that a client's Idempotency-Key made, so that a repeated POST makes no second one."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request_sha256 = models.CharField(max_length=64)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "key"], name="one_run_per_idempotency_key")]

    def __str__(self) -> str:
        return self.key
