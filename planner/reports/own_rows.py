"""A team's own catalog entries as rows of the public lists, for API and pages."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from planner import planning
from planner.datasets.models import CatalogEntry, EntryKind

ORIGIN = "origin"
PUBLIC, OWN = "public", "team"
Record = Mapping[str, Any]


def public_rows(kind: str, priced_at: date) -> tuple[Record, ...]:
    """A list of the catalog with `origin` as its last column."""
    return tuple({**row, ORIGIN: PUBLIC} for row in planning.catalog_listing(kind, priced_at))


def own_rows(kind: str, columns: Iterable[str], entries: Iterable[CatalogEntry]) -> list[dict[str, Any]]:
    """The team's entries of a list, in its columns."""
    return [_row(kind, tuple(columns), entry) for entry in entries if entry.kind == kind]


def _row(kind: str, columns: tuple[str, ...], entry: CatalogEntry) -> dict[str, Any]:
    value: dict[str, Any] = dict(entry.value)
    if kind == EntryKind.GPU_PRICE:
        value |= {"gpu": entry.name, "provider": "", "instance": "", "region": ""}
    elif kind == EntryKind.MODEL:
        value = {"id": entry.name, **planning.model_facts(value)}
    elif kind == EntryKind.ACCELERATOR:
        value |= {"vendor": "", "link_gb_per_s": value.get("interconnect_gb_per_s"), "interconnect": "given"}
    else:
        value |= {"available": True}
    known = {"source": entry.source, "as_of": entry.as_of.isoformat(), "note": "", ORIGIN: OWN}
    found = {**value, **known}
    return {name: found.get(name) for name in columns}
