"""What a team may have at work and keep, and how long: set by the operator, for all teams and for one."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone

from planner.runs.models import FINAL_STATES, Backtest, Run, State, TeamLimits
from planner.teams.audit import record
from planner.teams.models import Team, User

DELETED_AT_ONCE = 100
OPEN = (State.QUEUED, State.RUNNING)


class LimitReached(PermissionDenied):
    """A team has as many runs as it may; the message is for people."""


@dataclass(frozen=True, slots=True)
class Limits:
    """0: no limit. keep_days: finished runs are deleted so many days after their end."""

    open_runs: int
    stored_runs: int
    keep_days: int


def limits_of(team: Team) -> Limits:
    """The team's own limits, else those of all teams."""
    own = TeamLimits.objects.filter(team=team).first()

    def value(name: str, of_all: int) -> int:
        mine = getattr(own, name, None)
        return of_all if mine is None else int(mine)

    return Limits(
        value("open_runs", settings.OPEN_RUNS_PER_TEAM),
        value("stored_runs", settings.STORED_RUNS_PER_TEAM),
        value("keep_days", settings.KEEP_RUNS_DAYS),
    )


def must_have_room(team: Team) -> None:
    """LimitReached: another run would be more than the team may have. For whoever holds the team's lock."""
    limits = limits_of(team)
    of_team = Run.objects.filter(team=team)
    if limits.open_runs and of_team.filter(state__in=OPEN).count() >= limits.open_runs:
        raise LimitReached(
            f"Your team has {limits.open_runs:,} runs waiting or under way, as many as it may. Wait, or cancel some."
        )
    if limits.stored_runs and of_team.count() >= limits.stored_runs:
        raise LimitReached(
            f"Your team keeps {limits.stored_runs:,} runs, as many as it may. An operator can raise that, or have old "
            "ones deleted."
        )


@transaction.atomic
def limits_set(*, team: Team, actor: User, **given: int | None) -> TeamLimits:
    """Sets the team's own limits: open_runs, stored_runs, keep_days; None: as for all teams. Its audit log says so."""
    row, _ = TeamLimits.objects.get_or_create(team=team)
    for name in ("open_runs", "stored_runs", "keep_days"):
        setattr(row, name, given.get(name))
    row.full_clean()
    row.save()
    said: dict[str, Any] = {name: "as for all" if value is None else value for name, value in given.items()}
    record(team=team, actor=actor, action="team.limits_set", thing=team, details=said)
    return row


def delete_outlived() -> int:
    """Deletes some finished runs that are older than their team keeps them, reports and requests with them; how many.

    The newest finished run of a scenario stays, so that none is left without its result, and so do runs that a link
    still shows or that measurements are set beside.
    """
    of_all = settings.KEEP_RUNS_DAYS
    own = TeamLimits.objects.exclude(keep_days=None).values_list("team_id", "keep_days")
    days_of = {**dict.fromkeys(Team.objects.values_list("pk", flat=True), of_all), **dict(own)}
    deleted = 0
    for team in Team.objects.filter(pk__in=[pk for pk, days in days_of.items() if days]):
        ended_before = timezone.now() - timedelta(days=days_of[team.pk] or 0)
        deleted += _delete_some(team, ended_before)
    return deleted


@transaction.atomic
def _delete_some(team: Team, ended_before: datetime) -> int:
    newer = Run.objects.filter(
        scenario_version__scenario=OuterRef("scenario_version__scenario"),
        state=State.DONE,
        finished_at__gt=OuterRef("finished_at"),
    )
    shown = Q(share_links__revoked_at=None, share_links__expires_at__gt=Now(), share_links__isnull=False)
    old = (
        Run.objects.filter(team=team, state__in=FINAL_STATES, finished_at__lt=ended_before)
        .exclude(shown)
        .exclude(Exists(Backtest.objects.filter(run=OuterRef("pk"))))
    )
    gone = old.filter(Q(scenario_version=None) | ~Q(state=State.DONE) | Exists(newer)).order_by("finished_at")
    keys = list(gone.values_list("pk", flat=True)[:DELETED_AT_ONCE])
    if keys:
        Run.objects.filter(pk__in=keys).delete()
        record(team=team, actor=None, action="runs.outlived", thing=team, details={"runs": len(keys)})
    return len(keys)
