"""The audit log of a team: added to by every room that changes something, never changed."""

from collections.abc import Mapping

from django.db.models import Model, QuerySet

from planner.core.context import request_id, via_token
from planner.teams.models import AuditEvent, Team, User

Detail = str | int | float | bool | None
_MOST_DETAIL_CHARACTERS = 200


def record(
    *,
    team: Team,
    actor: User | None,
    action: str,
    thing: Model | None = None,
    kind: str = "",
    label: str = "",
    details: Mapping[str, Detail] | None = None,
) -> AuditEvent:
    """Adds a row; call it inside the transaction that does the thing, so that neither is there without the other.

    action: `noun.verb` in the past, such as `scenario.edited`. thing: the row that it was done to; `kind` and `label`
    name it where the model's own name and text do not. details: a few plain values, never a secret.
    """
    shown = {name: _short(value) for name, value in (details or {}).items()}
    return AuditEvent.objects.create(
        team=team,
        actor=actor,
        actor_label=actor.email if actor else "",
        via=via_token.get(),
        action=action,
        object_kind=kind or (thing._meta.model_name or "" if thing is not None else ""),
        object_id="" if thing is None else str(thing.pk),
        object_label=(label or ("" if thing is None else str(thing)))[:254],
        details=shown,
        request_id=request_id.get(),
    )


def audit_events_of(team: Team) -> QuerySet[AuditEvent]:
    """The team's rows, newest first."""
    return AuditEvent.objects.filter(team=team).order_by("-created_at", "pk")


def _short(value: Detail) -> Detail:
    return value[:_MOST_DETAIL_CHARACTERS] if isinstance(value, str) else value
