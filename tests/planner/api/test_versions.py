"""Saving by API: new scenarios, versions, If-Match, differences, copies, archive, tags, comments."""

import uuid
from typing import Any

import pytest

from planner import planning
from planner.runs.models import Run
from planner.scenarios.models import Scenario
from planner.scenarios.services import scenario_edit
from planner.teams.models import Role, User
from tests.factories import (
    add_member,
    make_scenario,
    make_token,
    make_user,
    parsed_scenario,
    scenario_dict,
    team_of,
)
from tests.planner.api.support import Api, problem


@pytest.fixture
def path(user: User) -> str:
    return f"/scenarios/{make_scenario(user).scenario_id}"


def save(api: Api, path: str, match: str | None, **changes: Any) -> Any:
    headers = {} if match is None else {"If-Match": match}
    return api.call("POST", f"{path}/versions", {"scenario": scenario_dict(**changes), "note": "mine"}, headers)


def test_a_scenario_is_saved_as_its_version_one(api: Api, user: User) -> None:
    response = api.post("/scenarios", {"scenario": scenario_dict(name="New"), "note": "guess", "tags": ["EU", "eu"]})
    assert response.status_code == 201
    body = response.json()
    assert (body["name"], body["newest_number"], body["tags"]) == ("New", 1, ["eu"])
    assert body["versions"][0]["author"] == user.email
    assert api.get(response["Location"]).json() == body
    assert not Run.objects.exists()


def test_faults_of_the_scenario_point_into_the_body(api: Api) -> None:
    response = api.post("/scenarios", {"scenario": scenario_dict(slo={"ttft_p95_ms": 1})})
    assert problem(response, 422, "invalid-scenario")["errors"][0]["pointer"] == "/scenario/slo/ttft_p95_ms"
    assert not Scenario.objects.exists()


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"note": "x" * 501}, "/note"),
        ({"note": "a\x00b"}, "/note"),
        ({"tags": ["a,b"]}, "/tags"),
        ({"tags": ["x" * 41]}, "/tags"),
        ({"colour": "red"}, "/colour"),
    ],
)
def test_what_cannot_be_stored_is_told_and_not_stored(api: Api, change: dict[str, Any], pointer: str) -> None:
    response = api.post("/scenarios", {"scenario": scenario_dict()} | change)
    assert problem(response, 422, "invalid-body")["errors"][0]["pointer"] == pointer
    assert not Scenario.objects.exists()


def test_the_etag_of_what_was_read_saves_the_next_version(api: Api, path: str) -> None:
    response = save(api, path, api.get(path)["ETag"], seed=2)
    assert response.status_code == 201
    body = response.json()
    assert (body["number"], body["note"], body["scenario"]["seed"]) == (2, "mine", 2)
    assert api.get(response["Location"]).json() == body
    assert [v["number"] for v in api.get(f"{path}/versions").json()["items"]] == [2, 1]


def test_the_number_alone_will_do(api: Api, path: str) -> None:
    assert save(api, path, '"1"', seed=2).status_code == 201


def test_a_newer_version_meanwhile_is_a_conflict_that_names_its_author(api: Api, user: User, path: str) -> None:
    seen = api.get(path)["ETag"]
    colleague = add_member(team_of(user))
    scenario = Scenario.objects.get()
    scenario_edit(scenario=scenario, user=colleague, parsed=parsed_scenario(seed=5), base_number=1)
    body = problem(save(api, path, seen, seed=2), 412, "version-conflict")
    newest = scenario.versions.latest("number")
    assert colleague.email in body["detail"]
    assert f"{newest.created_at:%Y-%m-%d at %H:%M} UTC" in body["detail"]
    (fault,) = body["errors"]
    assert (fault["code"], fault["pointer"], fault["allowed"]) == ("version_conflict", "If-Match", '"2"')
    assert scenario.versions.count() == 2
    assert save(api, path, fault["allowed"], seed=2).json()["number"] == 3


def test_an_edit_must_say_where_it_began(api: Api, path: str) -> None:
    problem(save(api, path, None, seed=2), 428, "if-match-needed")
    assert Scenario.objects.get().versions.count() == 1


@pytest.mark.parametrize("match", ['"0"', "1", 'W/"1"', '"nonsense"', '"1.abc"', '"99999999999"'])
def test_what_is_no_etag_of_the_newest_version_is_a_conflict(api: Api, path: str, match: str) -> None:
    problem(save(api, path, match, seed=2), 412, "version-conflict")


def test_tags_and_comments_stand_in_no_editors_way(api: Api, path: str) -> None:
    seen = api.get(path)["ETag"]
    assert api.call("PUT", f"{path}/tags", {"tags": ["eu"]}).status_code == 200
    assert api.post(f"{path}/comments", {"text": "Hm."}).status_code == 201
    assert api.get(path)["ETag"] != seen
    assert save(api, path, seen, seed=2).status_code == 201


def test_an_edit_that_changes_nothing_answers_with_what_is_there(api: Api, path: str) -> None:
    response = save(api, path, '"1"')
    assert (response.status_code, response.json()["number"]) == (200, 1)


def test_a_change_that_names_an_old_version_does_nothing(api: Api, path: str) -> None:
    problem(api.call("PUT", f"{path}/archive", headers={"If-Match": '"7"'}), 412, "version-conflict")
    assert Scenario.objects.get().archived_at is None


def test_versions_can_be_compared(api: Api, path: str) -> None:
    save(api, path, '"1"', seed=2, slo={"ttft_p95_ms": 800})
    body = api.get(f"{path}/diff?from=1&to=2").json()
    rows = {row["pointer"]: (row["old"], row["new"]) for row in body["differences"]}
    assert rows == {"/seed": (1, 2), "/slo/ttft_p95_ms": (1000.0, 800.0), "/slo/tpot_p95_ms": (50.0, None)}
    assert (body["first"]["number"], body["second"]["number"]) == (1, 2)


def test_versions_of_two_scenarios_can_be_compared(api: Api, user: User, path: str) -> None:
    other = make_scenario(user, name="Other", seed=4).scenario_id
    body = api.get(f"{path}/diff?from=1&other={other}").json()
    assert {row["pointer"] for row in body["differences"]} == {"/name", "/seed"}
    foreign = make_scenario(make_user()).scenario_id
    problem(api.get(f"{path}/diff?from=1&other={foreign}"), 404, "not-found")


@pytest.mark.parametrize("end", ["/versions/9", "/diff?from=9", "/diff?from=1&to=9", "/versions/99999999999999999999"])
def test_a_version_that_is_not_there_is_404(api: Api, path: str, end: str) -> None:
    problem(api.get(path + end), 404, "not-found")


def test_a_saved_version_runs_on_the_prices_of_another_day(api: Api, path: str) -> None:
    wanted = {"scenario_id": path.rpartition("/")[2], "number": 1}
    body = api.post("/runs", {"scenario_version": wanted, "priced_at": "2026-12-24"}).json()
    assert (body["priced_at"], body["repriced"]) == ("2026-12-24", True)
    assert body["result_version"] == planning.result_version()
    assert api.get(f"{path}/versions/1").json()["priced_at"] == "2026-11-30"
    wrong = api.post("/runs", {"scenario_version": wanted, "priced_at": "soon"})
    assert problem(wrong, 422, "invalid-scenario")["errors"][0]["pointer"] == "/priced_at"


def test_a_copy_is_a_scenario_of_its_own(api: Api, path: str) -> None:
    response = api.post(f"{path}/copy", {"name": "For France"})
    assert response.status_code == 201
    assert response.json()["name"] == "For France"
    assert api.get(response["Location"]).status_code == 200
    problem(api.post(f"{path}/copy", {"name": "\x7f"}), 422, "invalid-body")
    problem(api.post(f"{path}/copy", {"number": 9}), 404, "not-found")


def test_a_token_copies_to_no_other_team_and_a_session_only_where_it_may_write(api: Api, user: User, path: str) -> None:
    there = team_of(make_user())
    there.memberships.create(user=user, role=Role.EDITOR)
    problem(api.post(f"{path}/copy", {"team_id": str(there.pk)}), 403, "forbidden")
    session = Api()
    session.client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    for foreign in (uuid.uuid4(), team_of(make_user()).pk):
        problem(session.post(f"{path}/copy", {"team_id": str(foreign)}), 403, "forbidden")
    assert session.post(f"{path}/copy", {"team_id": str(there.pk)}).status_code == 201
    assert Scenario.objects.filter(team=there).count() == 1


def test_archived_scenarios_are_listed_when_asked_for(api: Api, path: str) -> None:
    for _ in range(2):
        assert api.call("PUT", f"{path}/archive").status_code == 204
    assert api.get("/scenarios").json()["items"] == []
    assert len(api.get("/scenarios?archived=true").json()["items"]) == 1
    assert api.get(path).json()["archived_at"]
    assert api.delete(f"{path}/archive").status_code == 204
    assert len(api.get("/scenarios").json()["items"]) == 1


def test_a_list_is_searched_and_filtered_by_tag(api: Api, user: User) -> None:
    first = make_scenario(user, name="Support chat").scenario_id
    make_scenario(user, name="Nightly batch")
    assert api.call("PUT", f"/scenarios/{first}/tags", {"tags": ["Zürich"]}).json() == {"tags": ["zürich"]}
    for query in ("search=chat%20LLAMA", "tag=z%C3%BCrich", "search=z%C3%BCrich"):
        assert [row["name"] for row in api.get(f"/scenarios?{query}").json()["items"]] == ["Support chat"], query
    assert api.get("/scenarios?search=%00&tag=%00").json()["items"] == []


def test_a_comment_is_deleted_by_who_wrote_it(api: Api, user: User, path: str) -> None:
    editor = Api(make_token(add_member(team_of(user)))[1])
    mine, theirs = (caller.post(f"{path}/comments", {"text": "Hm."}).json() for caller in (api, editor))
    assert theirs["version_number"] == 1
    problem(editor.delete(mine["link"]), 403, "forbidden")
    assert editor.delete(theirs["link"]).status_code == 204
    assert [row["id"] for row in api.get(f"{path}/comments").json()["items"]] == [mine["id"]]


def test_a_comment_of_another_scenario_is_not_here(api: Api, user: User, path: str) -> None:
    other = make_scenario(user, name="Other").scenario_id
    comment = api.post(f"{path}/comments", {"text": "Hm."}).json()["id"]
    problem(api.delete(f"/scenarios/{other}/comments/{comment}"), 404, "not-found")


def test_an_empty_comment_is_refused(api: Api, path: str) -> None:
    problem(api.post(f"{path}/comments", {"text": "  \n"}), 422, "invalid-body")
