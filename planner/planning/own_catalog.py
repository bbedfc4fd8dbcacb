"""What a team knows better than the catalog: its prices, models and accelerators, and what its plans start from.

They enter a scenario before it is judged, as what anyone could have written into it, so that a report depends on its
scenario alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

from costmodel import UnknownIdError, load_catalog

Kind = Literal["accelerators", "models", "gpu-prices", "api-prices"]
Document = dict[str, Any]
MOST_GPUS = 24
"""As many as a scenario's list may hold."""
_MODEL_TYPES = ("weight_dtype", "kv_dtype")


@dataclass(frozen=True, slots=True)
class OwnEntry:
    """One thing of the team's. `value`: what stands in a scenario, without source and date.

    `name`: of an accelerator or model its id, of a GPU price the catalog's accelerator, of an API price provider and
    model with a slash between.
    """

    kind: Kind
    name: str
    value: Mapping[str, Any]
    source: str
    as_of: date

    @property
    def sourced(self) -> Document:
        """The value with where it is from."""
        return {**self.value, "source": self.source, "as_of": self.as_of.isoformat()}


@dataclass(frozen=True, slots=True)
class OwnCatalog:
    """All entries of a team, and the `billing` and `engine` of scenarios that say nothing of them."""

    entries: tuple[OwnEntry, ...] = ()
    defaults: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, kind: Kind, priced_at: date) -> dict[str, OwnEntry]:
        """Entries of a kind by name in small letters; of prices those that were in force by that day."""
        return {
            entry.name.casefold(): entry
            for entry in self.entries
            if entry.kind == kind and (not kind.endswith("prices") or entry.as_of <= priced_at)
        }


def with_own(document: Document, own: OwnCatalog) -> Document:
    """The document with what the team has put in, where it says nothing else. Never raises: what is malformed stays
    as it is, for the schema to name."""
    try:
        priced_at = date.fromisoformat(str(document.get("priced_at")))
    except ValueError:
        return document
    changed = {
        "model": _model(document.get("model"), own.of("models", priced_at)),
        "hardware": _hardware(
            document.get("hardware", {}), own.of("accelerators", priced_at), own.of("gpu-prices", priced_at)
        ),
        "api": _api(document.get("api"), own.of("api-prices", priced_at)),
        **_defaults(document, own.defaults),
    }
    return {**document, **{name: part for name, part in changed.items() if part}}


def _defaults(document: Document, defaults: Mapping[str, Mapping[str, Any]]) -> Document:
    """Billing line by line; the engine as a whole, since its settings belong together."""
    out: Document = {}
    billing, engine = document.get("billing", {}), document.get("engine")
    if isinstance(billing, dict) and defaults.get("billing"):
        out["billing"] = {**defaults["billing"], **billing}
    if engine is None and "engine" not in document and defaults.get("engine"):
        out["engine"] = dict(defaults["engine"])
    return out


def _model(model: Any, own: Mapping[str, OwnEntry]) -> Any:
    if not isinstance(model, dict) or not own:
        return model
    given = model.get("id")
    entry = own.get(given.strip().casefold()) if isinstance(given, str) else _same_model(model, own.values())
    if entry is None or (given is None and "name" in model):
        return model
    kept = {name: value for name, value in model.items() if name != "id"}
    types = {name: value for name, value in model.items() if name in _MODEL_TYPES}
    return {**kept, **entry.sourced, "name": entry.name, **types}


def _same_model(model: Document, own: Iterable[OwnEntry]) -> OwnEntry | None:
    """The entry whose shape the document has already: it was filled in before, and came back through a form."""
    for entry in own:
        shape = {name: value for name, value in entry.value.items() if name not in _MODEL_TYPES}
        if shape and all(model.get(name) == value for name, value in shape.items()):
            return entry
    return None


def _hardware(hardware: Any, accelerators: Mapping[str, OwnEntry], prices: Mapping[str, OwnEntry]) -> Any:
    if not isinstance(hardware, dict) or not (accelerators or prices):
        return hardware
    out = dict(hardware)
    gpus = hardware.get("gpus", "any")
    if gpus == "any" and accelerators:
        out["gpus"] = gpus = ["any", *(entry.sourced for entry in accelerators.values())][:MOST_GPUS]
    elif isinstance(gpus, list | tuple):
        out["gpus"] = gpus = [_accelerator(choice, accelerators) for choice in gpus]
    stated = hardware.get("price_overrides", {})
    if isinstance(stated, dict):
        known = {_catalog_id(name): name for name in stated}
        wanted = {_catalog_id(choice) for choice in gpus} if isinstance(gpus, list) and "any" not in gpus else None
        filled = dict(stated)
        for entry in prices.values():
            if entry.name in known:
                name = known[entry.name]
                filled[name] = _sourced_again(stated[name], entry)
            elif wanted is None or entry.name in wanted:
                filled[entry.name] = entry.sourced
        if filled or "price_overrides" in hardware:
            out["price_overrides"] = filled
    return out


def _accelerator(choice: Any, own: Mapping[str, OwnEntry]) -> Any:
    entry = own.get(choice.strip().casefold()) if isinstance(choice, str) else None
    return choice if entry is None else entry.sourced


def _sourced_again(stated: Any, entry: OwnEntry) -> Any:
    """A price that is the team's own and lost its source on the way through a form gets it back."""
    return entry.sourced if stated == dict(entry.value) else stated


def _catalog_id(name: Any) -> str:
    """The catalog's id of an accelerator; "" for what it does not know."""
    try:
        return load_catalog().accelerator(name).id if isinstance(name, str) else ""
    except UnknownIdError:
        return ""


def _api(api: Any, own: Mapping[str, OwnEntry]) -> Any:
    alternatives = api.get("alternatives") if isinstance(api, dict) else None
    if not own or not isinstance(alternatives, list | tuple):
        return api
    return {**api, "alternatives": [_alternative(choice, own) for choice in alternatives]}


def _alternative(choice: Any, own: Mapping[str, OwnEntry]) -> Any:
    if not isinstance(choice, dict) or "price" in choice:
        return choice
    entry = own.get(f"{choice.get('provider')}/{choice.get('model')}".casefold())
    return choice if entry is None else {**choice, "price": entry.sourced}
