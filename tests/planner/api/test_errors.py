"""Every kind of error, in its one form."""

import gzip
import json
from typing import Any

import pytest

from planner.api.views.runs import RunList
from planner.runs.models import Run
from tests.factories import scenario_dict
from tests.planner.api.support import Api, problem


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty_body"),
        (b"{", "invalid_json"),
        (b"\xff\xfe{}", "not_utf8"),
        (b'{"name": "\xe9"}', "not_utf8"),
        (b'{"seed": NaN}', None),
        (b'{"seed": 1, "seed": 2}', "duplicate_key"),
        (b'{"traffic": {"a": 1, "a": 1}}', "duplicate_key"),
        (b"[" * 100_000, "too_deep"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "too_deep"),
        (b"[]", "not_an_object"),
        (b"null", "not_an_object"),
        (b'"scenario_version"', "not_an_object"),
        (b'{"scenario_version": ' + b"[" * 100_000, "too_deep"),
        (b'{"seed": ' + b"1" * 5000 + b"}", "invalid_json"),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else str(value),
)
@pytest.mark.parametrize("path", ["/runs", "/scenarios/validate"])
def test_what_is_no_json_object_is_named(api: Api, path: str, body: bytes, code: str | None) -> None:
    response = api.post(path, body)
    if code is None:
        problem(response, 422, "invalid-scenario")
    else:
        assert problem(response, 400, "malformed-body")["errors"][0]["code"] == code
    assert not Run.objects.exists()


def test_all_faults_of_a_scenario_come_at_once(api: Api) -> None:
    bad = scenario_dict(slo={"ttft_p95_ms": 1, "tpot_p95_ms": -1}, seed="x", colour="red")
    body = problem(api.post("/runs", bad), 422, "invalid-scenario")
    found = {error["pointer"]: error["code"] for error in body["errors"]}
    assert found["/slo/ttft_p95_ms"] == "unit_slip"
    assert found["/colour"] == "unknown_field"
    assert {"/slo/tpot_p95_ms", "/seed"} <= set(found)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_points_at_its_field(api: Api, number: str) -> None:
    text = json.dumps(scenario_dict()).replace('"mean_rps": 2.0', f'"mean_rps": {number}')
    errors = problem(api.post("/runs", text), 422, "invalid-scenario")["errors"]
    assert [error["pointer"] for error in errors] == ["/traffic/arrival/mean_rps"]


def test_a_body_beyond_the_limit_is_refused_unread(api: Api, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    problem(api.post("/runs", b" " * 1001), 413, "body-too-large")


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "",
    ],
)
def test_only_utf8_json_is_taken(api: Api, kind: str) -> None:
    response = api.call("POST", "/runs", scenario_dict(), {"Content-Type": kind})
    problem(response, 415, "unsupported-media-type")


def test_json_may_name_its_character_set(api: Api) -> None:
    response = api.call("POST", "/runs", scenario_dict(), {"Content-Type": "application/json; charset=UTF-8"})
    assert response.status_code == 202


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_a_method_that_is_not_offered_names_those_that_are(api: Api, method: str) -> None:
    response = api.call(method, "/runs")
    problem(response, 405, "method-not-allowed")
    assert response["Allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize(
    "path", ["/api", "/api/", "/api/v2/runs", "/nowhere", "/runs/1", "/runs/x/report", "/runs/é%00", "/docs/x"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_an_unknown_address_is_a_problem_too(db: None, method: str, path: str) -> None:
    problem(Api().call(method, path), 404, "not-found")


def test_a_format_that_is_not_offered_is_406(api: Api) -> None:
    problem(api.get("/runs", Accept="text/html"), 406, "not-acceptable")


@pytest.mark.parametrize("path", ["/api/v1", "/api/v1/"])
def test_the_first_address_people_type_says_where_to_go_on(db: None, path: str) -> None:
    response = Api().get(path)
    assert response.status_code == 200
    assert {Api().get(link).status_code for name, link in response.json().items() if name != "version"} == {200}


def test_a_name_that_the_server_does_not_go_by_is_a_problem(api: Api, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["staircase.example"]
    body = problem(api.get("/runs", Host="evil.example"), 400, "invalid-parameter")
    assert (body["errors"][0]["pointer"], body["errors"][0]["given"]) == ("Host", "evil.example")
    page = api.client.get("/scenarios/", headers={"Host": "evil.example"})
    assert (page.status_code, page["Content-Type"]) == (400, "text/html; charset=utf-8")


def test_a_packed_body_is_refused_as_such(api: Api) -> None:
    packed = gzip.compress(json.dumps(scenario_dict()).encode())
    response = api.call("POST", "/runs", packed, {"Content-Encoding": "gzip"})
    assert "gzip" in problem(response, 415, "unsupported-media-type")["detail"]
    assert api.call("POST", "/runs", scenario_dict(), {"Content-Encoding": "identity"}).status_code == 202


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/csv;q=0.1, application/json;q=0.9", "application/json"),
        ("application/json;q=0.1, text/csv;q=0.9", "text/csv; charset=utf-8"),
        ("application/json;q=0, */*;q=0.5", "text/csv; charset=utf-8"),
        ("text/*, application/json;q=0.9", "text/csv; charset=utf-8"),
        ("TEXT/CSV", "text/csv; charset=utf-8"),
        ("text/csv;charset=utf-8", "text/csv; charset=utf-8"),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json"),
        ("", "application/json"),
        (" , ", "application/json"),
    ],
)
def test_the_weights_of_accept_decide(api: Api, accept: str, kind: str) -> None:
    assert api.get("/runs", Accept=accept)["Content-Type"] == kind


@pytest.mark.parametrize("accept", ["application/json;q=0", "garbage", "*/*;q=0", "application/json;q=much"])
def test_what_accept_leaves_out_is_not_sent(api: Api, accept: str) -> None:
    assert "application/json" in problem(api.get("/runs", Accept=accept), 406, "not-acceptable")["detail"]


def test_a_refused_accept_starts_nothing(api: Api) -> None:
    problem(api.post("/runs", scenario_dict(), Accept="text/html"), 406, "not-acceptable")
    assert not Run.objects.exists()


@pytest.mark.parametrize("accept", ["*/*", "application/*", "text/html, */*;q=0.8", "application/json; q=0.5"])
def test_json_comes_to_whoever_takes_anything(api: Api, accept: str) -> None:
    assert api.get("/runs", Accept=accept)["Content-Type"] == "application/json"


def test_a_failure_of_ours_shows_no_traceback(api: Api, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(RunList, "get", fail)
    response = api.get("/runs")
    body = problem(response, 500, "internal-error")
    assert b"secret" not in response.content
    assert body["request_id"]
    assert "secret detail" in caplog.text


def test_errors_are_never_cached(api: Api) -> None:
    assert api.get("/nowhere")["Cache-Control"] == "no-store"


def test_an_error_keeps_its_form_whatever_was_accepted(api: Api) -> None:
    problem(api.get("/runs?limit=x", Accept="application/json"), 400, "invalid-parameter")


def test_the_callers_request_id_is_kept(api: Api) -> None:
    body = problem(api.get("/nowhere", X_Request_Id="my-own-id-1"), 404, "not-found")
    assert body["request_id"] == "my-own-id-1"
