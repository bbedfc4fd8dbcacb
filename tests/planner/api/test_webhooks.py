"""/webhooks over the API."""

import json

import pytest

from planner.api.openapi_webhooks import event_schemas
from planner.api.views.service import OPENAPI_FILE
from planner.api.wire_webhooks import RunEvent
from planner.runs.announcing import announce_ended
from planner.runs.services import run_cancel
from planner.teams.models import User
from planner.webhooks.models import Delivery, Event, Webhook
from planner.webhooks.services import MAX_PER_TEAM
from tests.factories import make_run, make_webhook
from tests.planner.api.support import Api, problem


def test_made_listed_tested_and_deleted(api: Api, user: User) -> None:
    made = api.post("/webhooks", {"url": "https://example.com/hook?key=1", "name": "Chat"})
    assert made.status_code == 201
    body = made.json()
    assert body["secret"].startswith("whsec_")
    assert body["events"] == list(Event.values)
    link = made["Location"]
    assert "secret" not in api.get(link).json()
    ping = api.post(f"{link}/ping", None)
    assert ping.status_code == 202
    assert api.get(ping["Location"]).json()["body"]["type"] == "ping"
    (listed,) = api.get("/webhooks").json()["items"]
    assert listed["last_delivery"]["id"] == ping.json()["id"]
    assert [row["event"] for row in api.get(f"{link}/deliveries").json()["items"]] == ["ping"]
    assert api.get("/webhooks?format=csv").content.decode().splitlines()[0].startswith("id,name,url,events,enabled")
    assert api.delete(link).status_code == 204
    problem(api.get(link), 404, "not-found")


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://example.com/", "https_needed"),
        ("https://169.254.169.254/latest", "private_address"),
        ("https://2130706433/", "private_address"),
        ("https://[::ffff:10.0.0.1]/", "private_address"),
        ("hello", "invalid_url"),
    ],
)
def test_an_address_that_may_not_be_called(api: Api, url: str, code: str) -> None:
    body = problem(api.post("/webhooks", {"url": url}), 422, "invalid-body")
    assert [(fault["code"], fault["pointer"]) for fault in body["errors"]] == [(code, "/url")]


def test_a_wrong_body_tells_every_fault(api: Api) -> None:
    body = problem(api.post("/webhooks", {"events": ["run.done", "x"], "colour": 1}), 422, "invalid-body")
    assert {fault["pointer"] for fault in body["errors"]} == {"/url", "/events/1", "/colour"}


@pytest.mark.parametrize("name", ["a\x00b", "a\x0bb", "a\nb"])
def test_its_name_is_one_line_that_prints(api: Api, name: str) -> None:
    """PostgreSQL stores no NUL, where SQLite does."""
    body = problem(api.post("/webhooks", {"url": "https://example.com/", "name": name}), 422, "invalid-body")
    assert [fault["pointer"] for fault in body["errors"]] == ["/name"]


def test_a_team_has_so_many(api: Api, user: User) -> None:
    for _ in range(MAX_PER_TEAM):
        make_webhook(user)
    body = problem(api.post("/webhooks", {"url": "https://example.com/"}), 422, "invalid-body")
    assert body["errors"][0]["code"] == "too_many"


def test_enabling(api: Api, user: User) -> None:
    hook, _ = make_webhook(user)
    Webhook.objects.update(disabled_at=hook.created_at, disabled_reason="Five", failures=5)
    assert api.get(f"/webhooks/{hook.pk}").json()["enabled"] is False
    again = api.post(f"/webhooks/{hook.pk}/enable", None).json()
    assert (again["enabled"], again["disabled_reason"], again["failures"]) == (True, "", 0)


def test_what_is_sent_is_what_the_document_says(user: User) -> None:
    make_webhook(user)
    run_cancel(run=make_run(user))
    announce_ended()
    sent = json.loads(Delivery.objects.get().body)
    event = RunEvent.model_validate(
        sent | {"data": {"run": sent["data"]["run"] | {"links": {"own": "", "report": None}}}}, strict=False
    )
    assert event.type == "run.cancelled"
    document = json.loads(OPENAPI_FILE.read_text())
    assert set(document["webhooks"]) == set(Event.values)
    assert set(event_schemas()) <= set(document["components"]["schemas"])


def test_a_list_asks_the_database_as_often_for_many_as_for_one(
    api: Api, user: User, django_assert_max_num_queries: object
) -> None:
    for _ in range(5):
        make_webhook(user)
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        assert len(api.get("/webhooks").json()["items"]) == 5
