"""What a plan says while it runs, and how it is stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from planner.planning.errors import PlanCancelled


@dataclass(frozen=True, slots=True)
class Progress:
    """fraction_ratio: 0 to 1. stage: in words. candidates: rows finished so far, as in the report."""

    fraction_ratio: float
    stage: str
    candidates: tuple[dict[str, Any], ...]


OnProgress = Callable[[Progress], bool]


@dataclass(slots=True)
class Teller:
    """Passes progress on, and turns a refusal into PlanCancelled."""

    on_progress: OnProgress | None
    stage: str = "Reading the scenario"
    fraction_ratio: float = 0.0
    rows: list[dict[str, Any]] = field(default_factory=list)

    def say(self, fraction_ratio: float, stage: str) -> None:
        self.fraction_ratio = max(self.fraction_ratio, fraction_ratio)  # a search may be taken up again
        self.stage = stage
        self.tick()

    def tick(self) -> None:
        if self.on_progress is None:
            return
        if not self.on_progress(Progress(self.fraction_ratio, self.stage, tuple(self.rows))):
            raise PlanCancelled
