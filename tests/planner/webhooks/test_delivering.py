"""Events reach receivers once or say why not: signatures, pauses, giving up, disabling."""

import base64
import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from planner.api.views.service import MANUAL_FILE
from planner.runs.announcing import announce_ended
from planner.runs.models import Run, State
from planner.runs.services import run_cancel
from planner.teams.models import User
from planner.webhooks import delivering
from planner.webhooks.models import Delivery, DeliveryState, Webhook
from planner.webhooks.services import webhook_enable, webhook_ping
from tests.factories import make_run, make_user, make_webhook
from tests.planner.reports.example import example
from tests.planner.webhooks.conftest import Receiver


@pytest.fixture(autouse=True)
def _private(settings: Any) -> None:
    settings.WEBHOOK_PRIVATE_TARGETS = True


@pytest.fixture
def woken(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    sent: list[Any] = []
    monkeypatch.setattr(delivering, "wake", lambda pk: sent.append(pk) or True)
    return sent


def documented_check() -> Any:
    """The function that docs/api.md gives to receivers."""
    manual = MANUAL_FILE.read_text()
    (source,) = re.findall(r"```python\n(import base64.*?)```", manual, re.DOTALL)
    names: dict[str, Any] = {}
    exec(source, names)
    return names["is_genuine"]


def end(run: Run, state: State = State.DONE) -> None:
    report = json.dumps(example()) if state == State.DONE else ""
    Run.objects.filter(pk=run.pk).update(state=state, report=report, finished_at=timezone.now())


def attempt(row: Delivery) -> Delivery:
    delivering.attempt(row.pk)
    return Delivery.objects.get(pk=row.pk)


def test_an_ended_run_is_told_once_and_signed(user: User, receiver: Receiver) -> None:
    hook, secret = make_webhook(user, receiver.url)
    run = make_run(user)
    assert announce_ended() == 0
    end(run)
    assert announce_ended() == 1
    assert announce_ended() == 0
    row = attempt(Delivery.objects.get(webhook=hook))
    assert (row.state, row.status, row.error, row.attempts) == (DeliveryState.DELIVERED, 204, "", 1)
    _, headers, body = receiver.got[0]
    event = json.loads(body)
    assert (event["type"], event["id"]) == ("run.done", headers["webhook-id"])
    assert event["data"]["run"]["verdict"]["sentence"] == example()["verdict"]["sentence"]
    assert event["data"]["run"]["id"] == str(run.pk)
    sample = documented_check()
    given = {name.title(): value for name, value in headers.items()}
    assert sample(given, body, secret)
    assert not sample(given, body + b" ", secret)
    assert not sample(given | {"Webhook-Timestamp": str(int(given["Webhook-Timestamp"]) - 1)}, body, secret)
    assert not sample(given, body, secret, at_most_s=-1)
    delivering.attempt(row.pk)
    assert len(receiver.got) == 1


def test_each_way_to_end_is_an_event(user: User) -> None:
    make_webhook(user, "https://example.com/")
    run_cancel(run=make_run(user))
    other = make_run(user, name="Other", seed=2)
    end(other, State.FAILED)
    Run.objects.filter(pk=other.pk).update(failure={"code": "time_limit", "detail": "Too long."})
    announce_ended()
    told = {row.event: json.loads(row.body)["data"]["run"] for row in Delivery.objects.all()}
    assert set(told) == {"run.cancelled", "run.failed"}
    assert told["run.failed"]["failure"]["code"] == "time_limit"
    assert told["run.cancelled"]["verdict"] is None


def test_only_those_who_want_it_and_only_the_own_team(user: User) -> None:
    make_webhook(user, "https://example.com/", events=["run.failed"])
    make_webhook(make_user(), "https://example.com/")
    end(make_run(user))
    announce_ended()
    assert not Delivery.objects.exists()


def test_a_failure_is_tried_again_after_growing_pauses_with_the_same_id_and_bytes(
    user: User, receiver: Receiver, woken: list[Any]
) -> None:
    receiver.status = 503
    make_webhook(user, receiver.url)
    end(make_run(user))
    announce_ended()
    row = Delivery.objects.get()
    for number, pause_s in enumerate(delivering.PAUSES_S, start=1):
        row = attempt(row)
        assert (row.state, row.attempts, row.status) == (DeliveryState.PENDING, number, 503)
        assert (row.due_at - timezone.now()).total_seconds() == pytest.approx(pause_s, abs=5)
        woken.clear()
        delivering.wake_due()
        assert woken == []
        Delivery.objects.update(due_at=timezone.now() - timedelta(seconds=1))
        delivering.wake_due()
        delivering.wake_due()
        assert woken == [row.pk]
    row = attempt(row)
    assert (row.state, row.attempts) == (DeliveryState.FAILED, delivering.MAX_ATTEMPTS)
    assert Webhook.objects.get().failures == 1
    assert len({(headers["webhook-id"], body) for _, headers, body in receiver.got}) == 1
    assert len(receiver.got) == delivering.MAX_ATTEMPTS


def test_repeated_failure_disables_and_success_counts_anew(user: User, receiver: Receiver) -> None:
    hook, _ = make_webhook(user, receiver.url)
    receiver.status = 500

    def fail(seed: int) -> None:
        end(make_run(user, seed=seed))
        announce_ended()
        row = Delivery.objects.filter(state=DeliveryState.PENDING).get()
        Delivery.objects.filter(pk=row.pk).update(attempts=delivering.MAX_ATTEMPTS - 1)
        attempt(row)

    for seed in range(1, delivering.DISABLE_AFTER):
        fail(seed)
    assert Webhook.objects.get().disabled_at is None
    receiver.status = 204
    end(make_run(user, seed=50))
    announce_ended()
    attempt(Delivery.objects.get(state=DeliveryState.PENDING))
    assert Webhook.objects.get().failures == 0
    receiver.status = 500
    for seed in range(100, 100 + delivering.DISABLE_AFTER):
        fail(seed)
    hook.refresh_from_db()
    assert hook.disabled_at is not None
    assert "5 deliveries in a row" in hook.disabled_reason
    end(make_run(user, seed=200))
    announce_ended()
    assert not Delivery.objects.filter(state=DeliveryState.PENDING).exists()
    assert webhook_enable(webhook=hook).failures == 0


def test_gone_disables_at_once_and_ends_what_waits(user: User, receiver: Receiver) -> None:
    make_webhook(user, receiver.url)
    receiver.status = 410
    end(make_run(user))
    end(make_run(user, seed=2))
    announce_ended()
    first, second = Delivery.objects.order_by("created_at")
    attempt(first)
    second.refresh_from_db()
    assert (second.state, second.error) == (DeliveryState.FAILED, "The webhook was disabled.")
    assert "410" in Webhook.objects.get().disabled_reason


def test_a_ping_is_one_attempt_and_no_failure(user: User, receiver: Receiver) -> None:
    hook, _ = make_webhook(user, receiver.url)
    receiver.status = 500
    row = attempt(webhook_ping(webhook=hook))
    assert (row.state, row.attempts, row.error) == (DeliveryState.FAILED, 1, "The receiver answered 500.")
    assert Webhook.objects.get().failures == 0


def test_a_private_address_is_not_called_once_the_operator_says_no(
    user: User, receiver: Receiver, settings: Any
) -> None:
    hook, _ = make_webhook(user, receiver.url.replace("http:", "https:"))
    settings.WEBHOOK_PRIVATE_TARGETS = False
    row = attempt(webhook_ping(webhook=hook))
    assert row.state == DeliveryState.FAILED
    assert "not public" in row.error
    assert receiver.got == []


def test_another_secret_key_is_told_and_signs_nothing(user: User, receiver: Receiver, settings: Any) -> None:
    hook, _ = make_webhook(user, receiver.url)
    settings.SECRET_KEY = "another"
    row = attempt(webhook_ping(webhook=hook))
    assert "SECRET_KEY" in row.error
    assert receiver.got == []


def test_the_secret_is_nowhere_in_the_row(user: User) -> None:
    hook, secret = make_webhook(user)
    stored = " ".join(str(value) for value in Webhook.objects.filter(pk=hook.pk).values().get().values())
    assert secret.removeprefix("whsec_") not in stored
    assert base64.b64decode(secret.removeprefix("whsec_")).hex() not in stored


def test_a_lost_worker_costs_an_attempt_and_no_delivery(user: User, receiver: Receiver, woken: list[Any]) -> None:
    make_webhook(user, receiver.url)
    end(make_run(user))
    announce_ended()
    row = Delivery.objects.get()
    assert delivering._claim(row.pk, "lost")
    assert attempt(row).state == DeliveryState.PENDING
    past = timezone.now() - timedelta(seconds=1)
    Delivery.objects.update(lease_until=past, due_at=past)
    delivering.wake_due()
    assert woken == [row.pk]
    assert attempt(row).state == DeliveryState.DELIVERED
