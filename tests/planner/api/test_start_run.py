"""POST /api/v1/runs."""

from datetime import date

import pytest

from planner import planning
from planner.runs.models import Run, State
from planner.teams.models import User
from tests.factories import make_run, make_scenario, make_user, scenario_dict, team_of
from tests.planner.api.support import Api, problem


def test_a_scenario_starts_a_run(api: Api, user: User) -> None:
    response = api.post("/runs", scenario_dict())
    run = Run.objects.get()
    assert response.status_code == 202
    assert response["Location"] == f"/api/v1/runs/{run.pk}"
    assert int(response["Retry-After"]) >= 1
    body = response.json()
    assert body["id"] == str(run.pk)
    assert body["state"] == "queued"
    assert body["links"] == {"self": f"/api/v1/runs/{run.pk}", "report": None}
    assert (run.team, run.created_by) == (team_of(user), user)


def test_the_run_holds_the_scenario_as_every_way_in_reads_it(api: Api) -> None:
    api.post("/runs", scenario_dict())
    assert Run.objects.get().body == planning.canonical_json(planning.parse_scenario(scenario_dict()))


def test_without_a_date_prices_are_todays(api: Api) -> None:
    undated = {key: value for key, value in scenario_dict().items() if key != "priced_at"}
    assert api.post("/runs", undated).status_code == 202
    assert planning.parse_scenario(Run.objects.get().body).priced_at >= date(2026, 1, 1)


def test_the_same_question_is_not_computed_twice(api: Api) -> None:
    first, second = api.post("/runs", scenario_dict()), api.post("/runs", scenario_dict())
    assert first["Location"] == second["Location"]


def test_an_answer_that_is_known_comes_at_once(api: Api, user: User) -> None:
    run = make_run(user)
    Run.objects.update(state=State.DONE, report="{}")
    response = api.post("/runs", scenario_dict())
    assert response.status_code == 202
    assert "Retry-After" not in response
    assert response.json()["links"]["report"] == f"/api/v1/runs/{run.pk}/report"


def test_a_saved_version_starts_a_run(api: Api, user: User) -> None:
    version = make_scenario(user)
    wanted = {"scenario_id": str(version.scenario_id), "number": 1}
    response = api.post("/runs", {"scenario_version": wanted})
    assert response.status_code == 202
    assert response.json()["scenario_version"] == wanted
    assert Run.objects.get().scenario_version == version


def test_without_a_number_the_newest_version_runs(api: Api, user: User) -> None:
    version = make_scenario(user)
    response = api.post("/runs", {"scenario_version": {"scenario_id": str(version.scenario_id)}})
    assert response.json()["scenario_version"]["number"] == 1


def test_another_teams_saved_version_does_not_exist(api: Api) -> None:
    version = make_scenario(make_user())
    response = api.post("/runs", {"scenario_version": {"scenario_id": str(version.scenario_id), "number": 1}})
    fault = problem(response, 422, "invalid-scenario")["errors"][0]
    assert (fault["code"], fault["pointer"]) == ("not_found", "/scenario_version/scenario_id")


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"scenario_version": None}, "/scenario_version"),
        ({"scenario_version": 3}, "/scenario_version"),
        ({"scenario_version": {}}, "/scenario_version/scenario_id"),
        ({"scenario_version": {"scenario_id": "x"}}, "/scenario_version/scenario_id"),
        ({"scenario_version": {"scenario_id": "0" * 32, "number": 0}}, "/scenario_version/number"),
        ({"scenario_version": {"scenario_id": "0" * 32, "number": 10**30}}, "/scenario_version/number"),
        ({"scenario_version": {"scenario_id": "0" * 32}, "name": "x"}, "/name"),
    ],
)
def test_a_reference_that_is_none_is_pointed_at(api: Api, body: object, pointer: str) -> None:
    errors = problem(api.post("/runs", body), 422, "invalid-scenario")["errors"]
    assert pointer in [error["pointer"] for error in errors]


def test_a_missing_number_is_pointed_at(api: Api, user: User) -> None:
    version = make_scenario(user)
    response = api.post("/runs", {"scenario_version": {"scenario_id": str(version.scenario_id), "number": 7}})
    assert problem(response, 422, "invalid-scenario")["errors"][0]["pointer"] == "/scenario_version/number"
