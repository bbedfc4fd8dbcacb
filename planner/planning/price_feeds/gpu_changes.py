"""What a list of rental prices says otherwise than the listings in force.

The catalog does not take a list whole: a provider with 300 rows would outvote one with two in the median. It follows
the offers that it has, and takes one new offer for each provider, accelerator and number of GPUs: the cheapest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from costmodel import GpuListing, PriceUnknownError, gpu_price, prices_in_force
from planner.planning.price_feeds.changes import Change, implausible
from planner.planning.price_feeds.offers import GpuOffer, ReadOffers

OfferKind = tuple[str, str, int]

UNIT = "USD per GPU-hour"
NEW_WITHIN_FACTOR = 4
"""A new offer further from the median than this is more often a misread row than a bargain."""
GONE_SHARE = 3
"""Where a list has lost more than a third of a provider's offers, it is more likely cut short."""
WIDE_REGIONS = ("", "global", "any")


def gpu_changes(read: ReadOffers, as_of: date, source: str) -> list[Change]:
    """Every difference to the listings in force on `as_of`, the day the list is from: changed ones first, the largest
    move first, then new ones, then what the list has no more. source: what is kept with each price, with licence."""
    followed = [
        row
        for row in prices_in_force().listings_on(as_of)
        if row.as_of.last_day <= as_of and row.on_demand_usd_per_gpu_hour and row.provider in read.providers
    ]
    priced = [offer for offer in read.offers if offer.on_demand_usd_per_gpu_hour is not None]
    by_kind: dict[OfferKind, list[GpuOffer]] = {}
    for offer in priced:
        by_kind.setdefault(_kind(offer), []).append(offer)
    matched = {id(row): _matching(row, by_kind.get(_kind(row), ()), followed) for row in followed}
    changed = [_changed(row, found, as_of, source) for row in followed if (found := matched[id(row)])]
    missing = [row for row in followed if not matched[id(row)] and _was_listed_so(row)]
    return [
        *sorted((c for c in changed if c.was != c.now), key=lambda c: (-abs(c.ratio or Decimal(0)), c.name)),
        *_added(priced, followed, as_of, source),
        *_gone(missing, followed, as_of, source),
    ]


def _was_listed_so(row: GpuListing) -> bool:
    """Averages, marketplaces and resale come from elsewhere: that a list has none of them says nothing."""
    return not row.labels or row.labels == ("community",)


def _kind(offer: GpuListing | GpuOffer) -> OfferKind:
    return (offer.provider, offer.accelerator_id, offer.gpus_per_instance)


def _matching(row: GpuListing, of_kind: Sequence[GpuOffer], followed: Sequence[GpuListing]) -> GpuOffer | None:
    """The list's offer that is this listing: the same instance, or the only one that the catalog has of the provider's
    accelerator in that number. Of several regions that fit, the cheapest."""
    alike = [offer for offer in of_kind if _region_fits(row.region, offer.region)]
    same = [offer for offer in alike if _bare(offer.instance) == _bare(row.instance)]
    rivals = sum(_kind(other) == _kind(row) for other in followed)
    found = same or (alike if rivals == 1 and _was_listed_so(row) else [])
    return min(found, key=_cheapest, default=None)


def _region_fits(followed: str, offered: str) -> bool:
    places = [place.casefold() for place in followed.split("/")]
    return any(
        place in WIDE_REGIONS or offered.casefold() == place or offered.casefold().startswith(f"{place}-")
        for place in places
    )


def _cheapest(offer: GpuOffer) -> tuple[Decimal, str, str]:
    assert offer.on_demand_usd_per_gpu_hour is not None
    return (offer.on_demand_usd_per_gpu_hour, offer.instance, offer.region)


def _changed(row: GpuListing, offer: GpuOffer, as_of: date, source: str) -> Change:
    assert row.on_demand_usd_per_gpu_hour is not None
    assert offer.on_demand_usd_per_gpu_hour is not None
    now = offer.on_demand_usd_per_gpu_hour
    where = "" if offer.region == row.region else f"cheapest region of the list: {offer.region}"
    return Change(
        "changed",
        row.accelerator_id,
        _what(row.provider, row.instance, row.gpus_per_instance, row.region),
        UNIT,
        row.on_demand_usd_per_gpu_hour,
        now,
        implausible(row.on_demand_usd_per_gpu_hour, now),
        _row(row, now, offer.spot_usd_per_gpu_hour, as_of, source, where),
    )


def _added(priced: Sequence[GpuOffer], followed: Sequence[GpuListing], as_of: date, source: str) -> Iterator[Change]:
    known = {_kind(row) for row in followed}
    best: dict[OfferKind, GpuOffer] = {}
    for offer in priced:
        key = _kind(offer)
        if key not in known and (key not in best or _cheapest(offer) < _cheapest(best[key])):
            best[key] = offer
    for offer in sorted(best.values(), key=lambda o: (o.accelerator_id, o.provider, o.gpus_per_instance)):
        now = offer.on_demand_usd_per_gpu_hour
        assert now is not None
        yield Change(
            "added",
            offer.accelerator_id,
            _what(offer.provider, offer.instance, offer.gpus_per_instance, offer.region),
            UNIT,
            None,
            now,
            _far_from_median(offer.accelerator_id, now, as_of),
            _row(offer, now, offer.spot_usd_per_gpu_hour, as_of, source, "cheapest instance and region of the list"),
        )


def _far_from_median(accelerator_id: str, now: Decimal, as_of: date) -> str:
    try:
        median = gpu_price(accelerator_id, as_of).usd_per_gpu_hour
    except PriceUnknownError:
        return "the catalog has no other price to compare it with"
    if not median / NEW_WITHIN_FACTOR <= now <= median * NEW_WITHIN_FACTOR:
        return f"it is more than {NEW_WITHIN_FACTOR} × away from the median of {median:f}"
    return ""


def _gone(missing: Sequence[GpuListing], followed: Sequence[GpuListing], as_of: date, source: str) -> Iterator[Change]:
    for row in missing:
        of_provider = [other for other in followed if other.provider == row.provider and _was_listed_so(other)]
        lost = [other for other in missing if other.provider == row.provider]
        cut_short = len(lost) * GONE_SHARE > len(of_provider)
        yield Change(
            "gone",
            row.accelerator_id,
            _what(row.provider, row.instance, row.gpus_per_instance, row.region),
            UNIT,
            row.on_demand_usd_per_gpu_hour,
            None,
            f"the list lacks {len(lost)} of {len(of_provider)} offers of {row.provider}" if cut_short else "",
            {**_row(row, None, None, as_of, source, "no longer in the list"), "withdrawn": True},
        )


def _what(provider: str, instance: str, gpus: int, region: str) -> str:
    return f"{provider} {instance}, {gpus} GPU{'s' if gpus > 1 else ''}, {region or 'any region'}"


def _row(
    offer: GpuListing | GpuOffer,
    on_demand: Decimal | None,
    spot: Decimal | None,
    as_of: date,
    source: str,
    note: str,
) -> dict[str, Any]:
    """The listing that is kept: the same offer as before, so that it takes the former price's place."""
    return {
        "gpu": offer.accelerator_id,
        "provider": offer.provider,
        "instance": offer.instance,
        "gpus_per_instance": offer.gpus_per_instance,
        "region": offer.region,
        "on_demand_usd_per_gpu_hr": "" if on_demand is None else f"{on_demand:f}",
        "spot_usd_per_gpu_hr": "" if spot is None else f"{spot:f}",
        "as_of": as_of.isoformat(),
        "source": source,
        "note": note,
        "withdrawn": False,
    }


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())
