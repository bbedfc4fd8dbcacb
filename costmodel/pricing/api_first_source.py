"""Rates out of the genai-prices package: its own dated rules applied, nothing fetched, no update thread."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from costmodel.pricing.api_rates import RateCard, RateTier, TokenRates

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider, Tier, TieredPrices

RELEASE_MONTHS = {"0.2.3": "2026-11"}
PRICED_HOUR_UTC = 12
COUNTED_APART = {"output_reasoning_mtok": "reasoning tokens", "output_citation_mtok": "citation tokens"}


@dataclass(frozen=True, slots=True)
class DatedRates:
    """What the package says of one model on one day."""

    standard: RateCard
    batch: RateCard | None
    usd_per_1k_requests: Decimal
    notes: tuple[str, ...]
    flex: RateCard | None = None
    priority: RateCard | None = None
    half_hours: tuple[RateCard, ...] = ()


@lru_cache(maxsize=1)
def bundled_providers() -> Mapping[str, Provider]:
    """The package's own providers by id, from the data inside its wheel."""
    from genai_prices.data import providers as bundled  # 0.3 s and 1.6 MB: only when prices are asked for

    return {provider.id: provider for provider in bundled}


def parsed_providers(document: bytes) -> Mapping[str, Provider]:
    """Providers by id out of a published list: the JSON array of the package's own repository, second version.

    Raises ValueError: it is no such list.
    """
    from genai_prices.types import _providers_from_raw  # what its own update does with a fetched list

    try:
        raw = json.loads(document)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(raw, list):
        raise ValueError("it must be an array of providers")
    return {provider.id: provider for provider in _providers_from_raw(raw)}


@lru_cache(maxsize=1)
def bundled_label() -> tuple[str, str]:
    """Name of the source with its release, and the month of that release."""
    release = version("genai-prices")
    return f"genai-prices {release} (MIT)", RELEASE_MONTHS.get(release, f"release {release}")


def dated_rates(model: ModelInfo, priced_at: date) -> DatedRates | None:
    """Rates of a model at noon UTC of that day; None when it is not sold by input and output tokens."""
    noon = datetime.combine(priced_at, time(PRICED_HOUR_UTC), tzinfo=UTC)
    price = model.get_prices(noon)
    standard = _card(price)
    if standard is None:
        return None
    return DatedRates(
        standard=standard,
        batch=_variant(model, noon, ("processing", "batch"), standard),
        flex=_variant(model, noon, ("service_tier", "flex"), standard),
        priority=_variant(model, noon, ("service_tier", "priority"), standard),
        half_hours=_half_hours(model, priced_at),
        usd_per_1k_requests=_base(price.requests_kcount) or Decimal(0),
        notes=(*_time_of_day_notes(model, priced_at, standard), *_schedule_notes(model, priced_at), *_uncounted(price)),
    )


def _variant(model: ModelInfo, when: datetime, context: tuple[str, str], standard: RateCard) -> RateCard | None:
    """Rates of another way of processing; None where none are listed: the package then answers the standard ones."""
    card = _card(model.get_prices(when, dict([context])))
    return None if card == standard else card


def _half_hours(model: ModelInfo, priced_at: date) -> tuple[RateCard, ...]:
    """The 48 cards of the day, in the middle of each half hour; empty where one holds all day."""
    if not _by_time_of_day(model):
        return ()
    times = (time(half // 2, 15 + 30 * (half % 2), tzinfo=UTC) for half in range(48))
    cards = [_card(model.get_prices(datetime.combine(priced_at, at))) for at in times]
    known = tuple(card for card in cards if card is not None)
    return known if len(known) == len(cards) and len(set(known)) > 1 else ()


def _by_time_of_day(model: ModelInfo) -> bool:
    from genai_prices.types import ModelPrice, TimeOfDateConstraint

    if isinstance(model.prices, ModelPrice):
        return False
    return any(isinstance(dated.constraint, TimeOfDateConstraint) for dated in model.prices)


def per_mtok(rates: TokenRates) -> str:
    """Input and output rate in words, for notes."""
    return f"${rates.input_usd_per_mtok:f} in / ${rates.output_usd_per_mtok:f} out per million tokens"


def _card(price: ModelPrice) -> RateCard | None:
    standard = _rates_above(price, -1)
    if standard is None:
        return None
    tiers = []
    for threshold in sorted({tier.start for value in _token_prices(price) for tier in _tiers(value)}):
        rates = _rates_above(price, threshold)
        if rates is not None:
            tiers.append(RateTier(above_input_tokens=threshold, rates=rates))
    return RateCard(rates=standard, tiers=tuple(tiers))


def _rates_above(price: ModelPrice, threshold: int) -> TokenRates | None:
    """Rates of a request longer than the threshold; -1 asks for the rates below every tier."""
    input_usd = _rate_above(price.input_mtok, threshold)
    output_usd = _rate_above(price.output_mtok, threshold)
    if input_usd is None or output_usd is None:
        return None
    return TokenRates(
        input_usd_per_mtok=input_usd,
        output_usd_per_mtok=output_usd,
        cached_read_usd_per_mtok=_rate_above(price.cache_read_mtok, threshold),
        cached_write_usd_per_mtok=_rate_above(price.cache_write_mtok, threshold),
        cached_write_1h_usd_per_mtok=_rate_above(price.cache_write_1h_mtok, threshold),
    )


def _rate_above(value: Decimal | TieredPrices | None, threshold: int) -> Decimal | None:
    reached = [tier.price for tier in _tiers(value) if tier.start <= threshold]
    return reached[-1] if reached else _base(value)


def _base(value: Decimal | TieredPrices | None) -> Decimal | None:
    return value if value is None or isinstance(value, Decimal) else value.base


def _tiers(value: Decimal | TieredPrices | None) -> Iterable[Tier]:
    return () if value is None or isinstance(value, Decimal) else value.tiers


def _token_prices(price: ModelPrice) -> tuple[Decimal | TieredPrices | None, ...]:
    return (
        price.input_mtok,
        price.output_mtok,
        price.cache_read_mtok,
        price.cache_write_mtok,
        price.cache_write_1h_mtok,
    )


def _time_of_day_notes(model: ModelInfo, priced_at: date, used: RateCard) -> Iterable[str]:
    """Hours of the day at which another price holds. The package switches on whole and half hours only."""
    if not _by_time_of_day(model):
        return
    hours: dict[RateCard, list[int]] = {}
    for hour in range(24):
        card = _card(model.get_prices(datetime.combine(priced_at, time(hour, 45), tzinfo=UTC)))
        if card is not None and card != used:
            hours.setdefault(card, []).append(hour)
    for card, at in hours.items():
        spans = ", ".join(f"{hour:02d}" for hour in at)
        rates = per_mtok(card.rates)
        yield f"price by time of day: what is listed holds at noon UTC; in the hours {spans} UTC it is {rates}"


def _schedule_notes(model: ModelInfo, priced_at: date) -> Iterable[str]:
    from genai_prices.types import ModelPrice, StartDateConstraint

    if isinstance(model.prices, ModelPrice):
        return
    for dated in model.prices:
        if isinstance(dated.constraint, StartDateConstraint) and dated.constraint.start_date > priced_at:
            card = _card(dated.prices)
            if card is not None:
                yield f"a later price is listed from {dated.constraint.start_date}: {per_mtok(card.rates)}"


def _uncounted(price: ModelPrice) -> Iterable[str]:
    for key, what in COUNTED_APART.items():
        rate = _base(getattr(price, key))
        if rate is not None:
            yield f"{what} have a rate of their own (${rate:f} per million), not counted here"
