"""Use cases to start a scenario from: editable figures, each preset with its sources."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from planner.planning.sample import sample_scenario

FILE = Path(__file__).parent / "presets.toml"


@dataclass(frozen=True, slots=True)
class PresetSource:
    """What a public source says about the use case. as_of: when it was published, or read where it has no date."""

    title: str
    url: str
    as_of: date
    says: str


@dataclass(frozen=True, slots=True, eq=False)
class Preset:
    """A use case. basis: what was chosen between the sources, and what is assumed."""

    id: str
    title: str
    summary: str
    basis: str
    sources: tuple[PresetSource, ...]
    _laid_over: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """A fresh scenario document: the sample's with everything that the use case says in its place."""
        return sample_scenario() | deepcopy(self._laid_over)


@cache
def presets() -> tuple[Preset, ...]:
    """All presets, in the order in which pages show them."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return tuple(_preset(entry, data["sources"]) for entry in data["presets"])


def preset_get(preset_id: str) -> Preset:
    """KeyError: no such preset."""
    return {preset.id: preset for preset in presets()}[preset_id]


def _preset(entry: dict[str, Any], sources: dict[str, dict[str, str]]) -> Preset:
    return Preset(
        id=entry["id"],
        title=entry["title"],
        summary=entry["summary"],
        basis=entry["basis"],
        sources=tuple(_source(sources[each["source"]], each["what"]) for each in entry["says"]),
        _laid_over=entry["document"],
    )


def _source(source: dict[str, str], says: str) -> PresetSource:
    return PresetSource(source["title"], source["url"], date.fromisoformat(source["date"]), says)
