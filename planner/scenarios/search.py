"""What a search finds a scenario by: its name, model, GPUs, hosted models, tags and the notes of its versions."""

from collections.abc import Iterator, Mapping
from typing import Any

from planner.scenarios.models import Scenario

MOST_CHARACTERS = 8_000
NEWEST_NOTES = 20


def search_words(text: str) -> list[str]:
    """The words of a query; each must be found. What does not print is left out: no database takes all of it."""
    return "".join(c if c.isprintable() else " " for c in text).casefold().split()[:10]


def words_of(scenario: Scenario) -> str:
    """Everything that can be found, in small letters, of the newest version; bounded, so that lists stay quick."""
    document = scenario.versions.latest("number").document
    notes = scenario.versions.exclude(note="").order_by("-number").values_list("note", flat=True)[:NEWEST_NOTES]
    tags = scenario.tags.values_list("name", flat=True)
    return "\n".join([scenario.name, *_named(document), *tags, *notes]).casefold()[:MOST_CHARACTERS]


def _named(document: Mapping[str, Any]) -> Iterator[str]:
    """The ids that a document holds, custom accelerators by their id."""
    yield str(document.get("model", {}).get("id") or "")
    gpus = document.get("hardware", {}).get("gpus") or ()
    for gpu in [gpus] if isinstance(gpus, str) else gpus:
        yield gpu if isinstance(gpu, str) else str(gpu.get("id", ""))
    for api in document.get("api", {}).get("alternatives") or ():
        yield f"{api['provider']} {api['model']}"
