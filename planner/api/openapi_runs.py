"""What the OpenAPI document says about runs, their reports, and checking a scenario."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse

from planner import planning
from planner.api import openapi_examples as examples
from planner.api import problems
from planner.api.openapi_parts import (
    ALWAYS,
    BODY,
    LINK,
    WORKBOOK,
    as_tables,
    blank,
    failures,
    header,
    json_answer,
    listed,
    reading,
)
from planner.api.query import (
    ListQuery,
    ReportQuery,
    RunListQuery,
    RunQuery,
)
from planner.api.renderers import Csv
from planner.api.wire import (
    RunDetail,
    RunPage,
    TablePage,
    ValidScenario,
)
from planner.reports.tables import Table

REPORT_KEYS = {
    "schema_version": ("integer", "Version of the report's format."),
    "name": ("string", "The scenario's name."),
    "verdict": ("object", "One sentence, the choice, and the monthly saving as a range."),
    "recommended": (["object", "null"], "The fleet to run; null when no candidate meets the targets."),
    "candidates": (
        "array",
        "Every fleet that was tried, with its cost or the reason why it is not feasible; simulated is false for those "
        "that the closed form shows to be dearer than the best.",
    ),
    "precisions": ("array", "The cheapest fleet in each number format; empty where the scenario names one."),
    "slo": ("array", "The targets and what is predicted for the recommended fleet."),
    "confirmation": (
        ["object", "null"],
        "The recommended fleet simulated whole: its peak hour behind its router and another, and the busiest day.",
    ),
    "load": (["object", "null"], "Rates, utilisation, concurrency, KV use, headroom."),
    "memory": (["object", "null"], "The memory subtraction, line by line in GiB."),
    "cost": (["object", "null"], "Monthly lines and USD per million tokens."),
    "api": ("array", "The bill of each hosted model for the same tokens."),
    "owned": ("array", "What the GPUs that the scenario owns can take within the targets."),
    "break_even": (["object", "null"], "The cost staircase and its crossings."),
    "hybrid": (["object", "null"], "Base load self-hosted, overflow at the API: the cheapest split."),
    "operation": ("array", "The same fleet by schedule, autoscaled, to zero, committed or on spot."),
    "batch": (
        ["object", "null"],
        "Requests with a deadline: what they add to the fleet, and the API's charge for them.",
    ),
    "horizon": (["object", "null"], "Both sides over the months: growth, further lines, later money, own hardware."),
    "curves": ("array", "The recommended fleet at rising load."),
    "frontier": ("array", "Cost against TTFT and TPOT of every fleet, each with its curve and knee."),
    "knobs": ("array", "What tokens per step and seats do to a replica's capacity."),
    "sensitivity": ("array", "What the saving becomes when one assumption changes."),
    "uncertainty": (["object", "null"], "How far predictions may be off, and on what that rests."),
    "advice": (["object", "null"], "What to watch, limits, failure modes near, load-test plan, Kubernetes manifests."),
    "provenance": ("object", "Scenario, versions, seed, price dates, sources, assumptions."),
}


def run_table(name: str) -> dict[str, Any]:
    """The description of one table of a report."""
    words = name.replace("-", " ").replace("api", "API bills")
    row = examples.TABLE_ROWS[name]
    example: dict[str, Any] = {"items": [row], "next": None}
    return reading(
        f"runs_{name.replace('-', '_')}",
        f"Read the {words} of a report",
        {
            (200, "application/json"): json_answer(TablePage, "Flat rows in a fixed order.", page=example),
            **as_tables("The whole table.", Csv().render(Table(list(row), [row])).decode()),
        },
        query=ListQuery,
        formats=("json", "csv", "xlsx"),
        also=(problems.NOT_FOUND, problems.NO_REPORT),
        headers=(LINK,),
    )


RUN_LIST = reading(
    "runs_list",
    "List runs",
    listed(RunPage, "Runs.", examples.RUN_PAGE),
    query=RunListQuery,
    formats=("json", "csv", "xlsx"),
    also=(problems.TOO_MANY_ROWS,),
    headers=(LINK,),
)

RUN_READ = reading(
    "runs_read",
    "Read a run",
    {200: json_answer(RunDetail, "The run.", running=examples.RUN)},
    query=RunQuery,
    also=(problems.NOT_FOUND,),
    headers=(header("Retry-After", "Seconds until it is worth asking again; absent once the run has ended.", 200),),
)

RUN_REPORT = reading(
    "runs_report",
    "Read the report of a run",
    {
        (200, "application/json"): json_answer(
            {"$ref": "#/components/schemas/Report"},
            "The report, byte for byte as `manage.py plan --json` prints it.",
            sections=blank(REPORT_KEYS) | examples.REPORT,
        ),
        **as_tables("Every value on a line of its own: section, JSON pointer, value.", examples.REPORT_LINES),
        WORKBOOK: OpenApiResponse(OpenApiTypes.BINARY, description="A workbook whose money is live formulas."),
    },
    query=ReportQuery,
    formats=("json", "csv", "xlsx"),
    also=(problems.NOT_FOUND, problems.NO_REPORT),
    headers=(header("Retry-After", "Seconds until it is worth asking again, while the run is unfinished.", 409),),
)

RUN_START: dict[str, Any] = {
    "operation_id": "runs_start",
    "summary": "Start a run",
    "description": "The body is a scenario, or names a saved one. An identical run of the team is not repeated.",
    "request": {
        "application/json": {
            "oneOf": [
                {"$ref": "#/components/schemas/Scenario"},
                {"$ref": "#/components/schemas/SavedVersionRequest"},
            ]
        }
    },
    "examples": [
        OpenApiExample("scenario", value=examples.SCENARIO, request_only=True),
        OpenApiExample(
            "saved", value={"scenario_version": {"scenario_id": examples.RUN_ID, "number": 3}}, request_only=True
        ),
    ],
    "parameters": [
        OpenApiParameter(
            "Idempotency-Key",
            {"type": "string", "pattern": r"^[\x21-\x7e]{1,200}$"},
            OpenApiParameter.HEADER,
            description="Makes it safe to send the request again: the same key and body give the same run.",
        ),
        header("Location", "Path of the run.", 202),
        header("Retry-After", "Seconds until it is worth asking; absent when the run has ended already.", 202),
    ],
    "responses": {
        202: json_answer(RunDetail, "The run was taken on.", running=examples.RUN),
        **failures(*ALWAYS, *BODY, problems.IDEMPOTENCY_CONFLICT),
    },
}

RUN_CANCEL: dict[str, Any] = {
    "operation_id": "runs_cancel",
    "summary": "Cancel a run",
    "description": "Asking twice, or for a run that has ended, changes nothing.",
    "parameters": [
        header("Location", "Path of the run.", 202),
        header("Retry-After", "Seconds until it is worth asking whether it has stopped.", 202),
    ],
    "responses": {
        202: json_answer(
            RunDetail,
            "It was asked to stop and will within seconds.",
            stopping=examples.RUN | {"cancel_requested": True},
        ),
        204: OpenApiResponse(description="It has ended."),
        **failures(*ALWAYS, problems.NOT_FOUND),
    },
}

SCENARIO_VALIDATE: dict[str, Any] = {
    "operation_id": "scenarios_validate",
    "summary": "Check a scenario without running it",
    "request": {"application/json": planning.Scenario},
    "examples": [OpenApiExample("scenario", value=examples.SCENARIO, request_only=True)],
    "responses": {200: json_answer(ValidScenario, "It can be run.", valid=examples.VALID), **failures(*ALWAYS, *BODY)},
}
