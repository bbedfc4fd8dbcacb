from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.exceptions import ValidationError
from django.utils import timezone

from planner.teams.audit import audit_events_of
from planner.teams.invitations import (
    InvitationUnusable,
    invitation_accept,
    invitation_accept_new,
    invitation_create,
    invitation_find,
    invitation_revoke,
)
from planner.teams.models import Invitation, Role, User
from planner.teams.rules import role_of
from planner.teams.selectors import teams_of
from tests.factories import PASSWORD, make_user, team_of

pytestmark = pytest.mark.django_db


def invite(user: User, **fields: Any) -> tuple[Invitation, str]:
    return invitation_create(team=team_of(user), actor=user, **({"role": Role.EDITOR} | fields))


def test_someone_new_gets_an_account_in_the_team_alone(user: User) -> None:
    _, secret = invite(user, role=Role.VIEWER)
    made = invitation_accept_new(
        invitation=invitation_find(secret), email="New@Example.com", name="New", password=PASSWORD
    )
    assert authenticate(username="new@example.com", password=PASSWORD) == made
    assert (role_of(made, team_of(user)), list(teams_of(made))) == (Role.VIEWER, [team_of(user)])
    assert audit_events_of(team_of(user))[0].action == "member.joined"


def test_a_link_works_once(user: User) -> None:
    invitation, secret = invite(user)
    invitation_accept(invitation=invitation_find(secret), user=make_user())
    with pytest.raises(InvitationUnusable):
        invitation_find(secret)
    late = make_user()
    with pytest.raises(InvitationUnusable):  # who opened the page before it was used
        invitation_accept(invitation=invitation, user=late)
    assert role_of(late, team_of(user)) is None


def test_a_revoked_or_expired_link_does_not_work(user: User) -> None:
    invitation, secret = invite(user)
    invitation_revoke(invitation=invitation, actor=user)
    invitation_revoke(invitation=invitation, actor=user)
    _, late = invite(user)
    Invitation.objects.exclude(pk=invitation.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    for text in (secret, late, "", "unknown", "\x00é\ud800"):
        with pytest.raises(InvitationUnusable):
            invitation_find(text)
    assert audit_events_of(team_of(user)).filter(action="invitation.revoked").count() == 1


def test_one_for_an_address_lets_nobody_else_in(user: User) -> None:
    invited, other = make_user("Bob@example.com"), make_user()
    invitation, _ = invite(user, email="BOB@Example.com")
    with pytest.raises(InvitationUnusable):
        invitation_accept(invitation=invitation, user=other)
    assert invitation_accept(invitation=invitation, user=invited) == team_of(user)
    fresh, _ = invite(user, email="fresh@example.com")
    made = invitation_accept_new(invitation=fresh, email="else@example.com", name="F", password=PASSWORD)
    assert made.email == "fresh@example.com"


def test_a_member_who_opens_a_link_leaves_it_for_the_invited(user: User) -> None:
    invitation, secret = invite(user, role=Role.VIEWER)
    invitation_accept(invitation=invitation, user=user)
    assert role_of(user, team_of(user)) == Role.OWNER
    assert invitation_find(secret)


def test_everything_wrong_with_an_account_is_said_at_once(user: User) -> None:
    invitation, secret = invite(user)
    with pytest.raises(ValidationError) as refused:
        invitation_accept_new(invitation=invitation, email=user.email, name="x" * 200, password="short")
    assert set(refused.value.message_dict) == {"email", "name", "password"}
    assert invitation_find(secret)


@pytest.mark.parametrize("fields", [{"days": 0}, {"days": 91}, {"email": "nobody"}, {"role": "king"}])
def test_a_malformed_invitation_is_refused(user: User, fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        invite(user, **fields)


def test_the_secret_is_not_stored(user: User) -> None:
    invitation, secret = invite(user)
    stored = [str(value) for row in (invitation, *audit_events_of(team_of(user))) for value in vars(row).values()]
    assert not any(secret in text for text in stored)
