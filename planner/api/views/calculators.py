"""Calculators for teaching and checking; nothing is stored, nothing of a team is read."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request

from planner.api import openapi_calculators as openapi
from planner.api.answers import answer
from planner.api.calculator_queries import (
    BreakEvenQuery,
    CostPerMtokQuery,
    KvModelQuery,
    KvSizesQuery,
    LessonBody,
    LittlesLawQuery,
    MonthlyRequestsQuery,
)
from planner.api.cells import CellQuery, CellView, row_answer
from planner.api.problems import INVALID_BODY, INVALID_PARAMETER, ApiProblem
from planner.api.query import NoQuery, read_query
from planner.api.renderers import Csv, Json
from planner.api.small_body import read_body
from planner.api.views.base import ApiView
from planner.api.wire import Fault
from planner.planning import calculators
from planner.planning.calculators import Calculation, CalculatorInvalid
from planner.teams.models import Scope


class Calculator(CellView):
    """By GET: JSON with the formula, or as CSV the results as one row of cells, and formula and worked as columns."""

    renderer_classes = [Json, Csv]
    query: ClassVar[type[CellQuery]]
    compute: ClassVar[Callable[..., Calculation]]

    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, self.query)
        found = self._found(query).as_dict()
        if request.accepted_renderer.format == Json.format and query.fields is None:
            return answer(request, found)
        return row_answer(request, query, {**found["result"], "formula": found["formula"], "worked": found["worked"]})

    def _found(self, query: CellQuery) -> Calculation:
        given: dict[str, Any] = query.model_dump(exclude=set(CellQuery.model_fields))
        try:
            return type(self).compute(**given)
        except CalculatorInvalid as error:
            fault = Fault(
                code=error.code,
                pointer=f"?{error.field}",
                given=str(given.get(error.field, ""))[:80],
                allowed=error.allowed,
                detail=error.detail,
            )
            raise ApiProblem(INVALID_PARAMETER, "This cannot be calculated.", errors=[fault]) from None


def _calculator(name: str, query: type[CellQuery], compute: Callable[..., Calculation]) -> type[Calculator]:
    view = type(f"Calculator{name.title().replace('-', '')}", (Calculator,), {"query": query, "compute": compute})
    return extend_schema_view(get=extend_schema(**openapi.calculator(name, query, compute)))(view)


CALCULATORS = {
    "kv-memory": _calculator("kv-memory", KvSizesQuery, calculators.kv_memory),
    "kv-memory-of-model": _calculator("kv-memory-of-model", KvModelQuery, calculators.kv_memory_of_model),
    "littles-law": _calculator("littles-law", LittlesLawQuery, calculators.littles_law_of),
    "monthly-requests": _calculator("monthly-requests", MonthlyRequestsQuery, calculators.monthly_requests),
    "cost-per-mtok": _calculator("cost-per-mtok", CostPerMtokQuery, calculators.cost_per_mtok),
    "break-even": _calculator("break-even", BreakEvenQuery, calculators.break_even_of),
}


class LessonCalculator(ApiView):
    """The serving lesson: requests in slots, step by step."""

    scopes: ClassVar = {"POST": Scope.READ}

    @extend_schema(**openapi.LESSON)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        body = read_body(request, LessonBody)
        requests = [item.model_dump() for item in body.requests]
        try:
            found = calculators.lesson(requests, slots=body.slots, policy=body.policy, chunk_tokens=body.chunk_tokens)
        except CalculatorInvalid as error:
            fault = Fault(code=error.code, pointer=f"/{error.field}", given="", allowed="", detail=error.detail)
            raise ApiProblem(INVALID_BODY, "This lesson cannot be run.", errors=[fault]) from None
        return answer(request, found.as_dict())
