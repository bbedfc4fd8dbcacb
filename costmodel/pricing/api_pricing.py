"""List prices of model APIs on a chosen day, offline: genai-prices first, the vendored table where that is silent."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from functools import lru_cache

from costmodel.pricing.api_catalog import CatalogEntry, entries, find_entry
from costmodel.pricing.api_first_source import DatedRates, dated_rates, per_mtok
from costmodel.pricing.api_rates import ApiPrice, RateCard, TokenRates
from costmodel.pricing.api_second_source import TableRow, table_label
from costmodel.pricing.money import Number, PriceUnknownError, to_decimal
from costmodel.pricing.price_book import PriceBook, prices_in_force, using

STALE_AFTER_DAYS = 180


def api_price(provider: str, model: str, priced_at: date) -> ApiPrice:
    """List price in USD per million tokens of a model at a provider, as in force at noon UTC of `priced_at`.

    Names are forgiving (`bedrock`, `Llama-3.3-70B`); what they resolved to stands in the answer. Where the two
    sources disagree the first is used and the note gives the second. A withdrawn model keeps its last price and
    is not `available`.

    Raises UnknownIdError for names that fit nothing or too much, PriceUnknownError for a model not sold by the token.
    """
    entry = find_entry(provider, model)
    price = _price_of(entry, priced_at)
    if price is None:
        raise PriceUnknownError(
            f"{entry.model} at {entry.provider}",
            detail="no price per input and output token is listed",
            needed="Choose a text model, or another provider",
        )
    return price


def own_api_price(
    provider: str,
    model: str,
    priced_at: date,
    *,
    input_usd_per_mtok: Number,
    output_usd_per_mtok: Number,
    cached_read_usd_per_mtok: Number | None = None,
    cached_write_usd_per_mtok: Number | None = None,
    cached_write_1h_usd_per_mtok: Number | None = None,
    batch_input_usd_per_mtok: Number | None = None,
    batch_output_usd_per_mtok: Number | None = None,
    usd_per_1k_requests: Number = 0,
    source: str = "given by the user",
    as_of: str = "",
) -> ApiPrice:
    """A user's own price in USD per million tokens, of any provider and model. Batch rates need both of theirs."""
    cached = (cached_read_usd_per_mtok, cached_write_usd_per_mtok, cached_write_1h_usd_per_mtok)
    kept = [None if rate is None else to_decimal(rate) for rate in cached]
    rates = TokenRates(to_decimal(input_usd_per_mtok), to_decimal(output_usd_per_mtok), *kept)
    batch = None
    if batch_input_usd_per_mtok is not None and batch_output_usd_per_mtok is not None:
        batch = RateCard(TokenRates(to_decimal(batch_input_usd_per_mtok), to_decimal(batch_output_usd_per_mtok)))
    return ApiPrice(
        provider=provider,
        model=model,
        priced_at=priced_at,
        standard=RateCard(rates),
        batch=batch,
        usd_per_1k_requests=to_decimal(usd_per_1k_requests),
        deprecated=False,
        deprecation_date=None,
        available=True,
        source=source,
        as_of=as_of,
        notes=("a price of your own",),
    )


def api_price_listing(priced_at: date) -> tuple[ApiPrice, ...]:
    """Every model sold by the token on that day, by provider and model id."""
    return _listing(prices_in_force(), priced_at)


@lru_cache(maxsize=8)
def _listing(book: PriceBook, priced_at: date) -> tuple[ApiPrice, ...]:
    with using(book):
        return _prices_on(priced_at)


def _prices_on(priced_at: date) -> tuple[ApiPrice, ...]:
    prices = (_price_of(entry, priced_at) for models in entries().values() for entry in models.values())
    return tuple(price for price in prices if price is not None)


def _price_of(entry: CatalogEntry, priced_at: date) -> ApiPrice | None:
    price = _from_first(entry, priced_at) if entry.first else _from_second(entry, priced_at)
    if price is None:
        return None
    row = entry.second
    withdrawn_on = row.deprecation_date if row else None
    gone = withdrawn_on is not None and withdrawn_on <= priced_at
    notes = list(price.notes)
    if withdrawn_on is not None:
        notes.append(f"{'withdrawn' if gone else 'to be withdrawn'} on {withdrawn_on}")
    elif price.deprecated:
        notes.append("marked as deprecated by the provider")
    if entry.listed_twice is False:
        notes.append(f"not in the second list ({table_label()}); check that it is still served")
    if entry.lender is not None:
        notes.append(f"priced as {entry.lender} lists it; {entry.provider} may differ")
    notes.extend(_age_notes(price.as_of, priced_at))
    return replace(
        price,
        deprecated=price.deprecated or gone,
        deprecation_date=withdrawn_on,
        available=not gone,
        notes=tuple(notes),
    )


def _from_first(entry: CatalogEntry, priced_at: date) -> ApiPrice | None:
    assert entry.first is not None
    dated = dated_rates(entry.first, priced_at)
    if dated is None:
        return None
    source, as_of = prices_in_force().api_source(entry.lender or entry.provider, entry.model)
    batch, notes = dated.batch, list(dated.notes)
    if entry.second is not None:
        agrees = _agree(dated.standard.rates, entry.second.rates)
        if not agrees:
            notes.append(f"{entry.second.source} ({entry.second.as_of}) lists {_in_words(entry.second.rates)}")
        batch, note = _batch_with_table(dated, entry.second, agrees=agrees)
        notes.extend(note)
    return ApiPrice(
        provider=entry.provider,
        model=entry.model,
        priced_at=priced_at,
        standard=dated.standard,
        batch=batch,
        usd_per_1k_requests=dated.usd_per_1k_requests,
        deprecated=bool(entry.first.deprecated),
        deprecation_date=None,
        available=True,
        source=source,
        as_of=as_of,
        notes=tuple(notes),
        flex=dated.flex,
        priority=dated.priority,
        half_hours=dated.half_hours,
    )


def _from_second(entry: CatalogEntry, priced_at: date) -> ApiPrice:
    row = entry.second
    assert row is not None
    return ApiPrice(
        provider=entry.provider,
        model=entry.model,
        priced_at=priced_at,
        standard=RateCard(row.rates),
        batch=_table_batch(row),
        usd_per_1k_requests=Decimal(0),
        deprecated=False,
        deprecation_date=None,
        available=True,
        source=f"{row.source} (MIT)",
        as_of=row.as_of,
        notes=(),
    )


def _batch_with_table(dated: DatedRates, row: TableRow, *, agrees: bool) -> tuple[RateCard | None, tuple[str, ...]]:
    """The first source's batch rates, else the table's where both agree on the standard price and no tiers are due."""
    table_batch = _table_batch(row)
    if dated.batch is not None or table_batch is None or not agrees or dated.standard.tiers:
        return dated.batch, ()
    return table_batch, (f"batch rates from {row.source} ({row.as_of})",)


def _table_batch(row: TableRow) -> RateCard | None:
    if row.batch_input_usd_per_mtok is None or row.batch_output_usd_per_mtok is None:
        return None
    batch = replace(
        row.rates,
        input_usd_per_mtok=row.batch_input_usd_per_mtok,
        output_usd_per_mtok=row.batch_output_usd_per_mtok,
    )
    return None if batch == row.rates else RateCard(batch)  # some rows repeat the standard price


def _agree(one: TokenRates, other: TokenRates) -> bool:
    """Same input and output rate, and the same cached rate where both publish one."""
    cached = (one.cached_read_usd_per_mtok, other.cached_read_usd_per_mtok)
    return (
        one.input_usd_per_mtok == other.input_usd_per_mtok
        and one.output_usd_per_mtok == other.output_usd_per_mtok
        and (None in cached or cached[0] == cached[1])
    )


def _in_words(rates: TokenRates) -> str:
    cached = rates.cached_read_usd_per_mtok
    return per_mtok(rates) + ("" if cached is None else f", cached input ${cached:f}")


def _age_notes(as_of: str, priced_at: date) -> tuple[str, ...]:
    """A list says little about a day far from its own; rates with dates of their own are the exception."""
    year, _, month = as_of.partition("-")
    if not (year.isdigit() and month.isdigit()):
        return ()
    days = (priced_at - date(int(year), int(month), 1)).days
    if abs(days) <= STALE_AFTER_DAYS:
        return ()
    return (f"the list dates from {as_of}; rates that it does not date may have been others on {priced_at}",)
