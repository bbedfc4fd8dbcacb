"""GET /api/v1/scenarios/{id} and POST /api/v1/scenarios/validate."""

import uuid

from planner import planning
from planner.runs.models import Run
from planner.scenarios.models import Scenario
from planner.scenarios.services import scenario_edit
from planner.teams.models import User
from tests.factories import make_scenario, parsed_scenario, scenario_dict
from tests.planner.api.support import Api, problem


def test_a_scenario_shows_its_newest_version_and_all_numbers(api: Api, user: User) -> None:
    first = make_scenario(user)
    scenario_edit(scenario=first.scenario, user=user, parsed=parsed_scenario(seed=2), base_number=1, note="seed")
    body = api.get(f"/scenarios/{first.scenario_id}").json()
    assert [(v["number"], v["note"]) for v in body["versions"]] == [(2, "seed"), (1, "")]
    assert body["newest_number"] == 2
    assert planning.parse_scenario(body["scenario"]) == parsed_scenario(seed=2)


def test_what_is_read_can_be_run(api: Api, user: User) -> None:
    version = make_scenario(user)
    shown = api.get(f"/scenarios/{version.scenario_id}").json()["scenario"]
    assert api.post("/runs", shown).status_code == 202
    assert Run.objects.get().body == version.body


def test_an_unknown_scenario_is_404(api: Api) -> None:
    problem(api.get(f"/scenarios/{uuid.uuid4()}"), 404, "not-found")


def test_a_scenario_can_be_checked_without_a_run(api: Api) -> None:
    body = api.post("/scenarios/validate", scenario_dict()).json()
    parsed = planning.parse_scenario(scenario_dict())
    assert body["digest"] == planning.scenario_digest(parsed)
    assert planning.parse_scenario(body["scenario"]) == parsed
    assert not Run.objects.exists()
    assert not Scenario.objects.exists()


def test_the_check_names_faults_as_a_run_would(api: Api) -> None:
    bad = scenario_dict(slo={})
    checked, started = api.post("/scenarios/validate", bad), api.post("/runs", bad)
    assert problem(checked, 422, "invalid-scenario")["errors"] == problem(started, 422, "invalid-scenario")["errors"]
