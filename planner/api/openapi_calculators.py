"""What the OpenAPI document says about the calculators."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiExample

from planner.api.calculator_queries import CalculationAnswer, LessonBody
from planner.api.cells import CellQuery
from planner.api.openapi_parts import ALWAYS, SMALL_BODY, as_tables, failures, json_answer, reading
from planner.api.renderers import Csv
from planner.planning.calculators import Calculation
from planner.reports.tables import Table

_LESSON: dict[str, Any] = {
    "slots": 2,
    "policy": "continuous",
    "requests": [{"output_tokens": 3}, {"output_tokens": 5}],
}

_LESSON_ANSWER: dict[str, Any] = {
    "formula": "a free slot takes the next request at the next step; admitted at s, n tokens: finished at s + n",
    "worked": "8 tokens in 5 steps of 2 slots",
    "result": {
        "slots": 2,
        "arrival_steps": [0, 0],
        "finish_steps": [3, 5],
        "first_token_steps": [1, 1],
        "tokens": 8,
        "makespan_steps": 5,
        "throughput_tokens_per_step": 1.6,
        "idle_ratio": 0.2,
        "mean_latency_steps": 4.0,
        "p95_latency_steps": 5,
        "mean_ttft_steps": 1.0,
        "p95_ttft_steps": 1,
        "spans": [
            {"slot": 0, "admitted_step": 0, "finish_step": 3},
            {"slot": 1, "admitted_step": 0, "finish_step": 5},
        ],
    },
}


def calculator(name: str, query: type[CellQuery], compute: Callable[..., Calculation]) -> dict[str, Any]:
    """The description of a calculator by GET; its example is what it answers to the examples of its parameters."""
    fields = {field: info for field, info in query.model_fields.items() if field not in CellQuery.model_fields}
    asked = {field: (info.examples or [info.default])[0] for field, info in fields.items()}
    found = compute(**query(**asked).model_dump(exclude=set(CellQuery.model_fields))).as_dict()
    row = {**found["result"], "formula": found["formula"], "worked": found["worked"]}
    lines = as_tables("Results, formula and worked as one row.", Csv().render(Table(list(row), [row])).decode())
    return reading(
        f"calculators_{name.replace('-', '_')}",
        f"Calculate: {(query.__doc__ or name).strip().rstrip('.')}",
        {
            (200, "application/json"): json_answer(CalculationAnswer, "The answer with its formula.", answer=found),
            (200, "text/csv"): lines[(200, "text/csv")],
        },
        query=query,
        formats=("json", "csv"),
    )


LESSON: dict[str, Any] = {
    "operation_id": "calculators_lesson",
    "summary": "Run the serving lesson",
    "description": "One step is one decode iteration; every occupied slot emits one token a step.",
    "request": {"application/json": LessonBody},
    "examples": [OpenApiExample("lesson", value=_LESSON, request_only=True)],
    "responses": {
        200: json_answer(
            CalculationAnswer,
            "The run.",
            answer=_LESSON_ANSWER,
        ),
        **failures(*ALWAYS, *SMALL_BODY),
    },
}
