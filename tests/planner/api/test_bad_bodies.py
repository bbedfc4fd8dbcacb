"""Bodies that no endpoint takes, each tried on addresses of every kind."""

from typing import Any
from uuid import UUID

import pytest

from planner.teams.models import User
from tests.factories import make_token, team_of
from tests.planner.api.support import Api, problem

PATHS = ["/runs", "/scenarios", "/estimates", "/estimates/batch", "/calculators/lesson", "/comparisons", "/share-links"]
PATHS += ["/webhooks", "/catalog/entries", "/sheets/links", "/teams/{team}/tokens", "/traces/uploads"]
BODIES = {
    "empty_body": b"",
    "invalid_json": b"{",
    "not_utf8": b'{"name": "\xe9"}',
    "duplicate_key": b'{"name": "a", "name": "b"}',
    "too_deep": b'{"name": ' + b"[" * 50_000,
    "not_an_object": b"[]",
}


@pytest.fixture
def writer(user: User) -> Api:
    return Api(make_token(user, "write")[1])


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest, user: User) -> str:
    team: UUID = team_of(user).pk
    return str(request.param).format(team=team)


@pytest.mark.parametrize("code", BODIES)
def test_a_body_that_is_no_json_object_is_named(writer: Api, path: str, code: str) -> None:
    errors = problem(writer.post(path, BODIES[code]), 400, "malformed-body")["errors"]
    assert [error["code"] for error in errors] == [code]


@pytest.mark.parametrize("body", [b'{"name": NaN}', b'{"name": 1e999}', b'{"name": {"a": [1]}}', b'{"unheard_of": 1}'])
def test_values_that_are_not_accepted_are_422(writer: Api, path: str, body: bytes) -> None:
    response = writer.post(path, body)
    assert response.status_code == 422
    assert response.json()["errors"]


@pytest.mark.parametrize(
    ("path", "body", "pointer", "allowed", "said"),
    [
        ("/traces/uploads", {"name": "a.csv", "bytes": 9}, "/bytes", "name", "There is no field bytes here."),
        ("/webhooks", {"url": ""}, "/url", "at least 1 character", "url must have at least 1 character."),
        ("/webhooks", {"url": "https://a.example/" + "x" * 500}, "/url", "at most 500 characters", "url must have at"),
        ("/webhooks", {"events": []}, "/url", "required", "url is required."),
        (
            "/estimates/batch",
            {"rows": [{}] * 501},
            "/rows",
            "at most 500 entries",
            "rows must have at most 500 entries.",
        ),
    ],
    ids=["unknown", "empty", "long", "missing", "rows"],
)
def test_a_fault_of_a_body_says_what_is_allowed_in_words(
    writer: Api, path: str, body: dict[str, Any], pointer: str, allowed: str, said: str
) -> None:
    answer = problem(writer.post(path, body), 422, "invalid-body")
    fault = next(fault for fault in answer["errors"] if fault["pointer"] == pointer)
    assert fault["allowed"].startswith(allowed)
    assert fault["detail"].startswith(said)
    if len(answer["errors"]) == 1:
        assert answer["detail"] == "1 of its values is not accepted."


def test_a_body_beyond_the_limit_is_413(writer: Api, path: str, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    problem(writer.post(path, b" " * 1001), 413, "body-too-large")


def test_another_type_is_415(writer: Api, path: str) -> None:
    problem(writer.call("POST", path, {}, {"Content-Type": "text/plain"}), 415, "unsupported-media-type")
