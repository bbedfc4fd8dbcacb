"""The audit log as pages; its CSV is the API's."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.dateparse import parse_date
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from planner.teams.audit import audit_actions_of, audit_actors_of, audit_events_of
from planner.teams.models import AuditEvent, Team
from planner.teams.selectors import owned_get
from planner.web.access import Visit, for_team, page
from planner.web.audit_table import audit_table, words

PER_PAGE = 50


@dataclass(frozen=True, slots=True)
class Filters:
    """What of the log is asked for, by the names that the API has too; texts that name nothing find nothing."""

    action: str
    actor: str
    created_from: date | None
    created_before: date | None

    def given(self) -> dict[str, str]:
        """Those that are set, as an address has them."""
        values = {name: getattr(self, name) for name in ("action", "actor", "created_from", "created_before")}
        return {name: str(value) for name, value in values.items() if value}


def _filters(request: HttpRequest) -> Filters:
    def get(name: str, default: str) -> str:
        return request.GET.get(name, default).replace("\0", "")

    days = (_day(get("created_from", "")), _day(get("created_before", "")))
    return Filters(get("action", "")[:60], get("actor", "")[:254], *days)


def _day(text: str) -> date | None:
    try:
        return parse_date(text)
    except ValueError:
        return None


def _found(team: Team, filters: Filters) -> QuerySet[AuditEvent]:
    rows = audit_events_of(team)
    if filters.action:
        rows = rows.filter(action=filters.action)
    if filters.actor:
        rows = rows.filter(actor_label=filters.actor)
    if filters.created_from:
        rows = rows.filter(created_at__gte=datetime.combine(filters.created_from, time(), UTC))
    if filters.created_before:
        rows = rows.filter(created_at__lt=datetime.combine(filters.created_before, time(), UTC))
    return rows


def _after(rows: QuerySet[AuditEvent], team: Team, last_id: str) -> QuerySet[AuditEvent]:
    """The rows that follow the one named; all of them where it names none."""
    try:
        last = owned_get(AuditEvent, team, last_id)
    except AuditEvent.DoesNotExist:
        return rows
    return rows.filter(Q(created_at__lt=last.created_at) | Q(created_at=last.created_at, pk__gt=last.pk))


@require_GET
@for_team
def log(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Newest first, 50 at a time; `after` is the last row of the page before."""
    filters = _filters(request)
    shown = list(_after(_found(visit.team, filters), visit.team, request.GET.get("after", ""))[: PER_PAGE + 1])
    query = request.GET.copy()
    if len(shown) > PER_PAGE:
        query["after"] = str(shown[PER_PAGE - 1].pk)
    csv_address = reverse("api-team-audit", args=[visit.team.pk])
    context = {
        "table": audit_table(shown[:PER_PAGE], "Audit log"),
        "older": query.urlencode() if len(shown) > PER_PAGE else "",
        "actions": [(name, words(name)) for name in audit_actions_of(visit.team)],
        "actors": audit_actors_of(visit.team),
        "chosen": filters.given(),
        "csv_address": f"{csv_address}?{urlencode({'format': 'csv', **filters.given()})}",
        "section": "team",
    }
    return page(request, "pages/team_audit.html", visit, context)
