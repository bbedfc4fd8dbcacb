"""API prices: names, dates, tiers, batch rates, second opinions; bills exact to the token."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction

import genai_prices.data
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel.deployment.problems import UnknownIdError
from costmodel.pricing.api_bill import api_bill, api_traffic
from costmodel.pricing.api_pricing import api_price, api_price_listing
from costmodel.pricing.api_rates import ApiPrice, RateCard, RateTier, TokenRates
from costmodel.pricing.api_usage import Usage, anthropic_usage, inclusive_usage, openai_usage, usage_cost_usd
from costmodel.pricing.money import PriceUnknownError

DAY = date(2026, 11, 30)
LLAMA_ON_BEDROCK = "meta.llama3-3-70b-instruct-v1:0"


def rates(input_usd: str, output_usd: str, cached: str | None = None, written: str | None = None) -> TokenRates:
    return TokenRates(Decimal(input_usd), Decimal(output_usd), cached and Decimal(cached), written and Decimal(written))


def price_of(card: RateCard, *, batch: RateCard | None = None, usd_per_1k_requests: str = "0") -> ApiPrice:
    return ApiPrice(
        provider="p",
        model="m",
        priced_at=DAY,
        standard=card,
        batch=batch,
        usd_per_1k_requests=Decimal(usd_per_1k_requests),
        deprecated=False,
        deprecation_date=None,
        available=True,
        source="test",
        as_of="2026-11",
        notes=(),
    )


FLAT = price_of(RateCard(rates("0.72", "0.72")))
TIERED = price_of(RateCard(rates("2", "10", "0.2"), (RateTier(272_000, rates("4", "15", "0.4")),)))


@pytest.mark.parametrize("provider", ["aws", "bedrock", "Bedrock", "amazon-bedrock", "Amazon Bedrock", "AWS Bedrock"])
def test_provider_names_are_forgiving(provider: str) -> None:
    assert api_price(provider, LLAMA_ON_BEDROCK, DAY).provider == "aws"


@pytest.mark.parametrize(
    ("provider", "model", "resolved"),
    [
        ("aws", "us.meta.llama3-3-70b-instruct-v1:0", LLAMA_ON_BEDROCK),
        ("aws", "Llama-3.3-70B", LLAMA_ON_BEDROCK),
        ("groq", "LLAMA-3.3-70B-VERSATILE", "llama-3.3-70b-versatile"),
        ("fireworks", "accounts/fireworks/models/deepseek-v3p2", "deepseek-v3p2"),
        ("fireworks_ai", "deepseek-v3p2", "deepseek-v3p2"),
        ("deepinfra", "Llama-3.3-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"),
        ("openai", "gpt-4o-2024-08-06", "gpt-4o"),
    ],
)
def test_model_names_are_forgiving(provider: str, model: str, resolved: str) -> None:
    assert api_price(provider, model, DAY).model == resolved


def test_unknown_provider_gets_suggestions() -> None:
    with pytest.raises(UnknownIdError) as error:
        api_price("bedrok", LLAMA_ON_BEDROCK, DAY)
    assert error.value.suggestions[0] == "aws"


def test_misspelt_model_gets_the_nearest_first() -> None:
    with pytest.raises(UnknownIdError) as error:
        api_price("groq", "llama-3.3-70b-versatil", DAY)
    assert (error.value.code, error.value.suggestions[0]) == ("unknown_id", "llama-3.3-70b-versatile")


def test_name_that_several_models_hold_is_ambiguous() -> None:
    with pytest.raises(UnknownIdError) as error:
        api_price("groq", "llama 3.3", DAY)
    assert error.value.code == "ambiguous_id"
    assert "llama-3.3-70b-versatile" in error.value.suggestions


@pytest.mark.parametrize("model", ["", "  ", "llama", "70b"])
def test_too_short_a_name_resolves_to_nothing(model: str) -> None:
    with pytest.raises(UnknownIdError):
        api_price("groq", model, DAY)


def test_speech_model_has_no_token_price() -> None:
    with pytest.raises(PriceUnknownError, match="whisper-1"):
        api_price("openai", "whisper-1", DAY)


def test_llama_on_bedrock_with_batch_from_the_second_source() -> None:
    price = api_price("bedrock", LLAMA_ON_BEDROCK, DAY)
    assert price.standard == RateCard(rates("0.72", "0.72"))
    assert price.batch == RateCard(rates("0.36", "0.36"))
    assert (price.available, price.deprecation_date) == (True, date(2027, 3, 30))
    assert any("batch rates from litellm" in note for note in price.notes)


def test_llama_on_groq_is_priced_but_flagged_as_listed_once() -> None:
    price = api_price("groq", "llama-3.3-70b-versatile", DAY)
    assert price.standard == RateCard(rates("0.59", "0.79"))
    assert any("check that it is still served" in note for note in price.notes)


def test_hoster_that_only_the_table_knows() -> None:
    price = api_price("deepinfra", "openai/gpt-oss-120b", DAY)
    assert price.standard == RateCard(rates("0.037", "0.17"))
    assert price.source.startswith("litellm")


def test_sources_that_disagree_are_both_shown() -> None:
    price = api_price("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", DAY)
    assert price.standard.rates.input_usd_per_mtok == Decimal("0.88")
    assert any("$1.04 in / $1.04 out" in note for note in price.notes)


def test_withdrawn_model_is_priced_but_not_available() -> None:
    before = api_price("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", date(2026, 10, 21))
    after = api_price("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", date(2026, 10, 22))
    assert (before.available, after.available) == (True, False)


def test_scheduled_price_holds_from_its_day() -> None:
    before, after = (api_price("google", "gemini-4-argon", day) for day in (DAY, date(2026, 12, 1)))
    assert (before.standard.rates.input_usd_per_mtok, after.standard.rates.input_usd_per_mtok) == (2, 4)
    assert any("2026-12-01: $4 in / $20 out" in note for note in before.notes)


def test_price_by_time_of_day_says_so() -> None:
    price = api_price("deepseek", "deepseek-v4-pro", DAY)
    assert price.standard.rates.input_usd_per_mtok == Decimal("0.66")
    assert any("hours 01, 02, 03, 06, 07, 08, 09 UTC it is $1.32 in" in note for note in price.notes)


def test_long_context_tier_and_cached_rates() -> None:
    card = api_price("openai", "gpt-6.1-sol", DAY).standard
    assert card.rates.cached_read_usd_per_mtok == Decimal("0.1")
    assert card.rates_at(272_000).input_usd_per_mtok == 2
    assert card.rates_at(272_001).input_usd_per_mtok == 4


def test_cache_writes_of_five_minutes_and_an_hour() -> None:
    card = api_price("anthropic", "claude-haiku-4-5", DAY).standard
    assert card.rates.usd_per_mtok("cached_write") == Decimal("1.25")
    assert card.rates.usd_per_mtok("cached_write_1h") == 2


def test_reseller_says_whose_list_it_uses() -> None:
    assert any("priced as openai lists it" in note for note in api_price("azure", "gpt-4o", DAY).notes)


def test_charge_per_request_is_not_lost() -> None:
    assert api_price("perplexity", "sonar", DAY).usd_per_1k_requests == 12


def test_day_far_from_the_list_is_noted() -> None:
    notes = api_price("groq", "llama-3.3-70b-versatile", date(2024, 12, 1)).notes
    assert any("the list dates from 2026-11" in note for note in notes)


def test_batch_is_never_the_standard_price_in_disguise() -> None:
    listing = api_price_listing(DAY)
    assert len(listing) > 2000
    assert all(price.batch != price.standard for price in listing)


def test_listing_and_single_price_agree() -> None:
    for price in api_price_listing(DAY)[::97]:
        assert api_price(price.provider, price.model, DAY) == price


def test_listing_rates_are_finite_and_not_negative() -> None:
    for price in api_price_listing(DAY):
        assert price.standard.rates.input_usd_per_mtok >= 0
        assert price.standard.rates.output_usd_per_mtok.is_finite()


@pytest.mark.parametrize(("prompt", "cached", "written"), [(1000, 0, 0), (1000, 400, 300), (300_000, 250_000, 0)])
@pytest.mark.parametrize("batch", [False, True])
def test_bill_of_one_request_is_what_the_package_itself_computes(
    prompt: int, cached: int, written: int, batch: bool
) -> None:
    noon = datetime.combine(DAY, time(12), tzinfo=UTC)
    traffic = api_traffic([prompt], [100], cached_read_tokens=cached, cached_write_tokens=written, requests_per_month=1)
    usage = genai_prices.Usage(
        input_tokens=prompt, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=100
    )
    ours = {(price.provider, price.model): price for price in api_price_listing(DAY)}
    compared = 0
    for provider in genai_prices.data.providers:
        for model in provider.models[:: 1 if batch else 5]:
            price = ours.get((provider.id, model.id))
            if price is None or (batch and (price.batch is None or any("batch rates from" in x for x in price.notes))):
                continue
            reference = model.calc_price(
                usage,
                provider,
                genai_request_timestamp=noon,
                price_context={"processing": "batch"} if batch else None,
            )
            assert api_bill(price, traffic, batch=batch).exact_usd_per_month == reference.total_price, price
            compared += 1
    assert compared > 80


def test_rate_without_price_of_its_own_is_input() -> None:
    card = rates("3", "15")
    assert card.usd_per_mtok("cached_read") == card.usd_per_mtok("cached_write_1h") == 3


def test_bill_by_hand() -> None:
    # 6 req/s for 730 h = 15,768,000 requests; 1155 in and 211 out each at $0.72 both ways.
    bill = api_bill(FLAT, api_traffic([1155], [211], requests_per_month=15_768_000))
    assert [(line.label, line.tokens) for line in bill.lines] == [
        ("Input", 18_212_040_000),
        ("Output", 3_327_048_000),
    ]
    assert [line.usd_per_month for line in bill.lines] == [Decimal("13112.67"), Decimal("2395.47")]
    assert bill.usd_per_month == Decimal("15508.14")
    assert bill.exact_usd_per_month == Decimal("15508.14336")
    assert bill.usd_per_mtok_blended == Decimal("0.72")


def test_tier_goes_by_the_size_of_each_request_not_by_the_total() -> None:
    small = api_bill(TIERED, api_traffic([1000] * 1000, [10] * 1000, requests_per_month=1000))
    assert [line.above_input_tokens for line in small.lines] == [None, None]
    assert small.usd_per_month == Decimal("2.10")  # 1 M x $2 + 10 k x $10


def test_request_above_the_threshold_pays_its_rate_on_all_tokens() -> None:
    bill = api_bill(TIERED, api_traffic([300_000, 272_000], [100, 100], requests_per_month=2))
    assert [(line.above_input_tokens, line.tokens, line.usd_per_mtok) for line in bill.lines] == [
        (None, 272_000, 2),
        (None, 100, 10),
        (272_000, 300_000, 4),
        (272_000, 100, 15),
    ]


def test_cached_tokens_count_for_the_tier_and_pay_their_own_rate() -> None:
    bill = api_bill(TIERED, api_traffic([300_000], [0], cached_read_tokens=[290_000], requests_per_month=1))
    assert [(line.kind, line.tokens, line.usd_per_mtok) for line in bill.lines] == [
        ("input", 10_000, 4),
        ("cached_read", 290_000, Decimal("0.4")),
    ]


def test_cached_tokens_without_a_discount_say_so() -> None:
    bill = api_bill(FLAT, api_traffic([100], [0], cached_read_tokens=50, requests_per_month=1_000_000))
    assert bill.lines[1].label == "Cached input, read at the full input price"


def test_request_fee_has_its_own_line() -> None:
    price = price_of(RateCard(rates("1", "1")), usd_per_1k_requests="12")
    bill = api_bill(price, api_traffic([1000], [0], requests_per_month=1000))
    assert (bill.lines[-1].label, bill.lines[-1].tokens, bill.lines[-1].usd_per_month) == ("Requests", 1000, 12)
    assert (bill.usd_per_month, bill.tokens_per_month) == (Decimal("13.00"), 1_000_000)


def test_batch_bill_uses_batch_rates() -> None:
    price = api_price("bedrock", LLAMA_ON_BEDROCK, DAY)
    traffic = api_traffic([1155], [211], requests_per_month=1000)
    assert api_bill(price, traffic, batch=True).exact_usd_per_month * 2 == api_bill(price, traffic).exact_usd_per_month


def test_batch_without_a_listed_price_is_refused() -> None:
    with pytest.raises(PriceUnknownError, match="no batch price"):
        api_bill(FLAT, api_traffic([1], [1], requests_per_month=1), batch=True)


def test_no_requests_cost_nothing_and_have_no_blended_price() -> None:
    bill = api_bill(FLAT, api_traffic([10], [10], requests_per_month=0))
    assert (bill.usd_per_month, bill.usd_per_mtok_blended) == (0, None)


@pytest.mark.parametrize(
    ("prompt", "output", "cached"),
    [([], [], 0), ([1.5], [1], 0), ([-1], [1], 0), ([5], [1], [6]), ([5, 5], [1, 1, 1], 0)],
)
def test_impossible_traffic_is_refused(prompt: list[float], output: list[int], cached: int | list[int]) -> None:
    with pytest.raises(ValueError):
        api_traffic(prompt, output, cached_read_tokens=cached, requests_per_month=1)


def test_negative_or_infinite_request_count_is_refused() -> None:
    for count in (-1, float("inf"), float("nan")):
        with pytest.raises(ValueError):
            api_traffic([1], [1], requests_per_month=count)


@st.composite
def samples(draw: st.DrawFn) -> tuple[list[int], list[int], list[int]]:
    prompts = draw(st.lists(st.integers(1, 600_000), min_size=1, max_size=40))
    cached = [draw(st.integers(0, prompt)) for prompt in prompts]
    outputs = [draw(st.integers(0, 5000)) for _ in prompts]
    return prompts, cached, outputs


@given(samples(), st.integers(0, 10**9))
def test_bill_is_the_sum_over_requests(sample: tuple[list[int], list[int], list[int]], requests: int) -> None:
    prompts, cached, outputs = sample
    bill = api_bill(TIERED, api_traffic(prompts, outputs, cached_read_tokens=cached, requests_per_month=requests))
    one_by_one = sum(
        usage_cost_usd(
            TIERED.standard.rates_at(prompt),
            inclusive_usage(input_tokens=prompt, output_tokens=out, cached_read_tokens=hit),
        )
        for prompt, hit, out in zip(prompts, cached, outputs, strict=True)
    )
    assert bill.usd_per_request == Fraction(one_by_one) / len(prompts)
    rounded_tokens_usd = Fraction(len(bill.lines) * 15, 2 * 10**6)
    assert abs(Fraction(bill.exact_usd_per_month) - bill.usd_per_request * requests) <= rounded_tokens_usd


@given(samples(), st.integers(0, 10**9))
def test_lines_add_up_to_the_cent(sample: tuple[list[int], list[int], list[int]], requests: int) -> None:
    prompts, cached, outputs = sample
    bill = api_bill(TIERED, api_traffic(prompts, outputs, cached_read_tokens=cached, requests_per_month=requests))
    assert sum((line.usd_per_month for line in bill.lines), Decimal(0)) == bill.usd_per_month
    for line in bill.lines:
        assert abs(line.tokens * line.usd_per_mtok / 1_000_000 - line.usd_per_month) < Decimal("0.01")


def test_bill_reads_numpy_arrays_of_any_integer_type() -> None:
    traffic = api_traffic(
        np.array([70_000] * 40_000, dtype=np.int32), np.array([1] * 40_000), requests_per_month=40_000
    )
    assert api_bill(FLAT, traffic).lines[0].tokens == 2_800_000_000


def test_openai_input_includes_cached_tokens() -> None:
    chat = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 64}}
    assert openai_usage(chat) == Usage(36, 7, cached_read_tokens=64, requests=1)


def test_anthropic_input_excludes_cached_tokens() -> None:
    message = {
        "input_tokens": 10,
        "cache_read_input_tokens": 1000,
        "cache_creation_input_tokens": 300,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
        "output_tokens": 5,
    }
    usage = anthropic_usage(message)
    assert usage == Usage(10, 5, 1000, 100, 200, requests=1)
    assert usage.input_tokens == 1310


def test_cached_beyond_input_is_the_other_dialect() -> None:
    with pytest.raises(ValueError, match="excludes cached"):
        openai_usage({"input_tokens": 3, "input_cached_tokens": 800, "output_tokens": 1})


@pytest.mark.parametrize("input_tokens", [None, "3", -3, 2.5, True])
def test_broken_usage_is_refused(input_tokens: object) -> None:
    for read in (openai_usage, anthropic_usage):
        with pytest.raises(ValueError):
            read({"input_tokens": input_tokens, "output_tokens": 1})
