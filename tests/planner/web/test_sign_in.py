from typing import Any

import pytest
from django.test import Client

from planner.teams.models import User
from planner.teams.services import sign_in_link_create
from tests.factories import PASSWORD

pytestmark = pytest.mark.django_db


def test_signing_in_leads_where_one_was_going(user: User, client: Client) -> None:
    data = {"username": user.email.upper(), "password": PASSWORD, "next": "/catalog/"}
    response = client.post("/sign-in/", data)
    assert response.status_code == 302
    assert response["Location"] == "/catalog/"


def test_signing_in_never_leads_to_another_site(user: User, client: Client) -> None:
    data = {"username": user.email, "password": PASSWORD, "next": "https://elsewhere.example/"}
    assert client.post("/sign-in/", data)["Location"] == "/"


def test_a_wrong_password_says_so_and_keeps_the_address(user: User, client: Client) -> None:
    response = client.post("/sign-in/", {"username": user.email, "password": "wrong"})
    assert response.status_code == 422
    assert "Not signed in" in response.content.decode()
    assert f'value="{user.email}"' in response.content.decode()


def test_too_many_failures_lock_the_address_for_a_while(user: User, client: Client, settings: Any) -> None:
    settings.AXES_ENABLED = True
    for attempt in range(settings.AXES_FAILURE_LIMIT):
        typed = user.email.upper() if attempt % 2 else user.email
        response = client.post("/sign-in/", {"username": typed, "password": "wrong"})
    assert response.status_code == 429
    assert "Too many attempts" in response.content.decode()
    right = client.post("/sign-in/", {"username": user.email, "password": PASSWORD})
    assert right.status_code == 429


def test_signing_out_needs_a_post(user: User, client: Client) -> None:
    client.force_login(user)
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/")["Location"] == "/"
    assert client.get("/scenarios/").status_code == 302


def test_a_link_signs_in_once_and_leads_to_its_page(user: User, client: Client) -> None:
    secret = sign_in_link_create(user=user, next_path="/scenarios/")
    first = client.get(f"/sign-in/link/{secret}/")
    assert first["Location"] == "/scenarios/"
    assert client.get("/scenarios/").status_code == 200
    again = Client().get(f"/sign-in/link/{secret}/")
    assert again.status_code == 410
    assert "used up" in again.content.decode()


@pytest.mark.parametrize(
    "extra",
    [{"REMOTE_ADDR": "10.0.0.7"}, {"REMOTE_ADDR": "not an address"}, {"HTTP_X_FORWARDED_FOR": "127.0.0.1"}],
    ids=["another machine", "garbage", "through a proxy"],
)
def test_a_link_works_on_this_machine_only_and_stays_unused(user: User, client: Client, extra: dict[str, str]) -> None:
    secret = sign_in_link_create(user=user, next_path="/")
    assert client.get(f"/sign-in/link/{secret}/", **extra).status_code == 404
    assert client.get(f"/sign-in/link/{secret}/").status_code == 302


def test_a_link_never_leads_to_another_site(user: User, client: Client) -> None:
    secret = sign_in_link_create(user=user, next_path="/")
    user.sign_in_links.update(next_path="//elsewhere.example/")
    assert client.get(f"/sign-in/link/{secret}/")["Location"] == "/"


def test_an_ipv6_loopback_counts(user: User, client: Client) -> None:
    secret = sign_in_link_create(user=user, next_path="/")
    assert client.get(f"/sign-in/link/{secret}/", REMOTE_ADDR="::1").status_code == 302
