"""The constants that the fit may move, each with what physics or a published study says before any row is looked at."""

from __future__ import annotations

import tomllib
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FreeConstant:
    """One constant of `step_time_constants.toml`.

    section, name   where it stands, as ("engine", "vllm") and "step_us"
    prior           value before any row
    log_width       standard deviation of the prior's logarithm: 0.1 is 10 % either way
    low, high       range beyond which it would not mean what its name says
    meaning         for the constants file; empty where the one before says it
    """

    section: tuple[str, ...]
    name: str
    prior: float
    log_width: float
    low: float
    high: float
    meaning: str

    @property
    def label(self) -> str:
        """Section and name with points between them."""
        return ".".join((*self.section, self.name))


@cache
def free_constants() -> tuple[FreeConstant, ...]:
    """The constants of `data/priors.toml`, in its order, sections with `*` written out for each member."""
    text = (files("planner.planning.fitting") / "data" / "priors.toml").read_text(encoding="utf-8")
    return tuple(free for row in tomllib.loads(text)["constant"] for free in _written_out(row))


def _written_out(row: dict[str, Any]) -> list[FreeConstant]:
    head = tuple(row["section"])
    sections = [(*head[:-1], member) for member in row["members"]] if head[-1] == "*" else [head]
    return [
        FreeConstant(
            section=section,
            name=row["name"],
            prior=row["prior"],
            log_width=row["log_width"],
            low=row["range"][0],
            high=row["range"][1],
            meaning=row["meaning"],
        )
        for section in sections
    ]


def with_values(document: Document, values: Floats) -> Document:
    """A copy of a constants document with every free constant at its value, in the order of `free_constants`."""
    made = deepcopy(document)
    for free, value in zip(free_constants(), values, strict=True):
        table = made
        for key in free.section:
            table = table[key]
        table[free.name] = float(value)
    return made


def values_of(document: Document) -> Floats:
    """The free constants of a document, in the order of `free_constants`."""
    found = []
    for free in free_constants():
        table = document
        for key in free.section:
            table = table[key]
        found.append(float(table[free.name]))
    return np.array(found)
