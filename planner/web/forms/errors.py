"""From a scenario's faults to fields of the form: where each one stands, and the fix that a unit slip offers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from planner.planning import FieldError
from planner.web.forms.sections import items

MOST_FIXES, MOST_NAMED = 3, 6
_MEANT = re.compile(r"did you mean ([0-9.]+(?:e[+-]?\d+)?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault as the page shows it. `field`: the path of the field it stands beside, "" for the whole form."""

    field: str
    label: str
    detail: str
    allowed: str
    fixes: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """The id of the field's control."""
        return self.field.replace(".", "-")


def problems(errors: Iterable[FieldError]) -> tuple[Problem, ...]:
    """Every fault, in the order of the errors, beside the nearest field."""
    return tuple(_problem(error) for error in errors)


def field_of(pointer: str) -> str:
    """The form's field for a JSON pointer: itself, the field that holds it, or the first one inside it."""
    path = pointer.lstrip("/").replace("/", ".").replace("~1", "/").replace("~0", "~")
    paths = [item.path for item in items()]
    if path in paths:
        return path
    around = [known for known in paths if path.startswith(f"{known}.")]
    if around:
        return max(around, key=len)
    if path.startswith("hardware."):
        return "hardware.gpus"
    return next((known for known in paths if path and known.startswith(f"{path}.")), "")


def _problem(error: FieldError) -> Problem:
    field = field_of(error.pointer)
    return Problem(
        field=field,
        label=next((item.label for item in items() if item.path == field), "Scenario"),
        detail=_words(error, field),
        allowed="" if _says_all(error) else error.allowed,
        fixes=_fixes(error, field),
    )


def _says_all(error: FieldError) -> bool:
    """True when the sentence already holds what is allowed."""
    known = error.code in ("missing", "unknown_id", "ambiguous_id", "one_of", "conflict")
    return known or not error.allowed or error.allowed in error.detail


def _fixes(error: FieldError, field: str) -> tuple[str, ...]:
    """Values to take over with one press: what a unit slip meant, or the nearest known ids."""
    meant = _MEANT.search(error.detail)
    if error.code in ("unknown_id", "ambiguous_id"):
        exact = field == error.pointer.lstrip("/").replace("/", ".")
        return tuple(error.allowed.split(", ")[:MOST_FIXES]) if exact and "did you mean" in error.detail else ()
    return (meant.group(1).rstrip("."),) if meant else ()


def _words(error: FieldError, field: str) -> str:
    """The sentence of the fault, without the field's technical name where its label stands beside it."""
    detail = error.detail
    if error.code in ("unknown_id", "ambiguous_id"):
        detail, _, meant = detail.partition("; did you mean ")
        nearest = ", ".join(meant.rstrip("?.").split(", ")[:MOST_NAMED])
        return f"{detail.rstrip('.')}. Near it: {nearest}." if nearest else f"{detail.rstrip('.')}."
    name = error.pointer.rsplit("/", 1)[-1]
    if field and name and detail.startswith(f"{name} "):
        rest = detail.removeprefix(f"{name} ")
        return rest[:1].upper() + rest[1:]
    return detail
