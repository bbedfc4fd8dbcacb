"""A team at work: a colleague is invited, joins and edits; a viewer cannot; another team sees nothing."""

from typing import Any

import pytest

from planner.teams.models import Role
from tests.e2e.test_journey import sign_in
from tests.e2e.test_pages import violations
from tests.factories import PASSWORD, add_member, make_scenario, make_user, team_of

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_a_colleague_is_invited_joins_and_edits(visit: Any) -> None:
    owner = make_user("owner@example.com", name="Olga")
    scenario = make_scenario(owner).scenario
    mine, theirs = visit(), visit()
    sign_in(mine, owner.email, "/team/")
    mine.page.get_by_label("Role", exact=True).select_option("editor")
    mine.page.get_by_label("Only for").fill("bob@example.com")
    mine.page.get_by_role("button", name="Make an invitation").click()
    mine.page.wait_for_function("document.activeElement.classList.contains('made')")
    address = mine.page.locator("#made-text").inner_text()
    assert violations(mine) == []

    theirs.go(address.removeprefix(theirs.base))
    theirs.page.get_by_label("Your name").fill("Bob")
    theirs.page.get_by_label("Password").fill(PASSWORD)
    theirs.page.get_by_role("button", name="Make the account and join").click()
    theirs.page.get_by_role("link", name=scenario.name).first.wait_for()
    theirs.go(f"/scenarios/{scenario.pk}/edit/")
    theirs.page.get_by_label("Name of the scenario").fill("Bob's idea")
    theirs.page.get_by_role("button", name="Save as a new version and run").first.click()
    theirs.page.wait_for_url("**/runs/**")
    assert scenario.versions.latest("number").created_by.email == "bob@example.com"

    mine.go("/team/")
    assert "member joined" in mine.page.locator("#changes").inner_text()
    assert "Bob" in mine.page.locator("#members").inner_text()


def test_a_viewer_cannot_edit_and_another_team_finds_nothing(visit: Any) -> None:
    owner, stranger = make_user(), make_user()
    viewer = add_member(team_of(owner), Role.VIEWER)
    scenario = make_scenario(owner).scenario
    watching = visit()
    sign_in(watching, viewer.email, f"/scenarios/{scenario.pk}/")
    assert watching.page.get_by_role("heading", level=1).inner_text() == scenario.name
    assert not watching.page.get_by_role("link", name="Edit").count()
    watching.go("/team/")
    assert not watching.page.get_by_role("button", name="Make an invitation").count()
    elsewhere = visit()
    sign_in(elsewhere, stranger.email, "/team/")
    assert elsewhere.go(f"/scenarios/{scenario.pk}/").status == 404
