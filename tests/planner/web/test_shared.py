"""Share links: the page that strangers see, and the one on which the team makes and revokes them."""

import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from planner.reports.models import ShareLink
from planner.web.views import shared
from tests.planner.reports.example import SECTIONS, example, infeasible_example
from tests.planner.web.support import Office, make_office, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def office() -> Office:
    cache.clear()
    return make_office()


def test_a_stranger_reads_the_whole_report(office: Office) -> None:
    response = Client().get(f"/shared/{office.share_secret}/")
    page = response.content.decode()
    assert response.status_code == 200
    for title in SECTIONS:
        assert title in page
    assert example()["name"] in page


def test_the_page_gives_away_nothing_of_the_team(office: Office) -> None:
    for client in (Client(), signed_in(office.viewer)):
        page = client.get(f"/shared/{office.share_secret}/").content.decode()
        for person in (office.owner, office.editor, office.viewer):
            assert person.email not in page
        assert office.done.team.name not in page
        for key in (office.scenario.pk, office.done.pk, office.done.team.pk, office.share.pk):
            assert str(key) not in page
        inside = [href for href in re.findall(r'href="([^"]*)"', page) if not href.startswith(("/static/", "#"))]
        assert all(href.startswith("https://") for href in inside), inside
        assert "<form" not in page


def test_a_report_without_a_fleet_is_shared_too(office: Office) -> None:
    import json

    office.done.report = json.dumps(infeasible_example())
    office.done.save()
    assert Client().get(f"/shared/{office.share_secret}/").status_code == 200


def test_neither_search_engines_nor_caches_nor_other_sites_learn_of_it(office: Office) -> None:
    for secret in (office.share_secret, "wrong"):
        response = Client().get(f"/shared/{secret}/")
        assert response["Referrer-Policy"] == "no-referrer"
        assert response["X-Robots-Tag"] == "noindex, nofollow"
        assert response["Cache-Control"] == "private, no-store"
        assert 'name="robots" content="noindex' in response.content.decode()


@pytest.mark.parametrize("end", ["unknown", "expired", "revoked"])
def test_a_link_that_has_ended_shows_nothing_and_does_not_say_why(office: Office, end: str) -> None:
    secret = office.share_secret
    if end == "unknown":
        secret = "x" * 43
    elif end == "expired":
        ShareLink.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        signed_in(office.editor).post(f"/reports/{office.done.pk}/share/{office.share.pk}/revoke/")
    response = Client().get(f"/shared/{secret}/")
    assert response.status_code == 404
    page = response.content.decode()
    assert "has expired, or was withdrawn" in page
    assert 'href="/"' not in page


def test_guessing_and_hammering_are_slowed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "MOST_WRONG_PER_MINUTE", 2)
    monkeypatch.setattr(shared, "MOST_VIEWS_PER_MINUTE", 2)
    wrong = [Client().get(f"/shared/wrong{n}/").status_code for n in range(4)]
    right = [Client().get(f"/shared/{office.share_secret}/") for _ in range(3)]
    assert wrong == [404, 404, 429, 429]
    assert [response.status_code for response in right] == [200, 200, 429]
    assert 1 <= int(right[-1]["Retry-After"]) <= 60


def test_the_team_makes_a_link_and_sees_its_address_once(office: Office) -> None:
    client = signed_in(office.editor)
    path = f"/reports/{office.done.pk}/share/"
    page = client.post(path, {"name": "The board", "days": "7"}).content.decode()
    (secret,) = re.findall(r"http://testserver/shared/([\w-]{43})/", page)
    assert Client().get(f"/shared/{secret}/").status_code == 200
    listed = client.get(path).content.decode()
    assert "The board" in listed
    assert secret not in listed


@pytest.mark.parametrize("sent", [{}, {"days": "0"}, {"days": "9999"}, {"days": "a"}, {"days": "7", "name": "x" * 121}])
def test_a_link_that_cannot_be_made_is_told(office: Office, sent: dict[str, str]) -> None:
    response = signed_in(office.editor).post(f"/reports/{office.done.pk}/share/", sent)
    assert response.status_code == 422
    assert "No link was made" in response.content.decode()
    assert ShareLink.objects.count() == 1


def test_a_run_without_a_report_has_nothing_to_share(office: Office) -> None:
    response = signed_in(office.editor).get(f"/reports/{office.queued.pk}/share/")
    assert response["Location"] == f"/runs/{office.queued.pk}/"


def test_only_members_who_may_edit_are_offered_it(office: Office) -> None:
    report = f"/reports/{office.done.pk}/"
    assert f"{report}share/" in signed_in(office.editor).get(report).content.decode()
    assert f"{report}share/" not in signed_in(office.viewer).get(report).content.decode()
    assert "Revoke" not in signed_in(office.viewer).get(f"{report}share/").content.decode()
