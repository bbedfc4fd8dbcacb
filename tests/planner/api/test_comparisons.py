"""GET and POST /api/v1/comparisons."""

import json
import uuid
from typing import Any

import pytest
from django.utils import timezone

from planner.runs.models import Run, State
from planner.runs.services import version_run
from planner.teams.models import User
from tests.factories import make_scenario, make_user
from tests.planner.api.support import Api, problem
from tests.planner.reports.example import example


@pytest.fixture
def names(user: User) -> list[str]:
    one, two = make_scenario(user, name="A"), make_scenario(user, name="B", slo={"ttft_p95_ms": 800})
    run = version_run(version=one, user=user)
    Run.objects.filter(pk=run.pk).update(state=State.DONE, report=json.dumps(example()), finished_at=timezone.now())
    return [str(one.scenario_id), f"{two.scenario_id}:1"]


def test_inputs_that_differ_and_results_of_each(api: Api, names: list[str]) -> None:
    body = api.get(f"/comparisons?of={','.join(names)}").json()
    assert [(side["label"], side["number"]) for side in body["sides"]] == [("A", 1), ("B", 1)]
    assert {row["pointer"]: row["values"] for row in body["inputs"]} == {
        "/name": ["A", "B"],
        "/slo/ttft_p95_ms": [1000.0, 800.0],
        "/slo/tpot_p95_ms": [50.0, None],
    }
    results: dict[str, Any] = {row["name"]: row["values"] for row in body["results"]}
    assert results["usd_per_month"] == [example()["cost"]["usd_per_month"], None]
    assert api.get(body["sides"][0]["report"]).status_code == 200
    assert body["sides"][1]["report"] is None


def test_both_ways_give_one_answer_with_an_address_for_good(api: Api, names: list[str]) -> None:
    read, made = api.get(f"/comparisons?of={','.join(names)}"), api.post("/comparisons", {"of": names})
    assert read.content == made.content
    assert api.get(read.json()["link"]).content == read.content
    assert api.get(read.json()["link"], If_None_Match=read["ETag"]).status_code == 304


@pytest.mark.parametrize(
    "of", ["nothing", "a,b", f"{uuid.UUID(int=1)}", ",".join(str(uuid.UUID(int=number)) for number in range(6))]
)
def test_what_cannot_be_compared_is_told(api: Api, of: str) -> None:
    assert problem(api.get(f"/comparisons?of={of}"), 400, "invalid-parameter")["errors"][0]["pointer"] == "?of"
    errors = problem(api.post("/comparisons", {"of": of.split(",")}), 422, "invalid-body")["errors"]
    assert errors[0]["pointer"] == "/of"


def test_a_comparison_needs_names(api: Api) -> None:
    assert problem(api.get("/comparisons"), 400, "invalid-parameter")["errors"][0]["code"] == "missing"


def test_another_teams_scenario_is_not_found(api: Api, names: list[str]) -> None:
    foreign = str(make_scenario(make_user()).scenario_id)
    problem(api.get(f"/comparisons?of={names[0]},{foreign}"), 404, "not-found")
    problem(api.post("/comparisons", {"of": [names[0], foreign]}), 404, "not-found")
