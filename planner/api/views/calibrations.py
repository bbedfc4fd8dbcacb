"""A team's calibrations: made from its measurements, used by its scenarios, dropped."""

from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from planner.api import openapi_measurements as openapi
from planner.api.answers import answer
from planner.api.listing import list_rows
from planner.api.query import NoQuery, TimedQuery, read_query
from planner.api.small_body import read_body
from planner.api.views.base import ApiView, ListView
from planner.api.views.traces import refused_file
from planner.api.wire_measurements import CalibrationDetail, CalibrationRequest, CalibrationSummary
from planner.datasets.calibrating import CalibrationRefused, calibration_start, calibration_use
from planner.datasets.models import Calibration, Measurement
from planner.datasets.selectors import calibration_get, calibrations_of, measurement_get
from planner.teams.models import Scope

PATH = "/api/v1/calibrations"


class CalibrationList(ListView):
    """The team's calibrations."""

    makes_anew = True
    scopes: ClassVar = {"POST": Scope.WRITE}

    @extend_schema(**openapi.CALIBRATION_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, TimedQuery)
        show = lambda row: CalibrationSummary(**_calibration(row))  # noqa: E731 - as the lists beside it
        return list_rows(request, query, calibrations_of(self.caller.team), CalibrationSummary, show, "calibrations")

    @extend_schema(**openapi.CALIBRATION_START)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, CalibrationRequest)
        try:
            measurement = measurement_get(self.caller.team, wanted.measurement_id)
            row = calibration_start(measurement=measurement, user=self.caller.user)
        except Measurement.DoesNotExist:
            raise NotFound("The team has no such measurement.") from None
        except CalibrationRefused as refused:
            raise refused_file(refused.code, refused.detail) from None
        return answer(request, _detail(row), status=202, headers={"Location": f"{PATH}/{row.pk}"})


class CalibrationItem(ApiView):
    """One calibration."""

    @extend_schema(**openapi.CALIBRATION_READ)
    def get(self, request: Request, calibration_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, _detail(self.calibration(calibration_id)))

    def calibration(self, calibration_id: UUID) -> Calibration:
        try:
            return calibration_get(self.caller.team, calibration_id)
        except Calibration.DoesNotExist:
            raise NotFound("The team has no such calibration.") from None


class CalibrationUse(CalibrationItem):
    """Whether scenarios take a calibration."""

    scopes: ClassVar = {"PUT": Scope.WRITE, "DELETE": Scope.WRITE}
    http_method_names = ["put", "delete"]

    @extend_schema(**openapi.CALIBRATION_USE)
    def put(self, request: Request, calibration_id: UUID) -> HttpResponse:
        return self._used(request, calibration_id, use=True)

    @extend_schema(**openapi.CALIBRATION_DROP)
    def delete(self, request: Request, calibration_id: UUID) -> HttpResponse:
        return self._used(request, calibration_id, use=False)

    def _used(self, request: Request, calibration_id: UUID, *, use: bool) -> HttpResponse:
        read_query(request, NoQuery)
        try:
            row = calibration_use(calibration=self.calibration(calibration_id), actor=self.caller.user, use=use)
        except CalibrationRefused as refused:
            raise refused_file(refused.code, refused.detail) from None
        return answer(request, _detail(row))


def _calibration(row: Calibration) -> dict[str, Any]:
    names = ("model", "weight_dtype", "gpu", "engine", "number", "state", "in_use", "created_at")
    return {"id": row.pk, **{name: getattr(row, name) for name in names}, "link": f"{PATH}/{row.pk}"}


def _detail(row: Calibration) -> CalibrationDetail:
    return CalibrationDetail(
        **_calibration(row), sources=row.sources, calibration=row.stated, told=row.told, failure=row.failure
    )
