"""What providers agree to and keep: caches with a lifetime, tiers of service, hours of the day, discounts, minimums."""

import math
from datetime import date
from decimal import Decimal

import pytest

from costmodel.pricing.api_bill import BillPart, api_bill, api_traffic, bill_of, with_minimum
from costmodel.pricing.api_caching import caching_rule, caching_rules, found_ratio
from costmodel.pricing.api_pricing import api_price, own_api_price
from costmodel.pricing.breakeven_week import pieces_of, piecewise_break_even

DAY = date(2026, 11, 30)
SECONDS = 730 * 3600


def own(**more):
    return own_api_price("p", "m", DAY, input_usd_per_mtok=3, output_usd_per_mtok=15, **more)


def test_anthropic_writes_cost_a_quarter_more_for_five_minutes_and_double_for_an_hour():
    rates = api_price("anthropic", "claude-sonnet-4-5", date(2026, 6, 1)).standard.rates
    assert rates.cached_write_usd_per_mtok == rates.input_usd_per_mtok * Decimal("1.25")
    assert rates.cached_write_1h_usd_per_mtok == rates.input_usd_per_mtok * 2
    assert rates.cached_read_usd_per_mtok == rates.input_usd_per_mtok / 10


def test_every_rule_names_its_source_and_day():
    assert all(rule.source.startswith("https://") and rule.as_of.startswith("2026") for rule in caching_rules())
    assert caching_rule("anthropic", "claude-haiku-4-5").min_tokens == 4096
    assert caching_rule("anthropic", "claude-sonnet-4-5").min_tokens == 1024
    assert caching_rule("nobody", "m") is None


@pytest.mark.parametrize(("shared", "kept"), [(300, 0), (1023, 0), (1024, 1024), (1151, 1024), (1152, 1152)])
def test_openai_keeps_1024_tokens_and_then_whole_steps_of_128(shared, kept):
    assert caching_rule("openai", "gpt-5.4").kept_tokens(shared) == kept


def test_requests_find_a_prefix_that_was_used_within_its_lifetime():
    """0.01 requests a second over two prefixes, kept 300 s: 1 - e^-1.5. An hour without load changes nothing."""
    assert found_ratio([0.01], groups=2, lifetime_s=300) == pytest.approx(1 - math.exp(-1.5))
    assert found_ratio([0.01, 0.0], groups=2, lifetime_s=300) == pytest.approx(1 - math.exp(-1.5))
    busy, idle = 0.02, 0.01
    by_hand = 1 - (busy * math.exp(-3) + idle * math.exp(-1.5)) / (busy + idle)
    assert found_ratio([busy, idle], groups=2, lifetime_s=300) == pytest.approx(by_hand)
    with pytest.raises(ValueError, match="load"):
        found_ratio([0.0], groups=1, lifetime_s=300)


def test_bill_with_writes_by_hand():
    """1,000 requests of 10,000 in, 8,000 of them cached: one in four writes, three read. In M tokens: 2 uncached at $3,
    6 read at $0.30, 2 written at $3.75 (an hour: $6), 0.5 out at $15."""
    price = own(cached_read_usd_per_mtok=0.3, cached_write_usd_per_mtok=3.75, cached_write_1h_usd_per_mtok=6)
    asked = {"prompt_tokens": [10_000] * 4, "output_tokens": [500] * 4, "requests_per_month": 1000,
             "cached_read_tokens": [0, 8000, 8000, 8000], "cached_write_tokens": [8000, 0, 0, 0]}  # fmt: skip
    five = api_bill(price, api_traffic(**asked))
    assert [(line.label, line.tokens, line.usd_per_month) for line in five.lines] == [
        ("Input", 2_000_000, Decimal("6.00")), ("Cached input, read", 6_000_000, Decimal("1.80")),
        ("Cached input, written", 2_000_000, Decimal("7.50")), ("Output", 500_000, Decimal("7.50")),
    ]  # fmt: skip
    hour = api_bill(price, api_traffic(**asked, hour_writes=True))
    assert hour.usd_per_month - five.usd_per_month == Decimal("4.50")
    assert hour.usd_per_request * 1000 == Decimal("27.30")


def test_tiers_of_service_are_listed_where_the_provider_sells_them():
    price = api_price("openai", "gpt-5.4", DAY)
    assert price.flex is not None
    assert price.priority is not None
    assert price.flex.rates.input_usd_per_mtok < price.standard.rates.input_usd_per_mtok
    assert price.priority.rates.input_usd_per_mtok > price.standard.rates.input_usd_per_mtok
    assert api_price("groq", "llama-3.3-70b-versatile", DAY).card("flex") is None


def test_deepseek_is_dearer_from_one_to_four_and_six_to_ten_utc():
    price = api_price("deepseek", "deepseek-v4-flash", DAY)
    dear = {half for half, card in enumerate(price.half_hours) if card.rates.output_usd_per_mtok == Decimal("1.2")}
    assert dear == set(range(2, 8)) | set(range(12, 20))
    assert price.standard == price.half_hours[24]
    assert api_price("openai", "gpt-5.4", DAY).half_hours == ()


def test_parts_of_a_day_are_billed_at_their_own_rates_and_add_up():
    price = api_price("deepseek", "deepseek-v4-flash", DAY)
    off, peak = price.half_hours[24], price.half_hours[2]
    parts = [BillPart(card, api_traffic([1000], [100], requests_per_month=count), label)
             for card, count, label in ((off, 3000, "off"), (peak, 1000, "peak"))]  # fmt: skip
    bill = bill_of(price, parts)
    assert {line.label: (line.tokens, line.usd_per_mtok) for line in bill.lines} == {
        "Input, off": (3_000_000, Decimal("0.15")), "Output, off": (300_000, Decimal("0.6")),
        "Input, peak": (1_000_000, Decimal("0.3")), "Output, peak": (100_000, Decimal("1.2")),
    }  # fmt: skip
    assert bill.usd_per_month == Decimal("1.05")
    assert bill.usd_per_request * 4000 == bill.exact_usd_per_month


def test_a_discount_is_taken_off_every_rate():
    price = own(cached_read_usd_per_mtok=1, batch_input_usd_per_mtok=2, batch_output_usd_per_mtok=8,
                usd_per_1k_requests=5).less(0.25)  # fmt: skip
    rates = price.standard.rates
    assert (rates.input_usd_per_mtok, rates.cached_read_usd_per_mtok) == (Decimal("2.25"), Decimal("0.75"))
    assert price.batch.rates.output_usd_per_mtok == 6
    assert price.usd_per_1k_requests == Decimal("3.75")


def test_what_is_missing_to_a_minimum_is_a_line_and_not_part_of_a_request():
    bill = api_bill(own(), api_traffic([1000], [100], requests_per_month=1000))  # $3.00 + $1.50
    agreed = with_minimum(bill, Decimal(100))
    assert agreed.usd_per_month == Decimal(100)
    assert agreed.lines[-1].usd_per_month == Decimal("95.50")
    assert sum(line.usd_per_month for line in agreed.lines) == agreed.usd_per_month
    assert agreed.usd_per_request == bill.usd_per_request
    assert with_minimum(bill, Decimal(4)).lines == bill.lines


def test_break_even_against_a_minimum_by_hand():
    """A replica of 1 request/s at $1,000; the API at $1,600 for a replica's load, but $1,200 a month at least: self-
    hosting leads from nothing to 1 request/s, where its second replica costs $2,000, and again from 1.25 on: the API
    leads after a whole number n while 1600 n < 1000 (n + 1), which is only true of n = 1."""
    pieces = pieces_of(lambda rate: math.ceil(rate * (1 - 1e-12)) * 1000.0, [float(n) for n in range(1, 20)])
    here = piecewise_break_even(
        pieces, 1600 / SECONDS, seconds_per_month=SECONDS, tokens_per_request=100, limit_usd_per_request=0,
        minimum_usd=1200,
    )  # fmt: skip
    places = [(float(c.mean_rps), c.cheaper_above) for c in here.crossings]
    assert places == [(1.0, "api"), (pytest.approx(1.25), "self_host")]
    assert "at least $1,200 a month" in here.sentence
    cheap = piecewise_break_even(
        pieces, 1 / SECONDS, seconds_per_month=SECONDS, tokens_per_request=100, limit_usd_per_request=1, minimum_usd=900
    )
    assert cheap.never
