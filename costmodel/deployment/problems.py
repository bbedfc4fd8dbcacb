"""What can be wrong with an input or a deployment: a stable code, a sentence, and the nearest change that helps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One reason why something does not work. `allowed` lists legal values, `nearest_change` ranks the ways out."""

    code: str
    detail: str
    allowed: tuple[str, ...] = ()
    nearest_change: tuple[str, ...] = ()
    field: str = ""


class UnknownIdError(LookupError):
    """An id that names nothing (`unknown_id`) or more than one thing (`ambiguous_id`); `suggestions` are real ids."""

    def __init__(self, *, code: str, kind: str, given: str, suggestions: Sequence[str]) -> None:
        self.code = code
        self.kind = kind
        self.given = given
        self.suggestions = tuple(suggestions)
        what = f"could mean several {kind}s" if code == "ambiguous_id" else f"is not a known {kind}"
        hint = f"; did you mean {', '.join(self.suggestions)}?" if self.suggestions else ""
        super().__init__(f"{given[:80]!r} {what}{hint}")


class ModelConfigError(ValueError):
    """Every problem of a model description at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.code}: {problem.detail}" for problem in self.problems))


class DeploymentError(ValueError):
    """Settings that no engine accepts (wrong type or range), all at once."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{problem.code}: {problem.detail}" for problem in self.problems))
