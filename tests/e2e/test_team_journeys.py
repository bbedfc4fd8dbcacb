"""A team at work on one scenario: two editors at once, a report for someone outside, versions side by side."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from planner.reports.models import ShareLink
from planner.scenarios.models import Scenario
from planner.scenarios.services import scenario_edit
from planner.teams.models import User
from tests.e2e.test_pages import enter, violations
from tests.e2e.world import World, build_world
from tests.factories import parsed_scenario

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def world(db: None) -> World:
    return build_world()


def scenario_of(world: World) -> Scenario:
    assert world.done.scenario_version is not None
    return world.done.scenario_version.scenario


def test_the_second_editor_is_told_sees_the_differences_and_loses_nothing(
    visit: Any, client: Any, world: World, artifacts: Any
) -> None:
    scenario = scenario_of(world)
    visitor = visit(1280)
    page = visitor.page
    enter(visitor, client, world)
    visitor.go(f"/scenarios/{scenario.pk}/edit/")
    page.get_by_label("TTFT p95").fill("650")
    page.get_by_label("What changed").fill("what Ada thinks")

    grace = User.objects.get(name="Grace")
    parsed = parsed_scenario(name=scenario.name, seed=9)
    scenario_edit(scenario=scenario, user=grace, parsed=parsed, base_number=2, note="Grace was faster")
    page.get_by_role("button", name="Save as a new version").click()

    page.get_by_text("Grace saved version 3 while you were editing").wait_for()
    page.wait_for_function("document.activeElement.matches('[data-focus]')")
    table = page.locator(".conflict table")
    assert "650" in table.inner_text()
    assert "Version 3, by Grace" in table.inner_text()
    assert page.get_by_label("TTFT p95").input_value() == "650"
    assert page.get_by_label("What changed").input_value() == "what Ada thinks"
    assert violations(visitor) == []
    page.screenshot(path=str(artifacts / "conflict-1280-light.png"))
    assert scenario.versions.count() == 3

    page.get_by_role("button", name="Save mine as version 4").click()
    page.wait_for_url("**/runs/**")
    newest = scenario.versions.latest("number")
    assert (newest.number, newest.note) == (4, "what Ada thinks")
    assert newest.document["slo"]["ttft_p95_ms"] == 650


def test_the_second_editor_can_keep_a_copy(visit: Any, client: Any, world: World) -> None:
    scenario = scenario_of(world)
    visitor = visit(390, scripts=False)
    enter(visitor, client, world)
    visitor.go(f"/scenarios/{scenario.pk}/edit/")
    visitor.page.get_by_label("TTFT p95").fill("650")
    parsed = parsed_scenario(name=scenario.name, seed=9)
    scenario_edit(scenario=scenario, user=world.user, parsed=parsed, base_number=2)
    visitor.page.get_by_role("button", name="Save as a new version").click()
    visitor.page.get_by_role("button", name="Save mine as a copy").click()
    visitor.page.wait_for_url("**/runs/**")
    assert scenario.versions.count() == 3
    copy = Scenario.objects.get(name=f"{scenario.name} (copy)")
    assert copy.versions.get().document["slo"]["ttft_p95_ms"] == 650


def test_a_share_link_opens_for_a_stranger_and_ends(visit: Any, client: Any, world: World) -> None:
    member = visit(1280)
    enter(member, client, world)
    member.go(f"/reports/{world.done.pk}/")
    member.page.get_by_role("link", name="Share").click()
    member.page.get_by_label("Whom it is for").fill("An auditor")
    member.page.get_by_role("button", name="Make the link").click()
    address = member.page.locator("#address").inner_text()
    path = address.removeprefix(member.base)
    assert re.fullmatch(r"/shared/[\w-]{43}/", path)

    stranger = visit(1280)
    assert stranger.go(path).status == 200
    page = stranger.page
    assert page.locator("[data-option] svg").count() == page.locator("[data-option]").count() >= 5
    assert page.locator("nav[aria-label=Main]").count() == 0
    assert "Ada" not in page.content()
    assert page.evaluate("document.querySelector('meta[name=robots]').content") == "noindex, nofollow"

    ShareLink.objects.filter(name="An auditor").update(expires_at=timezone.now() - timedelta(seconds=1))
    assert stranger.go(path).status == 404
    page.get_by_text("This link shows nothing").wait_for()

    member.go(f"/reports/{world.done.pk}/share/")
    assert "expired" in member.page.locator("tr", has_text="An auditor").inner_text()
    member.page.get_by_role("button", name="Revoke the link for The board").click()
    member.settle()
    assert stranger.go(f"/shared/{world.share_secret}/").status == 404


def test_versions_ticked_on_a_page_stand_side_by_side(visit: Any, client: Any, world: World) -> None:
    scenario = scenario_of(world)
    visitor = visit(1280)
    page = visitor.page
    enter(visitor, client, world)
    visitor.go("/scenarios/")
    page.get_by_label("Compare Azure conversation hour").check()
    page.get_by_label("Compare Contract review").check()
    page.get_by_role("button", name="Compare those ticked").click()
    visitor.settle()
    assert "Contract review" in page.get_by_role("heading", level=1).inner_text()

    visitor.go(f"/scenarios/{scenario.pk}/")
    for number in (1, 2):
        page.get_by_label(f"Compare version {number}", exact=True).check()
    page.get_by_role("button", name="Compare those ticked").click()
    visitor.settle()
    inputs = page.locator("section", has=page.get_by_role("heading", name="Inputs that differ"))
    assert "TTFT p95" in inputs.inner_text()
    assert "800" in inputs.inner_text()
