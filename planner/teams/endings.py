"""The end of a team: its data is handed out first, then all of it is deleted."""

import logging
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from planner.teams.audit import audit_events_of, record
from planner.teams.models import Team, User

EXPORT_COUNTS_FOR = timedelta(hours=24)
EXPORTED = "team.exported"

logger = logging.getLogger(__name__)


class NotExported(Exception):  # noqa: N818 - the name says what is the case
    """Nobody took an export of the team in the last 24 hours."""


def team_exported(*, team: Team, actor: User) -> None:
    """Writes down that the actor took an export."""
    record(team=team, actor=actor, action=EXPORTED, thing=team)


def exported_lately(team: Team) -> bool:
    """Whether an export of the last 24 hours is written down."""
    since = timezone.now() - EXPORT_COUNTS_FOR
    return audit_events_of(team).filter(action=EXPORTED, created_at__gte=since).exists()


@transaction.atomic
def team_delete(*, team: Team, actor: User) -> None:
    """Deletes the team and everything that belongs to it, the audit log included; people keep their accounts.

    NotExported: take an export first. The server's log keeps one line.
    """
    Team.objects.select_for_update().get(pk=team.pk)
    if not exported_lately(team):
        raise NotExported
    logger.warning("team %s was deleted by user %s", team.pk, actor.pk)
    team.delete()
