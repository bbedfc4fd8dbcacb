"""What can be wrong with a scenario, and how a plan can stop early."""

from __future__ import annotations

from dataclasses import asdict, dataclass

MAX_GIVEN_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault of a scenario.

    code: stable, for programs. pointer: JSON pointer (RFC 6901) of the field, "" for the whole document.
    given: what was written there, cut to 80 characters. allowed: what would be accepted. detail: one sentence.
    """

    code: str
    pointer: str
    given: str
    allowed: str
    detail: str

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


class ScenarioInvalid(ValueError):  # noqa: N818 - the name reads as the state of the scenario
    """A scenario that cannot be planned; `errors` holds every fault found, in document order where possible."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        self.errors = errors
        super().__init__("; ".join(f"{e.pointer or '/'}: {e.detail}" for e in errors))


class PlanCancelled(Exception):  # noqa: N818 - not an error: someone asked for it
    """Raised by plan() when its progress callback returned False."""


def show(value: object) -> str:
    """A value as it may be shown in an error: one line, printable, at most 80 characters."""
    if isinstance(value, str):
        text = value[: MAX_GIVEN_CHARACTERS + 1]
    elif isinstance(value, dict):
        text = f"an object with {len(value)} keys"
    elif isinstance(value, list | tuple):
        text = f"a list of {len(value)} entries"
    elif value is None:
        text = "null"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, int) and value.bit_length() > 256:
        text = f"an integer of {value.bit_length()} bits"
    else:
        text = str(value)
    clean = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
    return clean if len(clean) <= MAX_GIVEN_CHARACTERS else clean[: MAX_GIVEN_CHARACTERS - 1] + "…"


def pointer(*parts: str | int) -> str:
    """JSON pointer of a path: pointer("a/b", 0) == "/a~1b/0"."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)
