"""Between a scenario document and the flat texts of form fields."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from planner.web.forms.layout import Group
from planner.web.forms.schema import field_schema
from planner.web.forms.sections import API_FIELDS, API_ROWS, SECTIONS, items

Values = dict[str, list[str]]
BY_GPU = ("hardware.price_overrides.", "hardware.owned_gpus.")
"""Starts of fields that there are for each accelerator."""
DEFAULT_KINDS = {
    "traffic.arrival.kind": "poisson",
    "traffic.prompt_tokens.kind": "lognormal",
    "traffic.output_tokens.kind": "lognormal",
    "traffic.prefix.kind": "none",
}
DEFAULT_WAYS = {"way.model": "id", "way.traffic": "rate"}
TRACE = "traffic.trace"
PLAYED = ("prefixes", "copies", "speed")
"""Fields of a scenario's trace that say how it is replayed."""
KEPT_TRACE, BUILTIN_TRACE, TEAM_TRACE = "kept", "builtin:", "trace:"
"""What the field of the trace holds: the scenario's own, a vendored one by id, one of the team's by id. Never rows."""


def values_of(document: Mapping[str, Any]) -> Values:
    """Texts of every field of a scenario document, and the ways that it takes."""
    values: Values = {name: [kind] for name, kind in DEFAULT_KINDS.items()} | dict(_flat("", document))
    model, traffic = document.get("model") or {}, document.get("traffic") or {}
    values["way.model"] = ["config" if "hf_config" in model else "sizes" if "params_total_b" in model else "id"]
    values["way.traffic"] = ["trace" if traffic.get("trace") else "users" if traffic.get("users") else "rate"]
    return values


def _flat(prefix: str, node: Any) -> Iterator[tuple[str, list[str]]]:
    for key, value in node.items():
        path = f"{prefix}{key}"
        if value is None:
            continue
        if path == "model.hf_config":
            yield path, [json.dumps(value, indent=2)]
        elif path == TRACE:
            yield path, [f"{BUILTIN_TRACE}{value['builtin']}" if value.get("builtin") else KEPT_TRACE]
            played = {name: value[name] for name in PLAYED if value.get(name) is not None}
            yield from ((f"{path}.{name}", _texts(how)) for name, how in played.items())
        elif isinstance(value, Mapping):
            yield from _flat(f"{path}.", value)
        elif path == "api.alternatives":
            for row, alternative in enumerate(value):
                yield from _flat(f"{path}.{row}.", alternative)
        else:
            yield path, _texts(value)


def _texts(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        if any(isinstance(item, list | tuple | dict) for item in value):
            return [json.dumps(value)]
        return [text_of(item) for item in value]
    return [text_of(value)]


def text_of(value: Any) -> str:
    """A value as a field shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def compact_api_rows(values: Values) -> Values:
    """The same values with the empty rows of the API list moved to its end, so that errors point at the right one."""
    start = "api.alternatives."
    rows = [
        {name: values[f"{start}{row}.{name}"] for name in API_FIELDS if f"{start}{row}.{name}" in values}
        for row in range(API_ROWS)
    ]
    filled = [row for row in rows if any(_typed(name, texts) for name, texts in row.items())]
    out = {name: texts for name, texts in values.items() if not name.startswith(start)}
    return out | {f"{start}{place}.{name}": texts for place, row in enumerate(filled) for name, texts in row.items()}


def _typed(name: str, texts: list[str]) -> bool:
    """False for what an untouched row says: nothing, or the first of a choice."""
    default = field_schema(f"api.alternatives.0.{name}").default
    return any(text.strip() not in ("", text_of(default)) for text in texts)


def counted(values: Values) -> Values:
    """Only the fields that count with the ways and kinds chosen; the rest stays in the form, out of the scenario. The
    trace is left out too: its field only names one."""
    known = {item.path for item in items()}
    hidden = {*_hidden(values), TRACE}
    return {
        name: texts
        for name, texts in values.items()
        if (name in known or name.startswith(BY_GPU)) and name not in hidden
    }


def _hidden(values: Values) -> Iterator[str]:
    for section in SECTIONS:
        way = first(values, section.way, DEFAULT_WAYS.get(section.way, ""))
        for group in section.groups:
            if group.ways and way not in group.ways:
                yield from (item.path for item in group.items)
            else:
                yield from _hidden_by_kind(group, values)
    gpus = asked_gpus(values)
    yield from (
        name
        for name in values
        for start in BY_GPU
        if name.startswith(start) and name.removeprefix(start).removesuffix(".usd_per_gpu_hour") not in gpus
    )


def asked_gpus(values: Values) -> set[str]:
    """Ids of the accelerators that were ticked or typed."""
    return {part.strip() for text in values.get("hardware.gpus", []) for part in text.split(",")}


def _hidden_by_kind(group: Group, values: Values) -> Iterator[str]:
    if group.kind:
        kind = first(values, group.kind, "")
        yield from (item.path for item in group.items if item.kinds and kind not in item.kinds)


def first(values: Values, name: str, default: str) -> str:
    """The first text of a field."""
    texts = values.get(name) or [default]
    return texts[0]
