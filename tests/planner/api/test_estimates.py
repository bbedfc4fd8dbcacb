"""POST /estimates and /estimates/batch."""

import csv
import io
import json
import time
from typing import Any
from unittest import mock

import pytest

from planner import planning
from planner.runs.models import Run
from planner.scenarios import estimating
from planner.teams.models import User
from tests.factories import make_scenario, parsed_scenario, scenario_dict
from tests.planner.api.flat import QUESTION, cell
from tests.planner.api.support import Api, problem


def test_the_answer_is_plannings_estimate_and_nothing_is_stored(api: Api) -> None:
    response = api.post("/estimates", scenario_dict())
    assert response.status_code == 200
    assert response.json() == planning.estimate_scenario(parsed_scenario())
    assert response["Cache-Control"] == "no-store"
    assert not Run.objects.exists()


def test_a_saved_version_is_estimated_too(api: Api, user: User) -> None:
    version = make_scenario(user)
    body = {"scenario_version": {"scenario_id": str(version.scenario_id)}}
    assert api.post("/estimates", body).json() == planning.estimate_scenario(parsed_scenario())


def test_the_same_question_is_computed_once(api: Api) -> None:
    with mock.patch.object(planning, "estimate_scenario", wraps=planning.estimate_scenario) as compute:
        first, second = (api.post("/estimates", scenario_dict()) for _ in range(2))
        api.post("/estimates", scenario_dict(seed=2))
    assert first.content == second.content
    assert compute.call_count == 2


def test_another_catalog_is_another_question(api: Api) -> None:
    with mock.patch.object(estimating.planning, "estimate_scenario", wraps=planning.estimate_scenario) as compute:
        api.post("/estimates", scenario_dict())
        with mock.patch.object(estimating.planning, "result_version", return_value="other"):
            api.post("/estimates", scenario_dict())
    assert compute.call_count == 2


def test_every_fault_of_the_scenario_is_named(api: Api) -> None:
    body = problem(api.post("/estimates", scenario_dict(slo={"ttft_p95_ms": 1}, colour="red")), 422, "invalid-scenario")
    assert {fault["pointer"] for fault in body["errors"]} == {"/slo/ttft_p95_ms", "/colour"}


def test_it_takes_under_100_ms_of_one_core(api: Api) -> None:
    taken = []
    for seed in range(4):
        body = scenario_dict(seed=seed)
        start = time.process_time()
        assert api.post("/estimates", body).status_code == 200
        taken.append(time.process_time() - start)
    assert min(taken) < 0.1


def rows_of(api: Api, rows: list[Any], **body: Any) -> list[dict[str, Any]]:
    response = api.post("/estimates/batch", {"rows": rows, **body})
    assert response.status_code == 200, response.content
    return list(response.json()["rows"])


def test_a_flat_row_and_a_scenario_give_what_a_cell_gives(api: Api) -> None:
    flat, whole = rows_of(api, [QUESTION, {"scenario": scenario_dict()}])
    assert flat["cells"] == api.get(cell() + "&format=json").json()
    assert whole["cells"] == planning.estimate_cells(parsed_scenario())
    assert [flat["index"], whole["index"], flat["errors"]] == [0, 1, []]


def test_a_wrong_row_carries_its_own_faults_and_spoils_no_other(api: Api) -> None:
    wrong = [
        QUESTION | {"rps": "many"},
        QUESTION | {"colour": "red", "tp": {"a": 1}},
        {"scenario": scenario_dict(slo={})},
        {},
        QUESTION | {"gpu": True},
    ]
    answers = rows_of(api, [*wrong, QUESTION])
    assert [answer["cells"] is None for answer in answers] == [True] * 5 + [False]
    pointers = [[fault["pointer"] for fault in answer["errors"]] for answer in answers]
    assert pointers[0] == ["/rows/0/rps"]
    assert sorted(pointers[1]) == ["/rows/1/colour", "/rows/1/tp"]
    assert pointers[2] == ["/rows/2/scenario/slo"]
    assert {"/rows/3/model", "/rows/3/gpu", "/rows/3/rps"} <= set(pointers[3])
    assert pointers[4] == ["/rows/4/gpu"]
    assert all(
        set(fault) == {"code", "pointer", "given", "allowed", "detail"} for a in answers for fault in a["errors"]
    )


def test_lists_and_numbers_are_taken_as_a_sheet_writes_them(api: Api) -> None:
    text, typed = rows_of(api, [QUESTION | {"tp": "1,2", "rps": "2"}, QUESTION | {"tp": [1, 2], "rps": 2.0}])
    assert text["cells"] == typed["cells"]


def test_fields_are_chosen_in_the_order_asked_for(api: Api) -> None:
    (row,) = rows_of(api, [QUESTION], fields=["gpus", "feasible"])
    assert list(row["cells"].items()) == [("gpus", 2), ("feasible", True)]
    problem(api.post("/estimates/batch", {"rows": [QUESTION], "fields": ["colour"]}), 400, "invalid-parameter")


@pytest.mark.parametrize("body", [{}, {"rows": []}, {"rows": [1]}, {"rows": [{}] * 501}, {"rows": [{}], "x": 1}])
def test_a_wrong_envelope_is_refused_whole(api: Api, body: Any) -> None:
    assert problem(api.post("/estimates/batch", body), 422, "invalid-body")["errors"]


@pytest.mark.parametrize("body", ["", "[]", "{", b"\xff", '{"rows":[],"rows":[]}'])
def test_what_is_no_object_is_refused(api: Api, body: Any) -> None:
    problem(api.post("/estimates/batch", body), 400, "malformed-body")


def test_as_csv_each_row_has_its_index_and_its_fault(api: Api) -> None:
    body = {"rows": [QUESTION, QUESTION | {"gpu": "=1+1"}], "fields": ["feasible", "monthly_cost_usd"]}
    response = api.call("POST", "/estimates/batch?format=csv", json.dumps(body))
    table = list(csv.reader(io.StringIO(response.content.decode())))
    assert table[0] == ["index", "feasible", "monthly_cost_usd", "error"]
    assert table[1][:2] == ["0", "true"]
    assert float(table[1][2]) > 0
    assert table[2][:3] == ["1", "", ""]
    assert table[2][3]


def test_five_hundred_equal_rows_are_computed_once(api: Api) -> None:
    with mock.patch.object(planning, "estimate_cells", wraps=planning.estimate_cells) as compute:
        assert len(rows_of(api, [QUESTION] * 500, fields=["feasible"])) == 500
    assert compute.call_count == 1
