"""What a token costs at an API: rates by kind of token, long-context tiers, batch rates, and where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal

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


@dataclass(frozen=True, slots=True)
class ApiPrice:
    """List price of one model at one provider on the day `priced_at`.

    `batch` is None where no batch price is published. `deprecated` is the provider's flag, `deprecation_date` the day
    of withdrawal where one is published; `available` is False from that day on. `as_of` dates the source.
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
