"""What every part of the lab is made of: fields, the question before the answer, the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from planner.reports.numbers import number, significant

CLOSE_RATIO = 0.1


@dataclass(frozen=True, slots=True)
class Field:
    """An input of a part. `hint` stands below it; `ends` are the words at a slider's ends."""

    name: str
    label: str
    value: Any
    unit: str = ""
    kind: Literal["number", "text", "select", "slider", "seg"] = "number"
    options: tuple[tuple[str, str], ...] = ()
    low: float | None = None
    high: float | None = None
    step: float | str = 1
    hint: str = ""
    error: str = ""
    ways: str = ""

    @property
    def id(self) -> str:
        """Id of the input."""
        return f"lab-{self.name}"


def with_faults(fields: tuple[Field, ...], faults: Mapping[str, str]) -> tuple[Field, ...]:
    """The fields, wrong ones with what is wrong."""
    return tuple(replace(field, error=faults[field.name]) if field.name in faults else field for field in fields)


def faults_of(prefix: str, wrong: Mapping[str, str]) -> dict[str, str]:
    """What is wrong with the fields of one part."""
    return {name: text for name, text in wrong.items() if name.startswith(prefix)}


FAULT = "Put the marked field right to see the run."


@dataclass(frozen=True, slots=True)
class Question:
    """Predict first: asked until a guess or "Show" comes with the address, then answered."""

    guess_name: str
    show_name: str
    text: str
    unit: str
    shown: bool
    guess: float | None
    answer: str
    verdict: str


def question(
    prefix: str, text: str, unit: str, *, right: float, answer: str, guess: float | None, shown: bool, digits: int = 0
) -> Question:
    """The question of a part with what a guess is told."""
    said = "" if guess is None else _judged(guess, right, unit, digits)
    return Question(f"{prefix}_guess", f"{prefix}_show", text, unit, shown or guess is not None, guess, answer, said)


def _judged(guess: float, right: float, unit: str, digits: int) -> str:
    off = abs(guess - right)
    given = number(guess, digits) if digits or guess == int(guess) else significant(guess)
    if round(off, digits) == 0:
        return f"You said {given} {unit}: right."
    way = "more" if right > guess else "fewer"
    near = "Close" if off <= CLOSE_RATIO * abs(right) else "Not yet"
    return f"{near}: you said {given}, it is {number(off, digits)} {way}."


@dataclass(frozen=True, slots=True)
class Series:
    """Values at each step, said beside a picture while it plays."""

    id: str
    label: str
    values: list[int]

    def at(self, step: int) -> str:
        """The words at a step."""
        return f"{number(self.values[step])} {self.label}"


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock over the pictures of a part. `data` goes to the script that plays it."""

    name: str
    now: int
    last: int
    series: dict[str, tuple[Series, ...]]
    frames: list[Any] | None = None

    @property
    def data(self) -> dict[str, Any]:
        """The values by step of every picture."""
        said = {key: [{"label": s.label, "values": s.values} for s in found] for key, found in self.series.items()}
        return {"said": said} | ({"frames": self.frames} if self.frames is not None else {})

    @property
    def data_id(self) -> str:
        """Id of the script element that holds the values."""
        return f"{self.name}-data"

    def said(self, key: str) -> str:
        """The words of a picture at the present step."""
        return ", ".join(series.at(self.now) for series in self.series[key])


def step_of(asked: int | None, last: int, default: int | None = None) -> int:
    """The step to show: the address's, at most the last."""
    return min(asked, last) if asked is not None else last if default is None else default
