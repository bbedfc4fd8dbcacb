"""What the OpenAPI document says about the calculators."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from planner.api.calculator_queries import CalculationAnswer, LessonBody
from planner.api.cells import CellQuery
from planner.api.openapi import ALWAYS, SMALL_BODY, failures, json_answer, reading

_EXAMPLE = {
    "formula": "N = λ · E2E",
    "worked": "2 × 7.675 = 15.35",
    "result": {"concurrency_mean": 15.35, "concurrency_p95": 22},
}


def calculator(name: str, query: type[CellQuery]) -> dict[str, Any]:
    """The description of a calculator by GET."""
    return reading(
        f"calculators_{name.replace('-', '_')}",
        f"Calculate: {(query.__doc__ or name).strip().rstrip('.')}",
        {
            (200, "application/json"): json_answer(CalculationAnswer, "The answer with its formula.", answer=_EXAMPLE),
            (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description="Results, formula and worked as one row."),
        },
        query=query,
        formats=("json", "csv"),
    )


LESSON: dict[str, Any] = {
    "operation_id": "calculators_lesson",
    "summary": "Run the serving lesson",
    "description": "One step is one decode iteration; every occupied slot emits one token a step.",
    "request": {"application/json": LessonBody},
    "examples": [
        OpenApiExample(
            "lesson",
            value={"slots": 2, "policy": "continuous", "requests": [{"output_tokens": 3}, {"output_tokens": 5}]},
            request_only=True,
        )
    ],
    "responses": {
        200: json_answer(CalculationAnswer, "The run."),
        **failures(*ALWAYS, *SMALL_BODY),
    },
}
