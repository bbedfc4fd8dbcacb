"""One difference between a published list and what is in force, as it is shown, judged and kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, Literal

Kind = Literal["added", "changed", "gone"]
PLAUSIBLE_FACTOR = Decimal("1.5")
"""A list price that moves by more at once is more often a misread list than a price: someone has to look."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a list says otherwise. was, now: in `unit`, None where there was or is none; ratio: now / was - 1.

    flag: why it needs a look of its own; empty for what is plausible. row: what is kept when it is approved.
    """

    kind: Kind
    name: str
    what: str
    unit: str
    was: Decimal | None
    now: Decimal | None
    flag: str = ""
    row: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ratio(self) -> Decimal | None:
        """now / was - 1, where there are both."""
        return self.now / self.was - 1 if self.was and self.now is not None else None


def change_as_dict(change: Change) -> dict[str, Any]:
    """As plain values, prices as text so that none is rounded."""
    plain = asdict(change)
    ratio = change.ratio
    return {
        **plain,
        "was": None if change.was is None else f"{change.was:f}",
        "now": None if change.now is None else f"{change.now:f}",
        "change_ratio": None if ratio is None else round(float(ratio), 4),
    }


def implausible(was: Decimal, now: Decimal) -> str:
    """Why a move is not believed unseen; empty when it is."""
    if now == 0 and was > 0:
        return "it became free"
    if was > 0 and not 1 / PLAUSIBLE_FACTOR <= now / was <= PLAUSIBLE_FACTOR:
        return f"it moves by more than {PLAUSIBLE_FACTOR} ×"
    return ""
