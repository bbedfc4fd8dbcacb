"""GET /api/v1/runs/{id}/report."""

import hashlib
import json

import pytest

from planner import planning
from planner.api.openapi_runs import REPORT_KEYS
from planner.runs.models import Run, State
from planner.runs.selectors import run_report_bytes
from planner.runs.tasks import execute_run
from planner.teams.models import User
from tests.factories import make_run, make_token, make_user, scenario_dict
from tests.planner.api.support import Api, problem

REPORT = '{"schema_version": 1,\n "name": "é, not \\u00e9", "x": 1.0,"y":1e-7}\n'


@pytest.fixture
def path(user: User) -> str:
    run = make_run(user)
    Run.objects.update(state=State.DONE, report=REPORT)
    return f"/runs/{run.pk}/report"


def test_the_bytes_are_the_stored_ones(api: Api, path: str) -> None:
    response = api.get(path)
    assert response.content == REPORT.encode() == run_report_bytes(Run.objects.get())
    assert response["Content-Type"] == "application/json"


def test_the_etag_is_the_digest_of_the_bytes(api: Api, path: str) -> None:
    etag = api.get(path)["ETag"]
    assert etag == f'"{hashlib.sha256(REPORT.encode()).hexdigest()}"'
    assert api.get(path, If_None_Match=etag).status_code == 304


@pytest.mark.parametrize("state", [State.QUEUED, State.RUNNING])
def test_an_unfinished_run_has_none_yet(api: Api, path: str, state: State) -> None:
    Run.objects.update(state=state)
    response = api.get(path)
    problem(response, 409, "no-report")
    assert response["Retry-After"] == "2"


def test_a_failed_run_says_why(api: Api, path: str) -> None:
    Run.objects.update(state=State.FAILED, failure={"code": "worker_lost", "detail": "Three workers died."})
    response = api.get(path)
    fault = problem(response, 409, "no-report")["errors"][0]
    assert (fault["code"], fault["detail"]) == ("worker_lost", "Three workers died.")
    assert "Retry-After" not in response


def test_a_cancelled_run_says_so(api: Api, path: str) -> None:
    Run.objects.update(state=State.CANCELLED)
    assert problem(api.get(path), 409, "no-report")["errors"][0]["code"] == "cancelled"


def test_a_report_is_one_long_table_too(api: Api, path: str) -> None:
    report = {"verdict": {"sentence": "=A1", "a/b~": [1.5, None]}, "cost": None, "api": []}
    Run.objects.update(report=json.dumps(report))
    lines = api.get(f"{path}?format=csv").content.decode().splitlines()
    assert lines == [
        "section,pointer,value",
        "verdict,/verdict/sentence,'=A1",
        "verdict,/verdict/a~1b~0/0,1.5",
        "verdict,/verdict/a~1b~0/1,",
        "cost,/cost,",
        "api,/api,",
    ]
    assert api.get(f"{path}?fields=cost", Accept="text/csv").content == b"section,pointer,value\r\ncost,/cost,\r\n"
    problem(api.get(f"{path}?format=xlsx&fields=cost"), 400, "invalid-parameter")


@pytest.mark.django_db(transaction=True)
def test_the_api_gives_what_a_plan_gives_byte_for_byte() -> None:
    api = Api(make_token(make_user())[1])
    started = api.post("/runs", scenario_dict()).json()
    execute_run(started["id"])
    done = api.get(started["links"]["self"]).json()
    assert done["state"] == "done", done["failure"]
    assert done["progress_ratio"] == 1
    report = planning.plan(planning.parse_scenario(scenario_dict()))
    assert api.get(done["links"]["report"]).content == planning.report_bytes(report)
    assert set(report) == set(REPORT_KEYS)
