from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from planner.teams.models import Membership, User
from planner.teams.services import token_authenticate, token_create, token_revoke
from tests.factories import make_token, make_user, team_of


def test_its_text_names_the_token(user: User) -> None:
    token, text = make_token(user)
    found = token_authenticate(text)
    assert found == token
    assert found.team == team_of(user)


def test_the_secret_is_not_stored(user: User) -> None:
    token, text = make_token(user)
    secret = text.rpartition("_")[2]
    assert secret not in {str(value) for value in vars(token).values()}


@pytest.mark.parametrize("text", ["", "stc", "stc__", "stc_abc", "_", "stc_000000000000_00", "é" * 50, "a_b_c_d"])
def test_nonsense_names_no_token(user: User, text: str) -> None:
    make_token(user)
    assert token_authenticate(text) is None


def test_a_wrong_secret_or_mark_names_no_token(user: User) -> None:
    token, text = make_token(user)
    assert token_authenticate(text[:-1] + ("0" if text[-1] != "0" else "1")) is None
    assert token_authenticate("xyz" + text[3:]) is None
    assert token_authenticate(f"stc_{token.prefix}_") is None


def test_an_expired_token_is_dead(user: User) -> None:
    past = timezone.now() - timedelta(seconds=1)
    _, text = token_create(team=team_of(user), user=user, scope="read", expires_at=past)
    assert token_authenticate(text) is None


def test_a_revoked_token_is_dead(user: User) -> None:
    token, text = make_token(user)
    token_revoke(token=token)
    assert token_authenticate(text) is None


def test_a_token_dies_with_the_account(user: User) -> None:
    _, text = make_token(user)
    User.objects.filter(pk=user.pk).update(is_active=False)
    assert token_authenticate(text) is None


def test_a_token_dies_when_its_user_leaves_the_team(user: User) -> None:
    _, text = make_token(user)
    Membership.objects.filter(user=user).delete()
    assert token_authenticate(text) is None


def test_last_use_is_written_at_most_once_a_minute(user: User) -> None:
    token, text = make_token(user)
    token_authenticate(text)
    token.refresh_from_db()
    first = token.last_used_at
    assert first is not None
    token_authenticate(text)
    token.refresh_from_db()
    assert token.last_used_at == first
    token.last_used_at = first - timedelta(seconds=61)
    token.save()
    token_authenticate(text)
    token.refresh_from_db()
    assert token.last_used_at >= first


@pytest.mark.django_db
def test_an_unknown_scope_is_refused() -> None:
    user = make_user()
    with pytest.raises(ValidationError):
        token_create(team=team_of(user), user=user, scope="admin")
