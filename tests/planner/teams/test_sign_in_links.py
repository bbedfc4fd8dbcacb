from datetime import timedelta

import pytest

from planner.teams.models import SignInLink, User
from planner.teams.services import sign_in_link_create, sign_in_link_use


def test_a_link_works_once(user: User) -> None:
    secret = sign_in_link_create(user=user, next_path="/reports/1/")
    link = sign_in_link_use(secret=secret)
    assert link is not None
    assert (link.user, link.next_path) == (user, "/reports/1/")
    assert sign_in_link_use(secret=secret) is None


def test_a_link_expires(user: User) -> None:
    secret = sign_in_link_create(user=user, next_path="/")
    link = SignInLink.objects.get()
    link.expires_at -= timedelta(hours=1)
    link.save()
    assert sign_in_link_use(secret=secret) is None


def test_a_link_of_someone_inactive_is_dead(user: User) -> None:
    secret = sign_in_link_create(user=user, next_path="/")
    User.objects.update(is_active=False)
    assert sign_in_link_use(secret=secret) is None


def test_an_unknown_secret_is_no_link(user: User) -> None:
    sign_in_link_create(user=user, next_path="/")
    assert sign_in_link_use(secret="") is None


@pytest.mark.parametrize("path", ["https://example.com/", "//example.com", "/\\example.com", "reports/1/", ""])
def test_a_link_leads_nowhere_else(user: User, path: str) -> None:
    with pytest.raises(ValueError, match="not a path of this site"):
        sign_in_link_create(user=user, next_path=path)
