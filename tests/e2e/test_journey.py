"""From the first page through the form to a report, as someone new would go."""

import json
from typing import Any

import pytest

from planner import planning
from planner.runs.models import Run
from planner.runs.tasks import execute_run
from tests.e2e.conftest import Visitor
from tests.factories import PASSWORD, make_user

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
    assert not page.get_by_label("Trace file", exact=True).is_visible()
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
