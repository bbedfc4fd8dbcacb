"""Signing in with a second factor: no way around it, each code once, a lost app."""

import re
import time
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from planner.teams import second_factor
from planner.teams.models import AuditEvent, SecondFactor, User
from planner.teams.second_factor import STEP_S, code_at, code_use, factor_set, new_salt
from tests.factories import PASSWORD, make_user
from tests.planner.web.support import signed_in

pytestmark = pytest.mark.django_db


def now_code(user: User, off: int = 0) -> str:
    return code_at(SecondFactor.objects.get(user=user).salt, int(time.time()) // STEP_S + off)


@pytest.fixture
def guarded(user: User) -> tuple[User, list[str]]:
    """A person with the factor and their recovery codes; no code of the app is used up."""
    salt = new_salt()
    codes = factor_set(user=user, salt=salt, code=code_at(salt, int(time.time()) // STEP_S), session_key=None)
    assert codes is not None
    SecondFactor.objects.update(last_step=0)
    return user, codes


def give_password(client: Client, user: User) -> Any:
    return client.post("/sign-in/", {"username": user.email, "password": PASSWORD, "next": "/catalog/"})


def test_codes_are_those_of_the_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    """RFC 6238, appendix B (SHA-1), last six of its eight digits."""
    monkeypatch.setattr(second_factor, "seed_of", lambda salt: b"12345678901234567890")
    told = {59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 20000000000: "353130"}
    assert {second: code_at("", second // STEP_S) for second in told} == told


def test_the_password_alone_signs_nobody_in(guarded: tuple[User, list[str]], client: Client) -> None:
    user, _ = guarded
    asked = give_password(client, user)
    assert (asked.status_code, "Second factor" in asked.content.decode()) == (200, True)
    assert client.get("/account/").status_code == 302
    assert client.get("/api/v1/runs").status_code == 401
    assert client.post("/sign-in/", {"code": "000000x"}).status_code == 422
    assert client.get("/account/").status_code == 302
    code = now_code(user)
    assert client.post("/sign-in/", {"code": code})["Location"] == "/catalog/"
    assert client.get("/account/").status_code == 200
    again = Client()
    give_password(again, user)
    assert again.post("/sign-in/", {"code": code}).status_code == 422


def test_a_code_without_the_password_opens_nothing(guarded: tuple[User, list[str]], client: Client) -> None:
    user, codes = guarded
    for code in (now_code(user), codes[0]):
        assert client.post("/sign-in/", {"code": code, "username": user.email})["Location"] == "/sign-in/"
    assert client.get("/account/").status_code == 302


def test_five_wrong_codes_start_again(guarded: tuple[User, list[str]], client: Client) -> None:
    user, _ = guarded
    give_password(client, user)
    states = [client.post("/sign-in/", {"code": "wrong"}).status_code for _ in range(5)]
    assert states == [422, 422, 422, 422, 302]
    assert client.post("/sign-in/", {"code": now_code(user)})["Location"] == "/sign-in/"
    assert client.get("/account/").status_code == 302


def test_a_password_typed_long_ago_is_asked_for_again(
    guarded: tuple[User, list[str]], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, _ = guarded
    give_password(client, user)
    late_s = time.time() + 301
    monkeypatch.setattr(second_factor.time, "time", lambda: late_s)
    assert client.post("/sign-in/", {"code": now_code(user)})["Location"] == "/sign-in/"


def test_a_recovery_code_works_once_in_any_spelling(guarded: tuple[User, list[str]]) -> None:
    user, codes = guarded
    assert code_use(user=user, code=codes[0].lower().replace("-", " "))
    assert not code_use(user=user, code=codes[0])
    assert code_use(user=user, code=codes[1])
    assert not code_use(user=make_user(), code=codes[2])
    assert len(SecondFactor.objects.get().recovery_sha256) == 8
    assert AuditEvent.objects.filter(action="second_factor.recovered").count() == 2


def test_codes_of_clocks_that_are_off_by_more_than_a_step_are_refused(guarded: tuple[User, list[str]]) -> None:
    user, _ = guarded
    assert not code_use(user=user, code=now_code(user, off=-3))
    assert not code_use(user=user, code=now_code(user, off=3))
    assert not code_use(user=user, code="٠٠٠٠٠٠")
    assert not code_use(user=user, code="")


def test_it_is_set_up_and_taken_away_on_the_account_page(user: User) -> None:
    client, elsewhere = signed_in(user), signed_in(user)
    shown = client.post("/account/second-factor/begin/").content.decode()
    assert "otpauth://totp/Staircase:" in shown
    assert not SecondFactor.objects.exists()
    assert client.post("/account/second-factor/", {"code": "1"}).status_code == 422
    salt = client.session["second_factor_salt"]
    done = client.post("/account/second-factor/", {"code": code_at(salt, int(time.time()) // STEP_S)})
    assert len(set(re.findall(r"<li>([A-Z2-7-]{27})</li>", done.content.decode()))) == 10
    assert "no-store" in done["Cache-Control"]
    assert elsewhere.get("/account/").status_code == 302
    assert "10 recovery codes left" in client.get("/account/").content.decode()
    client.post("/account/second-factor/remove/")
    assert not SecondFactor.objects.exists()


def test_an_operator_takes_a_lost_one_away(guarded: tuple[User, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    user, _ = guarded
    call_command("secondfactor", user.email)
    call_command("secondfactor", user.email, "--remove")
    call_command("secondfactor", user.email)
    assert capsys.readouterr().out.split("\n")[:3] == ["in force", "removed", "none"]
