"""The audit log of a team: added to by every room that changes something, never changed."""

from collections.abc import Mapping
from typing import Literal

from django.db import connection
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


def audit_actions_of(team: Team) -> list[str]:
    """The actions that the team's rows name, in order."""
    return _distinct(team, "action")


def audit_actors_of(team: Team) -> list[str]:
    """The addresses that the team's rows name, in order; what nobody signed in did has none."""
    return [label for label in _distinct(team, "actor_label") if label]


def _distinct(team: Team, column: Literal["action", "actor_label"]) -> list[str]:
    """The different values of an indexed column. From one value to the next by the index: the time follows their
    number, not the number of rows, all of which a DISTINCT reads."""
    table = connection.ops.quote_name(AuditEvent._meta.db_table)
    query = f"""
        WITH RECURSIVE found(value) AS (
            SELECT MIN({column}) FROM {table} WHERE team_id = %s
            UNION ALL
            SELECT (SELECT MIN({column}) FROM {table} WHERE team_id = %s AND {column} > found.value)
            FROM found WHERE found.value IS NOT NULL
        )
        SELECT value FROM found WHERE value IS NOT NULL"""  # noqa: S608 - the names are ours
    key = AuditEvent._meta.get_field("team").get_db_prep_value(team.pk, connection)
    with connection.cursor() as cursor:
        cursor.execute(query, [key, key])
        return [value for (value,) in cursor.fetchall()]


def _short(value: Detail) -> Detail:
    return value[:_MOST_DETAIL_CHARACTERS] if isinstance(value, str) else value
