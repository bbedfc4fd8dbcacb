import pytest

from planner.teams.audit import audit_events_of, record
from planner.teams.models import AppendOnly, AuditEvent, User
from tests.factories import make_user, team_of

pytestmark = pytest.mark.django_db


def test_a_row_keeps_names_as_they_were(user: User) -> None:
    team = team_of(user)
    record(team=team, actor=user, action="team.renamed", thing=team, details={"before": "x" * 500})
    address, name = user.email, team.name
    team.name = "Another"
    team.save()
    User.objects.filter(pk=user.pk).update(email="else@example.com")
    row = audit_events_of(team)[0]
    assert (row.actor_label, row.object_label, row.object_kind, row.object_id) == (address, name, "team", str(team.pk))
    assert len(row.details["before"]) == 200


def test_a_row_outlives_its_person(user: User) -> None:
    other = make_user()
    record(team=team_of(user), actor=other, action="scenario.edited", kind="scenario", label="Chat")
    other.delete()
    row = audit_events_of(team_of(user)).get(action="scenario.edited")
    assert (row.actor, row.actor_label) == (None, other.email)


def test_nothing_of_it_can_be_changed(user: User) -> None:
    row = record(team=team_of(user), actor=user, action="team.renamed")
    row.action = "nothing.happened"
    for change in (
        row.save,
        row.delete,
        AuditEvent.objects.all().delete,
        lambda: AuditEvent.objects.update(action="nothing.happened"),
    ):
        with pytest.raises(AppendOnly):
            change()
    assert audit_events_of(team_of(user)).filter(action="team.renamed").exists()


def test_each_team_has_its_own(user: User) -> None:
    record(team=team_of(user), actor=user, action="team.renamed")
    assert not audit_events_of(team_of(make_user())).exists()
