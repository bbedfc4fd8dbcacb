"""What a team does with saved scenarios on their pages: search, tags, archive, comments, copies, reruns, conflicts."""

import itertools
import json
from datetime import UTC, date, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from planner.runs.models import Run
from planner.scenarios.models import Comment, Scenario
from planner.scenarios.services import scenario_edit
from planner.scenarios.upkeep import comment_add, scenario_tag
from planner.teams.models import Role
from tests.factories import make_scenario, make_user, parsed_scenario, team_of
from tests.planner.reports.example import example
from tests.planner.web.support import Office, form_data, make_office, signed_in

pytestmark = pytest.mark.django_db
_seconds = itertools.count()


@pytest.fixture
def office(monkeypatch: pytest.MonkeyPatch) -> Office:
    """Its day is one that the catalog has prices for, whenever the tests run."""
    noon = datetime(2026, 11, 30, 12, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: noon + timedelta(seconds=next(_seconds)))
    return make_office()


def test_the_list_is_searched_filtered_and_ordered(office: Office) -> None:
    other = make_scenario(office.owner, name="Nightly batch").scenario
    scenario_tag(scenario=other, user=office.owner, names=["eu"])
    client = signed_in(office.viewer)
    for query in ("q=nightly", "tag=eu", "q=batch&order=name"):
        page = client.get(f"/scenarios/?{query}").content.decode()
        assert "Nightly batch" in page, query
        assert "Small chat" not in page, query
    assert "Nothing found" in client.get("/scenarios/?q=absent%00").content.decode()
    by_name = client.get("/scenarios/?order=name").content.decode()
    assert by_name.index("Nightly batch") < by_name.index("Small chat")
    assert client.get("/scenarios/?order=drop+table&page=x").status_code == 200


def test_pages_of_a_list_keep_what_was_asked(office: Office) -> None:
    for number in range(27):
        make_scenario(office.owner, name=f"Chat {number}")
    page = signed_in(office.viewer).get("/scenarios/?q=chat&order=name").content.decode()
    assert "/scenarios/?q=chat&amp;order=name&amp;page=2" in page


def test_tags_cost_the_list_no_query_each(office: Office) -> None:
    client = signed_in(office.viewer)
    counts = []
    for more in (1, 8):
        for number in range(more):
            scenario = make_scenario(office.owner, name=f"S{more}{number}").scenario
            scenario_tag(scenario=scenario, user=office.owner, names=["eu", f"t{number}"])
        client.get("/scenarios/")
        with CaptureQueriesContext(connection) as captured:
            client.get("/scenarios/")
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_a_page_of_many_versions_and_comments_takes_no_more_queries(office: Office) -> None:
    client = signed_in(office.viewer)
    address = f"/scenarios/{office.scenario.pk}/"
    counts = []
    for number in range(1, 7):
        client.get(address)
        with CaptureQueriesContext(connection) as captured:
            client.get(address)
        counts.append(len(captured))
        parsed = parsed_scenario(seed=number + 1)
        scenario_edit(scenario=office.scenario, user=office.editor, parsed=parsed, base_number=number)
        comment_add(scenario=office.scenario, user=office.editor, text=f"Comment {number}")
    assert counts[-1] <= counts[0]


def test_an_editor_tags_archives_and_brings_back(office: Office) -> None:
    client, address = signed_in(office.editor), f"/scenarios/{office.scenario.pk}/"
    client.post(f"{address}tags/", {"tags": "EU, Budget 2027"})
    assert "budget 2027" in client.get(address).content.decode()
    assert "is no tag" in client.post(f"{address}tags/", {"tags": "x" * 41}, follow=True).content.decode()
    client.post(f"{address}archive/")
    assert "Small chat" not in client.get("/scenarios/").content.decode()
    assert "Small chat" in client.get("/scenarios/?archived=1").content.decode()
    assert "Archived on" in client.get(address).content.decode()
    client.post(f"{address}archive/", {"back": "1"})
    assert "Small chat" in client.get("/scenarios/").content.decode()


def test_comments_are_plain_text_and_deleted_by_their_authors(office: Office) -> None:
    client, address = signed_in(office.editor), f"/scenarios/{office.scenario.pk}/"
    response = client.post(f"{address}comments/", {"text": "<script>alert(1)</script>\nsecond line"})
    assert response["Location"].endswith("#comments")
    page = client.get(address).content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;<br>second line" in page
    assert client.post(f"{address}comments/{office.comment.pk}/delete/").status_code == 403
    mine = Comment.objects.get(created_by=office.editor)
    client.post(f"{address}comments/{mine.pk}/delete/")
    assert list(Comment.objects.all()) == [office.comment]


def test_a_copy_goes_where_the_visitor_may_write(office: Office) -> None:
    client, address = signed_in(office.editor), f"/scenarios/{office.scenario.pk}/copy/"
    client.post(address)
    assert Scenario.objects.filter(team=office.scenario.team, name="Small chat (copy)").count() == 1
    there = team_of(make_user())
    assert client.post(address, {"to": str(there.pk)}).status_code == 404
    there.memberships.create(user=office.editor, role=Role.VIEWER)
    assert client.post(address, {"to": str(there.pk)}).status_code == 403
    there.memberships.update(role=Role.EDITOR)
    client.post(address, {"to": str(there.pk)})
    assert Scenario.objects.get(team=there).name == "Small chat"
    assert client.post(address, {"to": "nonsense"}).status_code == 404


def test_a_version_runs_again_exactly_or_on_todays_prices(office: Office) -> None:
    client, address = signed_in(office.editor), f"/scenarios/{office.scenario.pk}/run/"
    assert client.post(address)["Location"] == f"/runs/{office.done.pk}/"
    Run.objects.filter(pk=office.done.pk).update(priced_at=date(2026, 11, 1))
    client.post(address, {"number": "1", "prices": "today"})
    newest = Run.objects.order_by("created_at").last()
    assert newest is not None
    assert newest.priced_at == timezone.now().date()
    assert json.loads(newest.body)["priced_at"] == timezone.now().date().isoformat()
    for number in ("9", "x", "-1", "99999999999999999999"):
        assert client.post(address, {"number": number}).status_code == 404


def test_a_version_that_the_catalog_no_longer_knows_says_so(office: Office) -> None:
    body = json.loads(office.scenario.versions.get().body)
    body["model"]["id"] = "gone/with-the-wind"
    office.scenario.versions.update(body=json.dumps(body))
    page = signed_in(office.editor).post(f"/scenarios/{office.scenario.pk}/run/", follow=True).content.decode()
    assert "cannot be run any more" in page


def test_moved_prices_are_told_with_their_numbers(office: Office) -> None:
    report = example()
    for row in report["candidates"]:
        if row["gpu"] == report["recommended"]["gpu"]:
            row["usd_per_gpu_hour"] /= 1.2
    office.done.report = json.dumps(report)
    office.done.save()
    client = signed_in(office.editor)
    for address in (f"/reports/{office.done.pk}/", f"/scenarios/{office.scenario.pk}/"):
        page = client.get(address).content.decode()
        assert "+20 % since 2026-11-30" in page, address
        assert "Run on today’s prices" in page, address
    assert "Run on today" not in signed_in(office.viewer).get(f"/reports/{office.done.pk}/").content.decode()


def test_the_second_editor_sees_the_differences_and_saves_on_top_or_as_a_copy(office: Office) -> None:
    client, address = signed_in(office.editor), f"/scenarios/{office.scenario.pk}/edit/"
    scenario_edit(
        scenario=office.scenario, user=office.owner, parsed=parsed_scenario(seed=7), base_number=1, note="their note"
    )
    mine = form_data(slo__ttft_p95_ms="750") | {"base_number": "1", "note": "my note"}
    response = client.post(address, mine)
    page = response.content.decode()
    assert response.status_code == 409
    for text in (office.owner.email, "their note", "my note", "Version 1, where you began", "Seed", "750", "1,000"):
        assert text in page, text
    assert office.scenario.versions.count() == 2
    client.post(address, mine | {"save": "copy"})
    copy = Scenario.objects.get(name="Small chat (copy)")
    assert copy.versions.get().document["slo"]["ttft_p95_ms"] == 750
    assert office.scenario.versions.count() == 2
    client.post(address, mine | {"base_number": "2", "save": "top"})
    assert office.scenario.versions.count() == 3
