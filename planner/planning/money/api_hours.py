"""Prices by time of day: which share of the week's requests comes at which rates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from costmodel.pricing.api_rates import ApiPrice, RateCard
from costmodel.pricing.money import exact
from planner.planning.traffic.load import Load


@dataclass(frozen=True, slots=True)
class HourCard:
    """Rates, the share of the requests that come while they hold, and when that is in words."""

    card: RateCard
    share: Fraction
    label: str


def hour_cards(price: ApiPrice, load: Load, utc_offset_hours: float) -> tuple[HourCard, ...]:
    """One entry for each card of the day that has requests, the most requests first; empty where one card holds all
    day. The requests of an hour of the week come evenly over it, so each half hour has half of them."""
    if not price.half_hours:
        return ()
    shifted = round(2 * utc_offset_hours)
    weights: dict[RateCard, Fraction] = {}
    for hour, rate in enumerate(load.week_rps.tolist()):
        for half in range(2):
            card = price.half_hours[(2 * hour + half - shifted) % 48]
            weights[card] = weights.get(card, Fraction(0)) + exact(rate) / 2
    total = sum(weights.values())
    found = [
        HourCard(card, weight / total, f"{_spans(price.half_hours, card)} UTC")
        for card, weight in weights.items()
        if weight
    ]
    return tuple(sorted(found, key=lambda part: (-part.share, part.label)))


def _spans(cards: tuple[RateCard, ...], wanted: RateCard) -> str:
    """Times of the day at which a card holds, as spans; one over midnight is told as one."""
    starts = [at for at in range(48) if cards[at] == wanted and cards[at - 1] != wanted]
    return " and ".join(f"{_clock(start)} to {_clock(_end(cards, wanted, start))}" for start in starts)


def _end(cards: tuple[RateCard, ...], wanted: RateCard, start: int) -> int:
    after: Iterable[int] = range(start + 1, start + 48)
    return next(at for at in after if cards[at % 48] != wanted)


def _clock(half_hour: int) -> str:
    return f"{half_hour % 48 // 2:02d}:{half_hour % 2 * 30:02d}"
