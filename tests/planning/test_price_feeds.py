"""Price lists: what is read of them, what is left out and why, and how they differ from the prices in force."""

from datetime import date
from decimal import Decimal

import pytest

from costmodel import PriceUnknownError, api_price, catalog_version, gpu_price, using
from planner import planning
from planner.planning.price_feeds import Change, Feed, ReadOffers
from tests.price_lists import api_list, gpuhunt, skypilot

DAY = date(2026, 12, 1)
AWS = Feed("skypilot", "aws")
P5 = "p5.48xlarge,H100,8,192,2048,us-east-1,20.0,{price},us-east-1a,"


def read(*rows: str, provider: str = "aws") -> ReadOffers:
    return planning.read_offers(skypilot(*rows), Feed("skypilot", provider))


def changes(*rows: str, provider: str = "aws") -> list[Change]:
    return planning.gpu_changes(read(*rows, provider=provider), DAY, "a list (Apache-2.0)")


def of_kind(found: list[Change], kind: str) -> list[Change]:
    return [change for change in found if change.kind == kind]


def test_prices_of_instances_are_read_for_each_gpu_with_their_form() -> None:
    found = read(
        P5.format(price="48.0"),
        "gpu_8x_h100_sxm5,H100,8,208,1800,us-west-3,,31.92,,\"{'Gpus': [{'Name': 'H100'}]}\"",
        "1x_A100-80GB_SECURE,A100-80GB,1.0,8,117,IN,1.39,1.39,AP-IN-1,\"{'Gpus': [{'Name': 'A100 PCIe'}]}\"",
    ).offers
    assert [(o.accelerator_id, o.provider, o.on_demand_usd_per_gpu_hour, o.spot_usd_per_gpu_hour) for o in found] == [
        ("H100-SXM5-80GB", "aws", Decimal(6), Decimal("2.5")),
        ("H100-SXM5-80GB", "aws", Decimal("3.99"), None),
        ("A100-PCIe-80GB", "aws-secure", Decimal("1.39"), Decimal("1.39")),
    ]


def test_what_cannot_be_compared_is_counted_by_its_reason() -> None:
    found = read(
        "m5.large,,,2,8,us-east-1,,0.1,,",
        ",H100,8,,,us-central1,,9.8,,",  # Google's accelerators, without their hosts
        "x,H100,1,1,1,us,,2.0,,",
        "NV6ads_A10_v5,A10,0.1667,6,55,eastus,,0.45,,",
        "y,L4,1,1,1,us,,700.0,,",
        "z,Imaginary9000,1,1,1,us,,2.0,,",
        "w,L4,many,1,1,us,,2.0,,",
    )
    assert found.offers == ()
    assert found.left_out == {
        "no accelerator": 1,
        "price of the accelerator without its host": 1,
        "which form of the accelerator is not said": 1,
        "a part of an accelerator": 1,
        "a placeholder instead of a price": 1,
        "an accelerator that the catalog does not have": 1,
        "no number of accelerators": 1,
    }


def test_gpuhunt_names_its_providers_and_keeps_spot_apart() -> None:
    row = "gpu_1x_h100_pcie,us-west-3,{price},26,225,1,H100,80.0,{spot},512,nvidia,,x86,{{}}"
    data = gpuhunt({"lambdalabs": [row.format(price="3.5", spot="False"), row.format(price="2.0", spot="True")]})
    found = planning.read_offers(data, Feed("gpuhunt", ""))
    assert found.providers == {"lambda"}
    assert [(o.on_demand_usd_per_gpu_hour, o.spot_usd_per_gpu_hour) for o in found.offers] == [
        (Decimal("3.5"), None),
        (None, Decimal(2)),
    ]


@pytest.mark.parametrize(
    ("data", "feed", "why"),
    [
        (b"a,b\n1,2\n", AWS, "it lacks the columns"),
        (b"", AWS, "it lacks the columns"),
        (skypilot(), AWS, "it has no rows"),
        (b"\xff\xfe", AWS, "it is not UTF-8"),
        (b"PK\x03\x04nonsense", Feed("gpuhunt", ""), "the ZIP is damaged"),
        (skypilot("x,L4,1,1,1,us,,1,,"), Feed("gpuhunt", ""), "does not say whose prices"),
    ],
)
def test_what_is_no_such_list_says_why(data: bytes, feed: Feed, why: str) -> None:
    with pytest.raises(planning.FeedInvalid, match=why):
        planning.read_offers(data, feed)


@pytest.mark.parametrize(
    "text", ["skypilot=https://x/", "other=https://x/", "genai-prices:aws=x", "skypilot:A WS=x", ""]
)
def test_a_feed_names_its_format_and_provider(text: str) -> None:
    with pytest.raises(planning.FeedInvalid):
        planning.parse_feed(text)


def test_a_changed_price_is_found_by_instance_and_region_with_its_change() -> None:
    cheaper_elsewhere = P5.format(price="40.0").replace("us-east-1", "eu-north-1")
    found = of_kind(changes(P5.format(price="48.0"), cheaper_elsewhere), "changed")
    assert [(c.name, c.was, c.now, c.flag) for c in found] == [("H100-SXM5-80GB", Decimal("6.88"), Decimal(6), "")]
    assert found[0].ratio == Decimal(6) / Decimal("6.88") - 1


@pytest.mark.parametrize(("price", "flagged"), [("82.0", False), ("83.0", True), ("37.0", False), ("36.0", True)])
def test_a_move_beyond_half_as_much_again_needs_a_look(price: str, *, flagged: bool) -> None:
    found = of_kind(changes(P5.format(price=price)), "changed")
    assert bool(found[0].flag) is flagged


def test_one_new_offer_a_provider_and_number_of_gpus_the_cheapest() -> None:
    found = of_kind(
        changes("g6.2xlarge,L40,1,8,32,us-east-1,,1.2,,", "g6.4xlarge,L40,1,16,64,us-east-1,,1.4,,"), "added"
    )
    assert [(c.name, c.now) for c in found] == [("L40", Decimal("1.2"))]


def test_a_list_that_lost_most_of_a_provider_is_not_believed() -> None:
    gone = of_kind(changes(P5.format(price="55.04")), "gone")
    assert gone
    assert all("the list lacks" in change.flag for change in gone)


def test_approved_prices_are_in_force_from_their_day_on_and_leave_the_days_before() -> None:
    before, shipped = gpu_price("L4", date(2026, 11, 30)), gpu_price("L4", DAY)
    new = changes("g6.xlarge,L4,1,4,16,us-east-1,,0.7,,")
    book = planning.book_of([planning.approved_gpu([c.row for c in of_kind(new, "changed")])])
    with using(book):
        assert gpu_price("L4", date(2026, 11, 30)).usd_per_gpu_hour == before.usd_per_gpu_hour
        after = gpu_price("L4", DAY)
        version = catalog_version()
    assert len(after.listings) == len(shipped.listings)  # in the former price's place, not beside it
    mine = next(row for row in after.listings if row.provider == "aws")
    assert (mine.on_demand_usd_per_gpu_hour, mine.as_of.text) == (Decimal("0.7"), "2026-12-01")
    assert mine.source == "a list (Apache-2.0)"
    assert version.startswith(f"{catalog_version()}.")
    assert planning.approved_digest(f"0.1.0+{version}") == book.digest


def test_a_withdrawn_offer_has_no_price_from_its_day_on() -> None:
    gone = next(c for c in of_kind(changes(P5.format(price="55.04")), "gone") if c.name == "B300-SXM")
    with using(planning.book_of([planning.approved_gpu([gone.row])])):
        sellers = {row.provider for row in gpu_price("B300-SXM", DAY).listings}
        assert "aws" not in sellers
        assert "aws" in {row.provider for row in gpu_price("B300-SXM", date(2026, 11, 30)).listings}


def test_a_list_of_api_prices_is_compared_model_by_model() -> None:
    day, model = date(2026, 11, 30), "llama-3.3-70b-versatile"
    rates = api_price("groq", model, day).standard.rates
    document = api_list(
        ("groq", model, {"input_mtok": float(rates.input_usd_per_mtok) * 4, "output_mtok": 0.8}),
        ("groq", "brand-new", {"input_mtok": 1, "output_mtok": 2}),
    )
    found = planning.api_changes(document, day)
    mine = {(c.kind, c.name, c.what): c for c in found}
    assert mine["changed", f"groq/{model}", "input"].flag
    assert not mine["changed", f"groq/{model}", "output"].flag
    assert mine["added", "groq/brand-new", "input"].now == 1
    assert all(change.flag for change in of_kind(found, "gone"))


def test_a_model_held_back_keeps_its_price_and_its_source() -> None:
    day, model = date(2026, 11, 30), "llama-3.3-70b-versatile"
    shipped = api_price("groq", model, day)
    document = api_list(
        ("groq", model, {"input_mtok": 9, "output_mtok": 9}), ("groq", "brand-new", {"input_mtok": 1, "output_mtok": 2})
    )
    held = planning.book_of([planning.approved_api(document, "a list (MIT)", "2026-11-29", [["groq", model]])])
    taken = planning.book_of([planning.approved_api(document, "a list (MIT)", "2026-11-29")])
    with using(held):
        assert api_price("groq", model, day).standard.rates == shipped.standard.rates
        assert api_price("groq", model, day).source == shipped.source
        assert api_price("groq", "brand-new", day).source == "a list (MIT)"
    with using(taken):
        assert api_price("groq", model, day).standard.rates.input_usd_per_mtok == 9
        assert api_price("groq", model, day).as_of == "2026-11-29"
    assert held.digest != taken.digest


@pytest.mark.parametrize(
    "document",
    [b"{}", b"[]", b"nope", b"[" * 100_000, b'[{"id": 1}]', b'[{"id": "a", "models": "x"}]', b"\xff", b"[[[]]]"],
)
def test_what_is_no_list_of_api_prices_says_so(document: bytes) -> None:
    with pytest.raises(planning.FeedInvalid):
        planning.api_changes(document, DAY)


def test_without_a_listing_by_that_day_there_is_no_price() -> None:
    with pytest.raises(PriceUnknownError):
        gpu_price("H100-SXM5-80GB", date(2025, 1, 1))
