"""Writes about measurements: a file is looked at, what it does not say is asked, and both are kept."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db import IntegrityError, transaction

from planner.celery import wake_worker
from planner.datasets.jobs import JobFailed
from planner.datasets.messages import COMPARE
from planner.datasets.models import Measurement, TraceUpload
from planner.datasets.own import own_of
from planner.datasets.parts import upload_parts, upload_source
from planner.datasets.selectors import calibration_for
from planner.datasets.services import upload_complete
from planner.planning import catalog_model_id, read_deployment
from planner.planning.calibration.deployment import kept_deployment
from planner.planning.calibration.predicting import compare_measurement
from planner.planning.calibration.runs import NotKnown
from planner.planning.importers import ImportRefused, open_source
from planner.planning.measurements import Measurement as Read
from planner.planning.measurements import definitions_for, read_measurement
from planner.planning.measurements.checks import with_duration
from planner.teams.audit import record
from planner.teams.models import Team, User

MOST_MEASUREMENTS = 2_000
MOST_RUNS = 200
ASKED = ("model", "gpu", "tensor_parallel", "engine", "measured_on")
ENGINES = ("vllm", "sglang", "tensorrt-llm")
_DAY = re.compile(r"(20\d\d)(\d\d)(\d\d)-\d{6}")


class MeasurementRefused(Exception):  # noqa: N818 - the name says what happened
    """A measurement that may not be kept; codes: too_many_measurements."""

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        self.detail = detail
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class Kept:
    """The measurement of an upload; `is_new` is false where the team had the file already."""

    measurement: Measurement
    is_new: bool


def measurement_preview(*, upload: TraceUpload) -> dict[str, Any]:
    """What the file says, and what it does not: nothing is stored. ImportRefused.

    measurement: as `inspect` tells it. definitions: of its metrics. says: fields of the deployment that stand in the
    file. asked: fields that do not, and must be said. known: the measurement that the team made of this file already.
    """
    upload = upload_complete(upload=upload)
    read = _read(upload)
    told = read.as_dict()
    metrics = {name for run in read.runs for name in run.latencies_ms}
    metrics |= {name for run in read.runs for name in ("request_rps", "output_tokens_per_s") if getattr(run, name)}
    says = said_by(read)
    known = Measurement.objects.filter(team=upload.team_id, digest=file_digest(upload)).first()
    return {
        "measurement": told,
        "definitions": definitions_for(read.format, metrics),
        "says": says,
        "asked": [name for name in ASKED if name not in says],
        "known": known.pk if known else None,
    }


def said_by(read: Read) -> dict[str, Any]:
    """What a file says about where it was made: model, engine and its version, day. Of what it says in several ways
    nothing."""
    runs = read.runs
    models = {catalog_model_id(run.model) for run in runs if run.model}
    engines = {name for run in runs if (name := _engine(run.engine))}
    engines |= {name} if (name := _engine(str(read.server.get("engine", "")))) else set()
    days = {day for run in runs if (day := _day(run.label))}
    found: dict[str, Any] = {}
    if len(models) == 1 and (model := models.pop()):
        found["model"] = model
    if len(engines) == 1:
        found["engine"] = engines.pop()
    if read.server.get("engine_version"):
        found["engine_version"] = str(read.server["engine_version"])[:200]
    if len(days) == 1:
        found["measured_on"] = days.pop()
    return found


def _engine(text: str) -> str:
    plain = text.strip().casefold().replace("_", "-")
    return next((name for name in ENGINES if plain.startswith(name) or plain == name.replace("-", "")), "")


def _day(label: str) -> str:
    """The day of a label such as 20261101-101500, which vLLM and SGLang write."""
    match = _DAY.match(label)
    try:
        return date(*(int(part) for part in match.groups())).isoformat() if match else ""
    except ValueError:
        return ""


def measurement_confirm(
    *,
    upload: TraceUpload,
    user: User | None,
    deployment: Mapping[str, Any],
    planned: Mapping[str, Any] | None = None,
    plan_replicas: int | None = None,
) -> Kept:
    """Keeps what the file says with where it ran, and ends the upload. The same file is the measurement it already is.

    planned, plan_replicas: of the plan that was deployed, for what neither the file nor `deployment` says.

    ImportRefused: not readable, or no measurement. ScenarioInvalid: every fault of what was said, pointers within
    `deployment`. MeasurementRefused.
    """
    upload = upload_complete(upload=upload)
    digest = file_digest(upload)
    known = Measurement.objects.filter(team=upload.team_id, digest=digest).first()
    if known is not None:
        upload.delete()
        return Kept(known, is_new=False)
    read = _read(upload)
    said, resolved = read_deployment({**(planned or {}), **said_by(read), **_given(deployment)}, own_of(upload.team))
    if said.counted_over_s is not None:
        for run in read.runs:
            if run.duration_s is None:
                with_duration(run, said.counted_over_s)
    row = Measurement(
        team=upload.team,
        name=upload.name,
        digest=digest,
        format=read.format,
        model=resolved.model.id,
        weight_dtype=resolved.weight_dtype,
        gpu=resolved.accelerator.id,
        engine=resolved.profile.name,
        measured_on=said.measured_on,
        runs=len(read.runs),
        deployment=said.model_dump(mode="json", exclude_none=True),
        plan_replicas=plan_replicas,
        inspection=read.as_dict(),
        created_by=user,
    )
    try:
        with transaction.atomic():
            Team.objects.select_for_update().get(pk=upload.team_id)
            if Measurement.objects.filter(team=upload.team_id).count() >= MOST_MEASUREMENTS:
                raise MeasurementRefused(
                    "too_many_measurements", f"A team keeps at most {MOST_MEASUREMENTS} measurements; delete some."
                )
            row.full_clean(exclude=["due_at"], validate_constraints=False)
            row.save()
            record(team=upload.team, actor=user, action="measurement.added", thing=row, details={"format": row.format})
            upload.delete()
            transaction.on_commit(lambda: wake_worker(COMPARE, row.pk))
    except IntegrityError:  # someone else confirmed the same file a moment ago
        upload.delete()
        return Kept(Measurement.objects.get(team=upload.team_id, digest=digest), is_new=False)
    return Kept(row, is_new=True)


def measurement_delete(*, measurement: Measurement, actor: User | None) -> None:
    """Forgets a measurement; calibrations made from it stay as they are."""
    with transaction.atomic():
        record(team=measurement.team, actor=actor, action="measurement.deleted", thing=measurement)
        measurement.delete()


def measurement_compare(row: Measurement) -> dict[str, Any]:
    """What a worker writes: every run beside its prediction, by the team's calibration of the deployment or without.
    JobFailed: where it was made is not known any more."""
    try:
        _, deployment = kept_deployment(row.deployment, row.key, own_of(row.team))
    except NotKnown as reason:
        raise JobFailed(str(reason)) from None
    own = calibration_for(row)
    stated = (own.scenario_part,) if own else ()
    told = compare_measurement(Read.of(row.inspection), deployment, stated, row.replicas)
    return {"comparison": {**told, "calibration": own.number if own else None}, "outside": told["outside"]}


def file_digest(upload: TraceUpload) -> str:
    """SHA-256 of the file's bytes."""
    digest = hashlib.sha256()
    for part in upload_parts(upload):
        digest.update(part)
    return digest.hexdigest()


def _given(deployment: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in deployment.items() if value not in (None, "")}


def _read(upload: TraceUpload) -> Read:
    read = read_measurement(open_source(upload_source(upload)))
    if read is None or not (read.runs or read.server):
        detail = "This is no result of a load test, no engine's log and no metrics of one. Traffic goes under Traces."
        raise ImportRefused("not_a_measurement", detail)
    if len(read.runs) > MOST_RUNS:
        read.notes.append(f"{len(read.runs)} runs, of which the first {MOST_RUNS} are kept")
        del read.runs[MOST_RUNS:]
    return read
