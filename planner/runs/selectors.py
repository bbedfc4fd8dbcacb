"""Reads of runs; the team comes first, so that nothing of another team can be named."""

import uuid

from django.db.models import QuerySet

from planner.runs.models import RequestPart, Run, State
from planner.teams.models import Team
from planner.teams.selectors import owned_get

RECENT_RUNS = 10


def runs_of(team: Team) -> QuerySet[Run]:
    """The team's runs, newest first, without the heavy columns (body, report, partial), which load when touched."""
    return Run.objects.filter(team=team).defer("body", "report", "partial").order_by("-created_at", "pk")


def run_get(team: Team, run_id: uuid.UUID | str) -> Run:
    """One run of the team. Run.DoesNotExist: no such one here (malformed ids included)."""
    return owned_get(Run, team, run_id)


def run_progress_get(team: Team, run_id: uuid.UUID) -> Run:
    """The same with its version, scenario and author, without body and report: what is asked for every second."""
    light = Run.objects.select_related("scenario_version__scenario", "created_by")
    return light.defer("body", "report", "scenario_version__body").get(team=team, pk=run_id)


def runs_before(run: Run) -> int:
    """Runs of all teams that are under way or wait for longer than this one."""
    waiting = Run.objects.filter(state=State.QUEUED, created_at__lt=run.created_at)
    return waiting.count() + Run.objects.filter(state=State.RUNNING).count()


def usual_durations_s(team: Team) -> tuple[int, int] | None:
    """Seconds that the team's last runs took, least and most; None without any."""
    done = Run.objects.filter(team=team, state=State.DONE, started_at__isnull=False, finished_at__isnull=False)
    recent = done.only("started_at", "finished_at").order_by("-created_at")[:RECENT_RUNS]
    taken_s = sorted(run.taken_s for run in recent if run.taken_s is not None)
    return (taken_s[0], taken_s[-1]) if taken_s else None


def run_report_bytes(run: Run) -> bytes | None:
    """The report exactly as every way in returns it; None until the run is done."""
    return run.report.encode() if run.state == State.DONE else None


def run_requests(run: Run) -> "QuerySet[RequestPart]":
    """The parts of a run's simulated requests, in order: its own, or those of the run of the team that it shares its
    report with. Empty where no fleet was recommended, and for runs that ended before requests were kept."""
    with_parts = Run.objects.filter(team=run.team_id, digest=run.digest, state=State.DONE, request_parts__number=0)
    owner = with_parts.order_by("created_at", "pk").values("pk")[:1]
    return RequestPart.objects.filter(run__in=owner).order_by("number")
