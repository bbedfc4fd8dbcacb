"""A measurement named to the plan that its deployment followed: predicted against measured, and back."""

import json
import uuid
from typing import Any

import pytest

from planner.datasets.models import Measurement
from planner.datasets.tasks import compare
from planner.runs.models import Run, State
from planner.runs.services import run_submit
from planner.teams.models import AuditEvent, User
from tests.factories import (
    make_file,
    make_measurement,
    make_run,
    make_scenario,
    make_user,
    parsed_scenario,
    team_of,
)
from tests.planner.api.support import Api, problem
from tests.planner.reports.example import example
from tests.planner.web.support import signed_in

HOURS = 6
MEAN_S = {"time_to_first_token_seconds": 0.4, "e2e_request_latency_seconds": 8.8}


def hours_of(rps: float = 5.0, in_flight: float = 44.0) -> bytes:
    """A range query over a fleet: 1,155 tokens in and 211 out, TTFT mostly within half a second."""
    times = [3600 * place for place in range(HOURS + 1)] + [3600 * HOURS + 60 * place for place in range(1, 9)]

    def series(name: str, each: float, **labels: str) -> dict[str, Any]:
        return {
            "metric": {"__name__": f"vllm:{name}", "model_name": "m", **labels},
            "values": [[at_s, f"{each * rps * at_s:.6f}"] for at_s in times],
        }

    found = [
        series("prompt_tokens_total", 1155),
        series("generation_tokens_total", 211),
        series("request_success_total", 1),
    ]
    for name, mean_s in MEAN_S.items():
        found += [series(f"{name}_sum", mean_s), series(f"{name}_count", 1)]
        found += [series(f"{name}_bucket", share, le=le) for le, share in (("0.5", 0.7), ("0.75", 0.96), ("+Inf", 1.0))]
    for percent, le in ((0.9, "0.04"), (0.99, "0.05"), (1.0, "+Inf")):
        found.append(series("request_time_per_output_token_seconds_bucket", percent, le=le))
    found.append({"metric": {"__name__": "vllm:num_requests_running"}, "values": [[t, str(in_flight)] for t in times]})
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": found}}).encode()


@pytest.fixture
def plan(user: User) -> Run:
    version = make_scenario(user)
    run = run_submit(team=team_of(user), user=user, parsed=parsed_scenario(), scenario_version=version)
    run.state, run.report = State.DONE, json.dumps(example())
    run.save()
    return run


def kept(api: Api, user: User, plan: dict[str, Any], **said: Any) -> dict[str, Any]:
    link = f"/measurements/uploads/{make_file(user, hours_of()).pk}/confirm"
    answer = api.post(link, {"deployment": {"measured_on": "2026-11-29", **said}, "plan": plan})
    assert answer.status_code == 201, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_a_deployment_is_as_its_plan_says_where_nobody_says_otherwise(api: Api, user: User, plan: Run) -> None:
    row = kept(api, user, {"run_id": str(plan.pk)})
    fleet = example()["recommended"]
    assert (row["gpu"], row["replicas"], row["weight_dtype"]) == (fleet["gpu"], fleet["replicas"], "fp8")
    assert row["plan"]["report"] == f"/api/v1/runs/{plan.pk}/report"
    assert api.get(f"/runs/{plan.pk}").json()["measurements"] == [row["link"]]
    back = row["backtest"]
    assert all(each["same"] for each in back["fleet"])
    figures = {each["metric"]: each for each in back["figures"]}
    assert figures["ttft"]["measured"] == pytest.approx(1e3 * (0.5 + 0.25 * 0.25 / 0.26))
    assert (figures["ttft"]["inside"], figures["ttft"]["met"], figures["tpot"]["inside"]) == (True, True, True)
    assert (back["outside"], back["same_load"]) == (0, True)
    assert back["littles_law"]["product"] == pytest.approx(44, rel=0.01)
    assert back["littles_law"]["ok"] is True
    compare(row["id"])
    told = api.get(row["link"]).json()["comparison"]
    assert told["replicas"] == fleet["replicas"]
    assert told["runs"][0]["figures"], told["runs"][0]["reason"]
    assert {"measurement.added", "measurement.plan_named"} <= set(AuditEvent.objects.values_list("action", flat=True))


def test_what_was_stated_stands_and_what_differs_from_the_plan_is_told(api: Api, user: User, plan: Run) -> None:
    row = kept(api, user, {"run_id": str(plan.pk)}, replicas=2, gpu="H100-SXM5-80GB", tensor_parallel=2)
    assert row["replicas"] == 2
    assert [each["what"] for each in row["backtest"]["fleet"] if not each["same"]] == [
        "gpu",
        "tensor_parallel",
        "replicas",
    ]


def test_a_plan_is_named_later_changed_and_left(api: Api, user: User, plan: Run) -> None:
    row = make_measurement(user, hours_of())
    compare(str(row.pk))
    link = f"/measurements/{row.pk}"
    version = plan.scenario_version
    assert version is not None
    named = api.call("PUT", f"{link}/plan", {"scenario_id": str(version.scenario_id)}).json()
    assert (named["plan"]["run_id"], named["plan"]["number"]) == (str(plan.pk), 1)
    assert (named["replicas"], named["state"]) == (5, "waiting")  # other replicas than were simulated
    assert [each["same"] for each in named["backtest"]["fleet"]].count(False) > 0
    assert api.call("PUT", f"{link}/plan", {"run_id": str(plan.pk)}).json()["plan"]["run_id"] == str(plan.pk)
    left = api.delete(f"{link}/plan").json()
    assert (left["plan"], left["backtest"], left["replicas"]) == (None, None, 1)
    assert api.get(f"/runs/{plan.pk}").json()["measurements"] == []


def test_only_a_plan_of_the_team_can_be_named(api: Api, user: User, plan: Run) -> None:
    row, theirs = make_measurement(user), make_run(make_user())
    for body, place in (
        ({"run_id": str(theirs.pk)}, "/run_id"),
        ({"run_id": str(uuid.uuid4())}, "/run_id"),
        ({"scenario_id": str(uuid.uuid4())}, "/scenario_id"),
        ({"scenario_id": str(plan.scenario_version.scenario_id), "number": 9}, "/scenario_id"),
    ):
        said = problem(api.call("PUT", f"/measurements/{row.pk}/plan", body), 422, "invalid-body")
        assert [fault["pointer"] for fault in said["errors"]] == [place]
    for body in ({}, {"run_id": str(plan.pk), "scenario_id": str(uuid.uuid4())}):
        problem(api.call("PUT", f"/measurements/{row.pk}/plan", body), 422, "invalid-body")
    file = make_file(user, hours_of())
    body = {"deployment": {"measured_on": "2026-11-29"}, "plan": {"run_id": str(theirs.pk)}}
    said = problem(api.post(f"/measurements/uploads/{file.pk}/confirm", body), 422, "invalid-body")
    assert said["errors"][0]["pointer"] == "/plan/run_id"
    assert Measurement.objects.count() == 1


def test_pages_lead_from_the_report_to_what_was_measured_and_back(user: User, plan: Run) -> None:
    client = signed_in(user)

    def text_of(address: str) -> str:
        return client.get(address).content.decode()

    assert f"/measurements/new/?plan={plan.pk}" in text_of(f"/reports/{plan.pk}/")
    assert "that followed" in text_of(f"/measurements/new/?plan={plan.pk}")
    file = make_file(user, hours_of())
    page = text_of(f"/measurements/uploads/{file.pk}/?plan={plan.pk}")
    assert f'<option value="{plan.pk}" selected' in page
    assert 'value="H200-SXM-141GB"' in page
    sent = client.post(f"/measurements/uploads/{file.pk}/", {"plan": str(plan.pk), "measured_on": "2026-11-29"})
    assert sent.status_code == 302, sent.content.decode()
    compare(str(Measurement.objects.get().pk))
    page = text_of(sent["Location"])
    for words in (f"/reports/{plan.pk}/", "TTFT p95", "in the bucket from", "as planned", "Little", "which agrees"):
        assert words in page
    assert sent["Location"] in text_of(f"/reports/{plan.pk}/")
    client.post(f"{sent['Location']}plan/", {"plan": ""})
    assert "Name the plan that this deployment followed" in text_of(sent["Location"])
