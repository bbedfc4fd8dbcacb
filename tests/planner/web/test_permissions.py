"""Role × page as one case: strangers sign in, others see nothing, viewers read, editors do."""

from collections.abc import Callable

import pytest
from django.test import Client

from tests.factories import make_user
from tests.planner.web.support import Office, make_office, signed_in

pytestmark = pytest.mark.django_db

Address = Callable[[Office], str]
OF_A_TEAM: dict[str, Address] = {
    "scenario": lambda office: f"/scenarios/{office.scenario.pk}/",
    "run": lambda office: f"/runs/{office.queued.pk}/",
    "line": lambda office: f"/runs/{office.queued.pk}/line/",
    "progress": lambda office: f"/runs/{office.queued.pk}/progress/",
    "report": lambda office: f"/reports/{office.done.pk}/",
    "sheet": lambda office: f"/reports/{office.done.pk}/sheet/",
    "json": lambda office: f"/reports/{office.done.pk}/report.json",
    "trace": lambda office: f"/traces/{office.trace.pk}/",
    "workbook": lambda office: f"/reports/{office.done.pk}/report.xlsx",
    "csv": lambda office: f"/reports/{office.done.pk}/tables/candidates.csv",
    "what if": lambda office: f"/reports/{office.done.pk}/what-if/",
    "diff": lambda office: f"/scenarios/{office.scenario.pk}/diff/?from=1",
    "compare": lambda office: f"/compare/?of={office.scenario.pk},run:{office.queued.pk}",
    "share": lambda office: f"/reports/{office.done.pk}/share/",
}
FOR_EDITORS: dict[str, Address] = {
    "new": lambda office: "/scenarios/new/",
    "edit": lambda office: f"/scenarios/{office.scenario.pk}/edit/",
    "upload a trace": lambda office: "/traces/new/",
    "look at an upload": lambda office: f"/traces/uploads/{office.upload.pk}/",
}
POSTS: dict[str, Address] = {
    **FOR_EDITORS,
    "run again": lambda office: f"/scenarios/{office.scenario.pk}/run/",
    "run what if": lambda office: f"/reports/{office.done.pk}/what-if/run/",
    "cancel": lambda office: f"/runs/{office.queued.pk}/cancel/",
    "sample": lambda office: "/sample/",
    "add an entry": lambda office: "/catalog/entries/models/",
    "estimate": lambda office: "/scenarios/estimate/",
    "draft": lambda office: f"/scenarios/drafts/{office.draft.pk}/",
    "discard a draft": lambda office: f"/scenarios/drafts/{office.draft.pk}/discard/",
    "forget an upload": lambda office: f"/traces/uploads/{office.upload.pk}/forget/",
    "delete a trace": lambda office: f"/traces/{office.trace.pk}/delete/",
    "tags": lambda office: f"/scenarios/{office.scenario.pk}/tags/",
    "archive": lambda office: f"/scenarios/{office.scenario.pk}/archive/",
    "copy": lambda office: f"/scenarios/{office.scenario.pk}/copy/",
    "comment": lambda office: f"/scenarios/{office.scenario.pk}/comments/",
    "delete a comment": lambda office: f"/scenarios/{office.scenario.pk}/comments/{office.comment.pk}/delete/",
    "make a share link": lambda office: f"/reports/{office.done.pk}/share/",
    "revoke a share link": lambda office: f"/reports/{office.done.pk}/share/{office.share.pk}/revoke/",
}
LISTS: dict[str, Address] = {
    "scenarios": lambda office: "/scenarios/",
    "traces": lambda office: "/traces/",
    "catalog": lambda office: "/catalog/",
    "team": lambda office: "/team/",
    "audit": lambda office: "/team/audit/",
}
ONE_OF_A_TEAM: dict[str, Address] = {
    "role": lambda office: f"/team/members/{office.colleague.pk}/role/",
    "remove": lambda office: f"/team/members/{office.colleague.pk}/remove/",
    "password link": lambda office: f"/team/members/{office.colleague.pk}/password-link/",
    "revoke invitation": lambda office: f"/team/invitations/{office.invitation.pk}/revoke/",
    "revoke token": lambda office: f"/team/tokens/{office.token.pk}/revoke/",
}
OWNER_POSTS: dict[str, Address] = {
    **ONE_OF_A_TEAM,
    "team name": lambda office: "/team/name/",
    "defaults": lambda office: "/team/defaults/",
    "invite": lambda office: "/team/invitations/",
    "export": lambda office: "/team/export/",
    "delete": lambda office: "/team/delete/",
}
EDITOR_POSTS_OF_THE_TEAM: dict[str, Address] = {
    "forget an entry": lambda office: f"/catalog/entries/{office.entry.pk}/delete/",
    "revoke link token": lambda office: f"/team/link-tokens/{office.link_token.pk}/revoke/",
}
MEMBER_POSTS: dict[str, Address] = {
    "make token": lambda office: "/team/tokens/",
    "leave": lambda office: "/team/leave/",
}
OF_OTHERS = (
    "edit",
    "look at an upload",
    "run again",
    "run what if",
    "cancel",
    "draft",
    "forget an upload",
    "delete a trace",
    "tags",
    "archive",
    "copy",
    "comment",
    "delete a comment",
    "make a share link",
    "revoke a share link",
)

FOR_EVERYONE: dict[str, Address] = {"home": lambda office: "/", "lab": lambda office: "/lab/"}


@pytest.fixture
def office() -> Office:
    return make_office()


def cases(*groups: dict[str, Address]) -> pytest.MarkDecorator:
    addresses = {name: address for group in groups for name, address in group.items()}
    return pytest.mark.parametrize("address", addresses.values(), ids=addresses.keys())


@cases(OF_A_TEAM, FOR_EDITORS, LISTS)
def test_a_stranger_is_asked_to_sign_in(office: Office, address: Address) -> None:
    response = Client().get(address(office))
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in/?next=/")


@cases(OF_A_TEAM, FOR_EDITORS, LISTS)
def test_nobody_but_the_visitors_browser_keeps_a_page(office: Office, address: Address) -> None:
    """And the browser asks again before it shows one, which ends with signing out."""
    kept = signed_in(office.owner).get(address(office))["Cache-Control"]
    assert "private" in kept
    assert "no-cache" in kept or "no-store" in kept


@cases(POSTS, OWNER_POSTS, EDITOR_POSTS_OF_THE_TEAM, MEMBER_POSTS)
def test_a_stranger_can_send_nothing(office: Office, address: Address) -> None:
    response = Client().post(address(office))
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in/")


@cases(OF_A_TEAM, {name: FOR_EDITORS[name] for name in ("edit", "look at an upload")})
def test_another_team_gets_404(office: Office, address: Address) -> None:
    assert signed_in(make_user()).get(address(office)).status_code == 404


@cases({name: POSTS[name] for name in OF_OTHERS}, ONE_OF_A_TEAM, EDITOR_POSTS_OF_THE_TEAM)
def test_another_team_can_send_nothing(office: Office, address: Address) -> None:
    assert signed_in(make_user()).post(address(office)).status_code == 404


@cases(OF_A_TEAM, LISTS)
@pytest.mark.parametrize("role", ["viewer", "editor", "owner"])
def test_every_member_reads(office: Office, address: Address, role: str) -> None:
    assert signed_in(getattr(office, role)).get(address(office)).status_code == 200


@cases(FOR_EDITORS)
def test_a_viewer_gets_no_form(office: Office, address: Address) -> None:
    assert signed_in(office.viewer).get(address(office)).status_code == 403


@cases(OWNER_POSTS)
def test_an_editor_does_not_manage(office: Office, address: Address) -> None:
    assert signed_in(office.editor).post(address(office)).status_code == 403
    assert office.colleague.memberships.get().role == "viewer"


@cases(POSTS, OWNER_POSTS, EDITOR_POSTS_OF_THE_TEAM)
def test_a_viewer_can_send_nothing(office: Office, address: Address) -> None:
    response = signed_in(office.viewer).post(address(office))
    assert response.status_code == 403
    for row in (office.queued, office.draft, office.upload, office.trace):
        row.refresh_from_db()
    assert office.queued.state == "queued"


@cases(FOR_EDITORS)
@pytest.mark.parametrize("role", ["editor", "owner"])
def test_editors_get_the_form(office: Office, address: Address, role: str) -> None:
    assert signed_in(getattr(office, role)).get(address(office)).status_code == 200


def test_a_viewer_sees_no_buttons_that_would_be_refused(office: Office) -> None:
    client = signed_in(office.viewer)
    for address in ("/", "/scenarios/", *(address(office) for address in OF_A_TEAM.values())):
        page = client.get(address).content.decode(errors="replace")  # a workbook is no text
        assert "New scenario" not in page
        assert "Cancel run" not in page
        assert "Run again" not in page
        assert "Delete" not in page


def test_a_colleague_cannot_reach_a_draft(office: Office) -> None:
    client = signed_in(office.editor)
    address = POSTS["draft"](office)
    assert client.post(address, {"name": "Theirs now"}).status_code == 404
    client.post(f"{address}discard/")
    office.draft.refresh_from_db()
    assert office.draft.name == "Half typed"
    assert "Half typed" not in client.get("/scenarios/new/").content.decode()


def test_a_part_that_a_page_asks_for_tells_a_stranger_apart(office: Office) -> None:
    answer = Client().post("/scenarios/estimate/", headers={"HX-Request": "true"})
    assert answer.status_code == 401
    assert not answer.content


@cases(FOR_EVERYONE)
def test_open_pages_need_no_account(office: Office, address: Address) -> None:
    for client in (Client(), signed_in(office.viewer), signed_in(office.owner)):
        response = client.get(address(office))
        assert response.status_code == 200
    assert office.scenario.name not in Client().get(address(office)).content.decode()


def test_someone_in_no_team_is_told_so_but_may_use_the_lab(office: Office) -> None:
    user = make_user()
    user.memberships.all().delete()
    assert signed_in(user).get("/lab/").status_code == 200
    response = signed_in(user).get("/scenarios/")
    assert response.status_code == 403
    assert "no team" in response.content.decode()
