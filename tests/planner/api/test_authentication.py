"""The three ways to sign in, and what must not leak."""

import logging

import pytest

from planner.teams.models import User
from tests.factories import make_token
from tests.planner.api.support import Api, basic, problem


@pytest.mark.parametrize("name", ["", "anything", "name@example.com"])
def test_basic_takes_the_token_as_password(user: User, name: str) -> None:
    _, text = make_token(user)
    assert Api().call("GET", "/runs", headers=basic(name, text)).status_code == 200


def test_a_users_password_is_no_credential_here(user: User) -> None:
    problem(
        Api().call("GET", "/runs", headers=basic(user.email, "correct horse battery staple")), 401, "not-authenticated"
    )


@pytest.mark.parametrize(
    "header", ["Basic", "Basic %%%", "Basic /w==", "Bearer", "Bearer ", "Token stc_1_2", "Bearer é"]
)
def test_unreadable_credentials_are_401(db: None, header: str) -> None:
    problem(Api().call("GET", "/runs", headers={"Authorization": header}), 401, "not-authenticated")


def test_the_scheme_is_matched_whatever_its_case(user: User) -> None:
    _, text = make_token(user)
    assert Api().call("GET", "/runs", headers={"Authorization": f"bearer  {text}"}).status_code == 200


def test_a_bad_token_is_refused_even_beside_a_session(user: User) -> None:
    caller = Api("stc_00_00")
    caller.client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    problem(caller.get("/runs"), 401, "not-authenticated")


def test_the_token_is_in_no_log_line(user: User, caplog: pytest.LogCaptureFixture) -> None:
    _, text = make_token(user)
    with caplog.at_level(logging.DEBUG):
        Api(text).get("/runs")
        Api(text).get("/nowhere")
        Api(text).post("/runs", b"{")
        Api(text + "0").get("/runs")
    assert text.rpartition("_")[2] not in caplog.text


def test_a_token_in_the_place_of_the_user_name_is_told_where_it_goes(user: User) -> None:
    response = Api().call("GET", "/runs", headers=basic(make_token(user)[1], ""))
    assert "password" in problem(response, 401, "not-authenticated")["detail"]
