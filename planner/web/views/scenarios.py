"""Saved scenarios: the list, one with its versions, and running one again."""

import json
import uuid
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from planner import planning
from planner.reports.compared import MOST
from planner.reports.moved_prices import moved_prices
from planner.runs.models import State
from planner.runs.selectors import runs_by_version
from planner.runs.services import version_run
from planner.scenarios.models import ScenarioVersion
from planner.scenarios.selectors import ORDERS, Order, comments_of, scenarios_of, tags_of, version_get, versions_of
from planner.teams.models import Membership, Role
from planner.web.access import Visit, for_team, must_run, page
from planner.web.drafts import MOST_DRAFTS_SHOWN, drafts_of
from planner.web.listing import ScenarioRow, paged, scenario_rows
from planner.web.views.scenario_form import scenario_of

MOST_VERSIONS = 100
MOST_RUNS = 5
MOST_RUNS_OPENED = 200
"""Runs shown of each version, the newest, and of the one that `?runs=` names by its number."""
MOST_COMMENTS = 100
ORDER_NAMES = {"-created_at": "newest first", "-changed_at": "last changed first", "name": "by name"}


@require_GET
@for_team
def listing(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The team's scenarios: searched, by tag, in one of three orders, those in use or the archived ones."""
    asked = request.GET
    order: Order = next((known for known in ORDERS if known == asked.get("order")), "-created_at")
    search, tag, archived = asked.get("q", "")[:200], asked.get("tag", ""), bool(asked.get("archived"))
    rows = scenarios_of(visit.team, archived=archived, tag=tag or None, search=search, order=order)
    shown = paged(request, rows.prefetch_related("tags"))
    context = {
        "rows": scenario_rows(shown.object_list),
        "shown": shown,
        "total": shown.paginator.count,
        "query": _without_page(asked),
        "search": search,
        "tag": tag,
        "archived": archived,
        "order": order,
        "orders": ORDER_NAMES.items(),
        "tags": tags_of(visit.team),
        "narrowed": bool(search or tag or archived),
        "most": MOST,
        "drafts": drafts_of(visit.team, visit.user)[:MOST_DRAFTS_SHOWN],
        "section": "scenarios",
    }
    return page(request, "pages/scenarios.html", visit, context)


def _without_page(asked: QueryDict) -> str:
    """The address's parameters but the page, for the links to other pages."""
    kept = asked.copy()
    kept.pop("page", None)
    return kept.urlencode()


@require_GET
@for_team
def detail(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """One scenario with its versions and their runs, its tags, and what was said about it."""
    scenario = scenario_of(visit, scenario_id)
    versions = list(versions_of(scenario)[:MOST_VERSIONS])
    runs = runs_by_version(versions, MOST_RUNS)
    opened = [version for version in versions if str(version.number) == request.GET.get("runs")]
    runs |= runs_by_version(opened, MOST_RUNS_OPENED)
    comments = list(comments_of(scenario)[: MOST_COMMENTS + 1])
    row = scenario_rows([scenario])[0]
    context = {
        "scenario": scenario,
        "versions": [(version, *runs.get(version.pk, ([], 0))) for version in versions],
        "row": row,
        "tags": [tag.name for tag in scenario.tags.all()],
        "comments": comments[:MOST_COMMENTS],
        "more_comments": len(comments) > MOST_COMMENTS,
        "writable": _other_teams(visit),
        "section": "scenarios",
        "most": MOST,
        **_moved(row),
    }
    return page(request, "pages/scenario.html", visit, context)


def _moved(row: ScenarioRow) -> dict[str, Any]:
    """The prices that have moved since the newest version's report."""
    if row.run is None or row.run.state != State.DONE:
        return {}
    report = json.loads(row.run.report)
    return {"moved_prices": moved_prices(report, timezone.now().date()), "moved_number": row.version.number}


def _other_teams(visit: Visit) -> list[Any]:
    """Teams besides this one in which the visitor may save scenarios."""
    rows = Membership.objects.filter(user=visit.user, role__in=(Role.OWNER, Role.EDITOR)).exclude(team=visit.team)
    return [membership.team for membership in rows.select_related("team").order_by("team__name", "pk")]


@require_POST
@for_team
def rerun(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """Run a version again, the newest unless `number` names one: exactly, which gives the report that is there while
    engine and catalog are the same, or on today's prices."""
    must_run(visit)
    scenario_of(visit, scenario_id)
    priced_at = timezone.now().date() if request.POST.get("prices") == "today" else None
    try:
        number = request.POST.get("number", "")
        version = version_get(visit.team, scenario_id, int(number) if number else None)
        run = version_run(version=version, user=visit.user, priced_at=priced_at)
    except (ValueError, OverflowError, ScenarioVersion.DoesNotExist) as missing:
        if not isinstance(missing, planning.ScenarioInvalid):
            raise Http404 from missing
        messages.error(request, f"This version cannot be run any more: {missing}. Edit it to make one that can.")
        return redirect("scenario", scenario_id=scenario_id)
    return redirect("run", run_id=run.pk)
