"""What a list of API prices in genai-prices' format says otherwise than the prices in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal

from costmodel import ApprovedApiPrices, PriceBook, api_price_listing, prices_in_force, using
from planner.planning.price_feeds.changes import Change, implausible
from planner.planning.price_feeds.feeds import FeedInvalid

UNIT = "USD per million tokens"
MOST_BYTES = 32 << 20
GONE_SHARE = 3
Rates = Mapping[str, Decimal | None]


def api_changes(document: bytes, as_of: date) -> list[Change]:
    """Every model whose rates of `as_of` differ between the list and the prices in force; one change a model and rate.

    FeedInvalid: the list is not in that format, or prices nothing.
    """
    now = _rates_of(document, as_of)
    was = {
        (price.provider, price.model): _rates(price.standard.rates)
        for price in api_price_listing(as_of)
        if _from_list(price.provider, price.model)
    }
    pairs = sorted({*was, *now})
    found = [change for pair in pairs for change in _between(pair, was.get(pair), now.get(pair))]
    lost = sum(1 for pair in was if pair not in now)
    if lost * GONE_SHARE > len(was):
        why = f"the list lacks {lost:,} of {len(was):,} models"
        found = [_flagged(change, why) if change.kind == "gone" else change for change in found]
    order = {"changed": 0, "added": 1, "gone": 2}
    return sorted(found, key=lambda c: (order[c.kind], -abs(c.ratio or Decimal(0)), c.name, c.what))


def _from_list(provider: str, model: str) -> bool:
    """Whether a price comes from the list's kind of source, not from the vendored table beside it."""
    known = prices_in_force().providers.get(provider)
    return known is not None and any(each.id == model for each in known.models)


def _rates_of(document: bytes, as_of: date) -> dict[tuple[str, str], Rates]:
    if len(document) > MOST_BYTES:
        raise FeedInvalid(f"it has more than {MOST_BYTES >> 20} MiB")
    alone = PriceBook((ApprovedApiPrices("proposed", document, ("", "")),))
    try:
        with using(alone):
            listed = {
                (price.provider, price.model): _rates(price.standard.rates)
                for price in api_price_listing(as_of)
                if _from_list(price.provider, price.model)
            }
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, ArithmeticError) as wrong:
        said = str(wrong).splitlines()[0][:200] if str(wrong) else type(wrong).__name__
        raise FeedInvalid(f"it is not a list of genai-prices, second version: {said}") from None
    if not listed:
        raise FeedInvalid("it prices no model by the token")
    return listed


def _rates(rates: object) -> Rates:
    names = {
        "input": "input_usd_per_mtok",
        "output": "output_usd_per_mtok",
        "cached input": "cached_read_usd_per_mtok",
    }
    return {what: getattr(rates, name) for what, name in names.items()}


def _between(pair: tuple[str, str], was: Rates | None, now: Rates | None) -> Iterator[Change]:
    name, row = "/".join(pair), {"provider": pair[0], "model": pair[1]}
    if was is None and now is not None:
        yield Change("added", name, "input", UNIT, None, now["input"], "", row)
        yield Change("added", name, "output", UNIT, None, now["output"], "", row)
    elif now is None and was is not None:
        yield Change("gone", name, "input and output", UNIT, was["input"], None, "", row)
    elif was is not None and now is not None:
        for what in was:
            before, after = was[what], now[what]
            if before != after:
                flag = implausible(before, after) if before is not None and after is not None else ""
                yield Change("changed", name, what, UNIT, before, after, flag, row)


def _flagged(change: Change, why: str) -> Change:
    return Change(change.kind, change.name, change.what, change.unit, change.was, change.now, why, change.row)
