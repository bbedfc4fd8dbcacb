"""What the OpenAPI document says about estimates, sheets and their links."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from planner import planning
from planner.api import openapi_examples as examples
from planner.api import problems
from planner.api.openapi_parts import (
    ALWAYS,
    BODY,
    LINK,
    SMALL_BODY,
    as_tables,
    blank,
    failures,
    header,
    json_answer,
    listed,
    reading,
)
from planner.api.query import TimedQuery, format_parameter
from planner.api.renderers import Csv
from planner.api.sheet_query import SheetQuery
from planner.api.wire import BatchAnswer, BatchRequest, LinkCreated, LinkPage, LinkRequest, LinkSummary
from planner.reports.tables import Table

ESTIMATE_KEYS = {
    "schema_version": ("integer", "Version of the format of scenarios and reports."),
    "method": ("string", "closed_form: nothing was simulated."),
    "name": ("string", "The scenario's name."),
    "verdict": ("object", "As in a report, by the closed form."),
    "recommended": (["string", "null"], "Id of the cheapest candidate that meets the targets."),
    "candidates": (
        "array",
        "The report's keys, and memory, floors, saturation_rps, littles_law, saving.",
    ),
    "load": ("object", "Rates, mean lengths, tokens of a month."),
    "api": ("array", "The bill of each hosted model for the same tokens."),
    "break_even": (["object", "null"], "Crossings with the cheapest API."),
    "provenance": ("object", "Scenario, versions, seed, price dates, sources, assumptions."),
}
_BOOLEAN = ("feasible", "fits")
_TEXT = ("candidate", "gpu", "choice", "verdict", "method", "priced_at", "engine_version", "catalog_version")
_TEXT_OR_NULL = ("reason_code", "reason", "nearest_change", "coverage")
_WHOLE_OR_NULL = ("replicas", "serving_replicas", "gpus", "seats", "concurrency_p95", "kv_tokens")


def _cell_type(name: str) -> str | list[str]:
    if name in _BOOLEAN:
        return "boolean"
    if name == "cheaper_than_api":
        return ["boolean", "null"]
    if name in _TEXT:
        return "string"
    if name in _TEXT_OR_NULL:
        return ["string", "null"]
    if name == "tp":
        return "integer"
    return ["integer", "null"] if name in _WHOLE_OR_NULL else ["number", "null"]


class _LinkScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "planner.api.authentication.LinkTokenAuthentication"
    name = "link"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "apiKey", "in": "query", "name": "token", "description": "A link token, stl_…"}


def estimate_schemas() -> dict[str, Any]:
    """The two components that no view names by class."""
    cells = {name: {"type": _cell_type(name), "description": text} for name, text in planning.ESTIMATE_COLUMNS.items()}
    return {
        "Estimate": {
            "type": "object",
            "description": "The closed-form estimate; ranges are {low, mid, high}.",
            "required": list(ESTIMATE_KEYS),
            "properties": {name: {"type": kind, "description": text} for name, (kind, text) in ESTIMATE_KEYS.items()},
        },
        "EstimateCells": {
            "type": "object",
            "description": "The estimate as one flat row; only the fields asked for.",
            "properties": cells,
            "additionalProperties": False,
        },
    }


ESTIMATE: dict[str, Any] = {
    "operation_id": "estimates_make",
    "summary": "Estimate a scenario at once",
    "description": "Closed form, without a simulation; some 5 ms of computing per candidate. Nothing is stored.",
    "request": {
        "application/json": {
            "oneOf": [
                {"$ref": "#/components/schemas/Scenario"},
                {"$ref": "#/components/schemas/SavedVersionRequest"},
            ]
        }
    },
    "examples": [OpenApiExample("scenario", value=examples.SCENARIO, request_only=True)],
    "responses": {
        200: json_answer(
            {"$ref": "#/components/schemas/Estimate"},
            "The estimate.",
            sections=blank(ESTIMATE_KEYS) | examples.ESTIMATE,
        ),
        **failures(*ALWAYS, *BODY),
    },
}
ESTIMATE_BATCH: dict[str, Any] = {
    "operation_id": "estimates_batch",
    "summary": "Estimate up to 500 rows",
    "description": "Each row answers or carries its own faults; the request fails only when its form is wrong.",
    "request": {"application/json": BatchRequest},
    "examples": [OpenApiExample("rows", value=examples.BATCH, request_only=True)],
    "parameters": [format_parameter(("json", "csv", "xlsx"))],
    "responses": {
        (200, "application/json"): json_answer(BatchAnswer, "One answer per row.", rows=examples.BATCH_ANSWER),
        **as_tables("index, the columns, and the first fault.", examples.BATCH_LINES),
        **failures(*ALWAYS, *SMALL_BODY),
    },
}
SHEET_ESTIMATE: dict[str, Any] = reading(
    "sheets_estimate",
    "Estimate for a cell",
    {
        (200, "text/csv"): OpenApiResponse(
            OpenApiTypes.STR,
            description="One header row and one row of values; with header=0 and one field, its bare value.",
            examples=[
                OpenApiExample(
                    "row",
                    value=Csv().render(Table(list(examples.CELLS), [examples.CELLS])).decode(),
                    response_only=True,
                    media_type="text/csv",
                )
            ],
        ),
        (200, "application/json"): json_answer(
            {"$ref": "#/components/schemas/EstimateCells"}, "The same as an object.", cells=examples.CELLS
        ),
    },
    query=SheetQuery,
    formats=("csv", "json"),
)
LINK_LIST = reading(
    "sheets_links_list",
    "List link tokens",
    listed(LinkPage, "Link tokens.", examples.LINK_PAGE),
    query=TimedQuery,
    formats=("json", "csv", "xlsx"),
    also=(problems.TOO_MANY_ROWS,),
    headers=(LINK,),
)
LINK_CREATE: dict[str, Any] = {
    "operation_id": "sheets_links_create",
    "summary": "Make a link token",
    "description": "It reads addresses below /sheets/ and nothing else. Its text is shown this once.",
    "request": {"application/json": LinkRequest},
    "examples": [OpenApiExample("link", value={"name": "Budget sheet", "expires_in_days": 90}, request_only=True)],
    "parameters": [header("Location", "Path of the link token.", 201)],
    "responses": {
        201: json_answer(LinkCreated, "It was made.", created=examples.LINK_CREATED),
        **failures(*ALWAYS, *SMALL_BODY),
    },
}
LINK_READ = reading(
    "sheets_links_read",
    "Read a link token",
    {200: json_answer(LinkSummary, "The link token, without its secret.", link=examples.LINK_PAGE["items"][0])},
    also=(problems.NOT_FOUND,),
)
LINK_REVOKE: dict[str, Any] = {
    "operation_id": "sheets_links_revoke",
    "summary": "Revoke a link token",
    "description": "Doing it twice changes nothing.",
    "responses": {204: OpenApiResponse(description="It has ended."), **failures(*ALWAYS, problems.NOT_FOUND)},
}
