"""A team's measurements: files come in parts, are looked at, and are kept with where they were made."""

from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from planner import planning
from planner.api import openapi_measurements as openapi
from planner.api.answers import answer
from planner.api.listing import list_rows
from planner.api.problems import INVALID_BODY, ApiProblem
from planner.api.query import NoQuery, TimedQuery, read_query
from planner.api.small_body import read_body
from planner.api.views.base import ApiView, ListView
from planner.api.views.traces import OfUpload, UploadItem, UploadList, UploadParts, refused_file
from planner.api.wire import Fault
from planner.api.wire_measurements import (
    DeploymentRequest,
    MeasurementDetail,
    MeasurementPreview,
    MeasurementSummary,
    PlanFollowed,
    PlanNamed,
)
from planner.datasets.comparing import comparison_again
from planner.datasets.measurements import (
    MeasurementRefused,
    measurement_delete,
    measurement_preview,
)
from planner.datasets.models import Measurement, Purpose
from planner.datasets.selectors import measurement_get, measurements_of
from planner.planning.errors import pointer
from planner.planning.importers import ImportRefused
from planner.planning.measurements import definitions_for
from planner.reports.backtest import measured_backtest
from planner.runs.backtests import Plan, PlanUnknown, backtest_set, measurement_keep, plan_get, plan_of
from planner.runs.models import State
from planner.teams.models import Scope, Team

PATH = "/api/v1/measurements"


class MeasurementList(ListView):
    """The team's measurements."""

    @extend_schema(**openapi.MEASUREMENT_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = measurements_of(self.caller.team)
        show = lambda row: MeasurementSummary(**_measurement(row))  # noqa: E731 - as the lists beside it
        return list_rows(request, query, rows, MeasurementSummary, show, "measurements")


class MeasurementItem(ApiView):
    """One measurement."""

    scopes: ClassVar = {"DELETE": Scope.WRITE}

    @extend_schema(**openapi.MEASUREMENT_READ)
    def get(self, request: Request, measurement_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, _detail(self.measurement(measurement_id)))

    @extend_schema(**openapi.MEASUREMENT_DELETE)
    def delete(self, request: Request, measurement_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        measurement_delete(measurement=self.measurement(measurement_id), actor=self.caller.user)
        return HttpResponse(status=204)

    def measurement(self, measurement_id: UUID) -> Measurement:
        try:
            return measurement_get(self.caller.team, measurement_id)
        except Measurement.DoesNotExist:
            raise NotFound("The team has no such measurement.") from None


class MeasurementComparison(MeasurementItem):
    """A measurement beside its prediction, computed again."""

    makes_anew = True
    scopes: ClassVar = {"POST": Scope.WRITE}
    http_method_names = ["post"]

    @extend_schema(**openapi.MEASUREMENT_COMPARE)
    def post(self, request: Request, measurement_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        row = comparison_again(measurement=self.measurement(measurement_id), actor=self.caller.user)
        return answer(request, _detail(row), status=202, headers={"Location": f"{PATH}/{row.pk}"})


class MeasurementPlan(MeasurementItem):
    """The plan that a measured deployment followed."""

    scopes: ClassVar = {"PUT": Scope.WRITE, "DELETE": Scope.WRITE}
    http_method_names = ["put", "delete"]

    @extend_schema(**openapi.MEASUREMENT_PLAN)
    def put(self, request: Request, measurement_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        row, wanted = self.measurement(measurement_id), read_body(request, PlanNamed)
        backtest_set(measurement=row, plan=_plan_named(self.caller.team, wanted), actor=self.caller.user)
        return answer(request, _detail(self.measurement(measurement_id)))

    @extend_schema(**openapi.MEASUREMENT_PLAN_LEFT)
    def delete(self, request: Request, measurement_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        backtest_set(measurement=self.measurement(measurement_id), plan=None, actor=self.caller.user)
        return answer(request, _detail(self.measurement(measurement_id)))


class MeasurementUploadList(UploadList):
    """Files of measurements on their way in."""

    purpose: ClassVar = Purpose.MEASUREMENT

    @extend_schema(**openapi.UPLOAD_LIST)
    def get(self, request: Request) -> HttpResponse:
        return super().get(request)

    @extend_schema(**openapi.UPLOAD_BEGIN)
    def post(self, request: Request) -> HttpResponse:
        return super().post(request)


class MeasurementUploadItem(UploadItem):
    """One file of measurements on its way in."""

    purpose: ClassVar = Purpose.MEASUREMENT

    @extend_schema(**openapi.UPLOAD_READ)
    def get(self, request: Request, upload_id: UUID) -> HttpResponse:
        return super().get(request, upload_id)

    @extend_schema(**openapi.UPLOAD_DELETE)
    def delete(self, request: Request, upload_id: UUID) -> HttpResponse:
        return super().delete(request, upload_id)


class MeasurementUploadParts(UploadParts):
    """The bytes of a file of measurements, part by part."""

    purpose: ClassVar = Purpose.MEASUREMENT

    @extend_schema(**openapi.UPLOAD_PART)
    def post(self, request: Request, upload_id: UUID) -> HttpResponse:
        return super().post(request, upload_id)


class MeasurementUploadPreview(OfUpload):
    """What a file says, before it is kept."""

    scopes: ClassVar = {"POST": Scope.WRITE}
    purpose: ClassVar = Purpose.MEASUREMENT

    @extend_schema(**openapi.UPLOAD_PREVIEW)
    def post(self, request: Request, upload_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        try:
            told = measurement_preview(upload=self.upload(upload_id))
        except ImportRefused as refused:
            raise refused_file(refused.code, str(refused)) from None
        return answer(request, MeasurementPreview(**told))


class MeasurementUploadConfirm(OfUpload):
    """Keeps a file as a measurement."""

    scopes: ClassVar = {"POST": Scope.WRITE}
    purpose: ClassVar = Purpose.MEASUREMENT

    @extend_schema(**openapi.UPLOAD_CONFIRM)
    def post(self, request: Request, upload_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        upload, wanted = self.upload(upload_id), read_body(request, DeploymentRequest)
        plan = _plan_named(self.caller.team, wanted.plan, "plan") if wanted.plan else None
        try:
            kept = measurement_keep(upload=upload, user=self.caller.user, deployment=wanted.deployment, plan=plan)
        except ImportRefused as refused:
            raise refused_file(refused.code, str(refused)) from None
        except MeasurementRefused as full:
            raise refused_file(full.code, full.detail) from None
        except planning.ScenarioInvalid as error:
            faults = [Fault(**{**e.as_dict(), "pointer": pointer("deployment") + e.pointer}) for e in error.errors]
            detail = "What was said of the deployment is not complete or not possible; nothing was kept."
            raise ApiProblem(INVALID_BODY, detail, errors=faults) from None
        headers = {"Location": f"{PATH}/{kept.measurement.pk}"} if kept.is_new else {}
        return answer(request, _detail(kept.measurement), status=201 if kept.is_new else 200, headers=headers)


def _plan_named(team: Team, wanted: PlanNamed, *place: str) -> Plan:
    """The plan of the team that a body names. ApiProblem: there is none."""
    try:
        return plan_get(team, run_id=wanted.run_id, scenario_id=wanted.scenario_id, number=wanted.number)
    except PlanUnknown as unknown:
        name = "run_id" if wanted.run_id else "scenario_id"
        given = str(wanted.run_id or wanted.scenario_id)
        fault = Fault(code="unknown_id", pointer=pointer(*place, name), given=given, allowed="", detail=str(unknown))
        raise ApiProblem(INVALID_BODY, str(unknown), errors=[fault]) from None


def _measurement(row: Measurement) -> dict[str, Any]:
    names = ("name", "format", "model", "weight_dtype", "gpu", "engine", "measured_on", "runs", "digest", "state")
    return {
        "id": row.pk,
        **{name: getattr(row, name) for name in names},
        "outside": row.outside,
        "created_at": row.created_at,
        "link": f"{PATH}/{row.pk}",
    }


def _plan(plan: Plan) -> PlanFollowed:
    run, version = plan.report_run or plan.run, plan.version or (plan.run and plan.run.scenario_version)
    of_version = f"/api/v1/scenarios/{version.scenario_id}/versions/{version.number}" if version else ""
    return PlanFollowed(
        run_id=run.pk if run else None,
        scenario_id=version.scenario_id if version else None,
        number=version.number if version else None,
        link=f"/api/v1/runs/{run.pk}" if run else of_version,
        report=f"/api/v1/runs/{run.pk}/report" if run and run.state == State.DONE else None,
    )


def _detail(row: Measurement) -> MeasurementDetail:
    metrics = {name for run in row.inspection["runs"] for name in run["latencies_ms"]}
    plan = plan_of(row)
    return MeasurementDetail(
        **_measurement(row),
        replicas=row.replicas,
        plan=_plan(plan) if plan else None,
        backtest=measured_backtest(row, plan),
        deployment=row.deployment,
        measurement=row.inspection,
        definitions=definitions_for(row.format, metrics | {"request_rps", "output_tokens_per_s"}),
        comparison=row.comparison,
        failure=row.failure,
    )
