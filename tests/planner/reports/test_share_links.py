from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.utils import timezone

from planner.reports.models import ShareLink
from planner.reports.share_links import (
    share_link_create,
    share_link_open,
    share_link_revoke,
    share_links_of,
)
from planner.runs.models import Run, State
from planner.teams.models import User
from tests.factories import make_run, make_user, team_of


@pytest.fixture
def done(user: User) -> Run:
    run = make_run(user)
    run.state, run.report = State.DONE, "{}"
    run.save()
    return run


def test_a_link_opens_its_run_and_notes_the_use(user: User, done: Run) -> None:
    link, secret = share_link_create(run=done, user=user, name="Board")
    opened = share_link_open(secret)
    assert opened == link
    assert opened.run == done
    link.refresh_from_db()
    assert link.last_used_at is not None


def test_only_the_hash_is_stored(user: User, done: Run) -> None:
    link, secret = share_link_create(run=done, user=user)
    assert secret not in str(ShareLink.objects.values().get(pk=link.pk))


def test_another_secret_opens_nothing(user: User, done: Run) -> None:
    _, secret = share_link_create(run=done, user=user)
    for wrong in (secret[:-1], secret + "x", "", "\x00", "\ud800", "é" * 5000):
        assert share_link_open(wrong) is None


def test_a_link_ends_when_it_expires(user: User, done: Run) -> None:
    link, secret = share_link_create(run=done, user=user, expires_in_days=1)
    assert link.expires_at - timezone.now() <= timedelta(days=1)
    ShareLink.objects.update(expires_at=timezone.now())
    assert share_link_open(secret) is None


def test_a_link_ends_when_it_is_revoked(user: User, done: Run) -> None:
    link, secret = share_link_create(run=done, user=user)
    share_link_revoke(link=link, user=user)
    first = ShareLink.objects.get().revoked_at
    share_link_revoke(link=link, user=user)
    assert ShareLink.objects.get().revoked_at == first
    assert share_link_open(secret) is None
    assert list(share_links_of(team_of(user))) == []


@pytest.mark.parametrize("days", [0, -1, 367])
def test_days_have_bounds(user: User, done: Run, days: int) -> None:
    with pytest.raises(ValidationError):
        share_link_create(run=done, user=user, expires_in_days=days)


def test_a_run_without_a_report_is_not_shared(user: User) -> None:
    with pytest.raises(ValidationError):
        share_link_create(run=make_run(user), user=user)


def test_the_list_is_the_teams_own(user: User, done: Run) -> None:
    link, _ = share_link_create(run=done, user=user)
    assert list(share_links_of(team_of(user))) == [link]
    assert list(share_links_of(team_of(make_user()))) == []
    assert list(share_links_of(team_of(user), make_run(user, seed=7))) == []
