"""What /metrics says, to whom, and that dashboard and alerts name nothing else."""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from planner.core.request_counts import BOUNDS_S, METHODS
from planner.runs import leases, observed
from planner.runs.models import Run, State
from planner.teams.models import User
from planner.webhooks.models import Delivery
from tests.factories import make_run, make_webhook, team_of
from tests.processes import ROOT

pytestmark = pytest.mark.django_db
TOKEN = "t0ken-of-the-operator-and-nobody-else"
HISTOGRAM = "staircase_http_request_duration_seconds"
QUESTIONS = 6


@pytest.fixture(autouse=True)
def _counts_of_its_own(settings: Any, tmp_path: Path) -> None:
    settings.REQUEST_COUNTS_FILE = tmp_path / "requests.sqlite3"
    settings.METRICS_TOKEN = TOKEN


@pytest.fixture
def scrape(client: Client) -> Callable[[], dict[str, float]]:
    def read() -> dict[str, float]:
        response = client.get("/metrics", headers={"host": "localhost"})
        assert response.status_code == 200
        lines = [line for line in response.text.splitlines() if not line.startswith("#")]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    return read


# --- to whom ---


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("127.0.0.1", {}, 200),
        ("::1", {"host": "[::1]:8000"}, 200),
        ("127.0.0.1", {"x-forwarded-for": "203.0.113.9"}, 404),
        ("127.0.0.1", {"x-forwarded-proto": "https"}, 404),
        ("127.0.0.1", {"host": "staircase.example.com"}, 404),
        ("203.0.113.9", {}, 404),
        ("", {}, 404),
        ("203.0.113.9", {"authorization": f"Bearer {TOKEN}"}, 200),
        ("127.0.0.1", {"authorization": f"bearer {TOKEN}", "x-forwarded-for": "203.0.113.9"}, 200),
        ("203.0.113.9", {"authorization": f"Bearer {TOKEN}x"}, 404),
        ("203.0.113.9", {"authorization": "Bearer "}, 404),
        ("203.0.113.9", {"authorization": "Bearer \xe9"}, 404),
        ("203.0.113.9", {"authorization": f"Basic {TOKEN}"}, 404),
    ],
)
def test_only_the_operator_reads_it(
    client: Client, settings: Any, address: str, headers: dict[str, str], status: int
) -> None:
    settings.ALLOWED_HOSTS = ["localhost", "[::1]", "staircase.example.com"]
    response = client.get("/metrics", headers={"host": "localhost"} | headers, REMOTE_ADDR=address)
    assert response.status_code == status
    assert ("staircase_" in response.text) == (status == 200)


def test_without_a_token_none_opens_it(client: Client, settings: Any) -> None:
    settings.METRICS_TOKEN = None
    for given in ("Bearer ", "Bearer None", f"Bearer {TOKEN}"):
        assert client.get("/metrics", headers={"authorization": given}, REMOTE_ADDR="203.0.113.9").status_code == 404


def test_it_only_reads() -> None:
    strict = Client(enforce_csrf_checks=True, headers={"host": "localhost"})
    assert strict.post("/metrics").status_code == 404
    assert strict.head("/metrics").status_code == 200


# --- what ---


def test_runs_and_webhooks_of_all_teams(user: User, scrape: Callable[[], dict[str, float]]) -> None:
    now = timezone.now()
    old, lost, done, failed = (make_run(user, seed=seed) for seed in range(4))
    Run.objects.filter(pk=old.pk).update(created_at=now - timedelta(seconds=90))
    assert leases.claim(lost.pk)
    Run.objects.filter(pk=lost.pk).update(attempts=3, lease_until=now - timedelta(seconds=5))
    Run.objects.filter(pk=done.pk).update(
        state=State.DONE, attempts=1, started_at=now - timedelta(seconds=4), finished_at=now
    )
    Run.objects.filter(pk=failed.pk).update(state=State.FAILED, attempts=2, finished_at=now - timedelta(hours=2))
    webhook, _ = make_webhook(user)
    for state in ("pending", "delivered"):
        Delivery.objects.create(
            webhook=webhook, event="ping", body="{}", state=state, due_at=now - timedelta(seconds=30)
        )
    found = scrape()
    assert {state: found[f'staircase_runs{{state="{state}"}}'] for state in State} == {
        "queued": 1, "running": 1, "done": 1, "failed": 1, "cancelled": 0,
    }  # fmt: skip
    assert 90 <= found["staircase_oldest_queued_run_age_seconds"] < 150
    assert found["staircase_run_attempts_beyond_first"] == 2 + 1
    assert found["staircase_runs_lease_expired"] == 1
    assert found['staircase_runs_ended_last_hour{outcome="done"}'] == 1
    assert found['staircase_runs_ended_last_hour{outcome="failed"}'] == 0
    assert found['staircase_runs_ended_last_hour_mean_seconds{outcome="done"}'] == pytest.approx(4)
    assert found["staircase_webhook_deliveries_waiting"] == 1
    assert 30 <= found["staircase_webhook_delivery_overdue_seconds"] < 90
    assert found["staircase_database_up"] == 1


def test_an_empty_service_waits_for_nothing(scrape: Callable[[], dict[str, float]]) -> None:
    found = scrape()
    assert found["staircase_oldest_queued_run_age_seconds"] == 0
    assert found["staircase_run_attempts_beyond_first"] == 0
    assert found["staircase_webhook_delivery_overdue_seconds"] == 0
    assert not any("mean_seconds" in name for name in found)  # a mean of nothing is unknown
    assert (
        0
        <= found["staircase_catalog_newest_gpu_price_age_days"]
        <= found["staircase_catalog_oldest_gpu_price_age_days"]
    )


def test_a_database_that_is_away_is_said(
    scrape: Callable[[], dict[str, float]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OperationalError("away")

    monkeypatch.setattr(observed, "_stored_runs", refuse)
    found = scrape()
    assert found["staircase_database_up"] == 0
    assert "staircase_runs_lease_expired" not in found
    assert "staircase_catalog_newest_gpu_price_age_days" in found


def test_requests_are_counted_by_route_and_never_by_what_they_name(
    client: Client, user: User, scrape: Callable[[], dict[str, float]]
) -> None:
    client.force_login(user)
    run = make_run(user)
    client.get(f"/runs/{run.pk}/")
    client.get(f"/runs/{uuid.uuid4()}/")
    client.get("/no/such/address-of-somebody")
    client.generic("BREW-someone", "/healthz")
    found = scrape()

    def counted(route: str, method: str, status: str) -> float:
        return found[f'{HISTOGRAM}_count{{route="{route}",method="{method}",status="{status}"}}']

    assert counted(route="run", method="GET", status="2xx") == 1
    assert counted(route="run", method="GET", status="4xx") == 1
    assert counted(route="none", method="GET", status="4xx") == 1
    assert counted(route="healthz", method="other", status="2xx") == 1
    text = client.get("/metrics", headers={"host": "localhost"}).text
    for told in (str(run.pk), str(team_of(user).pk), team_of(user).name, user.email, run.name, "somebody", "BREW"):
        assert told not in re.sub(r"^#.*$", "", text, flags=re.MULTILINE) or told.isdigit()
    labels = set(re.findall(r'(\w+)="', text))
    assert labels == {"state", "outcome", "route", "method", "status", "le"}
    assert set(re.findall(r'method="([^"]*)"', text)) <= METHODS | {"other"}


def test_buckets_are_cumulative(client: Client, scrape: Callable[[], dict[str, float]]) -> None:
    for _ in range(5):
        client.get("/healthz")
    found = scrape()
    series = [value for name, value in found.items() if name.startswith(f'{HISTOGRAM}_bucket{{route="healthz"')]
    assert len(series) == len(BOUNDS_S)
    assert series == sorted(series)
    assert series[-1] == 5 == found[f'{HISTOGRAM}_count{{route="healthz",method="GET",status="2xx"}}']
    assert found[f'{HISTOGRAM}_sum{{route="healthz",method="GET",status="2xx"}}'] > 0


def test_a_file_that_cannot_be_used_fails_no_request(client: Client, settings: Any, tmp_path: Path) -> None:
    (tmp_path / "in the way").write_text("")
    settings.REQUEST_COUNTS_FILE = tmp_path / "in the way" / "requests.sqlite3"
    assert client.get("/healthz").status_code == 200
    assert client.get("/metrics", headers={"host": "localhost"}).status_code == 200


# --- what it costs ---


def test_it_asks_few_questions_however_many_runs(user: User, scrape: Callable[[], dict[str, float]]) -> None:
    for seed in range(3):
        make_run(user, seed=seed)
    with CaptureQueriesContext(connection) as asked:
        scrape()
    assert len([q for q in asked.captured_queries if "runs_run" in q["sql"] or "webhooks" in q["sql"]]) == QUESTIONS
    assert len(asked) == QUESTIONS


@pytest.mark.skipif(connection.vendor != "sqlite", reason="reads SQLite's plans")
def test_each_question_reads_an_index_alone() -> None:
    """A row of a run holds its scenario and its report, so that reading rows takes a thousand times as long."""
    with CaptureQueriesContext(connection) as asked:
        observed.database_families()
    plans = []
    for question in asked.captured_queries:
        with connection.cursor() as cursor:
            cursor.execute(f"explain query plan {question['sql']}")
            plans.append(" / ".join(str(row[3]) for row in cursor.fetchall()))
    *of_runs, of_deliveries = plans
    assert len(plans) == QUESTIONS
    assert [plan for plan in of_runs if "COVERING INDEX" not in plan] == []
    assert [plan for plan in of_runs if "SCAN" in plan] == of_runs[:1]  # runs by state: each entry of the index counts
    assert "USING INDEX webhook_deliveries_due" in of_deliveries  # of those that wait


# --- who reads it ---


def names_in(expression: str) -> set[str]:
    return set(re.findall(r"\bstaircase_\w+", expression))


def expressions() -> Iterator[tuple[str, str]]:
    for panel in json.loads((ROOT / "deploy/grafana/staircase.json").read_text())["panels"]:
        yield from ((panel["title"], target["expr"]) for target in panel.get("targets", ()))
    rules = yaml.safe_load((ROOT / "deploy/prometheus/staircase-alerts.yml").read_text())
    yield from ((rule["alert"], rule["expr"]) for group in rules["groups"] for rule in group["rules"])


def test_dashboard_alerts_and_documents_name_only_what_is_exposed(client: Client) -> None:
    text = client.get("/metrics", headers={"host": "localhost"}).text
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    exposed = {name for name, kind in kinds.items() if kind != "histogram"}
    exposed |= {f"{HISTOGRAM}{suffix}" for suffix in ("_bucket", "_sum", "_count")}
    found = [*expressions()]
    assert len(found) > 25
    for where, expression in found:
        assert names_in(expression) <= exposed, where
        assert names_in(expression) or expression.startswith("up{"), where
    documented = names_in((ROOT / "docs/operations.md").read_text())
    assert documented == set(kinds)
    shown = set().union(*(names_in(expression) for _, expression in found))
    assert exposed <= shown  # nothing is exposed that nobody looks at


def test_every_alert_says_what_to_do() -> None:
    rules = yaml.safe_load((ROOT / "deploy/prometheus/staircase-alerts.yml").read_text())
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        assert {"summary", "description"} <= set(rule["annotations"])
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}


def test_panels_of_the_dashboard_do_not_lie_on_each_other() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in json.loads((ROOT / "deploy/grafana/staircase.json").read_text())["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
