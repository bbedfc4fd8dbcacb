"""A calibration in use stays in its team: whatever another team asks, and whatever was asked after it is dropped."""

import json
from typing import Any

from planner import planning
from planner.runs.models import Run, State
from planner.runs.services import version_run
from planner.scenarios.upkeep import scenario_copy
from planner.teams.models import User
from tests.factories import make_ready_calibration, make_scenario, make_token, make_user, scenario_dict, team_of
from tests.planner.api.flat import cell
from tests.planner.api.support import Api, problem

SCENARIO = scenario_dict(hardware={"gpus": ["H100-SXM5-80GB"], "tensor_parallel": [1]})
BASIS = "calibration 1 on 6 of your own runs until 2026-11-20"


def asked(api: Api) -> list[tuple[bytes, str]]:
    """Bytes and ETag of every estimate."""
    answers = (
        api.post("/estimates", SCENARIO),
        api.post("/estimates/batch", {"rows": [{"scenario": SCENARIO}]}),
        api.get(cell(format="json")),
    )
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    return [(answer.content, answer.get("ETag", "")) for answer in answers]


def told(answers: list[tuple[bytes, str]]) -> list[Any]:
    """The calibration that each estimate says it rests on."""
    whole, batch, row = (json.loads(content) for content, _ in answers)
    said = [each["value"] for each in whole["provenance"]["assumptions"] if each["what"].startswith("Step times of")]
    return [said, batch["rows"][0]["cells"]["calibration"], row["calibration"]]


def test_estimates_of_the_team_take_it_and_say_so_and_those_of_another_team_keep_their_bytes(
    api: Api, user: User
) -> None:
    theirs = Api(make_token(make_user())[1])
    shipped = asked(api)
    row = make_ready_calibration(user)
    calibrated = asked(api)
    assert told(calibrated) == [["calibration 1: memory bandwidth × 0.8"], BASIS, BASIS]
    assert told(shipped) == [[], None, None]
    assert asked(theirs) == shipped  # bytes and ETags, though the other team's answers are kept already
    assert all(ours != plain for ours, plain in zip(calibrated, shipped, strict=True))
    assert api.delete(f"/calibrations/{row.pk}/use").status_code == 200
    assert asked(api) == shipped


def test_runs_of_another_team_never_carry_it_and_those_made_after_it_are_as_shipped(api: Api, user: User) -> None:
    other = make_user()
    theirs = Api(make_token(other)[1])
    row = make_ready_calibration(user)
    shipped = planning.canonical_json(planning.parse_scenario(SCENARIO))
    ours = Run.objects.get(pk=api.post("/runs", SCENARIO).json()["id"])
    Run.objects.filter(pk=ours.pk).update(state=State.DONE, report='{"kept": true}')
    their_run = Run.objects.get(pk=theirs.post("/runs", SCENARIO).json()["id"])
    assert (their_run.body, their_run.report, their_run.state) == (shipped, "", State.QUEUED)
    assert json.loads(ours.body)["calibrations"][0]["bandwidth_factor"] == 0.8
    for method, path in (("GET", ""), ("PUT", "/use"), ("DELETE", "/use")):
        problem(theirs.call(method, f"/calibrations/{row.pk}{path}"), 404, "not-found")
    assert theirs.get("/calibrations").json()["items"] == []
    problem(theirs.get(f"/runs/{ours.pk}/report"), 404, "not-found")
    api.delete(f"/calibrations/{row.pk}/use")
    again = Run.objects.get(pk=api.post("/runs", SCENARIO).json()["id"])
    assert (again.body, again.digest) == (shipped, their_run.digest)
    assert again.pk not in (ours.pk, their_run.pk)
    ours.refresh_from_db()
    assert ours.report == '{"kept": true}'


def test_a_scenario_that_was_run_with_it_is_copied_to_another_team_without_it(user: User) -> None:
    make_ready_calibration(user)
    version = make_scenario(user, **SCENARIO)
    assert "calibrations" in version_run(version=version, user=user).body
    target = team_of(make_user())
    target.memberships.create(user=user, role="owner")
    copied = scenario_copy(version=version, team=target, user=user)
    assert "alibration" not in copied.body
    assert "alibration" not in version_run(version=copied, user=user).body
