"""Teams over the API: members, invitations, tokens that are never wider than what asks, the audit log."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from planner.teams.audit import record
from planner.teams.members import team_create
from planner.teams.models import ApiToken, Role, User
from planner.teams.services import token_authenticate, token_create
from tests.factories import PASSWORD, add_member, make_token, make_user, team_of
from tests.planner.api.support import Api, problem


def path(user: User, rest: str = "") -> str:
    return f"/teams/{team_of(user).pk}{rest}"


def test_a_token_sees_its_team_and_a_session_all_of_the_persons(api: Api, user: User) -> None:
    other = team_create(user=user, name="Elsewhere")
    assert [row["id"] for row in api.get("/teams").json()["items"]] == [str(team_of(user).pk)]
    problem(api.get(f"/teams/{other.pk}"), 404, "not-found")
    session = Api()
    session.client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    assert {row["name"] for row in session.get("/teams").json()["items"]} == {team_of(user).name, "Elsewhere"}
    assert session.get(f"/teams/{other.pk}").json()["role"] == "owner"


def test_a_team_is_renamed(api: Api, user: User) -> None:
    assert api.call("PATCH", path(user), {"name": "Platform"}).json()["name"] == "Platform"
    for name in ("", "  ", "x" * 121, "a\x00b", 5):
        problem(api.call("PATCH", path(user), {"name": name}), 422, "invalid-body")
    problem(api.call("PATCH", path(user), {"colour": "red"}), 422, "invalid-body")


def test_the_last_owner_stays(api: Api, user: User) -> None:
    problem(api.call("PATCH", path(user, f"/members/{user.pk}"), {"role": "viewer"}), 409, "last-owner")
    problem(api.delete(path(user, f"/members/{user.pk}")), 409, "last-owner")
    problem(api.delete(path(user, f"/members/{2**80}")), 404, "not-found")


def test_a_member_leaves_and_removes_nobody_else(user: User) -> None:
    member, other = add_member(team_of(user)), add_member(team_of(user))
    caller = Api(make_token(member)[1])
    problem(caller.delete(path(user, f"/members/{other.pk}")), 403, "forbidden")
    assert caller.delete(path(user, f"/members/{member.pk}")).status_code == 204
    problem(caller.get(path(user)), 401, "not-authenticated")


def test_an_invitation_made_over_the_api_lets_one_person_in(api: Api, user: User) -> None:
    made = api.post(path(user, "/invitations"), {"role": "editor", "email": "bob@example.com"})
    body = made.json()
    assert made["Location"] == f"/api/v1{path(user, '/invitations')}/{body['id']}"
    shown = api.get(path(user, "/invitations")).json()["items"]
    assert [row["id"] for row in shown] == [body["id"]]
    assert "join_url" not in shown[0]
    joined = Client().post(body["join_url"].removeprefix("http://testserver"), {"name": "Bob", "password": PASSWORD})
    assert joined.status_code == 302
    assert {row["email"] for row in api.get(path(user, "/members")).json()["items"]} == {user.email, "bob@example.com"}


@pytest.mark.parametrize(
    "wrong", [{"role": "king"}, {}, {"role": "viewer", "email": "bob"}, {"role": "viewer", "expires_in_days": 0}]
)
def test_a_malformed_invitation(api: Api, user: User, wrong: dict[str, Any]) -> None:
    assert problem(api.post(path(user, "/invitations"), wrong), 422, "invalid-body")["errors"]


def test_a_token_makes_no_owner(api: Api, user: User) -> None:
    problem(api.post(path(user, "/invitations"), {"role": "owner"}), 403, "forbidden")
    member = add_member(team_of(user))
    problem(api.call("PATCH", path(user, f"/members/{member.pk}"), {"role": "owner"}), 403, "forbidden")


@pytest.mark.parametrize("scope", ["read", "run"])
def test_a_narrow_token_makes_no_token(user: User, scope: str) -> None:
    caller = Api(make_token(user, scope)[1])
    problem(caller.post(path(user, "/tokens"), {"scope": "read"}), 403, "forbidden")


@pytest.mark.parametrize("scope", ["run", "write"])
def test_no_token_is_wider_than_the_role(user: User, scope: str) -> None:
    viewer = add_member(team_of(user), Role.VIEWER)
    caller = Api(make_token(viewer)[1])
    problem(caller.post(path(user, "/tokens"), {"scope": scope}), 403, "forbidden")
    assert caller.post(path(user, "/tokens"), {"scope": "read"}).status_code == 201


def test_a_token_made_by_a_token_does_not_outlive_it(user: User) -> None:
    ends = timezone.now() + timedelta(days=3)
    _, text = token_create(team=team_of(user), user=user, scope="write", expires_at=ends)
    made = Api(text).post(path(user, "/tokens"), {"scope": "run", "name": "x", "expires_in_days": 300}).json()
    found = token_authenticate(made["token"])
    assert found is not None
    assert (found.expires_at, found.scope, found.of_team) == (ends, "run", False)


def test_only_owners_revoke_tokens_of_others(user: User) -> None:
    member = add_member(team_of(user))
    theirs, mine = make_token(user)[0], make_token(member)
    caller = Api(mine[1])
    problem(caller.delete(path(user, f"/tokens/{theirs.pk}")), 403, "forbidden")
    assert caller.delete(path(user, f"/tokens/{mine[0].pk}")).status_code == 204
    assert ApiToken.objects.get(pk=theirs.pk).revoked_at is None


def test_the_audit_log_says_by_which_token(api: Api, user: User) -> None:
    api.post(path(user, "/invitations"), {"role": "viewer"})
    row = api.get(path(user, "/audit?action=invitation.made")).json()["items"][0]
    assert (row["actor"], row["via"]) == (user.email, ApiToken.objects.get().prefix)
    assert row["request_id"] != "-"


def test_the_audit_log_is_filtered_paged_and_a_table(api: Api, user: User) -> None:
    for number in range(5):
        record(team=team_of(user), actor=user, action="scenario.edited", kind="scenario", label=f"=Chat {number}")
    first = api.get(path(user, "/audit?action=scenario.edited&limit=3")).json()
    second = api.get(first["next"]).json()
    labels = [row["object_label"] for page in (first, second) for row in page["items"]]
    assert labels == [f"=Chat {number}" for number in (4, 3, 2, 1, 0)]
    lines = api.get(path(user, "/audit?format=csv&object_kind=scenario&fields=action,object_label")).content
    assert lines.decode().splitlines()[:2] == ["action,object_label", "scenario.edited,'=Chat 4"]
    assert api.get(path(user, "/audit?actor=nobody")).json()["items"] == []
    problem(api.get(path(user, "/audit?actor=%00")), 400, "invalid-parameter")


def test_a_stranger_may_not_even_know(api: Api) -> None:
    problem(api.get(f"/teams/{team_of(make_user()).pk}/audit"), 404, "not-found")
