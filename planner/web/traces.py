"""The recorded traffic that the form offers, and what a scenario takes of the one that is chosen."""

from collections.abc import Mapping
from typing import Any

from planner.datasets.models import Trace
from planner.datasets.selectors import trace_fields, trace_get, traces_of
from planner.planning.traffic.builtin_traces import BUILTIN_TRACES
from planner.reports.numbers import number
from planner.teams.models import Team
from planner.web.forms.submission import TraceOf
from planner.web.forms.values import BUILTIN_TRACE, KEPT_TRACE, TEAM_TRACE

MOST_OFFERED = 200
Document = Mapping[str, Any]


def kept_trace(document: Document) -> Mapping[str, Any] | None:
    """The trace that a scenario carries itself; None where it has none, or names a vendored one."""
    trace: Mapping[str, Any] | None = (document.get("traffic") or {}).get("trace")
    return None if trace is None or trace.get("builtin") else trace


def trace_options(team: Team, kept: Mapping[str, Any] | None) -> tuple[tuple[str, str], ...]:
    """What can be chosen: the scenario's own trace, the team's, the vendored ones."""
    own = [(KEPT_TRACE, "The trace of this scenario")] if kept else []
    small = traces_of(team).exclude(csv_gzip=None)[:MOST_OFFERED]
    teams = [(f"{TEAM_TRACE}{row.pk}", f"{row.name}, {number(row.requests)} requests") for row in small]
    vendored = [(f"{BUILTIN_TRACE}{trace.id}", trace.title) for trace in BUILTIN_TRACES.values()]
    return (("", "none chosen"), *own, *teams, *vendored)


def trace_reader(team: Team, kept: Mapping[str, Any] | None) -> TraceOf:
    """Reads what the form's field names."""

    def read(reference: str) -> Mapping[str, Any] | None:
        if reference == KEPT_TRACE:
            return kept
        if reference.startswith(BUILTIN_TRACE):
            trace_id = reference.removeprefix(BUILTIN_TRACE)
            return {"builtin": trace_id} if trace_id in BUILTIN_TRACES else None
        return _team_trace(team, reference.removeprefix(TEAM_TRACE))

    return read


def _team_trace(team: Team, trace_id: str) -> Mapping[str, Any] | None:
    try:
        return trace_fields(trace_get(team, trace_id))
    except Trace.DoesNotExist:
        return None
