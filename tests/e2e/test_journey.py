"""From the first page through the form to a report, as someone new would go."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from planner import planning
from planner.runs.models import Run
from planner.runs.tasks import execute_run
from planner.web import run_view
from planner.web.views import runs
from tests.e2e.conftest import Visitor
from tests.factories import PASSWORD, make_run, make_user

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def sign_in(visitor: Visitor, email: str, path: str) -> None:
    visitor.go(path)
    visitor.page.get_by_label("E-mail").fill(email)
    visitor.page.get_by_label("Password").fill(PASSWORD)
    visitor.page.locator("main").get_by_role("button", name="Sign in").click()
    visitor.settle()


def describe_small_load(page: Any) -> None:
    """A model that one GPU serves, a low steady rate, fixed lengths: a plan of a second or two."""
    page.get_by_label("Name of the scenario").fill("Journey")
    page.get_by_label("Model", exact=True).fill("meta-llama/Llama-3.1-8B-Instruct")
    page.get_by_text("A rate").click()
    page.get_by_label("Mean over the week").fill("2")
    for label in ("Prompt tokens", "Output tokens"):
        page.get_by_label(f"{label}, described by").select_option("fixed")
    page.get_by_label("Prompt tokens, every request").fill("200")
    page.get_by_label("Output tokens, every request").fill("50")
    page.get_by_role("checkbox", name="H200 SXM 141 GB").uncheck()


def test_from_the_first_page_to_a_report(visit: Any) -> None:
    make_user("newcomer@example.com")
    visitor = visit()
    page = visitor.page
    visitor.go("/")
    assert page.get_by_role("heading", level=1).inner_text().startswith("How many GPUs")
    page.get_by_role("link", name="Summarisation").click()
    assert "/sign-in/?next=/scenarios/new/%3Ffrom%3Dsummarisation" in page.url
    sign_in(visitor, "newcomer@example.com", "/scenarios/new/")
    describe_small_load(page)

    page.get_by_label("TPOT p95").fill("0.05")
    page.get_by_role("button", name="Save and run").click()
    summary = page.locator(".summary-errors")
    summary.wait_for()
    page.wait_for_function("document.activeElement.classList.contains('summary-errors')")
    assert "TPOT p95" in summary.inner_text()
    assert page.get_by_label("Name of the scenario").input_value() == "Journey"
    page.get_by_role("button", name="Use 50").click()
    page.get_by_text("Everything is in range now").wait_for()
    assert page.get_by_label("TPOT p95").input_value() == "50"

    page.get_by_role("button", name="Save and run").click()
    page.wait_for_url("**/runs/**")
    page.get_by_role("heading", level=1).wait_for()
    run = Run.objects.get()
    execute_run(str(run.pk))
    page.wait_for_url("**/reports/**", timeout=60_000)
    visitor.settle()
    run.refresh_from_db()
    report = json.loads(run.report)
    assert page.get_by_role("heading", level=1).inner_text().replace("\xa0", " ") == report["verdict"]["sentence"]
    assert page.locator("[data-option] svg").count() == page.locator("[data-option]").count() >= 5

    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").first.click()
    saved = download.value.path().read_bytes()
    assert saved == planning.report_bytes(planning.plan(planning.parse_scenario(run.body)))


def test_the_form_works_without_scripts(visit: Any) -> None:
    make_user("plain@example.com")
    visitor = visit(scripts=False)
    page = visitor.page
    sign_in(visitor, "plain@example.com", "/scenarios/new/")
    page.get_by_text("A rate").click()
    assert page.get_by_label("Mean over the week").is_visible()
    assert not page.get_by_label("Recorded requests").is_visible()
    describe_small_load(page)
    page.get_by_label("TTFT p95").fill("1")
    page.get_by_role("button", name="Save and run").click()
    page.wait_for_load_state()
    assert page.locator(".summary-errors").is_visible()
    assert page.get_by_label("Name of the scenario").input_value() == "Journey"
    page.get_by_role("button", name="Use 1000").click()
    page.wait_for_load_state()
    page.get_by_role("button", name="Save and run").click()
    page.wait_for_url("**/runs/**")
    assert Run.objects.count() == 1


def test_a_trace_with_a_bad_file_then_a_good_one(visit: Any, tmp_path: Path) -> None:
    make_user("trace@example.com")
    (tmp_path / "picture.csv").write_bytes(b"\x89PNG\x00\x00\x00")
    rows = "".join(f"{at},{100 + at},20\n" for at in range(120))
    (tmp_path / "traffic.csv").write_text(f"timestamp,prompt_tokens,output_tokens\n{rows}")
    visitor = visit()
    page = visitor.page
    sign_in(visitor, "trace@example.com", "/scenarios/new/?from=trace")
    page.get_by_label("Name of the scenario").fill("Replay")
    page.get_by_text("Draft saved").wait_for()
    page.get_by_role("link", name="Upload a trace").click()

    page.get_by_label("File of requests").set_input_files(tmp_path / "picture.csv")
    page.get_by_role("button", name="Look at it").click()
    page.locator(".summary-errors", has_text="not text").wait_for()
    page.wait_for_function("document.activeElement.classList.contains('summary-errors')")
    page.get_by_label("File of requests").set_input_files(tmp_path / "traffic.csv")
    page.get_by_role("button", name="Look at it").click()
    page.get_by_label("seconds: 119 s in all").check()
    page.get_by_role("button", name="Read it again").click()
    page.get_by_text("120 of 120").wait_for()
    page.get_by_role("button", name="Keep this trace").click()
    page.wait_for_url("**/scenarios/new/**")
    assert page.get_by_label("Name of the scenario").input_value() == "Replay"
    assert page.get_by_label("Recorded requests").locator("option:checked").inner_text() == "traffic.csv, 120 requests"
    page.locator("#estimate .big").wait_for()
    page.get_by_role("button", name="Save and run").click()
    page.wait_for_url("**/runs/**")


TYPED_BEFORE_AN_OLDER_ANSWER = """() => {
  const name = document.querySelector("#scenario-form [name=name]");
  name.value = "Typed before an older answer";
  name.dispatchEvent(new Event("input", { bubbles: true }));
  const xhr = { status: 200, getResponseHeader: () => null };
  const detail = { elt: document.getElementById("estimate"), successful: true, xhr };
  document.dispatchEvent(new CustomEvent("htmx:afterRequest", { detail }));
  location.reload();
}"""


def test_a_draft_survives_reload_the_end_of_the_session_and_a_new_sign_in(visit: Any) -> None:
    make_user("draft@example.com")
    visitor = visit()
    page = visitor.page
    name = page.get_by_label("Name of the scenario")
    sign_in(visitor, "draft@example.com", "/scenarios/new/")
    name.fill("Typed and gone at once")
    page.reload()
    visitor.settle()
    assert name.input_value() == "Typed and gone at once"
    page.get_by_text("Draft saved").wait_for()
    with page.expect_navigation():
        page.evaluate(TYPED_BEFORE_AN_OLDER_ANSWER)
    visitor.settle()
    assert name.input_value() == "Typed before an older answer"
    page.get_by_text("Draft saved").wait_for()
    page.get_by_label("TTFT p95").fill("1234")
    page.wait_for_url("**/scenarios/new/?draft=*")

    page.context.clear_cookies(name="staircase_session")
    name.fill("Typed after the session")
    page.get_by_text("You were signed out.").wait_for()
    page.locator("#signed-out").get_by_role("link", name="Sign in").click()
    page.get_by_label("E-mail").fill("draft@example.com")
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()
    visitor.settle()
    assert name.input_value() == "Typed after the session"
    assert page.get_by_label("TTFT p95").input_value() == "1234"


def test_what_one_person_typed_is_not_shown_to_the_next_on_the_same_computer(visit: Any) -> None:
    make_user("first@example.com")
    make_user("second@example.com")
    visitor = visit()
    page = visitor.page
    sign_in(visitor, "first@example.com", "/scenarios/new/")
    page.context.clear_cookies(name="staircase_session")
    page.get_by_label("Name of the scenario").fill("Secret of the first")
    page.get_by_text("You were signed out.").wait_for()
    sign_in(visitor, "second@example.com", "/scenarios/new/")
    assert page.get_by_label("Name of the scenario").input_value() == "New scenario"
    page.locator("#estimate .big").wait_for()
    assert "Secret" not in page.evaluate("JSON.stringify(sessionStorage) + JSON.stringify(localStorage)")


def test_the_estimate_follows_typing_and_suggestions(visit: Any) -> None:
    make_user("estimate@example.com")
    visitor = visit()
    page = visitor.page
    sign_in(visitor, "estimate@example.com", "/scenarios/new/?from=users")
    estimate = page.locator("#estimate")
    estimate.locator(".big").wait_for()
    before = estimate.locator(".big").inner_text()
    page.get_by_label("Users", exact=True).and_(page.get_by_role("textbox")).fill("100000")
    page.locator("#chain-active", has_text="8,000").wait_for()
    assert estimate.locator(".big").inner_text() != before
    page.get_by_label("TPOT p95").fill("0.05")
    estimate.get_by_text("1 field is put right").wait_for()
    estimate.get_by_role("link", name="TPOT p95").click()
    assert page.evaluate("document.activeElement.id") == "slo-tpot_p95_ms"


def test_a_run_can_be_cancelled(visit: Any) -> None:
    make_user("cancel@example.com")
    visitor = visit()
    page = visitor.page
    sign_in(visitor, "cancel@example.com", "/scenarios/new/")
    describe_small_load(page)
    page.get_by_role("button", name="Save and run").click()
    page.wait_for_url("**/runs/**")
    page.get_by_role("button", name="Cancel run").click()
    page.get_by_text("No candidate was finished.").wait_for()
    assert Run.objects.get().state == "cancelled"


def test_a_run_says_that_no_worker_answers_and_goes_on_when_one_does(
    visit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(make_user("down@example.com"))
    monkeypatch.setattr(run_view, "PATIENCE", timedelta(0))
    monkeypatch.setattr(runs, "worker_answers", lambda: False)
    visitor = visit()
    page = visitor.page
    sign_in(visitor, "down@example.com", f"/runs/{run.pk}/")
    page.get_by_text("No worker answers.").wait_for()
    monkeypatch.setattr(runs, "worker_answers", lambda: True)
    page.get_by_text("Waiting for a free worker.").wait_for()
    page.get_by_role("button", name="Cancel run").focus()
    with page.expect_response("**/progress/"):
        pass
    assert page.evaluate("document.activeElement.id") == "cancel-run"
    execute_run(str(run.pk))
    page.wait_for_url("**/reports/**", timeout=60_000)
