"""Lists: pages, filters, strict parameters, number of queries."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from planner.api.pagination import page_newest_first
from planner.api.query import PageQuery
from planner.runs.models import Run, State
from planner.scenarios.models import Scenario
from planner.scenarios.services import scenario_edit
from planner.teams.models import User
from tests.factories import make_run, make_scenario, parsed_scenario, team_of
from tests.planner.api.support import Api, problem


def every_page(api: Api, path: str) -> list[list[dict[str, Any]]]:
    pages, link = [], path
    while link:
        response = api.get(link)
        assert response.status_code == 200, response.content
        body = response.json()
        pages.append(body["items"])
        link = body["next"]
        assert response.get("Link") == (f'<{link}>; rel="next"' if link else None)
    return pages


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_pages_hold_each_run_once_newest_first(api: Api, user: User, limit: int) -> None:
    runs = [make_run(user, seed=seed) for seed in range(7)]
    pages = every_page(api, f"/runs?limit={limit}")
    seen = [item["id"] for page in pages for item in page]
    assert seen == [str(run.pk) for run in reversed(runs)]
    assert all(len(page) == limit for page in pages[:-1])


def test_runs_of_one_instant_have_an_order(api: Api, user: User) -> None:
    ids = {str(make_run(user, seed=seed).pk) for seed in range(6)}
    Run.objects.update(created_at=datetime(2026, 11, 30, tzinfo=UTC))
    seen = [item["id"] for page in every_page(api, "/runs?limit=2") for item in page]
    assert sorted(seen) == sorted(ids)


def test_runs_that_come_meanwhile_shift_nothing(api: Api, user: User) -> None:
    old = [str(make_run(user, seed=seed).pk) for seed in range(4)]
    first = api.get("/runs?limit=2").json()
    make_run(user, seed=9)
    second = api.get(first["next"]).json()
    assert [item["id"] for item in first["items"] + second["items"]] == old[::-1]


def test_the_next_path_keeps_the_filter(api: Api, user: User) -> None:
    runs = [make_run(user, seed=seed) for seed in range(5)]
    Run.objects.filter(pk__in=[run.pk for run in runs[:3]]).update(state=State.DONE)
    seen = [item["state"] for page in every_page(api, "/runs?state=done&limit=1") for item in page]
    assert seen == ["done"] * 3


def test_a_list_without_a_total_order_is_refused(user: User) -> None:
    with pytest.raises(ValueError, match="ordered"):
        page_newest_first(None, PageQuery(), Run.objects.order_by("name"))  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/runs", "/scenarios"])
@pytest.mark.parametrize(
    ("query", "code", "pointer"),
    [
        ("limit=0", "out_of_range", "?limit"),
        ("limit=501", "out_of_range", "?limit"),
        ("limit=ten", "not_whole", "?limit"),
        ("limit=" + "9" * 5000, "not_whole", "?limit"),
        ("limit=1&limit=2", "repeated_parameter", "?limit"),
        ("page=2", "unknown_parameter", "?page"),
        ("token=x", "unknown_parameter", "?token"),
        ("cursor=", "wrong_length", "?cursor"),
        ("cursor=abc", "invalid_cursor", "?cursor"),
        ("cursor=%00%ff", "invalid_cursor", "?cursor"),
        ("cursor=W10", "invalid_cursor", "?cursor"),
        ("cursor=WyJhIiwiYiJd", "invalid_cursor", "?cursor"),
        ("format=xml", "unknown_choice", "?format"),
        ("format=json&format=json", "unknown_choice", "?format"),
    ],
)
def test_a_parameter_that_is_not_accepted_is_named(api: Api, path: str, query: str, code: str, pointer: str) -> None:
    fault = problem(api.get(f"{path}?{query}"), 400, "invalid-parameter")["errors"][0]
    assert (fault["code"], fault["pointer"]) == (code, pointer)


def test_a_forged_cursor_at_the_edge_of_time_is_refused(api: Api) -> None:
    for at in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-11-30T00:00:00"):
        cursor = base64.urlsafe_b64encode(json.dumps([at, "0" * 32]).encode()).decode().rstrip("=")
        assert api.get(f"/runs?cursor={cursor}").status_code in (200, 400)


def test_faults_of_a_query_come_at_once(api: Api) -> None:
    errors = problem(api.get("/runs?limit=0&state=asleep&x=1"), 400, "invalid-parameter")["errors"]
    assert {error["pointer"] for error in errors} == {"?limit", "?state", "?x"}


def test_refresh_is_ignored_where_a_sheet_reads(api: Api) -> None:
    assert api.get("/runs?refresh=123").status_code == 200
    problem(api.call("POST", "/runs?refresh=123", {}), 400, "invalid-parameter")


def queries(api: Api, path: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert api.get(path).status_code == 200
    return len(captured)


def test_a_longer_list_takes_no_more_queries(api: Api, user: User) -> None:
    team = team_of(user)
    for seed in range(2):
        Run.objects.filter(pk=make_run(user, seed=seed).pk).update(scenario_version=make_scenario(user, seed=seed))
    api.get("/runs")
    short = {path: queries(api, path) for path in ("/runs", "/scenarios")}
    for seed in range(2, 12):
        Run.objects.filter(pk=make_run(user, seed=seed).pk).update(scenario_version=make_scenario(user, seed=seed))
    assert {path: queries(api, path) for path in short} == short
    assert max(short.values()) <= 6
    assert Run.objects.filter(team=team).count() == 12


def test_reading_one_thing_takes_few_queries(api: Api, user: User) -> None:
    run, version = make_run(user), make_scenario(user)
    for number in range(1, 6):
        scenario_edit(scenario=version.scenario, user=user, parsed=parsed_scenario(seed=number + 1), base_number=number)
    api.get("/runs")
    assert queries(api, f"/runs/{run.pk}") <= 5
    assert queries(api, f"/scenarios/{version.scenario_id}") <= 7


def test_a_list_never_loads_the_heavy_columns(api: Api, user: User) -> None:
    make_run(user)
    with CaptureQueriesContext(connection) as captured:
        api.get("/runs")
    text = " ".join(query["sql"] for query in captured)
    assert '"runs_run"."report"' not in text
    assert '"runs_run"."partial"' not in text


def test_archived_scenarios_are_left_out(api: Api, user: User) -> None:
    version = make_scenario(user)
    assert [item["id"] for item in api.get("/scenarios").json()["items"]] == [str(version.scenario_id)]
    Scenario.objects.update(archived_at=datetime(2026, 11, 30, tzinfo=UTC))
    assert api.get("/scenarios").json()["items"] == []
