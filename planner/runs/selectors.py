"""Reads of runs; the team comes first, so that nothing of another team can be named."""

import uuid
from collections.abc import Iterable

from django.db.models import Count, F, OuterRef, QuerySet, Subquery, Window
from django.db.models.functions import Coalesce, RowNumber

from planner.runs.models import RequestPart, Run, State
from planner.scenarios.models import ScenarioVersion
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
    """Runs that are under way or whose turn comes before this one's, at most: teams take turns (see turns.py)."""
    waiting = Run.objects.filter(state=State.QUEUED)
    own = waiting.filter(team=run.team_id, created_at__lt=run.created_at).count()
    others = waiting.exclude(team=run.team_id).order_by().values("team").annotate(runs=Count("*"))
    turns = sum(min(runs, own + 1) for runs in others.values_list("runs", flat=True))
    return own + turns + Run.objects.filter(state=State.RUNNING).count()


def usual_durations_s(team: Team) -> tuple[int, int] | None:
    """Seconds that the team's last runs took, least and most; None without any."""
    done = Run.objects.filter(team=team, state=State.DONE, started_at__isnull=False, finished_at__isnull=False)
    recent = done.only("started_at", "finished_at").order_by("-created_at")[:RECENT_RUNS]
    taken_s = sorted(run.taken_s for run in recent if run.taken_s is not None)
    return (taken_s[0], taken_s[-1]) if taken_s else None


def newest_runs(versions: Iterable[ScenarioVersion]) -> dict[int, Run]:
    """The newest run of each version that has any, by the version's key, without body and partial results."""
    of_one = Run.objects.filter(scenario_version=OuterRef("pk")).order_by("-created_at", "pk").values("pk")[:1]
    return _picked(versions, Subquery(of_one), Run.objects.defer("body", "partial"))


def newest_reports(versions: Iterable[ScenarioVersion], rows: "QuerySet[Run]") -> dict[int, Run]:
    """The finished run of each version, from `rows`: the newest on the version's own prices, else the newest."""
    done = Run.objects.filter(scenario_version=OuterRef("pk"), state=State.DONE).order_by("-created_at", "pk")
    as_saved = done.filter(priced_at=OuterRef("priced_at"))
    return _picked(versions, Coalesce(Subquery(as_saved.values("pk")[:1]), Subquery(done.values("pk")[:1])), rows)


def _picked(versions: Iterable[ScenarioVersion], pick: Subquery | Coalesce, rows: "QuerySet[Run]") -> dict[int, Run]:
    """One run a version: the database picks by index, since a version can have any number of runs with long reports."""
    ids = [version.pk for version in versions]
    picked = ScenarioVersion.objects.filter(pk__in=ids).order_by().annotate(picked=pick)
    keys = [key for key in picked.values_list("picked", flat=True) if key]
    return {run.scenario_version_id: run for run in rows.filter(pk__in=keys)}  # type: ignore[misc]


def runs_by_version(versions: Iterable[ScenarioVersion], most: int) -> dict[int, tuple[list[Run], int]]:
    """The newest runs of each version, `most` at most, and how many it has in all; without the heavy columns."""
    of_these = Run.objects.filter(scenario_version__in=[version.pk for version in versions])
    place = Window(RowNumber(), partition_by=F("scenario_version"), order_by=[F("created_at").desc(), F("pk")])
    newest = of_these.annotate(place=place).filter(place__lte=most).values_list("pk", flat=True)
    found: dict[int, tuple[list[Run], int]] = {
        key: ([], runs) for key, runs in of_these.values_list("scenario_version").annotate(runs=Count("pk")).order_by()
    }
    light = Run.objects.filter(pk__in=list(newest)).select_related("scenario_version")
    light = light.defer("body", "partial", "report", "scenario_version__body")
    for run in light.order_by("-created_at", "pk"):
        found[run.scenario_version_id][0].append(run)  # type: ignore[index]
    return found


def run_report_bytes(run: Run) -> bytes | None:
    """The report exactly as every way in returns it; None until the run is done."""
    return run.report.encode() if run.state == State.DONE else None


def run_requests(run: Run) -> "QuerySet[RequestPart]":
    """The parts of a run's simulated requests, in order: its own, or those of the run of the team that it shares its
    report with. Empty where no fleet was recommended, and for runs that ended before requests were kept."""
    with_parts = Run.objects.filter(team=run.team_id, digest=run.digest, state=State.DONE, request_parts__number=0)
    owners = sorted(with_parts.order_by().values_list("created_at", "pk"))  # few; an order would pick the wrong index
    return RequestPart.objects.filter(run__in=[pk for _, pk in owners[:1]]).order_by("number")
