"""Calibrations of a team: made by a worker from its measurements, used by its scenarios until someone drops them."""

from typing import Any

from django.db import transaction
from django.db.models import Max

from planner import planning
from planner.celery import wake_worker
from planner.core.remembered import Remembered
from planner.datasets.jobs import JobFailed, JobState
from planner.datasets.messages import CALIBRATE
from planner.datasets.models import Calibration, Measurement
from planner.datasets.own import own_of
from planner.datasets.selectors import calibrations_in_use, measurements_like
from planner.planning.calibration.calibrate import DatedRun, NothingToFit, calibrate
from planner.planning.calibration.deployment import kept_deployment
from planner.planning.calibration.runs import NotKnown, measured_run, run_name
from planner.planning.measurements import Measurement as Read
from planner.planning.schema.calibration import Calibration as StatedCalibration
from planner.teams.audit import record
from planner.teams.models import Team, User

MOST_MEASUREMENTS = 60
"""Of one deployment, the newest: older ones are of older software."""
MOST_CALIBRATIONS = 1_000


class CalibrationRefused(Exception):  # noqa: N818 - the name says what happened
    """What cannot be done; codes: too_many_calibrations, no_runs, not_ready."""

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        self.detail = detail
        super().__init__(detail)


@transaction.atomic
def calibration_start(*, measurement: Measurement, user: User | None) -> Calibration:
    """Begins the next calibration of the measurement's deployment, from all the team's measurements of it.

    One that waits for the same measurements is that one. CalibrationRefused.
    """
    team = Team.objects.select_for_update().get(pk=measurement.team_id)
    rows = [row for row in measurements_like(measurement) if row.runs][-MOST_MEASUREMENTS:]
    if not rows:
        raise CalibrationRefused("no_runs", "The measurements of this deployment hold no runs of requests.")
    model, weight_dtype, gpu, engine = measurement.key
    same = Calibration.objects.filter(team=team, model=model, weight_dtype=weight_dtype, gpu=gpu, engine=engine)
    sources = [_source(row) for row in rows]
    waiting = same.filter(state=JobState.WAITING).order_by("-number").first()
    if waiting is not None and waiting.sources == sources:
        return waiting
    if Calibration.objects.filter(team=team).count() >= MOST_CALIBRATIONS:
        detail = f"A team keeps at most {MOST_CALIBRATIONS} calibrations."
        raise CalibrationRefused("too_many_calibrations", detail)
    number = 1 + (same.aggregate(newest=Max("number"))["newest"] or 0)
    row = Calibration(
        team=team,
        model=model,
        weight_dtype=weight_dtype,
        gpu=gpu,
        engine=engine,
        number=number,
        sources=sources,
        created_by=user,
    )
    row.full_clean(exclude=["due_at"], validate_constraints=False)
    row.save()
    record(team=team, actor=user, action="calibration.started", thing=row, details={"measurements": len(sources)})
    transaction.on_commit(lambda: wake_worker(CALIBRATE, row.pk))
    return row


def _source(row: Measurement) -> dict[str, str]:
    return {"id": str(row.pk), "name": row.name, "digest": row.digest, "measured_on": row.measured_on.isoformat()}


def calibration_compute(row: Calibration) -> dict[str, Any]:
    """What a worker writes: factors, intervals, figures before and after. JobFailed: nothing can be fitted."""
    ids = [source["id"] for source in row.sources]
    found = {str(each.pk): each for each in Measurement.objects.filter(team=row.team_id, pk__in=ids)}
    own = own_of(row.team)
    dated: list[DatedRun] = []
    unknown: list[dict[str, str]] = []
    for measurement in (found[key] for key in ids if key in found):  # some may be deleted since it was asked for
        try:
            said, deployment = kept_deployment(measurement.deployment, measurement.key, own)
        except NotKnown as reason:
            unknown.append({"label": measurement.name, "reason": str(reason)})
            continue
        read = Read.of(measurement.inspection)
        for place, run in enumerate(read.runs, 1):
            label = f"{measurement.name}, {run_name(run, place)}"
            try:
                dated.append(
                    DatedRun(measured_run(run, read.format, deployment, label, measurement.replicas), said.measured_on)
                )
            except NotKnown as reason:
                unknown.append({"label": label, "reason": str(reason)})
    try:
        made = calibrate(dated, row.number)
    except NothingToFit as nothing:
        reasons = sorted({each["reason"] for each in unknown})
        raise JobFailed(" ".join([str(nothing), *reasons])) from None
    told = {**made.told, "left_out": [*unknown, *made.told["left_out"]]}
    return {"stated": made.stated.model_dump(mode="json"), "told": told}


def calibration_settle(row: Calibration) -> None:
    """Takes a calibration that was just written into use where held-out runs say that it helps, or where there are too
    few to say; one that was asked for later keeps its place. The one before it is dropped in the same transaction as
    the result is written, so that a worker that is killed leaves the team with what it had."""
    Team.objects.select_for_update().get(pk=row.team_id)
    others = _others_in_use(row)
    if row.told is None or row.told["helps"] is False or others.filter(number__gt=row.number).exists():
        return
    replaced = others.values_list("number", flat=True).first()
    others.update(in_use=False)
    row.in_use = True
    row.save(update_fields=["in_use"])
    details = {"by_itself": True, "helps": row.told["helps"], "replaces": replaced}
    record(team=row.team, actor=None, action="calibration.taken", thing=row, details=details)


def _others_in_use(row: Calibration) -> Any:
    model, weight_dtype, gpu, engine = row.key
    rows = Calibration.objects.filter(team=row.team_id, model=model, weight_dtype=weight_dtype, gpu=gpu, engine=engine)
    return rows.filter(in_use=True).exclude(pk=row.pk)


@transaction.atomic
def calibration_use(*, calibration: Calibration, actor: User | None, use: bool) -> Calibration:
    """Take a calibration for scenarios that match it, in place of another, or drop it: then they are planned with the
    shipped constants again. Reports that were made stay as they are. CalibrationRefused: it is not ready."""
    Team.objects.select_for_update().get(pk=calibration.team_id)
    row = Calibration.objects.get(pk=calibration.pk)
    if row.state != JobState.READY:
        raise CalibrationRefused("not_ready", "The calibration is not ready.")
    if row.in_use == use:
        return row
    if use:
        _others_in_use(row).update(in_use=False)
    row.in_use = use
    row.save(update_fields=["in_use"])
    action = "calibration.taken" if use else "calibration.dropped"
    record(team=row.team, actor=actor, action=action, thing=row)
    return row


def with_team_calibrations(team: Team, scenario: planning.Scenario) -> planning.Scenario:
    """The scenario with the calibrations in use that it may match, where it says nothing of its own.

    Put in when a scenario is planned, not when it is saved: a saved version follows what is in use at the time.
    """
    return scenario if scenario.calibrations is not None else planning.with_calibrations(scenario, stated_by(team))


def stated_by(team: Team) -> tuple[StatedCalibration, ...]:
    """The team's calibrations in use, as scenarios carry them."""
    return _STATED.of(team.pk)


_STATED: Remembered[Calibration, tuple[StatedCalibration, ...]] = Remembered(
    calibrations_in_use, "team", lambda rows: tuple(row.scenario_part for row in rows)
)
