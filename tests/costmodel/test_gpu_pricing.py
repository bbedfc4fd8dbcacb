"""GPU-hour prices: the window, the median, what is labelled, and what is refused."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel.pricing.gpu_listings import GpuListing, parse_as_of, read_listings
from costmodel.pricing.gpu_pricing import gpu_price, in_window, median, price_drift
from costmodel.pricing.money import PriceUnknownError
from costmodel.pricing.price_book import gpu_listings

PRICED_AT = date(2026, 11, 30)
HEADER = (
    "gpu,provider,instance,gpus_per_instance,region,on_demand_usd_per_gpu_hr,spot_usd_per_gpu_hr,"
    "reserved_1y_usd_per_gpu_hr,reserved_3y_usd_per_gpu_hr,as_of,source,note"
)


def listings(*rows: str) -> tuple[GpuListing, ...]:
    return read_listings([HEADER, *rows])


THREE = listings(
    "X,aws,p,8,us-east-1,6.88,2.27,,,2026-11-09,a,",
    "X,vast,average of listings,1,,2.50,,,,2026-10-24,b,",
    "X,runpod-community,pod,1,global,3.00,,,,2026-08,c,third-party hosts",
)


def test_odd_number_of_listings_has_the_middle_one() -> None:
    assert gpu_price("X", PRICED_AT, listings=THREE).usd_per_gpu_hour == Decimal("3.00")


def test_even_number_has_the_mean_of_the_two_middle_ones() -> None:
    four = (*THREE, *listings("X,nebius,h,1,eu-north1,4.10,,,,2026-09-25,d,"))
    assert gpu_price("X", PRICED_AT, listings=four).usd_per_gpu_hour == Decimal("3.55")


def test_range_is_cheapest_and_dearest() -> None:
    price = gpu_price("X", PRICED_AT, listings=THREE)
    assert (price.low_usd_per_gpu_hour, price.high_usd_per_gpu_hour) == (Decimal("2.50"), Decimal("6.88"))


def test_listings_come_with_provider_date_and_source() -> None:
    cheapest = gpu_price("X", PRICED_AT, listings=THREE).listings[0]
    assert (cheapest.provider, cheapest.as_of.text, cheapest.source) == ("vast", "2026-10-24", "b")


def test_kinds_of_offer_are_labelled() -> None:
    labels = {listing.provider: listing.labels for listing in THREE}
    assert labels == {
        "aws": (),
        "vast": ("average of listings", "marketplace"),
        "runpod-community": ("community",),
    }


def test_every_listing_has_a_vote() -> None:
    sizes = listings(
        "X,aws,small,1,us-east-1,9,,,,2026-11-01,a,",
        "X,aws,large,8,us-east-1,8,,,,2026-11-01,a,",
        "X,vast,pod,1,,2,,,,2026-11-01,a,",
    )
    assert gpu_price("X", PRICED_AT, listings=sizes).usd_per_gpu_hour == Decimal(8)


@pytest.mark.parametrize(
    ("as_of", "used"),
    [
        ("2026-06-03", True),  # 180 days before
        ("2026-06-02", False),
        ("2026-11-30", True),
        ("2026-12-01", False),  # not yet known on that day
        ("2026-06", False),  # its first days lie before the window
        ("2026-07", True),
        ("2026-11", True),
        ("2026", False),
    ],
)
def test_window_takes_only_what_surely_dates_from_it(as_of: str, used: bool) -> None:
    assert in_window(parse_as_of(as_of), PRICED_AT) is used


@pytest.mark.parametrize(("text", "precision"), [("2026", "year"), ("2026-08", "month"), ("2026-08-19", "day")])
def test_date_keeps_its_precision(text: str, precision: str) -> None:
    parsed = parse_as_of(text)
    assert (parsed.text, parsed.precision) == (text, precision)


@pytest.mark.parametrize("text", ["", "08/2026", "2026-13", "2026-02-30", "26-08"])
def test_unreadable_date_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse_as_of(text)


def test_old_listings_are_not_used_but_mentioned() -> None:
    mixed = (*THREE, *listings("X,gcp,a3,8,asia,11.06,,,4.86,2026,e,"))
    price = gpu_price("X", PRICED_AT, listings=mixed)
    assert [listing.provider for listing in price.unused] == ["gcp"]
    assert "1 more not used" in price.sentence


def test_only_old_listings_leave_the_price_unknown_and_say_so() -> None:
    with pytest.raises(PriceUnknownError, match=r"6\.88 by aws, 2026-11-09, not used.*Give your own price"):
        gpu_price("X", date(2027, 12, 1), listings=THREE[:1])


def test_spot_price_alone_is_no_on_demand_price() -> None:
    with pytest.raises(PriceUnknownError):
        gpu_price("X", PRICED_AT, listings=listings("X,sfcompute,spot,8,us,,2.03,,,2026-08-21,f,"))


def test_a_single_listing_is_named_as_such() -> None:
    assert "the only on-demand listing (aws, 2026-11-09)" in gpu_price("X", PRICED_AT, listings=THREE[:1]).sentence


def test_unlisted_accelerator_is_unknown_not_zero() -> None:
    with pytest.raises(PriceUnknownError, match="no price for Y"):
        gpu_price("Y", PRICED_AT, listings=THREE)


def test_own_price_replaces_the_median_and_keeps_the_listings() -> None:
    price = gpu_price("X", PRICED_AT, override=3.2, listings=THREE)
    assert price.usd_per_gpu_hour == price.low_usd_per_gpu_hour == price.high_usd_per_gpu_hour == Decimal("3.2")
    assert price.basis == "override"
    assert len(price.listings) == 3


def test_own_price_needs_no_listing() -> None:
    assert gpu_price("Y", PRICED_AT, override=Decimal("1.10"), listings=THREE).usd_per_gpu_hour == Decimal("1.10")


def test_negative_own_price_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        gpu_price("X", PRICED_AT, override=-1, listings=THREE)


def test_provider_narrows_the_listings() -> None:
    assert gpu_price("X", PRICED_AT, providers=["RunPod"], listings=THREE).usd_per_gpu_hour == Decimal("3.00")


def test_region_narrows_the_listings() -> None:
    assert gpu_price("X", PRICED_AT, regions=["us"], listings=THREE).usd_per_gpu_hour == Decimal("6.88")


def test_region_without_listing_is_unknown() -> None:
    with pytest.raises(PriceUnknownError, match="providers and regions asked for"):
        gpu_price("X", PRICED_AT, regions=["eu"], listings=THREE)


@given(st.lists(st.decimals("0.01", "100", places=4), min_size=1, max_size=30))
def test_median_halves_the_prices(prices: list[Decimal]) -> None:
    middle = median(prices)
    assert 2 * sum(price < middle for price in prices) <= len(prices)
    assert 2 * sum(price > middle for price in prices) <= len(prices)
    assert min(prices) <= middle <= max(prices)


@given(st.dates(date(2025, 1, 1), date(2028, 1, 1)))
def test_no_listing_from_outside_the_window_is_ever_used(priced_at: date) -> None:
    try:
        used = gpu_price("X", priced_at, listings=THREE).listings
    except PriceUnknownError:
        used = ()
    assert all(priced_at - timedelta(days=180) <= item.as_of.first_day <= priced_at for item in used)


def test_drift_keeps_the_cent_and_counts_the_days() -> None:
    drift = price_drift(Decimal("2.50"), date(2026, 5, 30), Decimal("3.00"), PRICED_AT)
    assert (drift.age_days, drift.change_ratio) == (184, Decimal("0.2"))


def on_demand_by_hand(accelerator_id: str) -> list[float]:
    """All on-demand prices but those dated to the year only, cheapest first."""
    return sorted(
        float(listing.on_demand_usd_per_gpu_hour)
        for listing in gpu_listings()
        if listing.accelerator_id == accelerator_id
        and listing.on_demand_usd_per_gpu_hour is not None
        and listing.as_of.text != "2026"
    )


def test_shipped_h100_price_by_hand() -> None:
    # 26 listings from August to November 2026; the 13th is 3.90 (Crusoe), the 14th 3.99 (Lambda, RunPod, Together).
    below = [2.58, 2.635, 2.6661, 2.69, 2.9572, 3.2, 3.2126, 3.3482, 3.49, 3.7969, 3.85, 3.8883, 3.9]
    above = [3.99, 3.99, 3.99, 4.29, 4.4868, 5.373, 6.155, 6.88, 6.88, 10.0, 10.55, 10.9791, 12.29]
    assert on_demand_by_hand("H100-SXM5-80GB") == below + above
    price = gpu_price("H100-SXM5-80GB", PRICED_AT)
    assert price.usd_per_gpu_hour == (Decimal("3.9") + Decimal("3.99")) / 2 == Decimal("3.945")
    assert (price.low_usd_per_gpu_hour, price.high_usd_per_gpu_hour) == (Decimal("2.58"), Decimal("12.29"))


def test_shipped_h200_price_by_hand() -> None:
    # 17 listings; the ninth is 4.59 (RunPod secure, Jarvislabs).
    below = [3.4518, 3.59, 3.99, 3.99, 4.0, 4.29, 4.45, 4.5]
    above = [4.59, 4.9544, 5.5826, 5.8621, 5.99, 6.305, 7.912, 10.0]
    assert on_demand_by_hand("H200-SXM-141GB") == [*below, 4.59, *above]
    assert gpu_price("H200-SXM-141GB", PRICED_AT).usd_per_gpu_hour == Decimal("4.59")


def test_shipped_listings_are_all_priced_dated_and_sourced() -> None:
    for listing in gpu_listings():
        assert listing.source
        assert listing.on_demand_usd_per_gpu_hour or listing.spot_usd_per_gpu_hour
