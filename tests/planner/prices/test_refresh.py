"""A price list read, its difference approved or not, and what then rests on which prices."""

import json
import threading
from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from planner import planning
from planner.planning.price_feeds import Feed
from planner.prices import in_force, scheduled
from planner.prices.fetching import fetch
from planner.prices.models import FeedFetch, PriceRefresh, RefreshState
from planner.prices.services import RefreshRefused, refresh_approve, refresh_read, refresh_reject
from planner.runs.execution import execute
from planner.runs.leases import claim
from planner.runs.models import Run
from tests.factories import make_run, make_user
from tests.price_lists import api_list, skypilot

DAY = date(2026, 11, 30)
AWS = Feed("skypilot", "aws")
LIST = skypilot("p5.48xlarge,H100,8,192,2048,us-east-1,20.0,48.0,us-east-1a,", "g6.xlarge,L4,1,4,16,us-east-1,,9.0,,")

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _looking(settings: Any) -> Iterator[None]:
    settings.PRICES_LOOK_S = 0.0
    in_force.forget()
    yield
    in_force.forget()


def read(data: bytes = LIST, feed: Feed = AWS) -> PriceRefresh:
    return refresh_read(data=data, feed=feed, source="vms.csv", as_of=DAY)


def h100_usd_per_gpu_hour() -> list[Any]:
    with in_force.prices_in_force():
        rows = planning.catalog_listing("gpu-prices", DAY)
    return [
        row["usd_per_gpu_hour"]
        for row in rows
        if (row["gpu"], row["provider"], row["instance"]) == ("H100-SXM5-80GB", "aws", "p5.48xlarge")
    ]


def test_nothing_is_in_force_before_it_is_approved() -> None:
    waiting = read()
    assert waiting.state == RefreshState.WAITING
    assert h100_usd_per_gpu_hour() == [6.88]
    approved = refresh_approve(refresh=waiting, user=make_user())
    assert h100_usd_per_gpu_hour() == [6.0]
    assert in_force.book_in_force().digest == approved.book_after


def test_what_needs_a_look_stays_out_unless_it_is_asked_for() -> None:
    waiting = read()
    flagged = {change["name"] for change in waiting.changes if change["flag"]}
    assert "L4" in flagged  # from $0.80 to $9 an hour
    kept = refresh_approve(refresh=waiting, user=None).kept
    assert {row["gpu"] for row in kept} == {"H100-SXM5-80GB"}
    assert not {"L4", "H100-SXM5-80GB"} & {c["name"] for c in waiting.changes if c["kind"] == "gone" and not c["flag"]}


def test_a_decision_is_made_once_and_on_what_was_shown() -> None:
    first, other = read(), refresh_read(data=LIST, feed=Feed("skypilot", "oci"), source="x", as_of=DAY)
    refresh_approve(refresh=first, user=None)
    with pytest.raises(RefreshRefused, match="approved already"):
        refresh_approve(refresh=first, user=None)
    with pytest.raises(RefreshRefused, match="read the list again"):
        refresh_approve(refresh=other, user=None)
    assert refresh_reject(refresh=other, user=None).state == RefreshState.REJECTED
    assert h100_usd_per_gpu_hour() == [6.0]


def test_the_same_list_read_again_waits_once_and_a_newer_one_takes_its_place() -> None:
    first = read()
    assert read().pk == first.pk
    second = read(skypilot("p5.48xlarge,H100,8,192,2048,us-east-1,20.0,50.0,us-east-1a,"))
    assert list(PriceRefresh.objects.values_list("pk", flat=True)) == [second.pk]


def test_api_prices_keep_what_needs_a_look() -> None:
    model = "llama-3.3-70b-versatile"
    data = api_list(
        ("groq", model, {"input_mtok": 99, "output_mtok": 99}), ("groq", "new-one", {"input_mtok": 1, "output_mtok": 2})
    )
    waiting = refresh_read(data=data, feed=Feed("genai-prices", ""), source="data.json", as_of=DAY)
    refresh_approve(refresh=waiting, user=None)
    with in_force.prices_in_force():
        rows = {(r["provider"], r["model"]): r for r in planning.catalog_listing("api-prices", DAY)}
    assert rows["groq", model]["input_usd_per_mtok"] < 1
    assert rows["groq", "new-one"]["input_usd_per_mtok"] == 1
    assert rows["groq", "new-one"]["source"] == "genai-prices data.json (MIT)"


@pytest.mark.parametrize("day", [date(2019, 1, 1), date(2999, 1, 1)])
def test_a_list_is_not_from_the_future(day: date) -> None:
    with pytest.raises(RefreshRefused):
        refresh_read(data=LIST, feed=AWS, source="vms.csv", as_of=day)


def test_a_run_keeps_the_prices_that_it_was_asked_of(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[str] = []

    def plan(*_: Any, **__: Any) -> dict[str, Any]:
        used.append(planning.result_version())
        return {}

    monkeypatch.setattr(planning, "plan", plan)
    monkeypatch.setattr("planner.runs.execution.Renewal.__enter__", lambda self: self)
    monkeypatch.setattr("planner.runs.execution.Renewal.__exit__", lambda *_: None)
    monkeypatch.setattr("planner.runs.execution.ProgressWriter", lambda *_: None)
    user = make_user()
    before = make_run(user)
    refresh_approve(refresh=read(), user=None)
    with in_force.prices_in_force():
        after = make_run(user)
    assert before.pk != after.pk
    in_force.forget()  # as in another process
    for run in (before, after):
        lease = claim(run.pk)
        assert lease is not None
        execute(lease)
    assert used == [before.result_version, after.result_version]
    assert before.result_version != after.result_version
    assert Run.objects.get(pk=before.pk).state == "done"


def test_pages_and_cells_answer_with_approved_prices(client: Client) -> None:
    client.force_login(make_user())
    address = "/catalog/?list=gpu-prices&q=p5.48xlarge"
    before = client.get(address).content
    refresh_approve(refresh=read(), user=None)
    in_force.look_again()
    assert client.get(address).content != before


def test_a_database_that_is_away_leaves_the_prices_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    refresh_approve(refresh=read(), user=None)
    known = in_force.book_in_force()

    def away() -> str:
        raise OperationalError

    monkeypatch.setattr(in_force, "_newest_digest", away)
    assert in_force.book_in_force() is known


def command(*arguments: str) -> str:
    out = StringIO()
    call_command("prices", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_reads_shows_approves_and_rejects(tmp_path: Path) -> None:
    file = tmp_path / "vms.csv"
    file.write_bytes(LIST)
    shown = command("read", "skypilot:aws", str(file), "--as-of", f"{DAY}")
    assert "6.88 -> 6 (-12.8%)" in shown
    assert "LOOK: it moves by more than 1.5 ×" in shown
    row = PriceRefresh.objects.get()
    assert json.loads(command("show", f"{row.pk}", "--json"))["changes"] == row.changes
    assert f"{row.pk}  waiting" in command("list")
    assert "approved" in command("approve", f"{row.pk}")
    assert h100_usd_per_gpu_hour() == [6.0]
    again = command("read", "skypilot:aws", str(file), "--as-of", f"{DAY}", "--approve")
    assert "waiting" in again  # only what needs a look is left
    assert "rejected" in command("reject", again.split()[0])


@pytest.mark.parametrize(
    "arguments",
    [
        ["read", "skypilot:aws"],
        ["read", "nothing", "file"],
        ["read", "skypilot:aws", "/nowhere/vms.csv", "--as-of", "2026-11-30"],
        ["read", "skypilot:aws", __file__],
        ["read", "skypilot:aws", __file__, "--as-of", "2026-11-30"],
        ["approve", "not-an-id"],
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str]) -> None:
    with pytest.raises(CommandError) as wrong:
        command(*arguments)
    assert wrong.value.returncode == 2


FEEDS = ["skypilot:aws=https://lists.example/vms.csv"]


def test_the_schedule_asks_once_in_so_many_hours_and_only_when_switched_on(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr("planner.celery.app.send_task", lambda name, args, **_: sent.append((name, args)))
    settings.PRICE_FEEDS = FEEDS
    scheduled.wake_due_fetches()
    assert sent == []
    settings.PRICE_REFRESH_HOURS = 24
    scheduled.wake_due_fetches()
    scheduled.wake_due_fetches()
    assert sent == [("planner.prices.fetch", ["skypilot:aws"])]


def test_a_scheduled_list_waits_for_approval(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PRICE_FEEDS = FEEDS
    FeedFetch.objects.create(feed="skypilot:aws", tried_at="2026-11-30T00:00Z")
    monkeypatch.setattr(scheduled, "fetch", lambda feed, private: LIST)
    found = scheduled.fetch_scheduled("skypilot:aws")
    assert found is not None
    assert (found.state, found.source) == (RefreshState.WAITING, "skypilot:aws vms.csv")
    assert h100_usd_per_gpu_hour() == [6.88]
    assert "changes" in FeedFetch.objects.get().outcome


def test_a_list_that_cannot_be_had_leaves_a_note(settings: Any) -> None:
    settings.PRICE_FEEDS = ["skypilot:aws=http://127.0.0.1:9/vms.csv"]
    FeedFetch.objects.create(feed="skypilot:aws", tried_at="2026-11-30T00:00Z")
    assert scheduled.fetch_scheduled("skypilot:aws") is None
    assert "must be https" in FeedFetch.objects.get().outcome


@pytest.mark.parametrize(
    "address", ["https://127.0.0.1/vms.csv", "https://[::1]/x", "https://169.254.169.254/x", "ftp://x"]
)
def test_lists_come_from_public_hosts_only(address: str) -> None:
    with pytest.raises(planning.FeedInvalid):
        fetch(Feed("skypilot", "aws", address))


class _Server(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302 if self.path == "/moved" else 200)
        self.end_headers()
        self.wfile.write(LIST)

    def log_message(self, *_: Any) -> None:
        pass


def test_a_list_is_fetched_where_the_operator_allows_private_hosts_and_no_redirect_is_followed() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        at = f"http://127.0.0.1:{server.server_port}"
        assert fetch(Feed("skypilot", "aws", f"{at}/vms.csv"), private=True) == LIST
        with pytest.raises(planning.FeedInvalid, match="302"):
            fetch(Feed("skypilot", "aws", f"{at}/moved"), private=True)
        server.shutdown()
