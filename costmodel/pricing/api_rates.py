"""What a token costs at an API: rates by kind of token, long-context tiers, batch rates, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Literal

from costmodel.pricing.money import Number, exact, to_decimal

ServiceTier = Literal["standard", "flex", "priority"]
TokenKind = Literal["input", "cached_read", "cached_write", "cached_write_1h", "output"]
TOKEN_KINDS: tuple[TokenKind, ...] = ("input", "cached_read", "cached_write", "cached_write_1h", "output")


@dataclass(frozen=True, slots=True)
class TokenRates:
    """USD per million tokens. `input` is uncached input. None: no rate of its own, billed as input."""

    input_usd_per_mtok: Decimal
    output_usd_per_mtok: Decimal
    cached_read_usd_per_mtok: Decimal | None = None
    cached_write_usd_per_mtok: Decimal | None = None
    cached_write_1h_usd_per_mtok: Decimal | None = None

    def usd_per_mtok(self, kind: TokenKind) -> Decimal:
        """The rate that tokens of this kind are billed at."""
        if kind == "output":
            return self.output_usd_per_mtok
        write = self.cached_write_usd_per_mtok
        own: dict[TokenKind, Decimal | None] = {
            "cached_read": self.cached_read_usd_per_mtok,
            "cached_write": write,
            "cached_write_1h": write
            if self.cached_write_1h_usd_per_mtok is None
            else self.cached_write_1h_usd_per_mtok,
        }
        rate = own.get(kind)
        return self.input_usd_per_mtok if rate is None else rate

    def times(self, ratio: Decimal) -> TokenRates:
        """Every rate times the same."""
        cached = (self.cached_read_usd_per_mtok, self.cached_write_usd_per_mtok, self.cached_write_1h_usd_per_mtok)
        return TokenRates(
            self.input_usd_per_mtok * ratio,
            self.output_usd_per_mtok * ratio,
            *(rate if rate is None else rate * ratio for rate in cached),
        )


@dataclass(frozen=True, slots=True)
class RateTier:
    """Rates of a request whose whole input, cached tokens included, is longer than `above_input_tokens`.

    They apply to all tokens of that request, not only to those beyond the threshold.
    """

    above_input_tokens: int
    rates: TokenRates


@dataclass(frozen=True, slots=True)
class RateCard:
    """Standard rates and, in rising order of threshold, the long-context tiers."""

    rates: TokenRates
    tiers: tuple[RateTier, ...] = ()

    def rates_at(self, input_tokens: int) -> TokenRates:
        """Rates of one request with so many input tokens, cached ones included."""
        above = [tier.rates for tier in self.tiers if input_tokens > tier.above_input_tokens]
        return above[-1] if above else self.rates

    def times(self, ratio: Decimal) -> RateCard:
        """Every rate times the same."""
        return RateCard(
            self.rates.times(ratio),
            tuple(RateTier(tier.above_input_tokens, tier.rates.times(ratio)) for tier in self.tiers),
        )


@dataclass(frozen=True, slots=True)
class ApiPrice:
    """List price of one model at one provider on the day `priced_at`.

    `batch` is None where no batch price is published. `deprecated` is the provider's flag, `deprecation_date` the day
    of withdrawal where one is published; `available` is False from that day on. `as_of` dates the source.
    `flex` and `priority` are other tiers of service, None where no such price is published. `half_hours` has the 48
    cards of a day from 0:00 UTC where the price changes with the time of day; it is empty where it does not.
    `usd_per_1k_requests` is charged beside the tokens. `notes` say what a reader must know: another source that
    disagrees, prices by time of day, charges that are not counted.
    """

    provider: str
    model: str
    priced_at: date
    standard: RateCard
    batch: RateCard | None
    usd_per_1k_requests: Decimal
    deprecated: bool
    deprecation_date: date | None
    available: bool
    source: str
    as_of: str
    notes: tuple[str, ...]
    flex: RateCard | None = None
    priority: RateCard | None = None
    half_hours: tuple[RateCard, ...] = ()

    def card(self, tier: ServiceTier) -> RateCard | None:
        """Rates of a tier of service; None where it is not sold."""
        cards = {"standard": self.standard, "flex": self.flex, "priority": self.priority}
        return cards[tier]

    def less(self, discount_ratio: Number) -> ApiPrice:
        """The same price with so much off every rate, batch and other tiers included."""
        left = to_decimal(1 - exact(discount_ratio))
        return replace(
            self,
            standard=self.standard.times(left),
            batch=self.batch and self.batch.times(left),
            flex=self.flex and self.flex.times(left),
            priority=self.priority and self.priority.times(left),
            half_hours=tuple(card.times(left) for card in self.half_hours),
            usd_per_1k_requests=self.usd_per_1k_requests * left,
        )
