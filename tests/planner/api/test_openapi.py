"""The OpenAPI document: valid, as committed, and true."""

import json
import re
from typing import Any

import jsonschema
import pytest
from drf_spectacular.generators import SchemaGenerator
from openapi_spec_validator import validate

from planner.api import openapi_examples
from planner.api.openapi_examples import SCENARIO as EXAMPLE_SCENARIO
from planner.api.problems import KINDS
from planner.api.urls import urlpatterns
from planner.api.views.service import OPENAPI_FILE
from planner.planning import parse_scenario
from planner.runs.models import Run, State
from planner.teams.models import User
from tests.factories import make_run, make_scenario, scenario_dict
from tests.planner.api.support import Api

PUBLIC = {"", "docs", "docs/spreadsheets", "openapi.json"}


@pytest.fixture(scope="module")
def generated() -> dict[str, Any]:
    document = SchemaGenerator().get_schema(request=None, public=True)
    return dict(json.loads(json.dumps(document)))


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    return dict(json.loads(OPENAPI_FILE.read_text()))


def test_the_committed_document_is_what_the_code_says(generated: dict[str, Any], committed: dict[str, Any]) -> None:
    assert committed == generated, "run: manage.py spectacular --format openapi-json --file planner/api/openapi.json"


def test_it_is_valid_openapi_31(committed: dict[str, Any]) -> None:
    assert committed["openapi"].startswith("3.1")
    validate(committed)


def test_it_is_served_to_everyone(db: None) -> None:
    response = Api().get("/openapi.json")
    assert response.content == OPENAPI_FILE.read_bytes()
    assert Api().get("/openapi.json", If_None_Match=response["ETag"]).status_code == 304


def test_it_names_every_address_once(committed: dict[str, Any]) -> None:
    named = {path.removeprefix("/api/v1/").partition("{")[0].rstrip("/") for path in committed["paths"]}
    routed = {str(p.pattern).partition("<")[0].rstrip("/") for p in urlpatterns} - {
        "",
        "docs",
        "docs/spreadsheets",
        "openapi.json",
    }
    assert named == routed
    assert not any(path.endswith("/") for path in committed["paths"])


def test_the_catalogs_are_as_their_examples_show(api: Api) -> None:
    for kind, row in openapi_examples.CATALOG_ROWS.items():
        shown = api.get(f"/catalog/{kind}?priced_at=2026-11-30&limit=1").json()["items"][0]
        assert list(shown)[: len(row)] == list(row), "columns keep their order; new ones go to the end"


def test_every_operation_says_how_it_fails(committed: dict[str, Any]) -> None:
    always = {"400", "401", "403", "406", "429", "500"}
    for path, operations in committed["paths"].items():
        for method, operation in operations.items():
            assert always <= set(operation["responses"]), (method, path)
            assert operation["summary"]
            assert {"basic": []} in operation["security"]


def test_every_kind_of_problem_but_405_is_shown(committed: dict[str, Any]) -> None:
    text = json.dumps(committed)
    missing = {kind.anchor for kind in KINDS if f"#{kind.anchor}" not in text}
    assert missing == {"method-not-allowed"}


def test_the_example_scenario_is_valid() -> None:
    parse_scenario(EXAMPLE_SCENARIO)


def check(document: dict[str, Any], name: str, value: Any) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(value)


def test_the_scenario_schema_takes_what_the_parser_takes(committed: dict[str, Any]) -> None:
    check(committed, "Scenario", EXAMPLE_SCENARIO)
    check(committed, "Scenario", {key: value for key, value in scenario_dict().items() if key != "priced_at"})
    with pytest.raises(jsonschema.ValidationError):
        check(committed, "Scenario", scenario_dict(colour="red"))


def test_answers_match_their_schemas(api: Api, user: User, committed: dict[str, Any]) -> None:
    version = make_scenario(user)
    run = make_run(user)
    Run.objects.update(state=State.FAILED, failure={"code": "a", "detail": "b"}, scenario_version=version)
    check(committed, "RunDetail", api.get(f"/runs/{run.pk}").json())
    check(committed, "RunPage", api.get("/runs?limit=1").json())
    check(committed, "ScenarioPage", api.get("/scenarios").json())
    check(committed, "ScenarioDetail", api.get(f"/scenarios/{version.scenario_id}").json())
    check(committed, "ValidScenario", api.post("/scenarios/validate", scenario_dict()).json())
    check(committed, "Problem", api.post("/runs", {}).json())


def test_every_example_matches_its_schema(committed: dict[str, Any]) -> None:
    for operations in committed["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                for content in response.get("content", {}).values():
                    for example in content.get("examples", {}).values() if "$ref" in content["schema"] else ():
                        check(committed, content["schema"]["$ref"].rpartition("/")[2], example["value"])


BINARY = {
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.apache.parquet",
    "application/octet-stream",
}


def operations(document: dict[str, Any]) -> Any:
    return (
        (f"{method.upper()} {path}", operation)
        for path, found in document["paths"].items()
        for method, operation in found.items()
    )


def test_every_body_and_answer_is_shown(committed: dict[str, Any]) -> None:
    lacking = [
        (name, status, kind)
        for name, operation in operations(committed)
        for status, part in {"": operation.get("requestBody", {}), **operation["responses"]}.items()
        for kind, content in part.get("content", {}).items()
        if kind not in BINARY and not content.get("examples")
    ]
    assert lacking == []


def test_every_parameter_is_described_and_shown(committed: dict[str, Any]) -> None:
    for name, operation in operations(committed):
        for parameter in operation.get("parameters", ()):
            schema = parameter["schema"]
            assert parameter.get("description") or parameter["in"] == "path", (name, parameter["name"])
            assert {"enum", "default", "examples"} & schema.keys(), (name, parameter["name"])


UNITS = re.compile(
    r"(^|_)(ms|s|gib|b|bytes|tokens?|rps|ratio|steps?|usd|usd_per_\w+|\w+_usd_per_mtok|per_s|days|hours?|months?|years?"
    r"|w|kw|kwh|pct|percent|tflops|gb_per_s|hour|rpm|g|g_per_kwh|size|cv|dim|len)(_|$)"
)
COUNTS = re.compile(r"(id|number|index|status|limit|wait|tp|pp|ep|dp|cp|seed|hidden|shape|rank|ranks|p95|mean|p50)$|s$")


def test_every_number_has_its_unit_or_is_a_plain_count(committed: dict[str, Any]) -> None:
    """In its name, or said in its description."""
    bare = []
    for name, schema in committed["components"]["schemas"].items():
        for field, part in schema.get("properties", {}).items():
            kinds = json.dumps(part)
            if ('"number"' in kinds or '"integer"' in kinds) and not part.get("$ref"):
                known = UNITS.search(field) or COUNTS.search(field) or part.get("description")
                bare += [] if known else [f"{name}.{field}"]
    assert bare == []
