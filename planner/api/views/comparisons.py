"""Comparisons: computed when asked for, not stored."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from planner.api import openapi_sharing as openapi
from planner.api.answers import answer
from planner.api.listing import as_table, table_answer
from planner.api.problems import INVALID_BODY, INVALID_PARAMETER, ApiProblem, Kind
from planner.api.query import ComparisonQuery, NoQuery, read_query
from planner.api.small_body import read_body
from planner.api.views.base import ListView
from planner.api.wire import Fault
from planner.api.wire_sharing import ComparedSide, Comparison, ComparisonRequest, InputRow, ResultRow
from planner.planning.errors import show
from planner.reports.compared import FEWEST, MOST, Compared, NotComparable, compared, read_refs
from planner.reports.comparison import results
from planner.reports.tables import Table
from planner.scenarios.diff import differences
from planner.teams.models import Scope, Team

PATH = "/api/v1/comparisons"
_ALLOWED = f"{FEWEST} to {MOST}, each ID, ID:3 or run:ID"


_COLUMNS = ("part", "name", "label", "unit", "side", "of", "value", "low", "high", "target", "met")


class Comparisons(ListView):
    """Two to five sides; the names stand in the address, or in a body where there are many."""

    scopes: ClassVar = {"POST": Scope.READ}

    @extend_schema(**openapi.COMPARISON_READ)
    def get(self, request: Request) -> HttpResponse:
        names = read_query(request, ComparisonQuery).of.split(",")
        return self._answer(request, names, INVALID_PARAMETER, "?of")

    @extend_schema(**openapi.COMPARISON_MAKE)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        return self._answer(request, read_body(request, ComparisonRequest).of, INVALID_BODY, "/of")

    def _answer(self, request: Request, names: Sequence[str], wrong: Kind, pointer: str) -> HttpResponse:
        try:
            sides = compared(self.caller.team, read_refs(names))
        except NotComparable as error:
            fault = Fault(
                code="not_comparable",
                pointer=pointer,
                given=show(",".join(names)),
                allowed=_ALLOWED,
                detail=f"{error}",
            )
            raise ApiProblem(wrong, fault.detail, errors=[fault]) from None
        except KeyError as missing:
            raise NotFound(f"The team has no {missing.args[0]}.") from None
        found = _comparison(self.caller.team, sides)
        return table_answer(request, _table(found), "comparison") if as_table(request) else answer(request, found)


def _comparison(team: Team, sides: Sequence[Compared]) -> Comparison:
    of = ",".join(str(side.ref) for side in sides)
    query = urlencode({"of": of}, safe=",:")
    return Comparison(
        sides=[_side(side) for side in sides],
        inputs=[
            InputRow(pointer=row.pointer, values=list(row.values))
            for row in differences([side.document for side in sides])
        ],
        results=[
            ResultRow(name=row.name, label=row.label, unit=row.unit, values=list(row.values))
            for row in results([side.report for side in sides])
        ],
        link=f"{PATH}?{query}",
        page=f"/compare/?{query}&team={team.pk}",
    )


def _table(found: Comparison) -> Table:
    """A line for each value of each side, so that the columns do not depend on how many sides there are."""
    lines = [
        {"part": "input", "name": row.pointer, "side": place, "of": side.of, "value": value}
        for row in found.inputs
        for place, (side, value) in enumerate(zip(found.sides, row.values, strict=True), 1)
    ]
    lines += [
        {"part": "result", "name": row.name, "label": row.label, "unit": row.unit, "side": place, "of": side.of}
        | (_within(value) if isinstance(value, dict) else {"value": value})
        for row in found.results
        for place, (side, value) in enumerate(zip(found.sides, row.values, strict=True), 1)
    ]
    return Table(_COLUMNS, lines)


def _within(value: Mapping[str, Any]) -> dict[str, Any]:
    """A range in columns: what stands in its middle is the value."""
    return {"value" if name == "mid" else name: part for name, part in value.items()}


def _side(side: Compared) -> ComparedSide:
    version, run = side.version, side.run
    return ComparedSide(
        of=str(side.ref),
        label=side.label,
        scenario_id=version and version.scenario_id,
        number=version and version.number,
        run_id=run and run.pk,
        priced_at=side.document["priced_at"],
        report=f"/api/v1/runs/{run.pk}/report" if run and side.report else None,
    )
