"""The operator's pages: what is stuck, price lists that wait, limits of teams and what they do."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from planner.planning.price_feeds import Feed
from planner.prices.models import PriceRefresh, RefreshState
from planner.prices.services import refresh_read
from planner.reports.share_links import share_link_create
from planner.runs.limits import LimitReached, delete_outlived
from planner.runs.models import Run, State, TeamLimits
from planner.teams.models import AuditEvent, User
from tests.factories import make_run, make_user, team_of
from tests.planner.web.support import signed_in
from tests.price_lists import skypilot

pytestmark = pytest.mark.django_db
OLD = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = ("p5.48xlarge,H100,8,192,2048,us-east-1,20.0,48.0,us-east-1a,", "g6.xlarge,L4,1,4,16,us-east-1,,9.0,,")


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.web.views.operations.worker_answers", lambda: False)


@pytest.fixture
def operator() -> Client:
    return signed_in(make_user("root@example.com", is_staff=True))


@pytest.fixture
def ada() -> User:
    return make_user("ada@example.com")


def text(client: Client, address: str = "/operations/") -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_stuck_runs_are_shown_without_what_they_are_about_and_can_be_cancelled(operator: Client, ada: User) -> None:
    fresh, waits = make_run(ada, name="Fresh"), make_run(ada, name="Secret plans", seed=2)
    Run.objects.filter(pk=waits.pk).update(created_at=OLD)
    shown = text(operator)
    assert f"{waits.pk}" in shown
    assert f"{fresh.pk}" not in shown
    assert "Secret plans" not in shown
    operator.post(f"/operations/runs/{waits.pk}/cancel/")
    waits.refresh_from_db()
    assert waits.state == State.CANCELLED
    assert AuditEvent.objects.get(action="run.cancelled").actor_label == "root@example.com"


@pytest.mark.parametrize(
    ("what", "state", "kept"),
    [("approve", "approved", 1), ("approve-flagged", "approved", None), ("reject", "rejected", 0)],
)
def test_a_price_list_is_decided_on_its_page(operator: Client, what: str, state: str, kept: int | None) -> None:
    row = refresh_read(data=skypilot(*ROWS), feed=Feed("skypilot", "aws"), source="vms.csv", as_of=date(2026, 11, 30))
    address = f"/operations/prices/{row.pk}/"
    assert "it moves by more than" in text(operator, address)
    operator.post(f"{address}decide/", {"what": what})
    row.refresh_from_db()
    assert row.state == state
    assert len(row.kept) == (row.changes_count if kept is None else kept)
    again = operator.post(f"{address}decide/", {"what": "reject"}, follow=True).content.decode()
    assert f"it was {state} already" in again
    assert PriceRefresh.objects.get().state == RefreshState(state)


def test_a_team_at_its_limit_is_refused_in_words(operator: Client, ada: User) -> None:
    team = team_of(ada)
    operator.post(f"/operations/teams/{team.pk}/limits/", {"open_runs": "1", "stored_runs": "", "keep_days": "30"})
    limits = TeamLimits.objects.get(team=team)
    assert (limits.open_runs, limits.stored_runs, limits.keep_days) == (1, None, 30)
    assert AuditEvent.objects.get(action="team.limits_set").team == team
    make_run(ada)
    make_run(ada)  # the same question is the same run
    with pytest.raises(LimitReached, match="1 runs waiting"):
        make_run(ada, seed=2)
    assert (
        "Nothing was set"
        in operator.post(f"/operations/teams/{team.pk}/limits/", {"open_runs": "-1"}, follow=True).content.decode()
    )


def test_stored_runs_have_a_limit_of_all_teams(ada: User, settings: Any) -> None:
    settings.STORED_RUNS_PER_TEAM = 1
    make_run(ada)
    Run.objects.update(state=State.DONE)
    with pytest.raises(LimitReached, match="keeps 1 runs"):
        make_run(ada, seed=2)
    TeamLimits.objects.create(team=team_of(ada), stored_runs=0)
    make_run(ada, seed=2)


def test_the_api_says_so_too(ada: User, settings: Any) -> None:
    from tests.factories import make_token, scenario_dict

    settings.OPEN_RUNS_PER_TEAM = 1
    make_run(ada)
    headers = {"Authorization": f"Bearer {make_token(ada)[1]}"}
    answer = Client().post("/api/v1/runs", scenario_dict(seed=2), content_type="application/json", headers=headers)
    assert (answer.status_code, answer.json()["type"].rpartition("#")[2]) == (429, "too-many-requests")
    assert "as many as it may" in answer.json()["detail"]


def test_old_runs_go_and_what_is_still_needed_stays(ada: User, settings: Any) -> None:
    settings.KEEP_RUNS_DAYS = 30
    gone, shared, failed, recent, queued = (make_run(ada, seed=seed) for seed in range(1, 6))
    old = Run.objects.filter(pk__in=[gone.pk, shared.pk, failed.pk])
    old.update(state=State.DONE, finished_at=datetime.now(UTC) - timedelta(days=31))
    Run.objects.filter(pk=failed.pk).update(state=State.FAILED)
    Run.objects.filter(pk=recent.pk).update(state=State.DONE, finished_at=datetime.now(UTC) - timedelta(days=29))
    share_link_create(run=Run.objects.get(pk=shared.pk), user=ada, name="The board")
    assert delete_outlived() == 2
    assert set(Run.objects.values_list("pk", flat=True)) == {shared.pk, recent.pk, queued.pk}
    assert AuditEvent.objects.get(action="runs.outlived").details == {"runs": 2}
    assert delete_outlived() == 0


def test_nothing_goes_where_no_days_are_set(ada: User) -> None:
    make_run(ada)
    Run.objects.update(state=State.DONE, finished_at=OLD)
    assert delete_outlived() == 0
