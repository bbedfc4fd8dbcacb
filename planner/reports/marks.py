"""The interval mark: low, middle, high and a limit as places on a line, for an SVG of a fixed size."""

from collections.abc import Iterable
from dataclasses import dataclass

WIDTH = 160.0
_MARGIN_RATIO = 0.12


@dataclass(frozen=True, slots=True)
class Scale:
    """A common axis for marks that will be compared."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Where a value stands, 0 to WIDTH; values beyond the axis stand at its end."""
        span = self.high - self.low
        ratio = (value - self.low) / span if span > 0 else 0.5
        return round(min(max(ratio, 0.0), 1.0) * WIDTH, 1)


@dataclass(frozen=True, slots=True)
class Mark:
    """Places of one interval on the axis, its words for those who do not see it, and whether it crosses its limit."""

    low: float
    mid: float
    high: float
    limit: float | None
    words: str
    crosses: bool
    api: bool = False


def scale_over(values: Iterable[float | None], *, from_zero: bool = False) -> Scale:
    """The axis that holds all values with a margin; from zero where amounts are compared."""
    known = [value for value in values if value is not None]
    if not known:
        return Scale(0.0, 1.0)
    low, high = min(known), max(known)
    margin = (high - low or abs(high) or 1.0) * _MARGIN_RATIO
    return Scale(min(0.0, low) if from_zero else low - margin, high + margin)


def mark(
    scale: Scale,
    low: float | None,
    mid: float | None,
    high: float | None,
    *,
    words: str,
    limit: float | None = None,
    api: bool = False,
) -> Mark | None:
    """The mark of an interval, or None when any of its three values is missing. A limit between low and high is
    crossed: the outcome is open."""
    if low is None or mid is None or high is None:
        return None
    return Mark(
        low=scale.place(low),
        mid=scale.place(mid),
        high=max(scale.place(high), scale.place(low) + 1.5),
        limit=None if limit is None else scale.place(limit),
        words=words,
        crosses=limit is not None and low < limit < high,
        api=api,
    )
