"""How the form is described: fields in groups in sections. Everything else about a field comes from the schema.

`ways` and `kinds` say with which choice a field counts; with another choice it is hidden and left out, but kept.
"""

from dataclasses import dataclass
from typing import Literal

Widget = Literal["", "text", "area", "models", "providers", "api_models", "trace", "gpus", "list"]


@dataclass(frozen=True, slots=True)
class Item:
    """One field of the form by its dotted path in the scenario. unset: what a choice that is left out is called."""

    path: str
    label: str
    widget: Widget = ""
    kinds: tuple[str, ...] = ()
    optional: bool = False
    wide: bool = False
    help: str = ""
    unset: str = "engine default"


@dataclass(frozen=True, slots=True)
class Group:
    """Fields that stand together. `ways`: the choices of the section with which the group counts. `kind`: the path of
    the select that says which of its fields count. `folded`: behind a further fold. `chain`: shown as factors, each
    with what it comes to."""

    items: tuple[Item, ...]
    title: str = ""
    ways: tuple[str, ...] = ()
    kind: str = ""
    folded: bool = False
    chain: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A fold of the form. `way`: the name of its radio buttons, `options` their values and labels."""

    id: str
    title: str
    groups: tuple[Group, ...]
    way: str = ""
    options: tuple[tuple[str, str], ...] = ()
    open: bool = True
    note: str = ""
