"""`Idempotency-Key`: a request may be sent again."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from unittest import mock

import pytest
from django.db import connections
from django.utils import timezone

from planner.runs.models import Run, State
from tests.factories import make_token, make_user, scenario_dict
from tests.planner.api.support import Api, problem


def send(api: Api, key: str, **changes: object) -> object:
    return api.post("/runs", scenario_dict(**changes), Idempotency_Key=key)


def test_the_same_request_makes_one_run(api: Api) -> None:
    first, second = send(api, "k1"), send(api, "k1")
    assert (first.status_code, second.status_code) == (202, 202)
    assert first["Location"] == second["Location"]


def test_a_repeated_request_gets_its_run_even_after_it_failed(api: Api) -> None:
    first = send(api, "k1")
    Run.objects.update(state=State.FAILED)
    assert send(api, "k1")["Location"] == first["Location"]


def test_another_body_is_a_conflict(api: Api) -> None:
    send(api, "k1")
    problem(send(api, "k1", seed=2), 422, "idempotency-conflict")
    assert Run.objects.count() == 1


def test_order_and_spaces_of_the_body_do_not_matter(api: Api) -> None:
    first = api.post("/runs", scenario_dict(), Idempotency_Key="k")
    turned = dict(reversed(list(scenario_dict().items())))
    assert api.post("/runs", turned, Idempotency_Key="k")["Location"] == first["Location"]


def test_an_undated_request_may_be_repeated_after_midnight(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    undated = {key: value for key, value in scenario_dict().items() if key != "priced_at"}
    late, early = datetime(2026, 11, 30, 23, 59, tzinfo=UTC), datetime(2026, 12, 1, 0, 1, tzinfo=UTC)
    with mock.patch.object(timezone, "now", return_value=late):
        first = api.post("/runs", undated, Idempotency_Key="k")
    with mock.patch.object(timezone, "now", return_value=early):
        second = api.post("/runs", undated, Idempotency_Key="k")
    assert (second.status_code, second["Location"]) == (202, first["Location"])


def test_keys_of_teams_are_apart(api: Api) -> None:
    other = Api(make_token(make_user())[1])
    assert send(api, "k1")["Location"] != send(other, "k1", seed=2)["Location"]


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 201, "é"])
def test_a_key_that_is_none_is_refused(api: Api, key: str) -> None:
    body = problem(send(api, key), 400, "invalid-parameter")
    assert body["errors"][0]["pointer"] == "Idempotency-Key"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("headers", [{"Idempotency_Key": "same"}, {}])
def test_ten_at_once_make_one_run(headers: dict[str, str]) -> None:
    text = make_token(make_user())[1]

    def post(_: int) -> tuple[int, str]:
        try:
            response = Api(text).post("/runs", scenario_dict(), **headers)
            return response.status_code, response.get("Location", "")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(10) as pool:
        answers = set(pool.map(post, range(10)))
    assert {status for status, _ in answers} == {202}
    assert len(answers) == 1
    assert Run.objects.count() == 1
