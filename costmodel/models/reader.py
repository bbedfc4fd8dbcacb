"""Reads values out of an untrusted Hugging Face config: every problem is collected, nothing raises on the way."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from costmodel.deployment.problems import Problem

LARGEST = {
    "layers": 1_000,
    "width": 1_000_000,
    "vocab": 10_000_000,
    "heads": 10_000,
    "experts": 100_000,
    "context": 10**9,
}
"""Above any model made so far by an order of magnitude; beyond, a value is a slip and would only cost time."""


class ConfigReader:
    """A config mapping and the problems found in it. After a problem the reader hands out a harmless stand-in."""

    def __init__(self, mapping: Mapping[str, Any], problems: list[Problem] | None = None, prefix: str = "") -> None:
        self.mapping = mapping
        self.problems: list[Problem] = [] if problems is None else problems
        self.notes: list[str] = []
        self.prefix = prefix

    def has(self, *keys: str) -> bool:
        return any(self.mapping.get(key) is not None for key in keys)

    def problem(self, code: str, key: str, detail: str) -> None:
        if not any(known.field == self.prefix + key and known.code == code for known in self.problems):
            self.problems.append(Problem(code, detail, field=self.prefix + key))

    def whole(self, *keys: str, default: int | None = None, low: int = 1, kind: str = "width") -> int:
        """The first present key as a whole number in [low, the largest of its kind]; `default` None means required."""
        key = next((key for key in keys if self.mapping.get(key) is not None), None)
        if key is None:
            if default is not None:
                return default
            self.problem("missing_field", keys[0], f"{keys[0]} is missing")
            return max(low, 1)
        value = _whole(self.mapping[key])
        high = LARGEST[kind]
        if value is None or not low <= value <= high:
            detail = f"{key} is {_short(self.mapping[key])}; it must be a whole number from {low} to {high}"
            self.problem("not_a_whole_number" if value is None else "out_of_range", key, detail)
            return default if default is not None else max(low, 1)
        return value

    def number(self, key: str, *, default: float, low: float, high: float) -> float:
        value = self.mapping.get(key)
        if value is None:
            return default
        if isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high:
            return float(value)
        self.problem("out_of_range", key, f"{key} is {_short(value)}; it must be a number from {low:g} to {high:g}")
        return default

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.mapping.get(key)
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        self.problem("not_a_boolean", key, f"{key} is {_short(value)}; it must be true or false")
        return default

    def text(self, key: str, default: str = "") -> str:
        value = self.mapping.get(key)
        if value is None:
            return default
        if isinstance(value, str):
            return value
        self.problem("not_a_string", key, f"{key} is {_short(value)}; it must be a string")
        return default

    def section(self, key: str) -> ConfigReader | None:
        """A nested mapping as a reader that shares this one's problems."""
        value = self.mapping.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.problem("not_an_object", key, f"{key} is {_short(value)}; it must be an object")
            return None
        reader = ConfigReader(value, self.problems, f"{self.prefix}{key}.")
        reader.notes = self.notes
        return reader

    def per_layer(self, key: str, layers: int) -> list[Any] | None:
        """A list with one entry per layer (longer ones carry prediction layers at the end), or None if absent."""
        value = self.mapping.get(key)
        if not isinstance(value, Sequence) or isinstance(value, (str, bytes)) or not value:
            if value is not None and not isinstance(value, (str, int, Sequence)):
                self.problem("not_a_list", key, f"{key} is {_short(value)}; it must be a list with one entry per layer")
            return None
        if len(value) < layers:
            self.problem("wrong_length", key, f"{key} has {len(value)} entries for {layers} layers")
            return None
        return list(value[:layers])


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value) and value == int(value):
        return int(value)
    return None


def _short(value: object) -> str:
    """A value for a message: repr of a huge or deep value would itself be a hazard."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**18:
        return "a huge number"
    if isinstance(value, (Mapping, list, tuple)):
        return f"a {'mapping' if isinstance(value, Mapping) else 'list'} of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
