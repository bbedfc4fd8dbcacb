"""Webhooks on the team's page: the secret is shown once, tests are sent, pauses hold, viewers see nothing of them."""

import re

import pytest

from planner.teams.audit import audit_events_of
from planner.web.views.webhooks import MOST_PINGS_PER_MINUTE
from planner.webhooks.models import Delivery, DeliveryState, Webhook
from planner.webhooks.services import PAUSED, event_record
from tests.factories import team_of
from tests.planner.web.support import WEBHOOK_URL, Office, make_office, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def office() -> Office:
    return make_office()


def test_the_secret_of_a_new_webhook_is_shown_once(office: Office) -> None:
    client = signed_in(office.editor)
    sent = {"url": "https://builds.example/done", "name": "Builds", "wanted": "done"}
    page = client.post("/team/webhooks/", sent).content.decode()
    secret = re.search(r"whsec_[\w+/=]+", page)
    assert secret
    assert secret[0] not in client.get("/team/").content.decode()
    assert Webhook.objects.get(name="Builds").events == ["run.done"]


@pytest.mark.parametrize(
    "url", ["http://receiver.example/", "https://127.0.0.1/", "", "https://receiver.example/" + "x" * 600]
)
def test_an_address_that_may_not_be_called_is_said_beside_its_field(office: Office, url: str) -> None:
    response = signed_in(office.editor).post("/team/webhooks/", {"url": url, "wanted": "all"})
    assert response.status_code == 422
    assert 'href="#webhook-url"' in response.content.decode()
    assert Webhook.objects.count() == 1


def test_a_test_shows_as_the_last_call_and_is_bounded(office: Office) -> None:
    client, address = signed_in(office.editor), f"/team/webhooks/{office.webhook.pk}/ping/"
    for _ in range(MOST_PINGS_PER_MINUTE + 1):
        assert client.post(address)["Location"].endswith("/team/#webhooks")
    assert Delivery.objects.count() == MOST_PINGS_PER_MINUTE
    page = client.get("/team/").content.decode()
    assert "ping pending" in page
    assert "Too many tests" in page
    Delivery.objects.update(error="The host's name has no address.", duration_ms=0)
    page = client.get("/team/").content.decode()
    assert "ping is tried again" in page
    assert "in 0 ms" not in page


def test_a_paused_webhook_is_told_nothing_until_it_is_on_again(office: Office) -> None:
    client, hook = signed_in(office.editor), office.webhook
    told = {"team_id": hook.team_id, "event": "run.done", "data": dict}
    (waiting,) = event_record(**told)
    client.post(f"/team/webhooks/{hook.pk}/pause/")
    assert event_record(**told) == []
    waiting.refresh_from_db()
    assert waiting.state == DeliveryState.FAILED
    assert PAUSED in client.get("/team/").content.decode()
    client.post(f"/team/webhooks/{hook.pk}/enable/")
    assert len(event_record(**told)) == 1
    client.post(f"/team/webhooks/{hook.pk}/delete/")
    assert not Webhook.objects.exists()
    actions = [row.action for row in audit_events_of(team_of(office.owner))[:3]]
    assert actions == ["webhook.deleted", "webhook.enabled", "webhook.paused"]


def test_a_viewer_does_not_see_addresses_which_may_hold_secrets(office: Office) -> None:
    assert WEBHOOK_URL in signed_in(office.editor).get("/team/").content.decode()
    assert "of-the-receiver" not in signed_in(office.viewer).get("/team/").content.decode()
