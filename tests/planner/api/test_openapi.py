"""The OpenAPI document: valid, as committed, and true."""

import json
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
