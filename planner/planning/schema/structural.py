"""pydantic's errors in the words of a scenario: stable codes, JSON pointers, hints for unit slips."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from planner.planning.errors import FieldError, ScenarioInvalid, pointer, show
from planner.planning.schema.read import read_object

_WRONG_TYPE = {
    "int_type": ("not_whole", "a whole number"),
    "int_from_float": ("not_whole", "a whole number"),
    "float_type": ("not_a_number", "a number"),
    "bool_type": ("wrong_type", "true or false"),
    "string_type": ("wrong_type", "text"),
    "dict_type": ("wrong_type", "an object"),
    "model_type": ("wrong_type", "an object"),
    "model_attributes_type": ("wrong_type", "an object"),
    "tuple_type": ("wrong_type", "a list"),
}


def field_errors(error: ValidationError, data: dict[str, Any], most: int) -> list[FieldError]:
    """The faults that pydantic found, in its order; of more than `most` (rows of a broken trace) the first ones."""
    return [fault for e in error.errors(include_url=False)[:most] for fault in _translate_all(dict(e), data)]


def _translate_all(e: dict[str, Any], data: dict[str, Any]) -> list[FieldError]:
    """One fault; several where an object was pasted as text that is no JSON object."""
    path = _document_path(e["loc"], data)
    if str(e["type"]) == "dict_type" and isinstance(e.get("input"), str):
        try:
            read_object(e["input"])
        except ScenarioInvalid as invalid:
            return [replace(fault, pointer=pointer(*path)) for fault in invalid.errors]
    return [_translate(e, path)]


def _translate(e: dict[str, Any], path: tuple[str | int, ...]) -> FieldError:
    kind, ctx, given = str(e["type"]), e.get("ctx") or {}, e.get("input")
    name = str(path[-1]) if path else ""
    if kind == "missing":
        return FieldError("missing", pointer(*path), "", "required", f"{name} is required.")
    if kind == "extra_forbidden":
        return FieldError(
            "unknown_field",
            pointer(*path),
            show(name),
            "a field of the schema",
            f"There is no field {show(name)} here.",
        )
    if kind in {"union_tag_invalid", "union_tag_not_found"}:
        tags = str(ctx.get("expected_tags", "")).replace("'", "") or "one of the kinds"
        tag = ctx.get("tag", "")
        return FieldError("unknown_kind", pointer(*path, "kind"), show(tag), tags, f"kind must be one of {tags}.")
    if kind == "literal_error":
        return _literal(path, given, str(ctx.get("expected", "")).replace("'", ""))
    if kind in {"out_of_range", "not_finite"}:
        return _number(path, kind, given, str(ctx["allowed"]))
    if kind in _WRONG_TYPE:
        return _type(path, kind, given)
    if kind in {"too_short", "too_long"}:
        limit = ctx.get("min_length" if kind == "too_short" else "max_length")
        allowed = f"at {'least' if kind == 'too_short' else 'most'} {limit} entries"
        return FieldError(
            "wrong_count",
            pointer(*path),
            f"{ctx.get('actual_length')} entries",
            allowed,
            f"{name} must have {allowed}.",
        )
    if kind in {"string_too_long", "string_too_short"}:
        limit = ctx.get("max_length", ctx.get("min_length"))
        allowed = f"at {'most' if kind == 'string_too_long' else 'least'} {limit} characters"
        return FieldError("wrong_length", pointer(*path), show(given), allowed, f"{name} must have {allowed}.")
    allowed = str(ctx.get("allowed", ""))
    return FieldError(kind, pointer(*path), show(given), allowed, f"{name} {e['msg']}.")


def _literal(path: tuple[str | int, ...], given: Any, expected: str) -> FieldError:
    return FieldError("unknown_choice", pointer(*path), show(given), expected, f"{path[-1]} must be {expected}.")


def _type(path: tuple[str | int, ...], kind: str, given: Any) -> FieldError:
    code, allowed = _WRONG_TYPE[kind]
    if code == "not_whole" and not (isinstance(given, float)):
        code = "not_a_number"
    detail = f"{path[-1] if path else 'This'} must be {allowed}"
    if isinstance(given, str) and code == "not_a_number":
        detail += "; text in quotes is not a number"
    return FieldError(code, pointer(*path), show(given), allowed, detail + ".")


def _number(path: tuple[str | int, ...], kind: str, given: Any, allowed: str) -> FieldError:
    hint = _unit_slip(str(path[-1]), given) if kind == "out_of_range" else None
    code = "unit_slip" if hint else kind
    name = next((str(p) for p in reversed(path) if isinstance(p, str)), "It")
    detail = f"{name} must be {allowed}."
    if kind == "not_finite":
        detail = f"{name} must be a finite number."
    return FieldError(code, pointer(*path), show(given), allowed, f"{detail} {hint}" if hint else detail)


def _unit_slip(name: str, given: Any) -> str | None:
    """What the writer may have meant; None when nothing is likely."""
    if given <= 0:
        return None
    if name.endswith("_ms") and given < 5:
        return f"This looks like seconds: did you mean {given * 1000:g} ms?"
    if name == "gpu_memory_utilization" and given > 100:
        return "This looks like a size in GB: write the share of the device memory, such as 0.9."
    if (name.endswith("_ratio") or name == "gpu_memory_utilization") and 1 < given <= 100:
        return f"This looks like a percentage: did you mean {given / 100:g}?"
    return None


def _document_path(loc: tuple[str | int, ...], data: Any) -> tuple[str | int, ...]:
    """pydantic's location without the tags of unions: only steps that the document can take.

    The last step is kept even when absent (a missing field), unless it is itself a tag standing for the whole object.
    """
    path: list[str | int] = []
    here: Any = data
    for index, step in enumerate(loc):
        last = index == len(loc) - 1
        if _has(here, step):
            here = here[step]
        elif step == "[key]" or not (last and isinstance(here, dict)):
            continue
        path.append(step)
    return tuple(path)


def _has(here: Any, step: str | int) -> bool:
    if isinstance(here, dict):
        return step in here
    return isinstance(here, list | tuple) and isinstance(step, int) and step < len(here)
