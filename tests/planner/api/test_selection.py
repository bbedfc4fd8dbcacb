"""Columns, order, filters and CSV of every list; limits in headers."""

import csv
import io
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import pytest

from planner.api import pagination
from planner.runs.models import Run, State
from planner.scenarios.models import Scenario
from planner.teams.models import User
from planner.teams.services import link_token_create
from tests.factories import make_run, make_scenario, scenario_dict, team_of
from tests.planner.api.support import Api, problem

LISTS = ("/runs", "/scenarios", "/sheets/links", "/catalog/models", "/catalog/gpu-prices")
each = pytest.mark.parametrize("path", LISTS)


def table(response: Any) -> list[list[str]]:
    assert response.status_code == 200, response.content
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.reader(io.StringIO(response.content.decode())))


@pytest.fixture(autouse=True)
def things(user: User) -> list[Run]:
    make_scenario(user)
    link_token_create(team=team_of(user), user=user)
    return [make_run(user, seed=seed, name=name) for seed, name in enumerate(("=1+1", "b", "c"))]


@each
def test_every_list_is_a_csv_of_the_same_rows(api: Api, path: str) -> None:
    header, *rows = table(api.get(f"{path}?format=csv"))
    items = api.get(f"{path}?limit=500").json()["items"]
    assert len(rows) >= len(items) > 0
    assert header == table(api.get(f"{path}?format=csv"))[0]
    assert all(len(row) == len(header) for row in rows)


@each
def test_columns_are_chosen_in_json_and_csv(api: Api, path: str) -> None:
    names = list(api.get(path).json()["items"][0])[:2][::-1]
    chosen = api.get(f"{path}?fields={','.join(names)}").json()["items"]
    assert list(chosen[0]) == names
    assert table(api.get(f"{path}?format=csv&fields={','.join(names)}"))[0] == names


@each
@pytest.mark.parametrize("fields", ["colour", "", "name,name", "id,colour"])
def test_a_wrong_selection_is_refused(api: Api, path: str, fields: str) -> None:
    problem(api.get(f"{path}?fields={fields}"), 400, "invalid-parameter")


@each
@pytest.mark.parametrize("order", ["colour", "-", "--created_at", "pk"])
def test_an_order_that_is_not_offered_is_refused(api: Api, path: str, order: str) -> None:
    problem(api.get(f"{path}?order={order}"), 400, "invalid-parameter")


def test_names_that_start_a_formula_are_harmless(api: Api) -> None:
    header, *rows = table(api.get("/runs?format=csv&order=created_at&fields=name"))
    assert header == ["name"]
    assert rows == [["'=1+1"], ["b"], ["c"]]


def test_objects_become_columns(api: Api) -> None:
    header = table(api.get("/runs?format=csv"))[0]
    assert {"links_self", "links_report", "failure_code", "scenario_version_number"} <= set(header)


def test_oldest_first_is_the_same_list_turned_round(api: Api) -> None:
    Run.objects.update(created_at=datetime(2026, 11, 30, tzinfo=UTC))
    seen: list[str] = []
    path = "/runs?order=created_at&limit=1"
    while path:
        body = api.get(path).json()
        seen += [item["id"] for item in body["items"]]
        path = body["next"]
    assert seen == [item["id"] for item in api.get("/runs").json()["items"]][::-1]


def test_days_narrow_a_list(api: Api, things: list[Run]) -> None:
    Run.objects.filter(pk=things[0].pk).update(created_at=datetime(2026, 1, 2, 23, 59, tzinfo=UTC))

    def found(query: str) -> int:
        return len(api.get(f"/runs?{query}").json()["items"])

    assert found("created_before=2026-01-03") == 1
    assert found("created_from=2026-01-02&created_before=2026-01-03") == 1
    assert found("created_before=2026-01-02") == 0
    assert found("created_from=2026-01-03&state=queued") == 2
    problem(api.get("/runs?created_from=yesterday"), 400, "invalid-parameter")


def test_a_catalog_is_ordered_by_a_column_with_the_unknown_last(api: Api) -> None:
    for order, turned in (("usd_per_gpu_hour", False), ("-usd_per_gpu_hour", True)):
        items = api.get(f"/catalog/gpu-prices?order={order}&limit=500").json()["items"]
        prices = [item["usd_per_gpu_hour"] for item in items]
        there = [price for price in prices if price is not None]
        assert there == sorted(there, reverse=turned)
        assert prices[: len(there)] == there


def test_a_list_that_is_too_long_for_a_table_says_how_to_narrow_it(api: Api) -> None:
    with mock.patch.object(pagination, "MAX_CSV_ROWS", 2):
        assert "filters" in problem(api.get("/runs?format=csv"), 413, "too-many-rows")["detail"]
        assert api.get("/runs?format=csv&state=done").status_code == 200


def test_a_csv_list_costs_few_queries(api: Api, user: User, django_assert_max_num_queries: Any) -> None:
    for seed in range(10, 30):
        make_run(user, seed=seed)
    Run.objects.update(state=State.FAILED, failure={"code": "a", "detail": "b"})
    with django_assert_max_num_queries(5):
        assert len(table(api.get("/runs?format=csv"))) == 24


def test_archived_scenarios_are_in_no_table(api: Api) -> None:
    Scenario.objects.update(archived_at=datetime(2026, 11, 30, tzinfo=UTC))
    assert len(table(api.get("/scenarios?format=csv"))) == 1


def test_every_answer_says_what_the_limit_has_left(api: Api) -> None:
    first, second = api.get("/runs"), api.get("/runs/1")
    assert first["RateLimit-Policy"] == '"requests_per_minute";q=1200;w=60'
    left = [int(response["RateLimit"].split("r=")[1].split(";")[0]) for response in (first, api.get("/runs"))]
    assert left[0] - left[1] >= 1
    assert 1 <= int(first["RateLimit"].rpartition("t=")[2]) <= 60
    assert second.status_code == 404
    assert "RateLimit" not in Api().get("/runs")


def test_a_post_that_starts_runs_counts_twice(api: Api) -> None:
    policy = api.post("/runs", {})["RateLimit-Policy"]
    assert policy == '"requests_per_minute";q=1200;w=60, "new_runs_per_minute";q=30;w=60'


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize(("path", "body"), [("/runs", scenario_dict()), ("/sheets/links", {})])
def test_what_is_posted_to_a_list_is_answered_in_json_alone(api: Api, path: str, body: Any, kind: str) -> None:
    problem(api.post(f"{path}?format={kind}", body), 400, "invalid-parameter")
    problem(api.post(path, body, Accept="text/csv"), 406, "not-acceptable")
