"""What a GPU-hour rents for: dated list prices and their median as of a chosen day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Literal

from costmodel.catalog.display_names import exact_usd
from costmodel.pricing.gpu_listings import AsOf, GpuListing
from costmodel.pricing.money import Number, PriceUnknownError, to_decimal
from costmodel.pricing.price_book import prices_in_force

WINDOW_DAYS = 180


@dataclass(frozen=True, slots=True)
class GpuPrice:
    """The price of one GPU-hour. `basis` is `median` or `override`; low and high are the cheapest and dearest listing.

    p25 and p75 are the nearest-rank quartiles of the listings used. `unused` are the on-demand listings of the same
    accelerator that fall outside the window, so that a page can mention them.
    """

    accelerator_id: str
    priced_at: date
    usd_per_gpu_hour: Decimal
    low_usd_per_gpu_hour: Decimal
    high_usd_per_gpu_hour: Decimal
    p25_usd_per_gpu_hour: Decimal
    p75_usd_per_gpu_hour: Decimal
    basis: Literal["median", "override"]
    listings: tuple[GpuListing, ...]
    unused: tuple[GpuListing, ...]
    sentence: str


def gpu_price(
    accelerator_id: str,
    priced_at: date,
    *,
    override: Number | None = None,
    providers: Sequence[str] | None = None,
    regions: Sequence[str] | None = None,
    listings: Iterable[GpuListing] | None = None,
) -> GpuPrice:
    """Price of one GPU-hour in USD: the median of the on-demand prices listed in the 180 days before `priced_at`.

    Every listing has one vote: regions and instance sizes of a provider count apart, as published, and averages of
    listings, community and marketplace offers count too and are labelled. An even number of prices has the mean of
    the two middle ones. A date known to the month or year counts only if the whole month or year lies in the window.
    `override` is the user's own price; the listings then stand beside it for comparison. `providers` and
    `regions` narrow the listings ("us" matches "us-east-1").

    Raises PriceUnknownError when no listing remains: nothing older is used in its place.
    """
    offered = [
        listing
        for listing in (prices_in_force().listings_on(priced_at) if listings is None else listings)
        if listing.accelerator_id == accelerator_id
        and listing.on_demand_usd_per_gpu_hour is not None
        and _matches(listing, providers, regions)
    ]
    used = tuple(sorted((item for item in offered if in_window(item.as_of, priced_at)), key=_by_price))
    unused = tuple(sorted((item for item in offered if not in_window(item.as_of, priced_at)), key=_by_price))
    if override is not None:
        return _override_price(accelerator_id, priced_at, to_decimal(override), used, unused)
    if not used:
        raise _unknown(accelerator_id, priced_at, unused, narrowed=providers is not None or regions is not None)
    prices = [_on_demand(listing) for listing in used]
    middle = median(prices)
    return GpuPrice(
        accelerator_id=accelerator_id,
        priced_at=priced_at,
        usd_per_gpu_hour=middle,
        low_usd_per_gpu_hour=prices[0],
        high_usd_per_gpu_hour=prices[-1],
        p25_usd_per_gpu_hour=_nearest_rank(prices, 25),
        p75_usd_per_gpu_hour=_nearest_rank(prices, 75),
        basis="median",
        listings=used,
        unused=unused,
        sentence=_median_sentence(middle, used, unused, priced_at),
    )


def median(prices: Sequence[Decimal]) -> Decimal:
    """Middle value; of an even number, the mean of the two middle values. Exact. Raises ValueError when empty."""
    if not prices:
        raise ValueError("the median of no prices is undefined")
    ordered = sorted(prices)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def in_window(as_of: AsOf, priced_at: date) -> bool:
    """Whether the listing surely dates from `priced_at` or the 180 days before it."""
    return priced_at - timedelta(days=WINDOW_DAYS) <= as_of.first_day and as_of.last_day <= priced_at


@dataclass(frozen=True, slots=True)
class PriceDrift:
    """How an agreed price has aged: days since it was set, and the change of the GPU cost at today's price."""

    age_days: int
    change_ratio: Decimal
    sentence: str


def price_drift(saved_usd_per_gpu_hour: Number, saved_on: date, current: Number, today: date) -> PriceDrift:
    """What reopening an old plan should say about its GPU price. The saved price itself stays in force."""
    saved, now = to_decimal(saved_usd_per_gpu_hour), to_decimal(current)
    if saved <= 0:
        raise ValueError("a saved price must be above zero to be compared")
    age_days, change_ratio = (today - saved_on).days, now / saved - 1
    sentence = f"price {age_days} days old; current ${now:.2f} would change GPU cost {change_ratio * 100:+.1f}%"
    return PriceDrift(age_days=age_days, change_ratio=change_ratio, sentence=sentence)


def _matches(listing: GpuListing, providers: Sequence[str] | None, regions: Sequence[str] | None) -> bool:
    if providers is not None and not any(_is_within(listing.provider, provider) for provider in providers):
        return False
    if regions is None:
        return True
    places = listing.region.split("/")
    return any(_is_within(place, region) for place in places for region in regions)


def _is_within(name: str, wanted: str) -> bool:
    """`us-east-1` lies within `us`, `runpod-secure` within `runpod`; case does not matter."""
    name, wanted = name.strip().casefold(), wanted.strip().casefold()
    return bool(wanted) and (name == wanted or name.startswith(f"{wanted}-"))


def _on_demand(listing: GpuListing) -> Decimal:
    assert listing.on_demand_usd_per_gpu_hour is not None
    return listing.on_demand_usd_per_gpu_hour


def _by_price(listing: GpuListing) -> tuple[Decimal, str, str, str]:
    return (_on_demand(listing), listing.provider, listing.instance, listing.region)


def _nearest_rank(ordered: Sequence[Decimal], percentile: int) -> Decimal:
    return ordered[-(-len(ordered) * percentile // 100) - 1]


def _override_price(
    accelerator_id: str,
    priced_at: date,
    usd_per_gpu_hour: Decimal,
    used: tuple[GpuListing, ...],
    unused: tuple[GpuListing, ...],
) -> GpuPrice:
    if usd_per_gpu_hour < 0:
        raise ValueError(f"a GPU price cannot be negative: {usd_per_gpu_hour}")
    return GpuPrice(
        accelerator_id=accelerator_id,
        priced_at=priced_at,
        usd_per_gpu_hour=usd_per_gpu_hour,
        low_usd_per_gpu_hour=usd_per_gpu_hour,
        high_usd_per_gpu_hour=usd_per_gpu_hour,
        p25_usd_per_gpu_hour=usd_per_gpu_hour,
        p75_usd_per_gpu_hour=usd_per_gpu_hour,
        basis="override",
        listings=used,
        unused=unused,
        sentence=f"{exact_usd(usd_per_gpu_hour)} per GPU-hour, as given",
    )


def _median_sentence(middle: Decimal, used: Sequence[GpuListing], unused: Sequence[GpuListing], priced_at: date) -> str:
    if len(used) == 1:
        only = f"the only on-demand listing ({used[0].provider}, {used[0].as_of.text})"
        return f"{exact_usd(middle)} per GPU-hour: {only} in the {WINDOW_DAYS} days before {priced_at}"
    providers = len({listing.provider for listing in used})
    labelled = sum(1 for listing in used if listing.labels)
    parts = [
        f"{exact_usd(middle)} per GPU-hour: median of {len(used)} on-demand listings of {providers} providers in the "
        f"{WINDOW_DAYS} days before {priced_at}, {exact_usd(_on_demand(used[0]))} to {exact_usd(_on_demand(used[-1]))}"
    ]
    if labelled:
        parts.append(f"{labelled} of them are averages, community, marketplace or resale offers, or have changed since")
    if unused:
        parts.append(f"{len(unused)} more not used, as their dates are uncertain or outside those days")
    return "; ".join(parts)


def _unknown(
    accelerator_id: str, priced_at: date, unused: Sequence[GpuListing], *, narrowed: bool
) -> PriceUnknownError:
    where = " from the providers and regions asked for" if narrowed else ""
    detail = f"no on-demand listing{where} in the {WINDOW_DAYS} days before {priced_at}"
    if unused:
        latest = max(unused, key=lambda listing: (listing.as_of.last_day, listing.provider))
        detail += f" (nearest: {exact_usd(_on_demand(latest))} by {latest.provider}, {latest.as_of.text}, not used)"
    return PriceUnknownError(
        accelerator_id, detail=detail, needed="Give your own price per GPU-hour, or choose another date or region"
    )
