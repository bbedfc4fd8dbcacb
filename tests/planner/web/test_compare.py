"""Side by side, and what changed between versions."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from planner.runs.models import State
from planner.runs.services import version_run
from planner.scenarios.models import ScenarioVersion
from planner.scenarios.services import scenario_edit
from tests.factories import make_scenario, make_user, parsed_scenario
from tests.planner.reports.example import example, infeasible_example
from tests.planner.web.support import Office, make_office, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def office() -> Office:
    return make_office()


def second_version(office: Office, **changes: object) -> ScenarioVersion:
    parsed = parsed_scenario(**({"slo": {"ttft_p95_ms": 800}} | changes))
    return scenario_edit(scenario=office.scenario, user=office.editor, parsed=parsed, base_number=1, note="tighter")


def finished(office: Office, version: ScenarioVersion, report: dict[str, object]) -> None:
    run = version_run(version=version, user=office.owner)
    run.state, run.report, run.finished_at = State.DONE, json.dumps(report), timezone.now()
    run.save()


def test_inputs_results_and_charts_stand_side_by_side(office: Office) -> None:
    version = second_version(office)
    finished(office, version, example())
    of = f"{office.scenario.pk}:1,{office.scenario.pk}:2"
    page = signed_in(office.viewer).get(f"/compare/?of={of}").content.decode()
    assert "TTFT p95" in page
    assert "800" in page
    assert page.count('class="chart"') == page.count("<summary>Data table") == 3
    assert f"/compare/?of={of}" in page
    assert " style=" not in page


def test_the_address_takes_a_form_of_ticked_boxes(office: Office) -> None:
    second_version(office)
    of = [f"{office.scenario.pk}:1", f"{office.scenario.pk}:2"]
    response = signed_in(office.viewer).get("/compare/", {"of": of})
    assert response.status_code == 200


def test_what_did_not_run_and_what_has_no_fleet_are_shown_as_such(office: Office) -> None:
    version = second_version(office)
    finished(office, version, infeasible_example())
    other = make_scenario(office.owner, name="Never run")
    of = f"{office.scenario.pk},{other.scenario_id}"
    page = signed_in(office.viewer).get(f"/compare/?of={of}").content.decode()
    assert "not run" in page
    assert "None meets" in page
    assert 'class="chart"' not in page


@pytest.mark.parametrize("of", ["x", "x,y", "1,2,3,4,5,6"])
def test_what_cannot_be_compared_is_told(office: Office, of: str) -> None:
    response = signed_in(office.viewer).get(f"/compare/?of={of}")
    assert response.status_code == 400
    assert "cannot be compared" in response.content.decode()


def test_without_names_the_page_says_how_to_choose(office: Office) -> None:
    response = signed_in(office.viewer).get("/compare/")
    assert response.status_code == 200
    assert "Tick scenarios" in response.content.decode()


def test_nothing_of_another_team_can_be_compared(office: Office) -> None:
    foreign = make_scenario(make_user()).scenario_id
    assert signed_in(office.owner).get(f"/compare/?of={office.scenario.pk},{foreign}").status_code == 404


def test_five_ask_the_database_as_often_as_two(office: Office) -> None:
    ids = [str(make_scenario(office.owner, name=f"S{n}").scenario_id) for n in range(5)]
    client = signed_in(office.owner)
    client.get("/scenarios/")
    counts = []
    for many in (2, 5):
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/compare/?of={','.join(ids[:many])}")
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_differences_have_labels_units_and_both_values(office: Office) -> None:
    second_version(
        office, hardware={"gpus": ["H100-SXM5-80GB"], "price_overrides": {"H100-SXM5-80GB": {"usd_per_gpu_hour": 3.2}}}
    )
    page = signed_in(office.viewer).get(f"/scenarios/{office.scenario.pk}/diff/?from=1&to=2").content.decode()
    for text in ("TTFT p95", "1,000", "800", "ms", "Own price of", "3.2", "tighter", "not given"):
        assert text in page, text
    assert "usd_per_gpu_hour" not in page


def test_numbers_the_wrong_way_round_are_put_in_order(office: Office) -> None:
    second_version(office)
    page = signed_in(office.viewer).get(f"/scenarios/{office.scenario.pk}/diff/?from=2&to=1").content.decode()
    assert "Version 1 to version 2" in page


@pytest.mark.parametrize("query", ["from=9", "from=a", "from=-1", "from=1&to=99999999999"])
def test_a_version_that_is_not_there_is_not_found(office: Office, query: str) -> None:
    assert signed_in(office.viewer).get(f"/scenarios/{office.scenario.pk}/diff/?{query}").status_code == 404
