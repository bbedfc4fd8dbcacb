"""Limits per token."""

from collections.abc import Iterator
from unittest import mock

import pytest
from django.core.cache import cache
from rest_framework.settings import api_settings

from planner.teams.models import User
from tests.factories import make_token, scenario_dict
from tests.planner.api.support import Api, problem

NOW_S = 1_796_000_400.0


@pytest.fixture(autouse=True)
def clock() -> Iterator[mock.Mock]:
    with mock.patch("planner.core.limits.time.time", return_value=NOW_S) as at:
        yield at


@pytest.fixture
def rates(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    limits = {"requests_per_minute": 5, "new_runs_per_minute": 2}
    monkeypatch.setattr(api_settings, "DEFAULT_THROTTLE_RATES", limits)
    return limits


def test_new_runs_have_a_limit_of_their_own(api: Api, rates: dict[str, int]) -> None:
    assert [api.post("/runs", scenario_dict()).status_code for _ in range(3)] == [202, 202, 429]
    assert api.get("/runs").status_code == 200


def test_the_refusal_says_when_to_come_back(api: Api, rates: dict[str, int], clock: mock.Mock) -> None:
    clock.return_value = NOW_S + 18.5
    responses = [api.get("/runs") for _ in range(6)]
    problem(responses[-1], 429, "too-many-requests")
    assert 60 - (NOW_S + 18.5) % 60 <= int(responses[-1]["Retry-After"]) < 61 - (NOW_S + 18.5) % 60
    clock.return_value += int(responses[-1]["Retry-After"])
    assert api.get("/runs").status_code == 200


def test_each_token_counts_for_itself(api: Api, user: User, rates: dict[str, int]) -> None:
    other = Api(make_token(user)[1])
    for _ in range(6):
        last = api.get("/runs")
    assert (last.status_code, other.get("/runs").status_code) == (429, 200)


def test_a_sheet_of_500_cells_refreshes_twice_a_minute() -> None:
    assert int(api_settings.DEFAULT_THROTTLE_RATES["requests_per_minute"]) >= 1000


def test_a_counter_that_was_evicted_refuses_nobody(api: Api, rates: dict[str, int]) -> None:
    with mock.patch.object(cache, "incr", side_effect=ValueError):
        assert api.get("/runs").status_code == 200
