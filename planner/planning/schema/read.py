"""From bytes or text to a plain JSON object, with every fault named."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from planner.planning.errors import FieldError, ScenarioInvalid, pointer, show

MAX_SCENARIO_BYTES = 12 * 1024 * 1024
MAX_DEPTH = 32


def _fail(code: str, given: str, allowed: str, detail: str) -> NoReturn:
    raise ScenarioInvalid((FieldError(code, "", given, allowed, detail),))


def read_object(data: bytes | str) -> dict[str, Any]:
    """Parse a scenario document.

    Raises ScenarioInvalid with one of: too_large, not_utf8, invalid_json, too_deep, duplicate_key, not_an_object.
    """
    text = _decode(data)
    _check_depth(text)
    duplicates: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key, value in items:
            if key in out:
                duplicates.append(key)
            out[key] = value
        return out

    try:
        value = json.loads(text, object_pairs_hook=pairs)
    except ValueError as error:
        _fail("invalid_json", show(text[:60]), "one JSON object", f"This is not JSON: {error}.")
    if duplicates:
        raise ScenarioInvalid(
            tuple(
                FieldError(
                    "duplicate_key", "", show(key), "each key once", f"The key {show(key)} stands twice in one object."
                )
                for key in sorted(set(duplicates))[:20]
            )
        )
    if not isinstance(value, dict):
        _fail("not_an_object", show(value), "one JSON object", "This must be one JSON object.")
    return value


def _decode(data: bytes | str) -> str:
    size = len(data) if isinstance(data, bytes) else len(data.encode("utf-8", "surrogatepass"))
    if size > MAX_SCENARIO_BYTES:
        _fail("too_large", f"{size} bytes", f"at most {MAX_SCENARIO_BYTES} bytes", "The JSON text is too large.")
    if isinstance(data, str):
        return data.removeprefix("\ufeff")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _fail("not_utf8", f"byte {error.start}", "UTF-8 text", f"Byte {error.start} is not UTF-8.")


def _check_depth(text: str) -> None:
    """Nesting by brackets outside strings, before the parser recurses."""
    depth, quoted, escaped = 0, False, False
    for c in text:
        if quoted:
            if escaped:
                escaped = False
            elif c == "\\":
                escaped = True
            elif c == '"':
                quoted = False
        elif c == '"':
            quoted = True
        elif c in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                _fail(
                    "too_deep",
                    f"more than {MAX_DEPTH} levels",
                    f"at most {MAX_DEPTH} levels",
                    "The document is nested too deeply.",
                )
        elif c in "]}":
            depth -= 1


def check_plain(value: object) -> None:
    """Hold a mapping that did not come from JSON text to the same limits: depth, key types, encodable text."""
    errors: list[FieldError] = []
    _walk(value, (), errors)
    if errors:
        raise ScenarioInvalid(tuple(errors[:50]))


def _walk(value: object, path: tuple[str | int, ...], errors: list[FieldError]) -> None:
    if len(path) > MAX_DEPTH:
        errors.append(
            FieldError("too_deep", pointer(*path[:4]), "", f"at most {MAX_DEPTH} levels", "Nested too deeply.")
        )
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str) or not _encodable(key):
                errors.append(FieldError("bad_key", pointer(*path), show(key), "text", "A key is not valid text."))
            else:
                _walk(item, (*path, key), errors)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            if type(item) is not int and type(item) is not float:  # rows of numbers may be long
                _walk(item, (*path, index), errors)
    elif isinstance(value, str) and not _encodable(value):
        errors.append(FieldError("not_utf8", pointer(*path), "", "UTF-8 text", "The text holds a lone surrogate."))


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
