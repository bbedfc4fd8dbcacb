"""What keeps pages quick with much stored: as many queries for many rows as for few, bounded pages, little weight."""

import gzip
import json
import re
import uuid
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from planner.reports.share_links import share_link_create
from planner.runs.models import Run, State
from planner.scenarios.models import ScenarioVersion
from planner.scenarios.upkeep import comment_add
from planner.teams.audit import audit_actions_of, audit_actors_of, record
from planner.teams.models import AuditEvent
from planner.teams.services import link_token_create, token_create
from planner.web.drafts import draft_save
from tests.factories import make_entry, make_scenario, make_trace, make_user, scenario_dict, team_of
from tests.planner.reports.example import example
from tests.planner.web.support import Office, form_data, make_office, signed_in

pytestmark = pytest.mark.django_db
MOST_PAGE_BYTES = 600_000


@pytest.fixture
def office() -> Office:
    return make_office()


def pages_of(office: Office) -> list[str]:
    scenario, run = f"/scenarios/{office.scenario.pk}/", office.done.pk
    lists = ["/", "/scenarios/", "/scenarios/?q=chat", "/scenarios/?order=name", "/traces/", "/team/", "/team/audit/"]
    lists += [
        "/team/audit/?action=run.started",
        "/catalog/",
        "/catalog/?list=api-prices",
        "/account/",
        "/lab/",
        "/traces/new/",
    ]
    of_scenario = [scenario, f"{scenario}?runs=1", f"{scenario}edit/", f"{scenario}diff/?from=1&to=1"]
    of_run = [f"/runs/{office.queued.pk}/", f"/runs/{run}/progress/", f"/reports/{run}/", f"/reports/{run}/sheet/"]
    others = ["/scenarios/new/", "/scenarios/new/?from=hand", f"/compare/?of={office.scenario.pk},run:{run}"]
    return [*lists, *of_scenario, *of_run, *others, f"/shared/{office.share_secret}/", f"/traces/{office.trace.pk}/"]


def queries(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200, path
    return len(captured)


def run_again(version: ScenarioVersion, times: int) -> None:
    """Finished runs of a version, each with a report."""
    Run.objects.bulk_create(
        Run(
            team=version.scenario.team,
            scenario_version=version,
            name="Again",
            body=version.body,
            digest=f"{number}",
            priced_at=version.priced_at,
            state=State.DONE,
            report=json.dumps(example()),
        )
        for number in range(times)
    )


def grow(office: Office) -> None:
    """More of everything that pages list."""
    owner, team = office.owner, team_of(office.owner)
    for number in range(6):
        run_again(make_scenario(owner, name=f"Chat {number}"), 2)
        comment_add(scenario=office.scenario, user=owner, text=f"Comment {number}")
        share_link_create(run=office.done, user=owner, name=f"Reader {number}")
        make_trace(owner, f"0,{30 + number},5\n2,30,6\n".encode())
        token_create(team=team, user=owner, scope="read", name=f"t{number}")
        link_token_create(team=team, user=owner, name=f"l{number}")
        draft_save(team=team, user=owner, draft_id=uuid.uuid4(), values=form_data(name=f"Draft {number}"))
        make_entry(owner, usd_per_gpu_hour=2 + number)
        record(team=team, actor=owner, action=f"thing.done_{number}")
    run_again(office.scenario.versions.get(), 20)


def _asked_again(client: Client, paths: list[str]) -> dict[str, int]:
    """Queries of each page that was seen before: what is kept until it changes is made at the first look."""
    for path in paths:
        client.get(path)
    return {path: queries(client, path) for path in paths}


def test_pages_ask_the_database_as_often_for_many_as_for_few(office: Office) -> None:
    make_scenario(office.owner, name="Second")
    run_again(make_scenario(office.owner, name="Third"), 2)
    client = signed_in(office.owner)
    paths = pages_of(office)
    few = _asked_again(client, paths)
    grow(office)
    many = _asked_again(client, paths)
    assert {path: count for path, count in many.items() if count > few[path]} == {}
    assert max(few.values()) <= 20


def test_a_scenario_shows_its_newest_runs_and_the_others_when_asked(office: Office) -> None:
    run_again(office.scenario.versions.get(), 11)
    client, address = signed_in(office.viewer), f"/scenarios/{office.scenario.pk}/"
    page = client.get(address).content.decode()
    assert "newest 5 of 12" in page
    assert page.count(", 20") < 10
    opened = client.get(f"{address}?runs=1").content.decode()
    assert str(office.done.pk) in opened
    assert "newest 5" not in opened
    assert client.get(f"{address}?runs=x").status_code == 200


def test_a_scenario_of_many_runs_shows_the_newest_in_its_row(office: Office) -> None:
    run_again(office.scenario.versions.get(), 3)
    newest = Run.objects.filter(scenario_version__scenario=office.scenario).latest("created_at")
    make_scenario(office.owner, name="Second")
    assert str(newest.pk) in signed_in(office.viewer).get("/scenarios/").content.decode()


def test_lists_are_found_by_an_index_and_never_sorted(office: Office) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's plan follows the number of rows")
    team = team_of(office.owner)
    for rows in (
        Run.objects.filter(team=team, state=State.FAILED).order_by("-created_at"),
        Run.objects.filter(team=team).order_by("-created_at"),
        Run.objects.filter(scenario_version__in=[1]).order_by("-created_at"),
        AuditEvent.objects.filter(team=team, action="a.b").order_by("-created_at"),
        AuditEvent.objects.filter(team=team, actor_label="a").order_by("-created_at"),
        AuditEvent.objects.filter(team=team, object_id="a").order_by("-created_at"),
    ):
        plan = rows.explain()
        assert "SCAN" not in plan
        assert "TEMP B-TREE" not in plan


def test_the_choices_of_the_audit_log_are_those_of_the_team(office: Office) -> None:
    team, stranger = team_of(office.owner), make_user()
    record(team=team_of(stranger), actor=stranger, action="other.team")
    record(team=team, actor=None, action="by.nobody")
    rows = list(AuditEvent.objects.filter(team=team))
    assert audit_actions_of(team) == sorted({row.action for row in rows})
    assert audit_actors_of(team) == sorted({row.actor_label for row in rows} - {""})


IMPORT = re.compile(r"""^\s*import\s[^"']*["'](\./[^"']+)["']""", re.MULTILINE)


def file_bytes(path: str) -> int:
    """Compressed, with the modules that it imports and the fonts of the frame."""
    found = finders.find(path)
    assert found, path
    data = Path(found).read_bytes()
    size = len(data) if path.endswith(".woff2") else len(gzip.compress(data, 6))
    if path.endswith(".js") and "vendor" not in path:
        size += sum(file_bytes(str(Path(path).parent / name)) for name in IMPORT.findall(data.decode()))
    return size


def weight(client: Client, path: str) -> tuple[int, str]:
    """Compressed bytes of a page with all that it links to, and its text."""
    page = client.get(path, headers={"accept-encoding": "gzip", "accept": "text/html"})
    assert page["Content-Encoding"] == "gzip", path
    assert "Accept-Encoding" in page["Vary"]
    text = gzip.decompress(page.content).decode()
    files = set(re.findall(r'(?:src|href)="/static/([^"#?]+)', text))
    return len(page.content) + sum(file_bytes(name) for name in files), text


def test_no_page_is_heavy_and_charts_are_loaded_only_where_shown(office: Office) -> None:
    client = signed_in(office.owner)
    weights = {}
    for path in [*pages_of(office), "/api/v1/docs"]:
        weights[path], text = weight(client, path)
        assert ("echarts" in text) == ("data-option=" in text), path
    weights["stranger"], _ = weight(Client(), "/")
    assert {path: size for path, size in weights.items() if size > MOST_PAGE_BYTES} == {}


def test_an_answer_of_the_api_keeps_its_bytes_and_its_strong_etag(office: Office) -> None:
    path = f"/api/v1/scenarios/{office.scenario.pk}"
    answer = signed_in(office.owner).get(path, headers={"accept-encoding": "gzip"})
    assert "Content-Encoding" not in answer
    assert answer["ETag"].startswith('"1.')
    assert answer.json()["scenario"]["name"] == scenario_dict()["name"]
