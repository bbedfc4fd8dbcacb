"""Judges what a team puts into its own catalog: by the scenario that it would make."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from costmodel import UnknownIdError, load_catalog
from planner.planning.errors import FieldError, ScenarioInvalid, pointer, show
from planner.planning.own_catalog import Document, Kind, OwnEntry
from planner.planning.schema import parse_scenario

_PLAIN: Document = {
    "model": {"params_total_b": 8},
    "hardware": {"gpus": ["H100-SXM5-80GB"], "price_overrides": {"H100-SXM5-80GB": {"usd_per_gpu_hour": 1.0}}},
    "traffic": {
        "arrival": {"kind": "poisson", "mean_rps": 1.0},
        "prompt_tokens": {"kind": "fixed", "tokens": 20},
        "output_tokens": {"kind": "fixed", "tokens": 20},
    },
    "slo": {"ttft_p95_ms": 1000},
}
_DEFAULTS = {"billing": frozenset({"hours_per_month", "spare_replicas"}), "engine": None}


def own_entry(kind: Kind, value: Mapping[str, Any], *, source: str, as_of: date) -> OwnEntry:
    """An entry that scenarios take.

    value: of `gpu-prices` {gpu, usd_per_gpu_hour}; of `api-prices` {provider, model, input_usd_per_mtok, ...}; of
    `models` {id, hf_config or sizes}; of `accelerators` a custom accelerator. Raises ScenarioInvalid with every fault,
    pointers within `value`, `/source` among them.
    """
    given = {**value, "source": source, "as_of": as_of.isoformat()}
    document, place, named = {
        "gpu-prices": _gpu_price,
        "api-prices": _api_price,
        "models": _model,
        "accelerators": _accelerator,
    }[kind](dict(given))
    errors = [*named, *_faults({**_PLAIN, **document, "priced_at": as_of.isoformat()}, place)]
    if errors:
        raise ScenarioInvalid(tuple({(e.code, e.pointer): e for e in errors}.values()))
    return OwnEntry(kind, _name(kind, value), _kept(kind, value), source.strip(), as_of)


def own_defaults(defaults: Mapping[str, Any]) -> Document:
    """What plans start from, checked. Raises ScenarioInvalid: a part or a line that cannot be a default, or a value
    that a scenario refuses; pointers within `defaults`."""
    errors: list[FieldError] = []
    for part, content in defaults.items():
        if part not in _DEFAULTS:
            errors.append(_unknown(pointer(part), part, ", ".join(_DEFAULTS)))
            continue
        lines = _DEFAULTS[part]
        if lines is not None and isinstance(content, dict):
            errors += [
                _unknown(pointer(part, name), name, ", ".join(sorted(lines))) for name in content if name not in lines
            ]
    document = {**_PLAIN, **{part: content for part, content in defaults.items() if part in _DEFAULTS}}
    document["priced_at"] = "2026-11-30"
    for part in _DEFAULTS:
        errors += [_moved(e, pointer(part), pointer(part)) for e in _faults(document, pointer(part))]
    if errors:
        raise ScenarioInvalid(tuple({(e.code, e.pointer): e for e in errors}.values()))
    return {part: content for part, content in defaults.items() if content}


def _faults(document: Document, place: str) -> list[FieldError]:
    """Faults of the scenario at or below a place, with pointers from there on; what follows elsewhere is not asked."""
    try:
        parse_scenario(document)
    except ScenarioInvalid as error:
        return [_moved(e, place, "") for e in error.errors if e.pointer == place or e.pointer.startswith(f"{place}/")]
    return []


def _moved(error: FieldError, old: str, new: str) -> FieldError:
    rest = error.pointer.removeprefix(old) if error.pointer.startswith(old) else error.pointer
    return FieldError(error.code, new + rest, error.given, error.allowed, error.detail)


def _unknown(place: str, name: str, allowed: str) -> FieldError:
    return FieldError("unknown_field", place, show(name), allowed, "This cannot be a default.")


def _gpu_price(given: Document) -> tuple[Document, str, list[FieldError]]:
    gpu = given.pop("gpu", None)
    try:
        known = load_catalog().accelerator(gpu).id if isinstance(gpu, str) else ""
    except UnknownIdError as error:
        allowed = ", ".join(error.suggestions[:8]) or "a catalog id"
        return {}, "", [FieldError(error.code, "/gpu", show(gpu), allowed, f"{error}."), *_price_faults(given)]
    if not known:
        return {}, "", [_missing("gpu", gpu), *_price_faults(given)]
    hardware = {"gpus": [known], "price_overrides": {known: given}}
    return {"hardware": hardware}, pointer("hardware", "price_overrides", known), []


def _price_faults(given: Document) -> list[FieldError]:
    """The price of a GPU that is not known is judged too, so that all faults come at once."""
    gpu = "H100-SXM5-80GB"
    document = {**_PLAIN, "hardware": {"gpus": [gpu], "price_overrides": {gpu: given}}, "priced_at": "2026-11-30"}
    return _faults(document, pointer("hardware", "price_overrides", gpu))


def _api_price(given: Document) -> tuple[Document, str, list[FieldError]]:
    named = {name: given.pop(name) for name in ("provider", "model") if name in given}
    errors = [_missing(name, named.get(name)) for name in ("provider", "model") if not _is_name(named.get(name))]
    whole = {"provider": "own", "model": "own", "price": given}
    return {"api": {"alternatives": [whole]}}, pointer("api", "alternatives", 0, "price"), errors


def _model(given: Document) -> tuple[Document, str, list[FieldError]]:
    name = given.pop("id", None)
    errors = [] if _is_name(name) else [_missing("id", name)]
    errors += _taken(name, load_catalog().model)
    return {"model": {**given, "name": name if _is_name(name) else "own"}}, "/model", errors


def _accelerator(given: Document) -> tuple[Document, str, list[FieldError]]:
    return {"hardware": {"gpus": [given]}}, pointer("hardware", "gpus", 0), _taken(given.get("id"), _known_accelerator)


def _known_accelerator(name: str) -> object:
    return load_catalog().accelerator(name)


def _taken(name: Any, find: Any) -> list[FieldError]:
    """A name that means something in the catalog already would have two meanings."""
    try:
        if not _is_name(name):
            return []
        find(name)
    except UnknownIdError as error:
        if error.code != "ambiguous_id":
            return []
    detail = f"{show(name)} is a name of the catalog's; choose another."
    return [FieldError("taken_id", "/id", show(name), "a name that the catalog does not know", detail)]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= 200 and value.isprintable()


def _missing(name: str, value: Any) -> FieldError:
    code = "missing" if value is None else "empty_text" if value == "" else "wrong_type"
    return FieldError(code, f"/{name}", show(value) if value is not None else "", "a name", f"{name} must be a name.")


def _name(kind: Kind, value: Mapping[str, Any]) -> str:
    if kind == "gpu-prices":
        return load_catalog().accelerator(value["gpu"]).id
    if kind == "api-prices":
        return f"{value['provider'].strip()}/{value['model'].strip()}"
    return str(value["id"]).strip()


def _kept(kind: Kind, value: Mapping[str, Any]) -> Document:
    """The value as it stands in a scenario."""
    outside = {"gpu-prices": {"gpu"}, "api-prices": {"provider", "model"}, "models": {"id"}, "accelerators": set()}
    return {name: part for name, part in value.items() if name not in outside[kind] and part is not None}
