"""Closed-form estimates: of one scenario, and of many rows."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from planner import planning
from planner.api import openapi_estimates as openapi
from planner.api.answers import answer
from planner.api.body import read_json_body
from planner.api.fields import chosen_fields
from planner.api.flat_scenario import FlatInvalid, scenario_from_flat, texts_of
from planner.api.listing import as_table
from planner.api.query import NoQuery, read_query
from planner.api.renderers import Csv, Json, Xlsx
from planner.api.scenario_body import scenario_to_run
from planner.api.small_body import read_body
from planner.api.throttles import Batches, EveryRequest
from planner.api.views.base import ApiView
from planner.api.wire import BatchRequest, Fault
from planner.datasets.calibrating import stated_by, with_team_calibrations
from planner.datasets.own import own_of
from planner.planning.errors import FieldError, pointer
from planner.planning.schema.calibration import Calibration
from planner.reports.tables import Table
from planner.scenarios.estimating import cells, estimate
from planner.teams.models import Scope

COLUMNS = tuple(planning.ESTIMATE_COLUMNS)


class EstimateOne(ApiView):
    """The estimate of one scenario; nothing is stored."""

    scopes: ClassVar = {"POST": Scope.READ}

    @extend_schema(**openapi.ESTIMATE)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        scenario, _ = scenario_to_run(read_json_body(request), self.caller.team)
        return answer(request, estimate(with_team_calibrations(self.caller.team, scenario)))


class EstimateBatch(ApiView):
    """Up to 500 rows; each answers for itself, with cells or with its own faults."""

    scopes: ClassVar = {"POST": Scope.READ}
    throttle_classes = [EveryRequest, Batches]
    renderer_classes = [Json, Csv, Xlsx]

    @extend_schema(**openapi.ESTIMATE_BATCH)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        body = read_body(request, BatchRequest)
        columns = chosen_fields(",".join(body.fields) if body.fields else None, COLUMNS, pointer="/fields")
        team = self.caller.team
        own, stated = own_of(team), stated_by(team)
        rows = [_row(index, row, columns, own, stated) for index, row in enumerate(body.rows)]
        if as_table(request):
            return answer(request, _table(rows, columns))
        return answer(request, {"rows": rows})


def _row(
    index: int,
    row: Mapping[str, Any],
    columns: tuple[str, ...],
    own: planning.OwnCatalog,
    stated: tuple[Calibration, ...],
) -> dict[str, Any]:
    try:
        found = cells(planning.with_calibrations(_scenario(row, own), stated))
    except (FlatInvalid, planning.ScenarioInvalid) as error:
        return {"index": index, "cells": None, "errors": [_fault(index, e) for e in error.errors]}
    return {"index": index, "cells": {name: found[name] for name in columns}, "errors": []}


def _scenario(row: Mapping[str, Any], own: planning.OwnCatalog) -> planning.Scenario:
    """Of flat parameters, or of a whole scenario under `scenario`. FlatInvalid or ScenarioInvalid: every fault."""
    today = timezone.now().date()
    if set(row) == {"scenario"} and isinstance(row["scenario"], dict):
        return planning.parse_scenario(row["scenario"], today=today, own=own)
    texts, wrong = texts_of(row)
    if wrong:
        raise FlatInvalid(wrong)
    return scenario_from_flat(texts, today=today, own=own)


def _fault(index: int, error: FieldError) -> dict[str, Any]:
    """Flat rows name their parameter, scenarios a place within them."""
    place = error.pointer
    below = pointer("scenario") + place if place.startswith("/") else pointer(place) if place else ""
    return Fault(**{**error.as_dict(), "pointer": pointer("rows", index) + below}).model_dump()


def _table(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Table:
    """The cells beside their index, and the first fault as a sentence."""

    def line(row: dict[str, Any]) -> dict[str, Any]:
        fault = row["errors"][0]["detail"] if row["errors"] else None
        return {"index": row["index"], **(row["cells"] or {}), "error": fault}

    return Table(("index", *columns, "error"), [line(row) for row in rows])
