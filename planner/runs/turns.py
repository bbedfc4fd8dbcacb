"""Which run a worker takes next: teams in turn, so that one team's thousand runs do not delay another's first.

The message that woke the worker says only that something waits. The team with the fewest runs under way is next, among
those the one that was served longest ago, and of a team the run that waits longest.
"""

import uuid
from collections.abc import Iterator

from django.db.models import Count
from django.db.models.functions import Now

from planner.runs import leases
from planner.runs.leases import Lease
from planner.runs.models import Run, State, TeamTurn


def take_turn() -> Lease | None:
    """Claims the run whose turn it is; None: nothing waits."""
    for team_id in _teams_in_turn():
        waiting = Run.objects.filter(team=team_id, state=State.QUEUED, cancel_requested=False)
        for run_id in waiting.order_by("created_at").values_list("pk", flat=True)[:OTHERS_MAY_BE_FIRST]:
            lease = leases.claim(run_id)
            if lease is not None:
                TeamTurn.objects.update_or_create(team_id=team_id, defaults={"served_at": Now()})
                return lease
    return None


OTHERS_MAY_BE_FIRST = 10
"""Runs of a team that are tried where other workers take them at the same moment."""


def _teams_in_turn() -> Iterator[uuid.UUID]:
    waiting = set(Run.objects.filter(state=State.QUEUED).order_by().values_list("team", flat=True).distinct())
    if len(waiting) < 2:
        yield from waiting
        return
    under_way = Run.objects.filter(state=State.RUNNING).order_by().values_list("team").annotate(runs=Count("*"))
    running = dict(under_way)
    served = dict(TeamTurn.objects.filter(team__in=waiting).values_list("team", "served_at"))
    # A team that was never served has no time: it comes before those that have one.
    yield from sorted(waiting, key=lambda team: (running.get(team, 0), f"{served.get(team, '')}", team))
