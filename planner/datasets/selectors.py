"""Reads of a team's traces and uploads; the team comes first, so that nothing of another team can be named."""

import gzip
import uuid
from typing import Any

from django.db.models import QuerySet

from planner.datasets.models import Trace, TraceUpload
from planner.teams.models import Team
from planner.teams.selectors import owned_get


def traces_of(team: Team) -> QuerySet[Trace]:
    """The team's traces, newest first, without their large columns."""
    return Trace.objects.filter(team=team).defer("inspection", "csv_gzip").order_by("-created_at", "pk")


def trace_get(team: Team, trace_id: uuid.UUID | str) -> Trace:
    """One trace of the team. Trace.DoesNotExist: no such one here (malformed ids included)."""
    return owned_get(Trace, team, trace_id)


def uploads_of(team: Team) -> QuerySet[TraceUpload]:
    """The team's uploads that were not finished, newest first."""
    return TraceUpload.objects.filter(team=team).order_by("-created_at", "pk")


def upload_get(team: Team, upload_id: uuid.UUID | str) -> TraceUpload:
    """One upload of the team. TraceUpload.DoesNotExist: no such one here (malformed ids included)."""
    return owned_get(TraceUpload, team, upload_id)


def trace_fields(trace: Trace) -> dict[str, Any] | None:
    """The requests as `traffic.trace` of a scenario; None where they are more than a scenario takes."""
    if trace.csv_gzip is None:
        return None
    block_tokens = trace.inspection["reading"].get("block_tokens")
    csv = gzip.decompress(trace.csv_gzip).decode()
    return {"csv": csv} | ({"block_tokens": block_tokens} if block_tokens else {})
