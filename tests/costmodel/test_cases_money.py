"""Questions and faults about money that people reported in public, each with its inputs, answer and address."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest

from costmodel.pricing.api_bill import api_bill, api_traffic
from costmodel.pricing.api_rates import ApiPrice, RateCard, TokenRates
from costmodel.pricing.api_usage import Usage, anthropic_usage, inclusive_usage, openai_usage, usage_cost_usd
from costmodel.pricing.breakeven import break_even, staircase
from costmodel.pricing.gpu_pricing import price_drift
from costmodel.pricing.money import HOURS_PER_MONTH
from costmodel.pricing.selfhost_cost import (
    cost_identity,
    paid_hours_per_month,
    self_host_cost,
    split_usd_per_mtok,
    usd_per_mtok_at,
)


def flat_price(input_usd: str, output_usd: str, cached_usd: str | None = None) -> ApiPrice:
    rates = TokenRates(Decimal(input_usd), Decimal(output_usd), Decimal(cached_usd) if cached_usd else None)
    return ApiPrice(
        provider="p",
        model="m",
        priced_at=date(2026, 11, 30),
        standard=RateCard(rates),
        batch=None,
        usd_per_1k_requests=Decimal(0),
        deprecated=False,
        deprecation_date=None,
        available=True,
        source="case",
        as_of="2026",
        notes=(),
    )


@pytest.mark.parametrize(("utilisation", "usd_per_million"), [(1.0, 0.992), (0.1, 9.921)])
def test_cost_per_mtok_output_70b(utilisation: float, usd_per_million: float) -> None:
    # https://dreaming.press/posts/self-hosting-llm-inference-vs-api-cost.html
    cost = usd_per_mtok_at(2.5, 700 * 3600, utilisation)
    assert cost is not None
    assert float(cost) == pytest.approx(usd_per_million, rel=1e-3)


def test_utilization_must_not_discount_the_bill() -> None:
    # https://llmtco.com/methodology/ multiplies the bill of a reserved GPU by its utilisation
    always = self_host_cost(
        usd_per_gpu_hour=1.5,
        gpus_per_replica=1,
        serving_replicas=1,
        hours_per_month=paid_hours_per_month(730, "always_on", active_ratio=0.3),
    )
    to_zero = self_host_cost(
        usd_per_gpu_hour=1.5,
        gpus_per_replica=1,
        serving_replicas=1,
        hours_per_month=paid_hours_per_month(730, "scale_to_zero", active_ratio=0.3),
    )
    assert (always.usd_per_month, to_zero.usd_per_month) == (Decimal("1095.00"), Decimal("328.50"))


def test_n_plus_one_cost() -> None:
    """Peak needs 3 replicas of 2 GPUs at $2.50: with one more 8 GPUs and $14,600 a month, a third above the three."""
    fleet = {"usd_per_gpu_hour": 2.5, "gpus_per_replica": 2, "serving_replicas": 3, "hours_per_month": 730}
    plain, spared = (self_host_cost(**fleet, spare_replicas=spares) for spares in (0, 1))
    assert (spared.replicas, spared.gpus, spared.usd_per_month) == (4, 8, Decimal("14600.00"))
    assert float(spared.usd_per_month / plain.usd_per_month - 1) * 100 == pytest.approx(33.3, abs=0.1)


def test_whole_replica_step() -> None:
    # https://github.com/redhat-performance/configiq/blob/52334371ff373ee77782034454f5854f0ea1fc09/docs/HYBRID_SAVINGS_AUDIT.md
    stairs = staircase(
        capacity_rps=Decimal(100) / 1000 * Decimal("0.9"),  # output tok/s / output per request x planning capacity
        usd_per_replica_hour=1,
        tokens_per_request=5000,
        peak_to_mean_ratio=2,
        hours_per_month=100,
    )
    capacity_tokens = stairs.tokens_per_month(stairs.step_mean_rps)
    assert capacity_tokens == 81_000_000
    tokens_per_rps = stairs.tokens_per_month(1)
    demands = [80_190_000, 81_000_001]
    assert [stairs.serving_replicas(Fraction(tokens) / tokens_per_rps) for tokens in demands] == [1, 2]
    assert float(demands[0] / capacity_tokens) == pytest.approx(0.99, abs=1e-3)


def test_crossover_off_by_1000() -> None:
    # https://damionas.com/articles/vllm-on-aks-vs-azure-openai-where-the-cost-crossover-actually-sits-at-1m-tokensday
    # $201,600 a year against $0.15 in / $0.60 out, 800 in + 400 out; the article says 1.7 M tokens a day
    bill = api_bill(flat_price("0.15", "0.60"), api_traffic([800], [400], requests_per_month=1_000_000))
    assert bill.usd_per_mtok_blended == Decimal("0.3")
    # One replica-hour stands for the whole fixed fleet, of which capacity is not asked: a day is 24 h of it.
    fleet_day = staircase(
        capacity_rps=10**6,
        usd_per_replica_hour=Fraction(201_600, 365 * 24),
        tokens_per_request=1200,
        hours_per_month=24,
    )
    mtok_per_day = break_even(fleet_day, bill.usd_per_request).crossings[0].tokens_per_month / 10**6
    assert float(mtok_per_day) == pytest.approx(1841.1, rel=5e-3)
    assert float(mtok_per_day) / 1.7 == pytest.approx(1083, rel=0.05)


def test_induwara_breakeven() -> None:
    # https://induwara.lk/tools/ai-self-hosting-cost-calculator: 120 M in, 40 M out, one $1.19 GPU for 729.6 h + 15 %
    price = flat_price("0.25", "2.00")
    api = api_bill(price, api_traffic([120], [40], requests_per_month=1_000_000))
    assert api.usd_per_month == Decimal("110.00")
    hourly = Decimal("1.19") * Decimal("1.15")
    own = self_host_cost(usd_per_gpu_hour=hourly, gpus_per_replica=1, serving_replicas=1, hours_per_month=729.6)
    assert own.usd_per_month == Decimal("998.46")
    one_gpu_at_any_volume = staircase(
        capacity_rps=10**9, usd_per_replica_hour=hourly, tokens_per_request=160, hours_per_month=729.6
    )
    equal_at = break_even(one_gpu_at_any_volume, api.usd_per_request).crossings[0].tokens_per_month
    assert float(equal_at / 10**6) == pytest.approx(1452.3, rel=1e-3)


def test_hours_per_month_convention() -> None:
    # https://ai-costcalculator.com/self-hosted-llm-vs-api-calculator/
    bills = [
        self_host_cost(usd_per_gpu_hour=2.5, gpus_per_replica=1, serving_replicas=1, hours_per_month=hours)
        for hours in (720, 729.6, 730, 744)
    ]
    assert [bill.usd_per_month for bill in bills] == [1800, 1824, 1825, 1860]
    assert HOURS_PER_MONTH == 730
    assert self_host_cost(usd_per_gpu_hour=2.5, gpus_per_replica=1, serving_replicas=1).usd_per_month == 1825
    assert float(bills[3].usd_per_month / bills[0].usd_per_month - 1) * 100 == pytest.approx(3.3, abs=0.1)


def test_output_price_vs_blended() -> None:
    # https://agentropic.ai/blog/self-host-llm-vs-api-cost: $0.99 per M output at 3:1 against $0.2625 blended
    own = split_usd_per_mtok(Decimal("0.99"), 3_000_000, 1_000_000)
    assert own.output_alone == Decimal("0.99")
    assert own.blended == Decimal("0.2475")
    assert own.blended < Decimal("0.2625")


def test_tput_per_gpu_total_vs_output() -> None:
    # https://github.com/SemiAnalysisAI/InferenceX/issues/293: 447.2 tok/s are input and output together
    hour = split_usd_per_mtok(2.5, Fraction("223.6") * 3600, Fraction("223.6") * 3600)
    assert hour.blended is not None
    assert hour.output_alone is not None
    assert float(hour.blended) == pytest.approx(1.553, rel=1e-3)
    assert float(hour.output_alone) == pytest.approx(3.106, rel=1e-3)


def test_split_input_output_cost_gke() -> None:
    # https://cloud.google.com/python/docs/reference/google-cloud-gkerecommender/latest/google.cloud.gkerecommender_v1.types.Cost
    hour = split_usd_per_mtok(2.5, Fraction("223.7") * 3600, Fraction("223.6") * 3600)
    assert hour.input is not None
    assert hour.output is not None
    assert float(hour.output) == pytest.approx(2.484, rel=2e-3)
    assert float(hour.input) == pytest.approx(0.621, rel=2e-3)


def test_anthropic_cache_write() -> None:
    # https://github.com/BerriAI/litellm/issues/9812: input_tokens exclude the 12,304 written to the cache
    rates = TokenRates(Decimal(3), Decimal(15), cached_write_usd_per_mtok=Decimal("3.75"))
    record = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 12_304,
        "cache_read_input_tokens": 0,
        "output_tokens": 550,
    }
    cost = usage_cost_usd(rates, anthropic_usage(record))
    assert cost == Decimal("0.054399")
    counted_twice = usage_cost_usd(rates, Usage(3 + 12_304, 550, cached_write_tokens=12_304))
    assert counted_twice == Decimal("0.091311")


def test_openai_usage_bucket() -> None:
    # https://apidog.com/apidoc/docs-site/370474/de/api-12401171
    usage = openai_usage(
        {"input_tokens": 1000, "input_cached_tokens": 800, "output_tokens": 500, "num_model_requests": 5}
    )
    assert usage.uncached_input_tokens == 200
    assert (usage.mean_input_tokens, usage.mean_output_tokens) == (200, 100)
    assert usage.cache_hit_ratio == Fraction(8, 10)


def test_selfhost_cache_fields_partition() -> None:
    # https://github.com/aarora79/agentic-coding-harness-benchmarks/issues/136: reads and writes are part of the input
    usage = inclusive_usage(
        input_tokens=1_000_000, output_tokens=0, cached_read_tokens=980_000, cached_write_tokens=20_000
    )
    assert usage.total_tokens == 1_000_000
    added_up = 1_000_000 + usage.cached_read_tokens + usage.cached_write_tokens
    assert (added_up, added_up / usage.total_tokens) == (2_000_000, 2.0)


def test_cached_tokens_shift_breakeven() -> None:
    # https://github.com/redhat-performance/configiq/issues/10: 98:2 in to out, 90 % of input cached, no write price
    price = flat_price("3.00", "15.00", "0.30")
    without, cached = (
        api_bill(price, api_traffic([980], [20], cached_read_tokens=hit, requests_per_month=1_000_000))
        for hit in (0, 882)
    )
    assert (without.usd_per_mtok_blended, cached.usd_per_mtok_blended) == (Decimal("3.24"), Decimal("0.8586"))
    own = staircase(capacity_rps=1000, usd_per_replica_hour=20, tokens_per_request=1000)
    before, after = (break_even(own, bill.usd_per_request).crossings[0].tokens_per_month for bill in (without, cached))
    assert after / before == Fraction(324, 86) * Fraction(8600, 8586)


def test_usage_vs_allocation_cost() -> None:
    # https://llm-d.ai/docs/dev/operations/observability/inference-cost: 4 GPUs at $2.50, busy 25 %, 18 M per busy hour
    cost = self_host_cost(
        usd_per_gpu_hour=2.5,
        gpus_per_replica=4,
        serving_replicas=1,
        output_tokens_per_month=Fraction(18_000_000) * 730 / 4,
        busy_ratio=0.25,
    )
    assert cost.allocation_usd_per_mtok is not None
    assert cost.usage_usd_per_mtok is not None
    assert float(cost.allocation_usd_per_mtok) == pytest.approx(2.222, rel=1e-3)
    assert float(cost.usage_usd_per_mtok) == pytest.approx(0.556, rel=1e-3)
    identity = cost_identity(
        usd_per_replica_hour=10,
        slo_tokens_per_replica_hour=18_000_000,
        replicas=1,
        tokens_per_month=Fraction(18_000_000) * 730 / 4,
    )
    assert identity.utilisation_ratio == Decimal("0.25")
    assert identity.usd_per_mtok == cost.allocation_usd_per_mtok


def test_saved_price_and_its_age() -> None:
    # https://www.gpuprice.fyi/methodology: an old plan keeps its price and says how old it is
    drift = price_drift(2.5, date(2026, 5, 30), 3.0, date(2026, 11, 30))
    assert drift.sentence == "price 184 days old; current $3.00 would change GPU cost +20.0%"


def test_nothing_served_leaves_the_bill_and_no_cost_per_token() -> None:
    """$2.00 an hour, 2,000 tokens/s, busy 0 % of 730 h: $1,460 a month, cost per million undefined."""
    assert usd_per_mtok_at(2, 2_000 * 3_600, 0) is None
    idle = self_host_cost(
        usd_per_gpu_hour=2,
        gpus_per_replica=1,
        serving_replicas=1,
        spare_replicas=0,
        hours_per_month=730,
        input_tokens_per_month=0,
        output_tokens_per_month=0,
    )
    assert idle.usd_per_month == Decimal("1460.00")
    assert idle.allocation_usd_per_mtok is None
