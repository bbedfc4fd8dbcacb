import json
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from planner.runs.models import Run, State
from planner.web.views import runs
from tests.factories import make_run, make_scenario, make_user
from tests.planner.reports.example import example
from tests.planner.web.support import Office, make_office, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def office() -> Office:
    return make_office()


def under_way(run: Run, **columns: object) -> Run:
    now = timezone.now()
    columns = {
        "state": State.RUNNING,
        "progress_ratio": 0.5,
        "stage": "Sizing H100, 4 of 8",
        "partial": example()["candidates"][:3],
        "started_at": now - timedelta(seconds=20),
        "lease_until": now + timedelta(seconds=30),
    } | columns
    Run.objects.filter(pk=run.pk).update(**columns)
    return run


def page_of(office: Office, run: Run, part: str = "") -> str:
    return signed_in(office.editor).get(f"/runs/{run.pk}/{part}").content.decode()


def test_a_run_under_way_shows_its_candidates_and_asks_again(office: Office) -> None:
    page = page_of(office, under_way(office.queued))
    assert 'hx-trigger="every 1s"' in page
    assert "Sizing H100, 4 of 8" in page
    assert "H100\N{NO-BREAK SPACE}SXM5" in page
    assert "Cancel run" in page


def test_the_time_left_is_told_by_the_time_so_far(office: Office) -> None:
    page = page_of(office, under_way(office.queued))
    assert "Time left" in page
    assert "≈ 20 " in page.replace("\N{NO-BREAK SPACE}", " ")
    page = page_of(office, under_way(office.queued, progress_ratio=0.01))
    assert "Time left" not in page


def test_what_is_said_changes_with_candidates_and_not_with_seconds(office: Office) -> None:
    run = under_way(office.queued)
    said = page_of(office, run, "progress/").split('data-said="')[1].split('"')[0]
    assert said.startswith("3 candidates done.")
    later = under_way(run, started_at=timezone.now() - timedelta(seconds=40), progress_ratio=0.6)
    assert said in page_of(office, later, "progress/")


def test_a_run_that_ends_says_so_and_names_its_report(office: Office) -> None:
    client = signed_in(office.owner)
    assert client.get(f"/runs/{office.done.pk}/")["Location"] == f"/reports/{office.done.pk}/"
    part = page_of(office, office.done, "progress/")
    assert f'data-report="/reports/{office.done.pk}/"' in part
    assert "Open the report" in part
    assert "every 1s" not in part


@pytest.mark.parametrize(("answers", "said"), [(False, "No worker answers"), (True, "Waiting for a free worker")])
def test_a_wait_is_explained(office: Office, monkeypatch: pytest.MonkeyPatch, answers: bool, said: str) -> None:
    monkeypatch.setattr(runs, "worker_answers", lambda: answers)
    Run.objects.filter(pk=office.queued.pk).update(created_at=timezone.now() - timedelta(minutes=1))
    assert said in page_of(office, office.queued)


def test_a_waiting_run_knows_its_place_and_what_is_usual(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "worker_answers", lambda: True)
    make_run(make_user())
    under_way(make_run(make_user(), seed=3))
    now = timezone.now()
    Run.objects.filter(pk=office.queued.pk).update(created_at=now - timedelta(seconds=30))
    Run.objects.filter(state=State.QUEUED).exclude(pk=office.queued.pk).update(created_at=now - timedelta(hours=1))
    Run.objects.filter(pk=office.done.pk).update(started_at=now - timedelta(seconds=12), finished_at=now)
    page = page_of(office, office.queued)
    assert "2 runs are before this one" in page
    assert "your last runs took 12 to 12 s" in page


def test_a_worker_that_went_silent_is_named(office: Office) -> None:
    run = under_way(office.queued, lease_until=timezone.now() - timedelta(seconds=5), attempts=2)
    page = page_of(office, run)
    assert "went silent" in page
    assert "attempt 2" in page


def test_cancelling_stops_a_queued_run_at_once(office: Office) -> None:
    client = signed_in(office.editor)
    assert client.post(f"/runs/{office.queued.pk}/cancel/").status_code == 302
    page = client.get(f"/runs/{office.queued.pk}/").content.decode()
    assert "Cancelled" in page
    assert "every 1s" not in page


def test_a_failed_run_says_why(office: Office) -> None:
    run = office.queued
    run.state, run.failure = State.FAILED, {"code": "internal_error", "detail": "Something went wrong inside."}
    run.save()
    assert "Something went wrong inside." in page_of(office, run)


def test_asking_again_and_again_is_light(office: Office) -> None:
    run = under_way(office.queued)
    client = signed_in(office.editor)
    client.get(f"/runs/{run.pk}/progress/")
    with CaptureQueriesContext(connection) as asked:
        client.get(f"/runs/{run.pk}/progress/")
    text = " ".join(query["sql"] for query in asked.captured_queries)
    assert len(asked) <= 5
    assert '"runs_run"."report"' not in text
    assert '"runs_run"."body"' not in text


def test_a_list_follows_a_run_and_is_asked_for_anew_when_it_ends(office: Office) -> None:
    run = under_way(office.queued, scenario_version=make_scenario(office.owner, name="Under way"))
    client = signed_in(office.editor)
    assert f'hx-get="/runs/{run.pk}/line/" hx-trigger="every 3s"' in client.get("/scenarios/").content.decode()
    assert "Sizing H100, 4 of 8" in client.get(f"/runs/{run.pk}/line/").content.decode()
    assert client.get(f"/runs/{office.done.pk}/line/")["HX-Refresh"] == "true"


def test_a_list_shows_how_old_prices_are(office: Office) -> None:
    report = example()
    report["provenance"]["priced_at"] = (timezone.now().date() - timedelta(days=96)).isoformat()
    Run.objects.filter(pk=office.done.pk).update(report=json.dumps(report))
    assert "96 days old" in signed_in(office.viewer).get("/scenarios/").content.decode()
