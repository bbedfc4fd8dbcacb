"""What the OpenAPI document says about each operation: parameters, answers of every status, examples.

After a change: `python manage.py spectacular --format openapi-json --file planner/api/openapi.json`, and
`python scripts/client_kinds.py` for the types of the Python client.
"""

from collections.abc import Mapping
from typing import Any, get_args

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.plumbing import ResolvedComponent
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from pydantic import BaseModel

from planner import planning
from planner.api import openapi_examples as examples
from planner.api import problems
from planner.api.listing import flat_columns, flat_row
from planner.api.problems import MEDIA_TYPE, Kind
from planner.api.query import (
    CatalogQuery,
    ListQuery,
    NoQuery,
    ReportQuery,
    RunListQuery,
    RunQuery,
    query_parameters,
)
from planner.api.renderers import Csv, Xlsx
from planner.api.wire import (
    CatalogPage,
    Problem,
    RunDetail,
    RunPage,
    SavedVersionRequest,
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


class _ScenarioSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """The scenario as one may send it: defaults are optional, and `priced_at` is today's date when left out."""

    target_class = planning.Scenario
    priority = 1

    def get_name(self, auto_schema: Any, direction: str) -> str:
        return "Scenario"

    def map_serializer(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        schema = planning.Scenario.model_json_schema(ref_template="#/components/schemas/{model}", mode="validation")
        for name, part in schema.pop("$defs", {}).items():
            component = ResolvedComponent(name, ResolvedComponent.SCHEMA, part, name)  # type: ignore[no-untyped-call]
            auto_schema.registry.register_on_missing(component)
        schema["required"] = [name for name in schema["required"] if name != "priced_at"]
        return schema


class _BasicScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "planner.api.authentication.BasicTokenAuthentication"
    name = "basic"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "basic", "description": "Any user name; the API token as the password."}


class _BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = "planner.api.authentication.BearerTokenAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "An API token, stc_…"}


def blank(keys: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
    """A document of these keys with nothing in it, for an example that shows some of them."""
    empty: dict[str, Any] = {"object": {}, "array": [], "string": "", "integer": 1}
    return {name: None if isinstance(kind, list) else empty[kind] for name, (kind, _) in keys.items()}


def json_answer(model: type[BaseModel] | dict[str, Any], description: str, **values: Any) -> OpenApiResponse:
    shown = [
        OpenApiExample(name, value=value, response_only=True, media_type="application/json")
        for name, value in values.items()
    ]
    return OpenApiResponse(model, description=description, examples=shown)


def failures(*kinds: Kind) -> dict[Any, OpenApiResponse]:
    """Problem answers, one entry per status with an example of each kind that has it."""
    out: dict[Any, OpenApiResponse] = {}
    for status in sorted({kind.status for kind in kinds}):
        same = [kind for kind in kinds if kind.status == status]
        examples = [
            OpenApiExample(kind.anchor, value=_example(kind), response_only=True, media_type=MEDIA_TYPE)
            for kind in same
        ]
        title = "; or: ".join(kind.title for kind in same) + "."
        out[(status, MEDIA_TYPE)] = OpenApiResponse(Problem, description=title, examples=examples)
    return out


def _example(kind: Kind) -> dict[str, Any]:
    errors = []
    if kind is problems.INVALID_SCENARIO:
        errors = [
            {
                "code": "unit_slip",
                "pointer": "/slo/ttft_p95_ms",
                "given": "1",
                "allowed": "5 to 3600000 ms",
                "detail": "ttft_p95_ms must be 5 to 3600000 ms. This looks like seconds: did you mean 1000 ms?",
            }
        ]
    return {
        "type": f"{problems.DOCS_PATH}#{kind.anchor}",
        "title": kind.title,
        "status": kind.status,
        "detail": f"{kind.title}.",
        "errors": errors,
        "request_id": examples.REQUEST_ID,
    }


def header(name: str, description: str, *statuses: int) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, response=list(statuses) or True, description=description
    )


WORKBOOK = (200, Xlsx.media_type)
ALWAYS = (
    problems.INVALID_PARAMETER,
    problems.NOT_AUTHENTICATED,
    problems.FORBIDDEN,
    problems.NOT_ACCEPTABLE,
    problems.TOO_MANY_REQUESTS,
    problems.INTERNAL_ERROR,
)
BODY = (
    problems.MALFORMED_BODY,
    problems.BODY_TOO_LARGE,
    problems.UNSUPPORTED_MEDIA_TYPE,
    problems.INVALID_SCENARIO,
)
SMALL_BODY = (problems.MALFORMED_BODY, problems.BODY_TOO_LARGE, problems.UNSUPPORTED_MEDIA_TYPE, problems.INVALID_BODY)
_NOT_MODIFIED = {
    304: OpenApiResponse(description="Unchanged since the ETag in If-None-Match."),
    414: OpenApiResponse(description="The address is longer than 8,190 bytes; the web server says so, not the API."),
}
_ETAG = [
    OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="ETag of the answer already held."),
    header("ETag", "Digest of the answer's bytes.", 200, 304),
]
LINK = header("Link", 'The next page, as `<path>; rel="next"`.', 200)


def reading(
    operation: str,
    summary: str,
    answers: dict[Any, OpenApiResponse],
    *,
    query: type[Any] = NoQuery,
    formats: tuple[str, ...] = ("json",),
    also: tuple[Kind, ...] = (),
    headers: tuple[OpenApiParameter, ...] = (),
) -> dict[str, Any]:
    """The description of a GET."""
    return {
        "operation_id": operation,
        "summary": summary,
        "parameters": [*query_parameters(query, formats=formats), *_ETAG, *headers],
        "responses": {**answers, **_NOT_MODIFIED, **failures(*ALWAYS, *also)},
    }


def catalog(kind: str, query: type[CatalogQuery]) -> dict[str, Any]:
    """The description of one catalog table, in both its formats."""
    row = examples.CATALOG_ROWS[kind]
    page = {"priced_at": "2026-11-30", "items": [row], "next": None}
    lines = Csv().render(Table(list(row), [row])).decode()
    return reading(
        f"catalog_{kind.replace('-', '_')}",
        f"List {kind.replace('-', ' ').replace('gpu', 'GPU').replace('api', 'API')}",
        {
            (200, "application/json"): json_answer(CatalogPage, "Rows in a fixed order.", page=page),
            **as_tables("The whole table.", lines),
        },
        query=query,
        formats=("json", "csv", "xlsx"),
        headers=(LINK,),
    )


def as_tables(description: str, lines: str = "") -> dict[Any, OpenApiResponse]:
    """The same as CSV and as a workbook. lines: an example of the CSV."""
    shown = [OpenApiExample("table", value=lines, response_only=True, media_type="text/csv")] if lines else []
    return {
        (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description=description, examples=shown),
        WORKBOOK: OpenApiResponse(OpenApiTypes.BINARY, description="The same as a workbook."),
    }


def listed(page: type[BaseModel], description: str, example: dict[str, Any]) -> dict[Any, OpenApiResponse]:
    """A list in both its formats. With `fields` items have only those columns."""
    return {
        (200, "application/json"): json_answer(page, description, page=example),
        **as_tables("The whole list; objects become columns.", _lines(page, example)),
    }


def _lines(page: type[BaseModel], example: dict[str, Any]) -> str:
    """The example of a page as the list's CSV."""
    (kind,) = get_args(page.model_fields["items"].annotation)
    columns = flat_columns(kind)
    return Csv().render(Table(columns, [flat_row(row) for row in example["items"]])).decode()


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


def only_canonical_paths(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """Each address is also taken with a slash at its end; the document names it once."""
    return [endpoint for endpoint in endpoints if not endpoint[0].endswith("/")]


def _say_if_match(paths: dict[str, Any]) -> None:
    """Every change of what can be read at the same address holds to If-Match; see ApiView."""
    parameter = {
        "in": "header",
        "name": "If-Match",
        "schema": {"type": "string"},
        "description": "The ETag of the answer that was read: the change is made only while it is still that.",
    }
    kind = problems.VERSION_CONFLICT
    refusal = {
        "content": {
            MEDIA_TYPE: {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "examples": {kind.anchor: {"value": _example(kind)}},
            }
        },
        "description": f"{kind.title}.",
    }
    for operations in paths.values():
        for method in {"put", "patch", "delete"} & operations.keys() if "get" in operations else ():
            operation = operations[method]
            if all(known["name"] != parameter["name"] for known in operation.setdefault("parameters", [])):
                operation["parameters"].append(parameter)
            operation["responses"].setdefault(str(kind.status), refusal)
            operation["responses"] = dict(sorted(operation["responses"].items()))


_AN_ID = examples.RUN_ID
_IN_PATHS = {"user_id": 7, "link_id": 7, "token_id": 12, "comment_id": 12, "number": 3}
"""Examples of what stands in a path; all else there is a UUID."""
_IN_HEADERS = {
    "If-Match": '"6b86b273ff34fce1"',
    "If-None-Match": '"6b86b273ff34fce1"',
    "Idempotency-Key": "nightly-2026-11-30",
}


def _show_parameters(paths: dict[str, Any]) -> None:
    """An example of each parameter that stands in a path or a header."""
    for operations in paths.values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "path":
                    parameter["schema"]["examples"] = [_IN_PATHS.get(parameter["name"], _AN_ID)]
                elif parameter["in"] == "header":
                    parameter["schema"]["examples"] = [_IN_HEADERS[parameter["name"]]]


def add_components(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Adds what no view names by class: the report, the request for a saved version, and If-Match."""
    _say_if_match(result["paths"])
    _show_parameters(result["paths"])
    schemas = result["components"]["schemas"]
    saved = SavedVersionRequest.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(saved.pop("$defs"))
    schemas["SavedVersionRequest"] = saved
    schemas["Report"] = {
        "type": "object",
        "description": "The sizing report. Holds no ids and no clock times; ranges are {low, mid, high}.",
        "required": list(REPORT_KEYS),
        "properties": {name: {"type": kind, "description": text} for name, (kind, text) in REPORT_KEYS.items()},
    }
    from planner.api.openapi_estimates import estimate_schemas  # these build on this module
    from planner.api.openapi_webhooks import event_schemas, sent

    schemas.update(estimate_schemas() | event_schemas())
    result["webhooks"] = sent()
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    return result
