"""From the flat fields of a web form to the document of a scenario.

Names are dotted paths: traffic.arrival.mean_rps, api.alternatives.0.provider. Blank fields are left out. Text that the
schema wants as a number stays text when it is none, so that parse_scenario names the field.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from planner.planning.errors import ScenarioInvalid
from planner.planning.schema.read import read_object
from planner.planning.schema.walk import node_options, schema_nodes


def form_to_scenario(fields: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """The scenario document of a submitted form. Never raises: parse_scenario judges the result."""
    document: dict[str, Any] = {}
    for name, raw in fields.items():
        path = name.split(".")
        if len(path) > 8 or not all(path):
            continue
        types = frozenset(_types(tuple(path)))
        value = _list_value(raw, types) if "array" in types else _one(raw, types)
        if value is not None:
            _put(document, path, value)
    return {key: _lists(value) for key, value in document.items()}


def _list_value(raw: str | Sequence[str], types: frozenset[str]) -> Any:
    items = [raw] if isinstance(raw, str) else list(raw)
    if items == ["any"]:
        return "any"
    parts = [part.strip() for item in items for part in item.replace("\n", ",").split(",")]
    if any(item.lstrip().startswith("[") for item in items):
        return _json(items[0])
    values = [_scalar(part, types - {"array"}) for part in parts if part]
    return values or None


def _one(raw: str | Sequence[str], types: frozenset[str]) -> Any:
    text = raw if isinstance(raw, str) else (raw[-1] if raw else "")
    if not text.strip():
        return None
    if types == {"object"}:
        return _object(text)
    return _scalar(text, types)


def _object(text: str) -> Any:
    """Read as strictly as a whole scenario is; text that is no good stays text, for parse_scenario to say why."""
    try:
        return read_object(text)
    except ScenarioInvalid:
        return text


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _scalar(text: str, types: frozenset[str]) -> Any:
    stripped = text.strip()
    if "boolean" in types:
        return {
            "true": True,
            "on": True,
            "1": True,
            "yes": True,
            "false": False,
            "off": False,
            "0": False,
            "no": False,
        }.get(stripped.lower(), stripped)
    if types & {"integer", "number"}:
        return _number(stripped, types)
    return text if "\n" in text else stripped


def _number(text: str, types: frozenset[str]) -> Any:
    if not text.isascii() or "_" in text or len(text) > 40:
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if "number" not in types and number.is_integer() else number


def _put(document: dict[str, Any], path: list[str], value: Any) -> None:
    here = document
    for step in path[:-1]:
        below = here.setdefault(step, {})
        if not isinstance(below, dict):
            return
        here = below
    here[path[-1]] = value


def _lists(value: Any) -> Any:
    """Objects whose keys are 0, 1, 2, ... become lists in that order; gaps close."""
    if not isinstance(value, dict):
        return value
    if value and all(key.isdigit() and len(key) <= 4 for key in value):
        return [_lists(value[key]) for key in sorted(value, key=int)]
    return {key: _lists(item) for key, item in value.items()}


@cache
def _types(path: tuple[str, ...]) -> tuple[str, ...]:
    """JSON types that the schema allows at a dotted path."""
    found: set[str] = set()
    for node in schema_nodes(path):
        for option in node_options(node):
            if "type" in option:
                found.add(option["type"])
            if option.get("type") == "array":
                found.update(t for item in node_options(option.get("items", {})) if (t := item.get("type")))
            found.update("integer" for value in option.get("enum", ()) if isinstance(value, int))
    return tuple(sorted(found - {"null"}))
