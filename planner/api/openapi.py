"""What the OpenAPI document says about each operation: parameters, answers of every status, examples.

After a change: `python manage.py spectacular --format openapi-json --file planner/api/openapi.json`, and
`python scripts/client_kinds.py` for the types of the Python client."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerExtension
from drf_spectacular.plumbing import ResolvedComponent

from planner import planning
from planner.api import openapi_examples as examples
from planner.api import problems
from planner.api.openapi_estimates import estimate_schemas
from planner.api.openapi_parts import example_of
from planner.api.openapi_runs import REPORT_KEYS
from planner.api.openapi_webhooks import event_schemas, sent
from planner.api.problems import MEDIA_TYPE
from planner.api.wire import (
    SavedVersionRequest,
)


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
                "examples": {kind.anchor: {"value": example_of(kind)}},
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


def _say_what_fields_do(paths: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Where `fields` may be given, an item holds those that it names and no others, whatever is required otherwise."""
    schemas["ChosenFields"] = {
        "type": "object",
        "description": "What `fields` named, where it was given.",
        "additionalProperties": True,
    }
    for operations in paths.values():
        for operation in operations.values():
            if all(parameter["name"] != "fields" for parameter in operation.get("parameters", ())):
                continue
            answer = operation["responses"]["200"]["content"]["application/json"]
            page = schemas[answer["schema"]["$ref"].rpartition("/")[2]]
            holder, key = (
                (page["properties"]["items"], "items") if "items" in page["properties"] else (answer, "schema")
            )
            if "$ref" in holder[key]:
                holder[key] = {"anyOf": [holder[key], {"$ref": "#/components/schemas/ChosenFields"}]}


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
    schemas.update(estimate_schemas() | event_schemas())
    result["webhooks"] = sent()
    _say_what_fields_do(result["paths"], schemas)
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    return result
