"""The team's page: people, invitations, tokens, several teams, the end of a team."""

import io
import json
import re
import zipfile

import pytest
from django.test import Client

from planner.runs.models import Run
from planner.scenarios.models import Scenario
from planner.teams.members import team_create
from planner.teams.models import ApiToken, AuditEvent, Invitation, LinkToken, Team, User
from planner.teams.services import link_token_authenticate, token_authenticate
from tests.factories import PASSWORD, make_scenario, make_user, team_of
from tests.planner.web.support import Office, make_office, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def office() -> Office:
    return make_office()


def shown_secret(content: bytes) -> str:
    found = re.search(r'id="made-text">([^<]+)<', content.decode())
    assert found
    return found.group(1)


def test_an_invited_newcomer_makes_an_account_and_lands_in_the_team(office: Office) -> None:
    response = signed_in(office.owner).post("/team/invitations/", {"role": "editor", "days": 7, "email": ""})
    assert response.status_code == 201
    address = shown_secret(response.content).removeprefix("http://testserver")
    newcomer = Client()
    assert "editor" in newcomer.get(address).content.decode()
    joined = newcomer.post(address, {"name": "Bob", "email": "bob@example.com", "password": PASSWORD})
    assert joined["Location"] == f"/scenarios/?team={team_of(office.owner).pk}"
    assert office.scenario.name in newcomer.get("/scenarios/").content.decode()
    assert Client().get(address).status_code == 410


def test_what_is_wrong_with_a_new_account_stands_beside_its_field(office: Office) -> None:
    response = signed_in(office.owner).post("/team/invitations/", {"role": "viewer", "days": 7})
    address = shown_secret(response.content)
    refused = Client().post(address, {"name": "Bob", "email": office.owner.email, "password": "short"})
    assert refused.status_code == 422
    text = refused.content.decode()
    assert "sign in first" in text
    assert "too short" in text
    assert 'value="Bob"' in text


def test_someone_signed_in_joins_with_one_press(office: Office) -> None:
    guest = make_user()
    client = signed_in(guest)
    address = shown_secret(
        signed_in(office.owner).post("/team/invitations/", {"role": "viewer", "days": 1, "email": guest.email}).content
    )
    assert signed_in(make_user()).post(address).status_code == 410
    assert client.get(address).status_code == 200
    assert client.post(address).status_code == 302
    assert set(guest.teams.all()) == {team_of(guest), team_of(office.owner)}


def test_the_last_owner_is_told_why_they_stay(office: Office) -> None:
    client = signed_in(office.owner)
    for address in ("/team/leave/", f"/team/members/{office.owner.pk}/remove/"):
        assert "last owner" in client.post(address, follow=True).content.decode()
    demoted = client.post(f"/team/members/{office.owner.pk}/role/", {"role": "viewer"}, follow=True)
    assert "last owner" in demoted.content.decode()
    assert client.post(f"/team/members/{office.editor.pk}/role/", {"role": "king"}).status_code == 403


def test_tokens_are_shown_once_and_can_be_revoked(office: Office) -> None:
    client = signed_in(office.editor)
    text = shown_secret(
        client.post("/team/tokens/", {"name": "CI", "kind": "personal", "scope": "run", "days": 30}).content
    )
    token = token_authenticate(text)
    assert token is not None
    assert (token.user, token.scope, token.of_team) == (office.editor, "run", False)
    assert text not in client.get("/team/").content.decode()
    assert client.post(f"/team/tokens/{token.pk}/revoke/").status_code == 302
    assert token_authenticate(text) is None
    link = shown_secret(
        client.post("/team/tokens/", {"name": "S", "kind": "link", "scope": "read", "days": 30}).content
    )
    assert link_token_authenticate(link) is not None


@pytest.mark.parametrize(
    ("role", "change"),
    [("viewer", {"scope": "run"}), ("viewer", {"kind": "link"}), ("editor", {"kind": "team"}), ("owner", {"days": 0})],
)
def test_no_token_is_wider_than_its_role(office: Office, role: str, change: dict[str, str]) -> None:
    data = {"name": "x", "kind": "personal", "scope": "read", "days": 30} | change
    before = ApiToken.objects.count() + LinkToken.objects.count()
    assert signed_in(getattr(office, role)).post("/team/tokens/", data).status_code == 422
    assert ApiToken.objects.count() + LinkToken.objects.count() == before


def test_a_token_of_the_team_outlives_its_maker(office: Office) -> None:
    data = {"name": "Nightly", "kind": "team", "scope": "run", "days": 30}
    text = shown_secret(signed_in(office.owner).post("/team/tokens/", data).content)
    User.objects.filter(pk=office.owner.pk).update(is_active=False)
    assert token_authenticate(text) is not None


def test_a_member_sets_a_new_password_by_an_owners_link(office: Office) -> None:
    content = signed_in(office.owner).post(f"/team/members/{office.colleague.pk}/password-link/").content
    address = shown_secret(content)
    assert Client().post(address, {"password": "short"}).status_code == 422
    new = "a completely different phrase"
    assert Client().post(address, {"password": new})["Location"] == "/sign-in/"
    assert Client().get(address).status_code == 410
    assert Client().login(username=office.colleague.email, password=new)


def test_no_owner_gets_a_link_for_someone_of_two_teams(office: Office) -> None:
    team_create(user=office.colleague, name="Elsewhere")
    client = signed_in(office.owner)
    assert client.post(f"/team/members/{office.colleague.pk}/password-link/").status_code == 403
    assert f"{office.colleague.pk}/password-link/" not in client.get("/team/").content.decode()


def test_who_is_in_several_teams_gets_addresses_that_say_which(office: Office) -> None:
    person = office.editor
    other = team_create(user=person, name="Elsewhere")
    client = signed_in(person)
    assert client.get("/scenarios/?page=1")["Location"] == f"/scenarios/?page=1&team={team_of(person).pk}"
    assert "Elsewhere" in client.get(f"/team/?team={other.pk}").content.decode()
    assert client.get("/scenarios/")["Location"] == f"/scenarios/?team={other.pk}", "the one looked at last"
    assert client.get(f"/scenarios/{office.scenario.pk}/").status_code == 200, "a thing's address needs no team"
    assert f"/catalog/?team={team_of(person).pk}" in client.get(f"/scenarios/{office.scenario.pk}/").content.decode()
    stranger = team_of(make_user())
    for key in (str(stranger.pk), "nonsense", ""):
        assert client.get(f"/scenarios/?team={key}").status_code == 404


def test_a_form_lands_in_the_team_of_its_address(office: Office) -> None:
    other = team_create(user=office.owner, name="Elsewhere")
    client = signed_in(office.owner)
    client.get(f"/team/?team={team_of(office.owner).pk}")
    client.post(f"/team/name/?team={other.pk}", {"name": "Renamed"})
    assert Team.objects.get(pk=other.pk).name == "Renamed"


def test_a_team_is_deleted_after_an_export_with_its_name_typed(office: Office) -> None:
    client, team = signed_in(office.owner), team_of(office.owner)
    kept = make_scenario(make_user()).scenario
    right = {"typed": team.name}
    assert client.post("/team/delete/", {"typed": "else"}).status_code == 422
    refused = client.post("/team/delete/", right)
    assert refused.status_code == 422
    assert "export" in refused.content.decode()
    archive = zipfile.ZipFile(io.BytesIO(b"".join(client.post("/team/export/"))))  # type: ignore[arg-type]
    assert client.post("/team/delete/", right)["Location"] == "/account/"
    assert not Team.objects.filter(pk=team.pk).exists()
    for model in (Run, Invitation, ApiToken, AuditEvent.objects.filter(team=team.pk)):
        rows = model if not isinstance(model, type) else model.objects.all()
        assert not rows.exists()
    assert list(Scenario.objects.all()) == [kept]
    assert User.objects.filter(pk=office.viewer.pk).exists()
    names = set(archive.namelist())
    assert f"scenarios/{office.scenario.pk}.json" in names
    assert f"reports/{office.done.digest}.json" in names
    assert json.loads(archive.read("catalog.json"))[0]["name"] == office.entry.name
    members = json.loads(archive.read("members.json"))
    assert {row["email"] for row in members} >= {office.owner.email, office.viewer.email}
    everything = b"".join(archive.read(name) for name in names)
    assert b"secret_sha256" not in everything
    assert office.token.secret_sha256.encode() not in everything


def test_the_audit_log_is_filtered_and_paged(office: Office) -> None:
    client, team = signed_in(office.viewer), team_of(office.owner)
    for _ in range(60):
        AuditEvent.objects.create(team=team, actor_label="ada@example.com", action="scenario.edited")
    first = client.get("/team/audit/?action=scenario.edited").content.decode()
    assert first.count("scenario edited") == 51  # and the choice itself
    older = re.search(r'rel="next" href="(\?[^"]+)"', first)
    assert older
    second = client.get("/team/audit/" + older.group(1).replace("&amp;", "&")).content.decode()
    assert second.count("scenario edited") == 11
    for query in ("action=%00", "created_from=2026-13-45", "after=nonsense", "created_before=0001-01-01"):
        assert client.get(f"/team/audit/?{query}").status_code == 200


def test_ones_own_account(office: Office) -> None:
    client = signed_in(office.viewer)
    assert client.post("/account/name/", {"name": "Vi"}).status_code == 302
    wrong = client.post("/account/password/", {"old": "wrong", "password": "a completely different phrase"})
    assert wrong.status_code == 422
    right = client.post("/account/password/", {"old": PASSWORD, "password": "a completely different phrase"})
    assert right.status_code == 302
    assert "Vi" in client.get("/account/").content.decode()


def test_who_is_in_no_team_can_make_one() -> None:
    user = make_user()
    user.memberships.all().delete()
    client = signed_in(user)
    assert "no team" in client.get("/account/").content.decode()
    made = client.post("/account/teams/", {"name": "Mine"})
    assert client.get(made["Location"]).status_code == 200


@pytest.mark.parametrize("page", ["/account/name/", "/account/teams/", "/team/name/", "/team/tokens/"])
@pytest.mark.parametrize("name", ["a\x0bb", "a\x1b[31mb", "a\u202eb"])
def test_a_name_is_one_line_that_prints(office: Office, page: str, name: str) -> None:
    sent = {"name": name, "kind": "link", "scope": "read", "days": 5}
    refused = signed_in(office.owner).post(page, sent)
    assert refused.status_code == 422
    assert "do not print" in refused.content.decode()
