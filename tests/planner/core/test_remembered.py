"""What was made of rows is handed out again only while the database answers with the same rows."""

from collections.abc import Sequence

import pytest

from planner.core import remembered
from planner.core.remembered import Remembered
from planner.teams.models import Membership, Role, Team
from tests.factories import add_member, make_user, team_of

pytestmark = pytest.mark.django_db


class _Members:
    """The members of teams in words, and how often the words were made."""

    def __init__(self) -> None:
        self.made = 0
        self.words: Remembered[Membership, tuple[str, ...]] = Remembered(
            lambda: Membership.objects.select_related("team").order_by("pk"), "team", self._make
        )

    def of(self, team: Team) -> tuple[str, ...]:
        return self.words.of(team.pk)

    def _make(self, rows: Sequence[Membership]) -> tuple[str, ...]:
        self.made += 1
        return tuple(f"{row.role} of {row.team.name}" for row in rows)


@pytest.fixture
def team() -> Team:
    return team_of(make_user(name="Ada"))


def test_the_same_rows_are_made_once(team: Team) -> None:
    members = _Members()
    assert members.of(team) is members.of(team)
    assert members.made == 1


def test_each_change_of_a_row_shows_at_once(team: Team) -> None:
    members = _Members()
    assert members.of(team) == (f"owner of {team.name}",)
    add_member(team, Role.VIEWER)
    assert members.of(team) == (f"owner of {team.name}", f"viewer of {team.name}")
    Membership.objects.filter(team=team, role=Role.VIEWER).update(role=Role.EDITOR)
    assert members.of(team)[1] == f"editor of {team.name}"
    Team.objects.filter(pk=team.pk).update(name="Others")  # of the joined table
    assert members.of(team) == ("owner of Others", "editor of Others")
    Membership.objects.filter(team=team).delete()
    assert members.of(team) == ()


def test_keys_do_not_see_each_other(team: Team) -> None:
    members, other = _Members(), team_of(make_user(name="Grace"))
    assert members.of(team) == (f"owner of {team.name}",)
    assert members.of(other) == (f"owner of {other.name}",)
    assert members.of(team) == (f"owner of {team.name}",)


def test_rows_that_change_while_they_are_made_are_not_kept(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    members = _Members()
    make = members._make

    def late(rows: Sequence[Membership]) -> tuple[str, ...]:
        Team.objects.filter(pk=team.pk).update(name="Later")
        return make(rows)

    monkeypatch.setattr(members.words, "_make", late)
    members.of(team)
    monkeypatch.setattr(members.words, "_make", make)
    assert members.of(team) == ("owner of Later",)


def test_only_so_many_are_kept(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "MOST_KEPT", 1)
    members, other = _Members(), team_of(make_user(name="Grace"))
    for one in (team, other, team):
        members.of(one)
    assert members.made == 3
