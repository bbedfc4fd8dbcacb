"""What holds for every operation of the OpenAPI document: each convention is one case over all that it applies to.

The operations, and a call of each that is allowed, are those of test_permissions.py.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction

from planner.api.views.service import OPENAPI_FILE
from planner.runs.models import Run, State
from planner.teams.models import User
from tests.factories import make_entry
from tests.planner.api.support import Api, problem
from tests.planner.api.test_permissions import ENDPOINTS, Endpoint, Things
from tests.planner.reports.example import example

DOCUMENT: dict[str, Any] = json.loads(OPENAPI_FILE.read_text())
Check = Callable[[Api, Endpoint, str, Any], None]
PARQUET = "application/vnd.apache.parquet"
UNREADABLE = [
    (b"{", "application/json", 400, "malformed-body"),
    (b'{"a": 1, "a": 2}', "application/json", 400, "malformed-body"),
    (b"\xff", "application/json", 400, "malformed-body"),
    (b"[" * 10_000, "application/json", 400, "malformed-body"),
    (b"[]", "application/json", 400, "malformed-body"),
    (b"{}", "text/plain", 415, "unsupported-media-type"),
]


def documented(endpoint: Endpoint) -> str:
    """The document's name of a path such as /runs/{run}."""
    shape = re.sub(r"\{\w+\}", "{}", endpoint.path.partition("?")[0]).replace("/versions/1", "/versions/{}")
    (found,) = (name for name in DOCUMENT["paths"] if re.sub(r"\{\w+\}", "{}", name) == f"/api/v1{shape}")
    return found


def operation(endpoint: Endpoint) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][documented(endpoint)][endpoint.method.lower()]
    return found


def parameters(endpoint: Endpoint) -> set[str]:
    return {parameter["name"] for parameter in operation(endpoint).get("parameters", ())}


READS = [endpoint for endpoint in ENDPOINTS if endpoint.method == "GET"]
EACH_PATH = list({endpoint.path: endpoint for endpoint in ENDPOINTS}.values())
READ = {endpoint.path for endpoint in READS}
LISTS = [endpoint for endpoint in READS if "cursor" in parameters(endpoint)]
TAKE_JSON = [e for e in ENDPOINTS if "application/json" in operation(e).get("requestBody", {}).get("content", {})]
HELD = [e for e in ENDPOINTS if e.method in ("PUT", "PATCH", "DELETE") and e.path in READ]
MADE = [e for e in ENDPOINTS if e.ok in (201, 202)]


@pytest.fixture
def things(user: User) -> Things:
    """With a run that has a report, so that everything about it can be read."""
    made = Things(user)
    Run.objects.filter(pk=made["run"]).update(state=State.DONE, report=json.dumps(example()))
    return made


def over(endpoints: Sequence[Endpoint]) -> Callable[[Check], Any]:
    """Makes one test of a check: it is made of each endpoint, and what it did is taken back."""

    def test_of(check: Check) -> Any:
        def test(api: Api, things: Things, subtests: pytest.Subtests) -> None:
            for endpoint in endpoints:
                path = endpoint.path.format_map(things)
                cache.clear()  # limits
                with subtests.test(endpoint=str(endpoint)), transaction.atomic():
                    check(api, endpoint, path, endpoint.body(things) if callable(endpoint.body) else endpoint.body)
                    transaction.set_rollback(True)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return test_of


def more(path: str, question: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}{question}"


def test_every_operation_of_the_document_is_called_here() -> None:
    called = {(documented(endpoint), endpoint.method.lower()) for endpoint in ENDPOINTS}
    assert called == {(path, method) for path, operations in DOCUMENT["paths"].items() for method in operations}


@over(ENDPOINTS)
def test_an_unknown_parameter_is_refused(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    response = api.call(endpoint.method, more(path, "colour=red"), body, dict(endpoint.headers))
    faults = problem(response, 400, "invalid-parameter")["errors"]
    assert [(fault["code"], fault["pointer"]) for fault in faults] == [("unknown_parameter", "?colour")]


@over(TAKE_JSON)
def test_an_unknown_field_is_refused(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    response = api.call(endpoint.method, path, {**(body or {}), "colour": "red"}, dict(endpoint.headers))
    faults = problem(response, 422, response.json()["type"].partition("#")[2])["errors"]
    assert ("unknown_field", "/colour") in {(fault["code"], fault["pointer"]) for fault in faults}


@over(TAKE_JSON)
def test_a_body_that_cannot_be_read_is_refused(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    for body, kind, status, anchor in UNREADABLE:
        headers = {**dict(endpoint.headers), "Content-Type": kind}
        problem(api.call(endpoint.method, path, body, headers), status, anchor)


@over(READS)
def test_what_is_read_is_read_in_one_way(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    """304 while nothing has changed, the same headers by HEAD, and the same with a slash at the end."""
    first = api.get(path)
    assert first.status_code == 200, first.content
    for given in (first["ETag"], f"W/{first['ETag']}", f'"other", {first["ETag"]}', "*"):
        again = api.get(more(path, "refresh=1") if given == "*" else path, If_None_Match=given)
        assert (again.status_code, again.content) == (304, b""), given
        assert given == "*" or again["ETag"] == first["ETag"]
    own = ("X-Request-Id", "RateLimit")
    head = api.call("HEAD", path, headers={"If-None-Match": '"other"'})
    assert (head.status_code, head.content) == (200, b"")
    assert {k: v for k, v in head.items() if k not in own} == {k: v for k, v in first.items() if k not in own}
    address, mark, query = path.partition("?")
    slashed = api.get(f"{address}/{mark}{query}")
    assert slashed.content.replace(f"{address}/?".encode(), f"{address}?".encode()) == first.content


@over(READS)
def test_what_is_offered_is_sent_and_nothing_else(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    (formats,) = (p["schema"]["enum"] for p in operation(endpoint)["parameters"] if p["name"] == "format")
    kinds = set(operation(endpoint)["responses"]["200"]["content"])
    assert len(formats) == len(kinds)
    for kind in kinds - {PARQUET}:  # not every server has it
        assert api.get(path, Accept=kind)["Content-Type"].partition(";")[0] == kind
    problem(api.get(path, Accept="image/png"), 406, "not-acceptable")
    fault = problem(api.get(more(path, "format=png")), 400, "invalid-parameter")["errors"][0]
    assert set(fault["allowed"].split(", ")) == set(formats)


@over(HELD)
def test_a_change_holds_to_if_match(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    """412 and nothing is done where the thing is another, else as without the header."""
    assert "412" in operation(endpoint)["responses"]
    assert "If-Match" in parameters(endpoint)
    before = api.get(path)
    for stale in ('"other"', '"9.0000"', "other", 'W/"other"'):
        problem(api.call(endpoint.method, path, body, {"If-Match": stale}), 412, "version-conflict")
    assert api.get(path).content == before.content
    response = api.call(endpoint.method, path, body, {"If-Match": f'"other", {before["ETag"]}'})
    assert response.status_code == endpoint.ok, response.content


def test_what_was_changed_meanwhile_is_not_changed_again(api: Api, things: Things, user: User) -> None:
    path = f"/catalog/entries/{things['entry']}"
    read = api.get(path)
    change = {name: read.json()[name] for name in ("value", "source", "as_of")}
    make_entry(user, usd_per_gpu_hour=1.5)  # a colleague replaces it
    for method in ("PUT", "DELETE"):
        problem(api.call(method, path, change, {"If-Match": read["ETag"]}), 412, "version-conflict")
    assert api.get(path).json()["value"]["usd_per_gpu_hour"] == 1.5


def test_what_must_say_what_it_began_with_is_428_without(api: Api, things: Things) -> None:
    required = [
        endpoint
        for endpoint in ENDPOINTS
        if any(p["name"] == "If-Match" and p.get("required") for p in operation(endpoint).get("parameters", ()))
    ]
    assert {str(endpoint) for endpoint in required} == {
        "POST /scenarios/{scenario}/versions",
        "PUT /catalog/entries/{entry}",
    }
    for endpoint in required:
        path = endpoint.path.format_map(things)
        problem(api.call(endpoint.method, path, endpoint.body), 428, "if-match-needed")


@over(LISTS)
def test_a_list_has_pages_columns_and_orders(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    whole = api.get(more(path, "limit=500")).json()["items"]
    page = api.get(more(path, "limit=1"))
    body = page.json()
    assert body["items"] == whole[:1]
    assert page.get("Link") == (f'<{body["next"]}>; rel="next"' if body["next"] else None)
    if body["next"]:
        assert api.get(body["next"]).json()["items"] == whole[1:2]
    orders = ["order=colour", "order="] if "order" in parameters(endpoint) else []
    for wrong in ("limit=0", "limit=501", "limit=1.5", "cursor=x", "fields=colour", "fields=", *orders):
        problem(api.get(more(path, wrong)), 400, "invalid-parameter")
    if whole:
        names = list(whole[0])[:2][::-1]
        chosen = api.get(more(path, f"limit=500&fields={','.join(names)}")).json()["items"]
        assert chosen == [{name: item[name] for name in names} for item in whole]
        assert list(chosen[0]) == names


@over(LISTS)
def test_a_list_is_one_table_too(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    lines, book = api.get(more(path, "format=csv")), api.get(more(path, "format=xlsx"))
    assert (lines.status_code, book.status_code) == (200, 200)
    text = b"".join(lines.streaming_content) if lines.streaming else lines.content
    items = api.get(more(path, "limit=500")).json()["items"]
    assert text.count(b"\r\n") >= len(items) + 1
    assert book.content.startswith(b"PK")
    assert lines["Content-Disposition"].endswith('.csv"')
    assert book["Content-Disposition"].endswith('.xlsx"')
    for item in items[:1]:  # what an item has, its line has
        header, first = text.decode().split("\r\n")[:2]
        assert all(name in header for name in item)
        assert first.strip(",")


def test_an_objects_column_holds_its_json(api: Api, things: Things) -> None:
    things["entry"]
    lines = api.get("/catalog/entries?format=csv&fields=name,value").content.decode()
    assert lines == 'name,value\r\nH100-SXM5-80GB,"{""gpu"": ""H100-SXM5-80GB"", ""usd_per_gpu_hour"": 1.9}"\r\n'


@over(EACH_PATH)
def test_every_answer_has_an_id_a_limit_and_no_word_for_other_sites(
    api: Api, endpoint: Endpoint, path: str, body: Any
) -> None:
    headers = {**dict(endpoint.headers), "Origin": "https://else.example", "X-Request-Id": "id-of-a-proxy"}
    answers = [api.call(endpoint.method, path, body, headers), api.call("OPTIONS", path, headers=headers)]
    for response in answers:
        assert response["X-Request-Id"] == "id-of-a-proxy"
        assert re.fullmatch(r'"requests_per_minute";q=\d+;w=60(, .*)?', response["RateLimit-Policy"])
        assert not [name for name in response.headers if name.lower().startswith("access-control")]


@over(EACH_PATH)
def test_a_method_that_is_not_offered_names_those_that_are(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    offered = {method.upper() for method in DOCUMENT["paths"][documented(endpoint)]}
    offered |= {"HEAD"} if "GET" in offered else set()
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - offered:
        response = api.call(method, path, headers={"If-Match": '"x"'})
        problem(response, 405, "method-not-allowed")
        assert set(response["Allow"].split(", ")) == offered, method


@over(MADE)
def test_what_was_made_can_be_read_where_location_says(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    response = api.call(endpoint.method, path, body, dict(endpoint.headers))
    assert response.status_code in (201, 202), response.content
    assert api.get(response["Location"]).status_code == 200


@over([endpoint for endpoint in ENDPOINTS if endpoint.method == "POST"])
def test_a_key_makes_one_thing_or_is_refused(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    headers = {**dict(endpoint.headers), "Idempotency-Key": "k1"}
    first, again = (api.call("POST", path, body, headers) for _ in range(2))
    if first.status_code == 400:
        assert problem(first, 400, "invalid-parameter")["errors"][0]["pointer"] == "Idempotency-Key"
    elif again.status_code in (201, 202):
        assert again.get("Location") == first.get("Location")


@pytest.fixture
def _nothing_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.api.throttles._per_minute", lambda _: 0)


@pytest.mark.usefixtures("_nothing_left")
@over(ENDPOINTS)
def test_beyond_a_limit_is_429_with_the_time_to_wait(api: Api, endpoint: Endpoint, path: str, body: Any) -> None:
    response = api.call(endpoint.method, path, body, dict(endpoint.headers))
    problem(response, 429, "too-many-requests")
    assert 1 <= int(response["Retry-After"]) <= 60
    assert "r=0" in response["RateLimit"]
