"""A team's own catalog entries and defaults: saved once they would make a valid scenario, handed to planning."""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from planner import planning
from planner.core.remembered import Remembered
from planner.datasets.comparing import comparisons_after
from planner.datasets.models import CatalogEntry, EntryKind
from planner.teams.audit import record
from planner.teams.models import Team, User

MOST_ENTRIES = 500
_NAMED = {
    EntryKind.GPU_PRICE: ("gpu",),
    EntryKind.API_PRICE: ("provider", "model"),
    EntryKind.MODEL: ("id",),
    EntryKind.ACCELERATOR: (),
}
"""What an entry's value as sent holds besides what stands in a scenario."""


@transaction.atomic
def entry_save(
    *,
    team: Team,
    actor: User,
    kind: EntryKind,
    value: Mapping[str, Any],
    source: str,
    as_of: date,
    guard: Callable[[CatalogEntry | None], None] = lambda _: None,
) -> tuple[CatalogEntry, bool]:
    """Keeps an entry; one of the same kind and name is replaced. Returns it, and whether it is new.

    guard: sees the entry that would be replaced, None for a new one, while nobody else can change it; it raises where
    that is not what its caller expected.
    planning.ScenarioInvalid: every fault, pointers within `value`. ValidationError: the team has 500 already.
    """
    checked = planning.own_entry(_planning_kind(kind), value, source=source, as_of=as_of)
    Team.objects.select_for_update().get(pk=team.pk)
    known = CatalogEntry.objects.filter(team=team, kind=kind, name__iexact=checked.name).first()
    guard(known)
    if known is None and CatalogEntry.objects.filter(team=team).count() >= MOST_ENTRIES:
        raise ValidationError(f"A team keeps at most {MOST_ENTRIES} entries.")
    entry = known or CatalogEntry(team=team, kind=kind)
    entry.name, entry.value, entry.source, entry.as_of = checked.name, dict(value), checked.source, as_of
    entry.created_by = actor
    entry.full_clean(validate_constraints=False)
    entry.save()
    action = "catalog_entry.added" if known is None else "catalog_entry.replaced"
    details = {"kind": kind.value, "source": checked.source, **_price(value)}
    record(team=team, actor=actor, action=action, thing=entry, kind="catalog entry", details=details)
    comparisons_after(entry)
    return entry, known is None


@transaction.atomic
def entry_delete(*, entry: CatalogEntry, actor: User) -> None:
    """Forgets an entry; scenarios that used it hold it themselves, measurements made on it have no prediction then."""
    record(
        team=entry.team,
        actor=actor,
        action="catalog_entry.deleted",
        thing=entry,
        kind="catalog entry",
        details={"kind": entry.kind, **_price(entry.value)},
    )
    comparisons_after(entry)
    entry.delete()


@transaction.atomic
def defaults_save(*, team: Team, actor: User, defaults: Mapping[str, Any]) -> Team:
    """What the team's plans start from: `billing` and `engine` as in a scenario. planning.ScenarioInvalid."""
    checked = planning.own_defaults(defaults)
    if checked != team.defaults:
        team.defaults = checked
        team.save(update_fields=["defaults"])
        said = {f"{part} {name}": value for part, lines in checked.items() for name, value in lines.items()}
        record(team=team, actor=actor, action="team.defaults_changed", thing=team, details=said)
    return team


def entries_of(team: Team) -> QuerySet[CatalogEntry]:
    """The team's entries, newest first."""
    return CatalogEntry.objects.filter(team=team).select_related("created_by").order_by("-created_at", "pk")


def own_of(team: Team) -> planning.OwnCatalog:
    """What planning puts into the team's scenarios."""
    return planning.OwnCatalog(_OWN_ENTRIES.of(team.pk), team.defaults)


def _own(entry: CatalogEntry) -> planning.OwnEntry:
    outside = _NAMED[EntryKind(entry.kind)]
    value = {name: part for name, part in entry.value.items() if name not in outside and part is not None}
    return planning.OwnEntry(_planning_kind(entry.kind), entry.name, value, entry.source, entry.as_of)


_OWN_ENTRIES: Remembered[CatalogEntry, tuple[planning.OwnEntry, ...]] = Remembered(
    lambda: CatalogEntry.objects.order_by("-created_at", "pk"), "team", lambda rows: tuple(map(_own, rows))
)


def _planning_kind(kind: str) -> planning.OwnKind:
    """The same word with planning's type."""
    return cast(planning.OwnKind, str(kind))


def _price(value: Mapping[str, Any]) -> dict[str, Any]:
    """The prices in a value, for the log."""
    return {name: part for name, part in value.items() if name.startswith(("usd_per", "input_usd", "output_usd"))}
