"""A team's measurements: upload a file, see what was read, say where it was made, keep it; calibrate on it."""

import uuid
from contextlib import suppress

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from planner import planning
from planner.datasets.calibrating import CalibrationRefused, calibration_start, calibration_use
from planner.datasets.comparing import comparison_again
from planner.datasets.jobs import JobState
from planner.datasets.measurements import (
    MeasurementRefused,
    measurement_delete,
    measurement_preview,
)
from planner.datasets.models import Calibration, Measurement, Purpose, TraceUpload
from planner.datasets.selectors import (
    calibration_for,
    calibration_get,
    calibrations_of,
    measurement_get,
    measurements_like,
    measurements_of,
    upload_get,
    uploads_of,
)
from planner.datasets.services import UploadRefused, upload_delete
from planner.planning.importers import ImportRefused
from planner.planning.measurements import definitions_for
from planner.reports.backtest import measured_backtest
from planner.runs.backtests import (
    Plan,
    PlanUnknown,
    backtest_set,
    measurement_keep,
    plan_get,
    plan_of,
    planned_replica,
    recent_plans,
)
from planner.web.access import Visit, for_team, must_edit, page
from planner.web.backtest_view import followed_table, littles_sentence, targets_table
from planner.web.listing import paged
from planner.web.measurement_forms import DeploymentForm
from planner.web.measurement_view import calibration_view, comparison_table, deployment_facts, read_view
from planner.web.views.traces import no_file, stored

SECTION = {"section": "measurements"}
CALIBRATIONS_SHOWN = 20
PLANS_SHOWN = 100


@require_GET
@for_team
def listing(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The team's measurements, newest first, its calibrations, and files that were not finished."""
    shown = paged(request, measurements_of(visit.team).select_related("created_by"))
    context = {
        "shown": shown,
        "uploads": uploads_of(visit.team, Purpose.MEASUREMENT),
        "calibrations": calibrations_of(visit.team).select_related("created_by")[:CALIBRATIONS_SHOWN],
    }
    return page(request, "pages/measurements.html", visit, context | SECTION)


@require_http_methods(["GET", "POST"])
@for_team
def new(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Choose a file. One that is no measurement is explained here and not kept."""
    must_edit(visit)
    if request.method == "GET":
        return _choose(request, visit)
    upload = request.FILES.get("file")
    if upload is None or not upload.name:
        return _choose(request, visit, no_file(request))
    try:
        kept = stored(visit, upload, Purpose.MEASUREMENT)
    except UploadRefused as refused:
        return _choose(request, visit, refused.detail)
    except ImportRefused as refused:
        return _choose(request, visit, str(refused))
    except ValidationError:
        return _choose(request, visit, "The file's name cannot be used. Rename it and try again.")
    try:
        told = measurement_preview(upload=kept)
    except ImportRefused as refused:
        upload_delete(upload=kept, user=visit.user)
        return _choose(request, visit, str(refused))
    if told["known"]:
        upload_delete(upload=kept, user=visit.user)
        return redirect(f"{reverse('measurement', args=[told['known']])}?again=1{visit.team_and}")
    plan = _plan_chosen(visit, request.GET.get("plan", ""))
    chosen = f"?plan={plan.run.pk}" if plan and plan.run else ""
    return redirect(f"{reverse('measurement-upload', args=[kept.pk])}{chosen}")


def _choose(request: HttpRequest, visit: Visit, refused: str = "") -> HttpResponse:
    plan = _plan_chosen(visit, request.GET.get("plan", ""))
    context = {"refused": refused, "plan_run": plan and plan.run, **SECTION}
    return page(request, "pages/measurement_new.html", visit, context, status=422 if refused else 200)


@require_http_methods(["GET", "POST"])
@for_team
def upload(request: HttpRequest, visit: Visit, upload_id: uuid.UUID) -> HttpResponse:
    """What was read, and what the file does not say; sent, it is kept."""
    must_edit(visit)
    row = _upload_of(visit, upload_id)
    try:
        told = measurement_preview(upload=row)
    except ImportRefused as refused:  # stored over the API: nothing was looked at then
        upload_delete(upload=row, user=visit.user)
        return _choose(request, visit, str(refused))
    plan = _plan_chosen(visit, request.POST.get("plan", "") or request.GET.get("plan", ""))
    plans = list(recent_plans(visit.team, PLANS_SHOWN))
    planned = planned_replica(plan)
    initial = {**planned, **told["says"], "plan": str(plan.run.pk) if plan and plan.run else ""}
    form = DeploymentForm(request.POST if request.method == "POST" else None, initial=initial, plans=plans)
    if request.method == "POST" and form.is_valid():
        try:
            kept = measurement_keep(upload=row, user=visit.user, deployment=form.said(), plan=plan)
        except planning.ScenarioInvalid as invalid:
            form.show_errors(invalid)
        except MeasurementRefused as full:
            form.add_error(None, full.detail)
        else:
            return redirect("measurement", measurement_id=kept.measurement.pk)
    today = timezone.now().date()
    context = {
        "upload": row,
        "form": form,
        "asked": told["asked"],
        "view": read_view(told["measurement"], told["definitions"]),
        "model_ids": [entry["id"] for entry in planning.catalog_listing("models", today)],
        "gpu_ids": [entry["id"] for entry in planning.catalog_listing("accelerators", today)],
    }
    status = 422 if form.is_bound and form.errors else 200
    return page(request, "pages/measurement_upload.html", visit, context | SECTION, status=status)


@require_POST
@for_team
def upload_forget(request: HttpRequest, visit: Visit, upload_id: uuid.UUID) -> HttpResponse:
    """End an upload without a measurement."""
    must_edit(visit)
    upload_delete(upload=_upload_of(visit, upload_id), user=visit.user)
    return redirect(f"{reverse('measurement-new')}{visit.team_query}")


@require_GET
@for_team
def detail(request: HttpRequest, visit: Visit, measurement_id: uuid.UUID) -> HttpResponse:
    """One measurement: what was read, beside what was predicted."""
    row = _measurement_of(visit, measurement_id)
    metrics = {name for run in row.inspection["runs"] for name in run["latencies_ms"]}
    plan = plan_of(row)
    told = measured_backtest(row, plan)
    context = {
        "row": row,
        "plans": recent_plans(visit.team, PLANS_SHOWN) if visit.may_edit else (),
        "plan_run": plan and plan.report_run,
        "plan_version": plan and (plan.version or (plan.run and plan.run.scenario_version)),
        "backtest": told
        and {
            "told": told,
            "targets": targets_table(told),
            "followed": followed_table(told),
            "littles": littles_sentence(told),
        },
        "view": read_view(row.inspection, definitions_for(row.format, metrics)),
        "facts": deployment_facts({**row.deployment, "replicas": row.replicas}),
        "comparison": row.comparison,
        "beside": comparison_table(row.comparison) if row.comparison else None,
        "waiting": row.state == JobState.WAITING,
        "calibration": calibration_for(row),
        "like": measurements_like(row).count(),
        "again": "again" in request.GET,
    }
    return page(request, "pages/measurement.html", visit, context | SECTION)


@require_POST
@for_team
def delete(request: HttpRequest, visit: Visit, measurement_id: uuid.UUID) -> HttpResponse:
    """Forget a measurement; calibrations stay."""
    must_edit(visit)
    measurement_delete(measurement=_measurement_of(visit, measurement_id), actor=visit.user)
    return redirect(f"{reverse('measurements')}{visit.team_query}")


@require_POST
@for_team
def compare(request: HttpRequest, visit: Visit, measurement_id: uuid.UUID) -> HttpResponse:
    """Set a measurement beside its prediction again, with the entries and the calibration of today."""
    must_edit(visit)
    row = comparison_again(measurement=_measurement_of(visit, measurement_id), actor=visit.user)
    return redirect("measurement", measurement_id=row.pk)


@require_POST
@for_team
def follow(request: HttpRequest, visit: Visit, measurement_id: uuid.UUID) -> HttpResponse:
    """Say which plan the measured deployment followed, or that it was none."""
    must_edit(visit)
    row, chosen = _measurement_of(visit, measurement_id), request.POST.get("plan", "")
    plan = _plan_chosen(visit, chosen)
    if plan is not None or not chosen:
        backtest_set(measurement=row, plan=plan, actor=visit.user)
    return redirect("measurement", measurement_id=row.pk)


def _plan_chosen(visit: Visit, chosen: str) -> Plan | None:
    """The run of the team that a page names; None for nothing, and for what the team does not have."""
    try:
        return plan_get(visit.team, run_id=uuid.UUID(chosen))
    except (PlanUnknown, ValueError):
        return None


@require_POST
@for_team
def calibrate(request: HttpRequest, visit: Visit, measurement_id: uuid.UUID) -> HttpResponse:
    """Begin a calibration of the measurement's deployment, on all the team's measurements of it."""
    must_edit(visit)
    try:
        made = calibration_start(measurement=_measurement_of(visit, measurement_id), user=visit.user)
    except CalibrationRefused as refused:
        context = {"refused": refused.detail, **SECTION}
        return page(request, "pages/measurement_new.html", visit, context, status=422)
    return redirect("calibration", calibration_id=made.pk)


@require_GET
@for_team
def calibration(request: HttpRequest, visit: Visit, calibration_id: uuid.UUID) -> HttpResponse:
    """One calibration: its factors, and every figure before and after."""
    row = _calibration_of(visit, calibration_id)
    context = {
        "row": row,
        "view": calibration_view(row.stated, row.told) if row.stated and row.told else None,
        "waiting": row.state == JobState.WAITING,
    }
    return page(request, "pages/calibration.html", visit, context | SECTION)


@require_POST
@for_team
def use(request: HttpRequest, visit: Visit, calibration_id: uuid.UUID) -> HttpResponse:
    """Take a calibration for the team's scenarios, or drop it."""
    must_edit(visit)
    row = _calibration_of(visit, calibration_id)
    with suppress(CalibrationRefused):  # it is not ready, as the page says
        calibration_use(calibration=row, actor=visit.user, use=request.POST.get("use") == "1")
    return redirect("calibration", calibration_id=row.pk)


def _upload_of(visit: Visit, upload_id: uuid.UUID) -> TraceUpload:
    try:
        return upload_get(visit.team, upload_id, Purpose.MEASUREMENT)
    except TraceUpload.DoesNotExist as missing:
        raise Http404 from missing


def _measurement_of(visit: Visit, measurement_id: uuid.UUID) -> Measurement:
    try:
        return measurement_get(visit.team, measurement_id)
    except Measurement.DoesNotExist as missing:
        raise Http404 from missing


def _calibration_of(visit: Visit, calibration_id: uuid.UUID) -> Calibration:
    try:
        return calibration_get(visit.team, calibration_id)
    except Calibration.DoesNotExist as missing:
        raise Http404 from missing
