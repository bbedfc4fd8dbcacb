"""Addresses of the presets: the present state with a part's fields replaced, and its guess forgotten."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import QueryDict

from planner.reports.numbers import marked
from planner.web.lab import batching, pool, prefill, prefix
from planner.web.lab.query import LabQuery


@dataclass(frozen=True, slots=True)
class Link:
    """A preset; `chosen` where the page already shows it."""

    label: str
    address: str
    chosen: bool


def links(present: QueryDict, query: LabQuery) -> dict[str, tuple[Link, ...]]:
    """The presets of each part."""
    return {
        "batching": tuple(_link(present, query, label, f, "b", "batching") for label, f in batching.EXAMPLES),
        "prefill": tuple(_link(present, query, label, f, "p", "prefill") for label, f in prefill.EXAMPLES),
        "pool": tuple(_link(present, query, label, f, "k", "pool") for label, f in pool.EXAMPLES),
        "prefix": tuple(_link(present, query, label, f, "x", "prefix") for label, f in prefix.EXAMPLES),
    }


def _link(present: QueryDict, query: LabQuery, label: str, fields: Mapping[str, str], letter: str, anchor: str) -> Link:
    state = {name: text for name, text in present.items() if name in LabQuery.model_fields and name[0] != letter}
    address = QueryDict(mutable=True)
    address.update(state | dict(fields))  # type: ignore[arg-type]
    chosen = all(_text(getattr(query, name)) == text for name, text in fields.items())
    return Link(marked(label), f"?{address.urlencode()}#{anchor}", chosen)


def _text(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
