"""Role × page as one case: strangers sign in, others see nothing, viewers read, editors do."""

from collections.abc import Callable
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.http.response import HttpResponseBase
from django.test import Client
from django.urls import resolve

from planner.web.urls import urlpatterns
from tests.factories import make_user
from tests.planner.web.support import Office, make_office, signed_in

pytestmark = pytest.mark.django_db

Address = Callable[[Office], str]
Group = dict[str, Address]
OF_A_TEAM: Group = {
    "scenario": lambda office: f"/scenarios/{office.scenario.pk}/",
    "run": lambda office: f"/runs/{office.queued.pk}/",
    "line": lambda office: f"/runs/{office.queued.pk}/line/",
    "progress": lambda office: f"/runs/{office.queued.pk}/progress/",
    "report": lambda office: f"/reports/{office.done.pk}/",
    "sheet": lambda office: f"/reports/{office.done.pk}/sheet/",
    "json": lambda office: f"/reports/{office.done.pk}/report.json",
    "trace": lambda office: f"/traces/{office.trace.pk}/",
    "measurement": lambda office: f"/measurements/{office.measurement.pk}/",
    "calibration": lambda office: f"/calibrations/{office.calibration.pk}/",
    "workbook": lambda office: f"/reports/{office.done.pk}/report.xlsx",
    "csv": lambda office: f"/reports/{office.done.pk}/tables/candidates.csv",
    "what if": lambda office: f"/reports/{office.done.pk}/what-if/",
    "diff": lambda office: f"/scenarios/{office.scenario.pk}/diff/?from=1",
    "compare": lambda office: f"/compare/?of={office.scenario.pk},run:{office.queued.pk}",
    "share": lambda office: f"/reports/{office.done.pk}/share/",
}
FOR_EDITORS: Group = {
    "new": lambda office: "/scenarios/new/",
    "edit": lambda office: f"/scenarios/{office.scenario.pk}/edit/",
    "upload a trace": lambda office: "/traces/new/",
    "look at an upload": lambda office: f"/traces/uploads/{office.upload.pk}/",
    "upload a measurement": lambda office: "/measurements/new/",
    "look at a measurement": lambda office: f"/measurements/uploads/{office.file.pk}/",
}
POSTS: Group = {
    **FOR_EDITORS,
    "run again": lambda office: f"/scenarios/{office.scenario.pk}/run/",
    "run what if": lambda office: f"/reports/{office.done.pk}/what-if/run/",
    "cancel": lambda office: f"/runs/{office.queued.pk}/cancel/",
    "sample": lambda office: "/sample/",
    "make a webhook": lambda office: "/team/webhooks/",
    "add an entry": lambda office: "/catalog/entries/models/",
    "estimate": lambda office: "/scenarios/estimate/",
    "draft": lambda office: f"/scenarios/drafts/{office.draft.pk}/",
    "discard a draft": lambda office: f"/scenarios/drafts/{office.draft.pk}/discard/",
    "forget an upload": lambda office: f"/traces/uploads/{office.upload.pk}/forget/",
    "delete a trace": lambda office: f"/traces/{office.trace.pk}/delete/",
    "forget a file": lambda office: f"/measurements/uploads/{office.file.pk}/forget/",
    "delete a measurement": lambda office: f"/measurements/{office.measurement.pk}/delete/",
    "compare again": lambda office: f"/measurements/{office.measurement.pk}/compare/",
    "name a plan": lambda office: f"/measurements/{office.measurement.pk}/plan/",
    "calibrate": lambda office: f"/measurements/{office.measurement.pk}/calibrate/",
    "use a calibration": lambda office: f"/calibrations/{office.calibration.pk}/use/",
    "tags": lambda office: f"/scenarios/{office.scenario.pk}/tags/",
    "archive": lambda office: f"/scenarios/{office.scenario.pk}/archive/",
    "copy": lambda office: f"/scenarios/{office.scenario.pk}/copy/",
    "comment": lambda office: f"/scenarios/{office.scenario.pk}/comments/",
    "delete a comment": lambda office: f"/scenarios/{office.scenario.pk}/comments/{office.comment.pk}/delete/",
    "make a share link": lambda office: f"/reports/{office.done.pk}/share/",
    "revoke a share link": lambda office: f"/reports/{office.done.pk}/share/{office.share.pk}/revoke/",
}
LISTS: Group = {
    "scenarios": lambda office: "/scenarios/",
    "traces": lambda office: "/traces/",
    "measurements": lambda office: "/measurements/",
    "catalog": lambda office: "/catalog/",
    "team": lambda office: "/team/",
    "audit": lambda office: "/team/audit/",
}
ONE_OF_A_TEAM: Group = {
    "role": lambda office: f"/team/members/{office.colleague.pk}/role/",
    "remove": lambda office: f"/team/members/{office.colleague.pk}/remove/",
    "password link": lambda office: f"/team/members/{office.colleague.pk}/password-link/",
    "revoke invitation": lambda office: f"/team/invitations/{office.invitation.pk}/revoke/",
    "revoke token": lambda office: f"/team/tokens/{office.token.pk}/revoke/",
}
OWNER_POSTS: Group = {
    **ONE_OF_A_TEAM,
    "team name": lambda office: "/team/name/",
    "defaults": lambda office: "/team/defaults/",
    "invite": lambda office: "/team/invitations/",
    "export": lambda office: "/team/export/",
    "delete": lambda office: "/team/delete/",
}
EDITOR_POSTS_OF_THE_TEAM: Group = {
    "test a webhook": lambda office: f"/team/webhooks/{office.webhook.pk}/ping/",
    "pause a webhook": lambda office: f"/team/webhooks/{office.webhook.pk}/pause/",
    "enable a webhook": lambda office: f"/team/webhooks/{office.webhook.pk}/enable/",
    "delete a webhook": lambda office: f"/team/webhooks/{office.webhook.pk}/delete/",
    "forget an entry": lambda office: f"/catalog/entries/{office.entry.pk}/delete/",
    "revoke link token": lambda office: f"/team/link-tokens/{office.link_token.pk}/revoke/",
}
MEMBER_POSTS: Group = {
    "make token": lambda office: "/team/tokens/",
    "leave": lambda office: "/team/leave/",
}
NAMES_A_THING = (
    "edit",
    "look at an upload",
    "run again",
    "run what if",
    "cancel",
    "draft",
    "forget an upload",
    "delete a trace",
    "look at a measurement",
    "forget a file",
    "delete a measurement",
    "compare again",
    "name a plan",
    "calibrate",
    "use a calibration",
    "tags",
    "archive",
    "copy",
    "comment",
    "delete a comment",
    "make a share link",
    "revoke a share link",
)

FOR_EVERYONE: Group = {
    "home": lambda office: "/",
    "lab": lambda office: "/lab/",
}
FOR_STRANGERS: Group = {"sign in": lambda office: "/sign-in/"}
OF_THE_PERSON: Group = {"account": lambda office: "/account/"}
POSTS_OF_THE_PERSON: Group = {
    "own name": lambda office: "/account/name/",
    "own password": lambda office: "/account/password/",
    "begin a second factor": lambda office: "/account/second-factor/begin/",
    "set a second factor": lambda office: "/account/second-factor/",
    "remove a second factor": lambda office: "/account/second-factor/remove/",
    "sign out elsewhere": lambda office: "/account/sessions/",
    "new team": lambda office: "/account/teams/",
}
OF_THE_OPERATOR: Group = {
    "operations": lambda office: "/operations/",
    "prices": lambda office: f"/operations/prices/{uuid4()}/",
}
POSTS_OF_THE_OPERATOR: Group = {
    "stop a run": lambda office: f"/operations/runs/{office.queued.pk}/cancel/",
    "decide on prices": lambda office: f"/operations/prices/{uuid4()}/decide/",
    "limits": lambda office: f"/operations/teams/{office.queued.team_id}/limits/",
}
ENDS_A_SESSION: Group = {"sign out": lambda office: "/sign-out/"}
BY_SECRET: Group = {
    "shared report": lambda office: "/shared/wrong/",
    "sign-in link": lambda office: "/sign-in/link/wrong/",
    "invitation": lambda office: "/join/wrong/",
    "new password": lambda office: "/password/wrong/",
}
ALL = (
    OF_A_TEAM, FOR_EDITORS, POSTS, LISTS, OWNER_POSTS, EDITOR_POSTS_OF_THE_TEAM, MEMBER_POSTS, FOR_EVERYONE,
    FOR_STRANGERS, OF_THE_PERSON, POSTS_OF_THE_PERSON, ENDS_A_SESSION, BY_SECRET, OF_THE_OPERATOR,
    POSTS_OF_THE_OPERATOR,
)  # fmt: skip


@pytest.fixture
def office() -> Office:
    return make_office()


def get(client: Client, office: Office, *groups: Group) -> dict[str, HttpResponseBase]:
    """The answer of each page of the groups by its name."""
    return {name: client.get(address(office)) for group in groups for name, address in group.items()}


def post(client: Client, office: Office, *groups: Group) -> dict[str, HttpResponseBase]:
    """The answer of each to an empty form."""
    return {name: client.post(address(office)) for group in groups for name, address in group.items()}


def others(answers: dict[str, HttpResponseBase], *expected: int) -> dict[str, int]:
    """Names and states of those that answered otherwise."""
    return {name: answer.status_code for name, answer in answers.items() if answer.status_code not in expected}


def test_every_page_is_in_some_case(office: Office) -> None:
    tried = {resolve(urlsplit(address(office)).path).url_name for group in ALL for address in group.values()}
    assert {pattern.name for pattern in urlpatterns} - tried == set()


def test_a_stranger_is_asked_to_sign_in(office: Office) -> None:
    answers = get(Client(), office, OF_A_TEAM, FOR_EDITORS, LISTS, OF_THE_PERSON)
    assert others(answers, 302) == {}
    assert {answer["Location"].partition("=")[0] for answer in answers.values()} == {"/sign-in/?next"}


def test_operators_alone_know_of_their_pages(office: Office) -> None:
    for client in (Client(), signed_in(office.owner), signed_in(office.editor)):
        assert others(get(client, office, OF_THE_OPERATOR), 404) == {}
        assert others(post(client, office, POSTS_OF_THE_OPERATOR), 404) == {}
    office.queued.refresh_from_db()
    assert not office.queued.cancel_requested


def test_nobody_but_the_visitors_browser_keeps_a_page(office: Office) -> None:
    """And the browser asks again before it shows one, which ends with signing out."""
    answers = get(signed_in(office.owner), office, OF_A_TEAM, FOR_EDITORS, LISTS, OF_THE_PERSON)
    kept = {name: answer["Cache-Control"] for name, answer in answers.items()}
    assert {name for name, said in kept.items() if "private" not in said} == set()
    assert {name for name, said in kept.items() if "no-cache" not in said and "no-store" not in said} == set()


def test_a_stranger_can_send_nothing(office: Office) -> None:
    sent = (POSTS, OWNER_POSTS, EDITOR_POSTS_OF_THE_TEAM, MEMBER_POSTS, POSTS_OF_THE_PERSON)
    answers = post(Client(), office, *sent)
    assert others(answers, 302) == {}
    assert {answer["Location"].partition("?")[0] for answer in answers.values()} == {"/sign-in/"}


def test_another_team_finds_nothing_and_can_send_nothing(office: Office) -> None:
    client = signed_in(make_user())
    forms = {name: FOR_EDITORS[name] for name in ("edit", "look at an upload", "look at a measurement")}
    assert others(get(client, office, OF_A_TEAM, forms), 404) == {}
    sent = {name: POSTS[name] for name in NAMES_A_THING}
    assert others(post(client, office, sent, ONE_OF_A_TEAM, EDITOR_POSTS_OF_THE_TEAM), 404) == {}


@pytest.mark.parametrize("role", ["viewer", "editor", "owner"])
def test_every_member_reads(office: Office, role: str) -> None:
    assert others(get(signed_in(getattr(office, role)), office, OF_A_TEAM, LISTS), 200) == {}


def test_editors_and_owners_get_the_forms_and_viewers_none(office: Office) -> None:
    for user, state in ((office.editor, 200), (office.owner, 200), (office.viewer, 403)):
        assert others(get(signed_in(user), office, FOR_EDITORS), state) == {}


def test_an_editor_does_not_manage(office: Office) -> None:
    assert others(post(signed_in(office.editor), office, OWNER_POSTS), 403) == {}
    assert office.colleague.memberships.get().role == "viewer"


def test_a_viewer_can_send_nothing(office: Office) -> None:
    answers = post(signed_in(office.viewer), office, POSTS, OWNER_POSTS, EDITOR_POSTS_OF_THE_TEAM)
    assert others(answers, 403) == {}
    for row in (office.queued, office.draft, office.upload, office.trace, office.webhook):
        row.refresh_from_db()
    assert office.queued.state == "queued"
    assert office.webhook.disabled_at is None


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


def test_open_pages_need_no_account(office: Office) -> None:
    for client in (Client(), signed_in(office.viewer), signed_in(office.owner)):
        assert others(get(client, office, FOR_EVERYONE), 200) == {}
    for answer in get(Client(), office, FOR_EVERYONE, FOR_STRANGERS).values():
        assert office.scenario.name not in answer.content.decode()


def test_a_wrong_secret_opens_nothing_and_tells_nothing(office: Office) -> None:
    for client in (Client(), signed_in(office.viewer)):
        answers = get(client, office, BY_SECRET)
        assert others(answers, 403, 404, 410) == {}
        assert not any(office.scenario.name in answer.content.decode() for answer in answers.values())


def test_what_changes_something_is_not_done_by_following_a_link(office: Office) -> None:
    sent = (OWNER_POSTS, EDITOR_POSTS_OF_THE_TEAM, MEMBER_POSTS, POSTS_OF_THE_PERSON, ENDS_A_SESSION)
    answers = get(signed_in(office.owner), office, *sent)
    assert others(answers, 405) == {"delete": 200}  # the page that asks for the team's name


def test_someone_in_no_team_is_told_so_but_may_use_the_lab(office: Office) -> None:
    user = make_user()
    user.memberships.all().delete()
    assert signed_in(user).get("/lab/").status_code == 200
    response = signed_in(user).get("/scenarios/")
    assert response.status_code == 403
    assert "no team" in response.content.decode()
