"""How long a browser stays signed in, where else it is, and what asks for the password again."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as live_settings
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from planner.teams import signing_in
from planner.teams.browser_sessions import mark_of
from planner.teams.models import ApiToken, BrowserSession, Invitation, Role, User
from planner.teams.signing_in import browser_label
from tests.factories import PASSWORD, add_member, team_of
from tests.planner.web.support import signed_in

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Moves the time that sessions are judged by: `clock(minutes)` later than now."""

    def later(minutes: float) -> None:
        now_s = timezone.now().timestamp() + 60 * minutes
        monkeypatch.setattr(signing_in.time, "time", lambda: now_s)

    yield later
    monkeypatch.undo()


def only_session() -> BrowserSession:
    return BrowserSession.objects.get()


def test_signing_in_changes_the_key_and_notes_the_browser(user: User, client: Client) -> None:
    client.get("/sign-in/")
    planted = client.session
    planted["planted"] = True
    planted.save()
    client.cookies[live_settings.SESSION_COOKIE_NAME] = planted.session_key or ""
    client.post("/sign-in/", {"username": user.email, "password": PASSWORD}, HTTP_USER_AGENT=FIREFOX)
    assert client.session.session_key != planted.session_key
    row = only_session()
    assert (row.user, row.browser) == (user, "Firefox, Linux")


def test_use_keeps_a_session_but_not_beyond_its_life(user: User, client: Client, settings: Any, clock: Any) -> None:
    settings.SESSION_COOKIE_AGE, settings.SESSION_LIFE_S = 3600, 5400
    client.force_login(user)
    begun = only_session().signed_in_at
    assert begun is not None
    assert abs(only_session().expire_date - begun - timedelta(hours=1)) < timedelta(seconds=5)
    clock(20)
    client.get("/account/")
    assert abs(only_session().expire_date - begun - timedelta(minutes=80)) < timedelta(seconds=5)
    clock(50)
    client.get("/account/")
    assert abs(only_session().expire_date - begun - timedelta(minutes=90)) < timedelta(seconds=5)


def test_an_ended_session_lets_nobody_in(user: User, client: Client) -> None:
    client.force_login(user)
    BrowserSession.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert client.get("/account/").status_code == 302


def test_the_account_lists_sessions_and_ends_others(user: User) -> None:
    here, there, third = signed_in(user), signed_in(user), signed_in(user)
    stranger = signed_in(add_member(team_of(user)))
    page = here.get("/account/").content.decode()
    assert page.count("Sign out</button></form></td>") == 2
    assert str(there.session.session_key) not in page
    key = there.session.session_key
    assert key is not None
    here.post("/account/sessions/", {"session": mark_of(key)})
    assert there.get("/account/").status_code == 302
    assert third.get("/account/").status_code == 200
    here.post("/account/sessions/")
    assert third.get("/account/").status_code == 302
    assert here.get("/account/").status_code == 200
    assert stranger.get("/account/").status_code == 200


def test_nobody_ends_sessions_of_others(user: User) -> None:
    victim, other = signed_in(user), signed_in(add_member(team_of(user), Role.OWNER))
    key = victim.session.session_key
    assert key is not None
    other.post("/account/sessions/", {"session": mark_of(key)})
    assert victim.get("/account/").status_code == 200


def test_an_operator_ends_sessions_from_the_server(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    client = signed_in(user)
    call_command("signout", user.email)
    assert "1 sessions ended" in capsys.readouterr().out
    assert client.get("/account/").status_code == 302
    client.force_login(user)
    call_command("signout", "--all")
    assert client.get("/account/").status_code == 302


def test_signing_out_tells_the_browser_to_forget(user: User) -> None:
    client = signed_in(user)
    key = client.session.session_key
    assert client.post("/sign-out/")["Clear-Site-Data"] == '"cache", "storage"'
    assert not BrowserSession.objects.filter(session_key=key).exists()


TOKEN = {"name": "Sheet", "kind": "personal", "scope": "read", "days": "30"}


def test_giving_access_asks_for_the_password_again(user: User, client: Client, clock: Any) -> None:
    client.force_login(user)
    clock(16)
    asked = client.post("/team/tokens/", TOKEN)
    assert asked.status_code == 403
    assert 'name="scope" value="read"' in asked.content.decode()
    assert client.post("/team/tokens/", TOKEN | {"confirm_password": "wrong"}).status_code == 422
    assert not ApiToken.objects.exists()
    before = client.session.session_key
    assert client.post("/team/tokens/", TOKEN | {"confirm_password": PASSWORD}).status_code == 201
    assert client.session.session_key != before
    assert client.post("/team/tokens/", TOKEN).status_code == 201


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/team/invitations/", {"role": "owner", "days": "7"}),
        ("/team/members/{member}/role/", {"role": "owner"}),
        ("/team/members/{member}/password-link/", {}),
        ("/team/export/", {}),
        ("/team/delete/", {"typed": "x"}),
        ("/account/sessions/", {}),
    ],
)
def test_what_asks_for_the_password(user: User, client: Client, clock: Any, path: str, data: dict[str, str]) -> None:
    member = add_member(team_of(user), Role.VIEWER)
    client.force_login(user)
    clock(16)
    answer = client.post(path.format(member=member.pk), data)
    assert (answer.status_code, "Is it you?" in answer.content.decode()) == (403, True)
    assert not Invitation.objects.exists()


def test_the_api_asks_browsers_too_but_no_token(user: User, client: Client, clock: Any) -> None:
    client.force_login(user)
    path, body = f"/api/v1/teams/{team_of(user).pk}/tokens", {"name": "x", "scope": "read", "expires_in_days": 1}
    assert client.post(path, body, "application/json").status_code == 201
    clock(16)
    refused = client.post(path, body, "application/json")
    assert refused.status_code == 403
    assert "confirm your password" in refused.json()["detail"]
    assert client.get(path).status_code == 200


@pytest.mark.parametrize("which", ["PLACE", "ACCOUNT"])
def test_very_many_attempts_wait_wherever_they_aim(user: User, client: Client, settings: Any, which: str) -> None:
    setattr(settings, f"SIGN_INS_PER_{which}", 3)
    for attempt in range(4):
        who, place = (
            (f"p{attempt}@example.com", "203.0.113.7") if which == "PLACE" else (user.email, f"10.0.0.{attempt}")
        )
        answer = client.post("/sign-in/", {"username": who, "password": "wrong"}, REMOTE_ADDR=place)
        assert answer.status_code == (422 if attempt < 3 else 429)
    other = client.post("/sign-in/", {"username": "q@example.com", "password": "wrong"}, REMOTE_ADDR="203.0.113.9")
    assert other.status_code == 422


@pytest.mark.parametrize(
    ("proxies", "forwarded", "place"),
    [
        (0, "198.51.100.1", "10.0.0.1"),
        (1, "198.51.100.1", "198.51.100.1"),
        (1, "6.6.6.6, 198.51.100.1", "198.51.100.1"),
        (2, "6.6.6.6, 198.51.100.1, 10.9.9.9", "198.51.100.1"),
        (2, "198.51.100.1", "10.0.0.1"),
        (1, "nonsense", None),
    ],
)
def test_an_address_is_believed_as_far_as_proxies_are_ours(
    rf: Any, settings: Any, proxies: int, forwarded: str, place: str | None
) -> None:
    settings.TRUSTED_PROXIES = proxies
    request = rf.get("/", REMOTE_ADDR="10.0.0.1", HTTP_X_FORWARDED_FOR=forwarded)
    assert signing_in.client_address(request) == place


@pytest.mark.parametrize(
    ("agent", "label"),
    [
        (FIREFOX, "Firefox, Linux"),
        ("Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0", "Edge, Windows"),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) Version/18 Safari/605", "Safari, macOS"),
        ("<script>alert(1)</script>", "A program"),
        ("", "A program"),
    ],
)
def test_a_browser_is_named_in_two_words(agent: str, label: str) -> None:
    assert browser_label(agent) == label


def test_every_answer_has_the_headers(client: Client) -> None:
    for path in ("/", "/sign-in/", "/nowhere/", "/api/v1/openapi.json", "/api/v1/runs", "/healthz"):
        answer = client.get(path)
        assert answer["Cross-Origin-Resource-Policy"] == "same-origin", path
        assert answer["Cross-Origin-Opener-Policy"] == "same-origin", path
        assert answer["X-Content-Type-Options"] == "nosniff", path
        assert answer["Referrer-Policy"] == "same-origin", path
        assert "camera=()" in answer["Permissions-Policy"], path
        assert "object-src 'none'" in answer["Content-Security-Policy"], path
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"], path
        assert "unsafe" not in answer["Content-Security-Policy"], path


def test_what_is_logged_of_signing_in_names_nobody(
    user: User, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", "planner.signing_in"):
        client.post("/sign-in/", {"username": user.email, "password": "wrong"})
        client.post("/sign-in/", {"username": user.email, "password": PASSWORD})
        client.post("/sign-out/")
    kinds = [record.getMessage().partition(":")[0] for record in caplog.records if record.name == "planner.signing_in"]
    assert kinds == ["sign-in failed", "signed in", "signed out"]
    assert user.email not in caplog.text
    assert PASSWORD not in caplog.text


def test_an_operator_is_asked_before_something_changes_for_all_teams(user: User, client: Client, clock: Any) -> None:
    User.objects.filter(pk=user.pk).update(is_staff=True)
    client.force_login(user)
    path = f"/operations/teams/{team_of(user).pk}/limits/"
    assert client.post(path, {"open_runs": "5"}).status_code == 302
    clock(16)
    assert "Is it you?" in client.post(path, {"open_runs": "6"}).content.decode()
