"""A team at work: a colleague is invited, joins and edits; a viewer cannot; another team sees nothing."""

from pathlib import Path
from typing import Any

import pytest

from planner.teams.models import Role
from tests.e2e.conftest import Visitor
from tests.e2e.test_journey import sign_in
from tests.e2e.test_pages import violations
from tests.factories import PASSWORD, add_member, make_entry, make_scenario, make_user, team_of

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


PAGES = {
    "team": "/team/",
    "audit": "/team/audit/",
    "catalog": "/catalog/?list=gpu-prices",
    "account": "/account/",
    "delete": "/team/delete/",
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_and_are_accessible(visit: Any, artifacts: Path, name: str) -> None:
    owner = make_user("ada@example.com", name="Ada")
    for role in (Role.EDITOR, Role.VIEWER):
        add_member(team_of(owner), role)
    make_entry(owner)
    for width, dark in ((1280, False), (390, True), (390, False), (1280, True)):
        visitor: Visitor = visit(width, dark=dark)
        sign_in(visitor, owner.email, PAGES[name])
        if name == "team":
            visitor.page.get_by_label("What it is for").fill("Nightly check")
            visitor.page.get_by_role("button", name="Make a token").click()
            visitor.settle()
        assert visitor.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        shade = "dark" if dark else "light"
        visitor.page.screenshot(path=artifacts / f"{name}-{width}-{shade}.png", full_page=name != "catalog")
        assert violations(visitor) == []
