import json
from html import escape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags

from planner.reports import names
from planner.runs.models import Run
from planner.teams.models import User
from tests.factories import make_run, make_scenario
from tests.planner.reports.example import SECTIONS, example, infeasible_example
from tests.planner.web.support import Office, make_office, signed_in

pytestmark = pytest.mark.django_db
FLEET = f"{example()['recommended']['gpus']} × H200"


@pytest.fixture
def office() -> Office:
    return make_office()


def set_report(run: Run, report: dict[str, object]) -> None:
    run.report = json.dumps(report)
    run.save()


def test_the_first_page_asks_the_question(client: Client) -> None:
    page = client.get("/").content.decode()
    assert "How many GPUs, and is it cheaper than the API?" in page
    assert "Llama-3.3-70B-Instruct" in page
    assert "Groq" in page
    assert "meta-llama/" not in page
    assert "H200-SXM-141GB" not in page
    assert "Sign in" in page


def test_the_first_page_of_a_new_team_offers_the_sample(user: User) -> None:
    client = signed_in(user)
    assert "Run the sample" in client.get("/").content.decode()
    response = client.post("/sample/")
    assert response["Location"] == f"/runs/{Run.objects.get().pk}/"


def test_the_first_page_of_a_team_shows_its_report_and_its_list(office: Office) -> None:
    page = signed_in(office.owner).get("/").content.decode()
    assert escape(example()["verdict"]["sentence"]) in strip_tags(page)
    assert "Small chat" in page


def test_a_list_shows_verdict_cost_and_state(office: Office) -> None:
    make_scenario(office.owner, name="Never run")
    page = signed_in(office.owner).get("/scenarios/").content.decode()
    assert FLEET in page
    assert "not run" in page


def test_lists_ask_the_database_as_often_for_many_as_for_few(office: Office) -> None:
    client = signed_in(office.owner)
    client.get("/scenarios/")
    with CaptureQueriesContext(
        connection,
    ) as few:
        client.get("/scenarios/")
    for number in range(8):
        make_scenario(office.owner, name=f"Scenario {number}")
    with CaptureQueriesContext(connection) as many:
        client.get("/scenarios/")
    assert len(many) == len(few)


def test_the_report_has_every_section_and_every_chart_its_table(office: Office) -> None:
    page = signed_in(office.owner).get(f"/reports/{office.done.pk}/").content.decode()
    for title in SECTIONS:
        assert title in page
    assert page.count('class="chart"') == page.count("<summary>Data table") == 8
    assert " style=" not in page
    assert "onclick" not in page


def test_the_report_without_a_fleet_says_why(office: Office) -> None:
    set_report(office.done, infeasible_example())
    page = signed_in(office.owner).get(f"/reports/{office.done.pk}/").content.decode()
    assert "Why nothing meets the targets" in page
    assert "Nearest change" in page
    assert "Recommended fleet" not in page


def test_text_from_users_is_escaped(office: Office) -> None:
    report = example() | {"name": "<script>alert(1)</script>"}
    report["api"][0]["note"] = "</script><img src=x>"
    set_report(office.done, report)
    page = signed_in(office.owner).get(f"/reports/{office.done.pk}/").content.decode()
    assert "<script>alert(1)" not in page
    assert "<img" not in page


def test_the_json_is_byte_for_byte_what_was_stored(office: Office) -> None:
    response = signed_in(office.owner).get(f"/reports/{office.done.pk}/report.json")
    assert response.content == office.done.report.encode()
    assert response["Content-Type"] == "application/json"
    assert response["Content-Disposition"] == 'attachment; filename="small-chat.json"'


def test_a_run_that_is_not_done_has_no_report_yet(office: Office) -> None:
    client = signed_in(office.owner)
    assert client.get(f"/reports/{office.queued.pk}/")["Location"] == f"/runs/{office.queued.pk}/"
    assert client.get(f"/reports/{office.queued.pk}/report.json").status_code == 404


def test_running_again_returns_the_report_that_answers_the_same_question(office: Office) -> None:
    response = signed_in(office.editor).post(f"/scenarios/{office.scenario.pk}/run/")
    assert response["Location"] == f"/runs/{office.done.pk}/"


def test_a_scenario_lists_its_versions_and_runs(office: Office) -> None:
    page = signed_in(office.owner).get(f"/scenarios/{office.scenario.pk}/").content.decode()
    assert "Versions" in page
    assert f"/runs/{office.done.pk}/" in page


@pytest.mark.parametrize(
    ("kind", "title", "held"),
    [
        ("accelerators", "Accelerators", "H100-SXM5-80GB"),
        ("models", "Models", "Llama-3.3-70B-Instruct"),
        ("gpu-prices", "GPU rental prices", names.gpu("H100-SXM5-80GB")),
        ("api-prices", "API prices", "genai-prices"),
    ],
)
def test_each_list_of_the_catalog_has_sources_dates_and_ages(office: Office, kind: str, title: str, held: str) -> None:
    page = signed_in(office.owner).get("/catalog/", {"list": kind}).content.decode()
    assert f"{title}</h2>" in page
    assert held in page
    for head in ("Source", "Date", "Age"):
        assert f">{head}<" in page


def test_the_catalog_searches_hosted_models(office: Office) -> None:
    page = signed_in(office.owner).get("/catalog/", {"list": "api-prices", "q": "groq versatile"}).content.decode()
    assert "llama-3.3-70b-versatile" in page


@pytest.mark.parametrize("path", ["/nothing/", "/reports/not-a-uuid/", "/runs/00000000-0000-0000-0000-000000000000/"])
def test_missing_pages_look_like_the_others(office: Office, path: str) -> None:
    response = signed_in(office.owner).get(path)
    assert response.status_code == 404
    assert "Not found" in response.content.decode()
    assert "tokens.css" in response.content.decode()


def test_a_broken_page_looks_like_the_others(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planner.web.views.reports.report_view", lambda *_: 1 / 0)
    client = signed_in(office.owner)
    client.raise_request_exception = False
    response = client.get(f"/reports/{office.done.pk}/")
    assert response.status_code == 500
    assert "This page failed" in response.content.decode()


def test_a_form_without_its_token_is_refused_in_words(office: Office) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(office.owner)
    response = client.post(f"/runs/{office.queued.pk}/cancel/")
    assert response.status_code == 403
    assert "This form has expired" in response.content.decode()


def test_every_page_forbids_foreign_and_inline_code(office: Office) -> None:
    client = signed_in(office.owner)
    for path in ("/", "/scenarios/new/", f"/reports/{office.done.pk}/"):
        policy = client.get(path)["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy


def test_the_theme_is_set_before_the_first_paint(client: Client) -> None:
    client.cookies["theme"] = "dark"
    assert '<html lang="en" data-theme="dark">' in client.get("/").content.decode()
    client.cookies["theme"] = '"><script>'
    assert "<script>" not in client.get("/").content.decode().split("<head>")[0]


def test_a_run_without_a_saved_scenario_has_a_page_too(user: User) -> None:
    run = make_run(user)
    assert signed_in(user).get(f"/runs/{run.pk}/").status_code == 200
