"""Rows of the audit log as a table."""

from collections.abc import Iterable

from planner.reports.numbers import DASH, plain_decimal
from planner.reports.parts import Cell, Column, Row, Table
from planner.teams.models import AuditEvent

_COLUMNS = (
    Column("When", "UTC", whole=True),
    Column("Who", whole=True),
    Column("What"),
    Column("To"),
    Column("Details", wide=True),
)


def words(action: str) -> str:
    """`member.role_changed` as a reader says it."""
    return action.replace(".", " ").replace("_", " ")


def audit_table(events: Iterable[AuditEvent], caption: str) -> Table:
    """Who did what to which thing, in the given order."""
    return Table(caption, _COLUMNS, tuple(_row(event) for event in events))


def _row(event: AuditEvent) -> Row:
    details = ", ".join(
        f"{name} {plain_decimal(value) if isinstance(value, float) else value}"
        for name, value in event.details.items()
        if value not in ("", None) and name != "by_itself"
    )
    return Row(
        (
            Cell(event.created_at.strftime("%Y-%m-%d %H:%M:%S")),
            Cell(event.actor_label or _nobody(event), note=f"token {event.via}" if event.via else ""),
            Cell(words(event.action)),
            Cell(event.object_label or DASH, note=event.object_kind),
            Cell(details or DASH),
        )
    )


def _nobody(event: AuditEvent) -> str:
    """Who did what no person did: a command, or the planner by itself."""
    return "by itself" if event.details.get("by_itself") else "a command"
