"""Reads of a team's traces, measurements, calibrations and uploads; the team comes first, so that nothing of another
team can be named."""

import gzip
import uuid
from typing import Any

from django.db.models import QuerySet

from planner.datasets.jobs import JobState
from planner.datasets.models import Calibration, Measurement, Purpose, Trace, TraceUpload
from planner.teams.models import Team
from planner.teams.selectors import owned_get


def traces_of(team: Team) -> QuerySet[Trace]:
    """The team's traces, newest first, without their large columns."""
    return Trace.objects.filter(team=team).defer("inspection", "csv_gzip").order_by("-created_at", "pk")


def trace_get(team: Team, trace_id: uuid.UUID | str) -> Trace:
    """One trace of the team. Trace.DoesNotExist: no such one here (malformed ids included)."""
    return owned_get(Trace, team, trace_id)


def uploads_of(team: Team, purpose: Purpose = Purpose.TRACE) -> QuerySet[TraceUpload]:
    """The team's uploads for this purpose that were not finished, newest first."""
    return TraceUpload.objects.filter(team=team, purpose=purpose).order_by("-created_at", "pk")


def upload_get(team: Team, upload_id: uuid.UUID | str, purpose: Purpose = Purpose.TRACE) -> TraceUpload:
    """One upload of the team for this purpose. TraceUpload.DoesNotExist: no such one here (malformed ids included)."""
    row = owned_get(TraceUpload, team, upload_id)
    if row.purpose != purpose:
        raise TraceUpload.DoesNotExist
    return row


def measurements_of(team: Team) -> QuerySet[Measurement]:
    """The team's measurements, newest first, without their large columns."""
    return Measurement.objects.filter(team=team).defer("inspection", "comparison").order_by("-created_at", "pk")


def measurement_get(team: Team, measurement_id: uuid.UUID | str) -> Measurement:
    """One measurement of the team. Measurement.DoesNotExist: no such one here (malformed ids included)."""
    return owned_get(Measurement, team, measurement_id)


def measurements_like(measurement: Measurement) -> QuerySet[Measurement]:
    """All of the team that a calibration of the same deployment is made from, oldest first."""
    return Measurement.objects.filter(
        team=measurement.team_id,
        model=measurement.model,
        weight_dtype=measurement.weight_dtype,
        gpu=measurement.gpu,
        engine=measurement.engine,
    ).order_by("measured_on", "created_at", "pk")


def calibrations_of(team: Team) -> QuerySet[Calibration]:
    """The team's calibrations, newest first, without their large column."""
    return Calibration.objects.filter(team=team).defer("told").order_by("-created_at", "pk")


def calibration_get(team: Team, calibration_id: uuid.UUID | str) -> Calibration:
    """One calibration of the team. Calibration.DoesNotExist: no such one here (malformed ids included)."""
    return owned_get(Calibration, team, calibration_id)


def calibrations_in_use() -> QuerySet[Calibration]:
    """The calibrations that the scenarios of their teams take, in a fixed order, without their large column."""
    rows = Calibration.objects.filter(in_use=True, state=JobState.READY).defer("told")
    return rows.order_by("model", "weight_dtype", "gpu", "engine")


def calibration_for(measurement: Measurement) -> Calibration | None:
    """The calibration in use of the measurement's deployment."""
    model, weight_dtype, gpu, engine = measurement.key
    rows = Calibration.objects.filter(team=measurement.team_id, in_use=True, state=JobState.READY)
    return rows.filter(model=model, weight_dtype=weight_dtype, gpu=gpu, engine=engine).first()


def trace_fields(trace: Trace) -> dict[str, Any] | None:
    """The requests as `traffic.trace` of a scenario; None where they are more than a scenario takes."""
    if trace.csv_gzip is None:
        return None
    block_tokens = trace.inspection["reading"].get("block_tokens")
    csv = gzip.decompress(trace.csv_gzip).decode()
    return {"csv": csv} | ({"block_tokens": block_tokens} if block_tokens else {})
