"""Where scenario documents differ: by JSON pointer, one value for each document. Plain values, no database."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.planning.errors import pointer

LONGEST_TEXT_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where documents differ. `values`: what each has there, None where a document has nothing.

    A text longer than 2,000 characters (a trace) is replaced by its length and the start of its SHA-256.
    """

    pointer: str
    values: tuple[Any, ...]

    @property
    def old(self) -> Any:
        """The first document's value."""
        return self.values[0]

    @property
    def new(self) -> Any:
        """The last document's value."""
        return self.values[-1]


def differences(documents: Sequence[Mapping[str, Any]]) -> tuple[Difference, ...]:
    """Every place where not all documents have the same value, in the order of the first document that has it.

    Objects, and lists of objects by position, are compared inside; a list of plain values is one value, since its
    order and its length are part of what it says. Canonical documents hold no null, so that None means absent.
    """
    flat = [dict(_leaves((), document)) for document in documents]
    places = dict.fromkeys(place for leaves in flat for place in leaves)
    rows = ((place, tuple(leaves.get(place) for leaves in flat)) for place in places)
    return tuple(
        Difference(pointer(*place), tuple(_shortened(value) for value in values))
        for place, values in rows
        if any(_unlike(value, values[0]) for value in values[1:])
    )


def _leaves(place: tuple[str | int, ...], node: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            yield from _leaves((*place, key), value)
    elif isinstance(node, list) and node and all(isinstance(item, Mapping) for item in node):
        for index, value in enumerate(node):
            yield from _leaves((*place, index), value)
    else:
        yield place, node


def _unlike(value: Any, other: Any) -> bool:
    """1 and 1.0 say the same; 1 and true do not."""
    return value != other or isinstance(value, bool) != isinstance(other, bool)


def _shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_TEXT_CHARACTERS:
        digest = hashlib.sha256(value.encode(errors="replace")).hexdigest()
        return f"a text of {len(value):,} characters, SHA-256 {digest[:16]}…"
    return value
