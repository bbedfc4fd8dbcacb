"""What an operator looks at when something hangs: runs that wait long, went silent, or were taken again."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.db.models.functions import Now

from planner.runs.limits import OPEN
from planner.runs.models import Run, State
from planner.teams.models import Team

WAITS_LONG = timedelta(minutes=10)
MOST = 50


def stuck_runs() -> QuerySet[Run]:
    """Queued for over ten minutes, under way with a lease that ended, or taken more than once; the oldest first."""
    lasting = timedelta(seconds=settings.CELERY_TASK_SOFT_TIME_LIMIT)
    stuck = (
        Q(state=State.QUEUED, created_at__lt=Now() - WAITS_LONG)
        | Q(state=State.RUNNING, lease_until__lt=Now())
        | Q(state=State.RUNNING, started_at__lt=Now() - lasting)
        | Q(state__in=OPEN, attempts__gt=1)
    )
    rows = Run.objects.filter(stuck, state__in=OPEN).select_related("team").defer("body", "report", "partial")
    return rows.order_by("created_at")[:MOST]


def teams_at_work() -> QuerySet[Team]:
    """Every team with how many runs it has open and stored, and its own limits."""
    open_runs = Count("runs", filter=Q(runs__state__in=OPEN))
    return (
        Team.objects.select_related("limits")
        .annotate(open_now=open_runs, stored_now=Count("runs"))
        .order_by("name", "pk")
    )
