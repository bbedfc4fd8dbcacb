"""The month's bill of a fleet and the cost of a million tokens."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel.pricing.money import exact, split_to_cents, to_cents
from costmodel.pricing.selfhost_cost import (
    cost_identity,
    paid_hours_per_month,
    self_host_cost,
    split_usd_per_mtok,
    usd_per_mtok_at,
)

# The serving lesson's worked example: $4 an hour, 1,500 output tokens per second.
LESSON_TOKENS_PER_HOUR = 1500 * 3600


@pytest.mark.parametrize(
    ("utilisation", "usd_per_million"),
    [(1.0, 0.7407407407407407), (0.6, 1.2345679012345678), (0.3, 2.4691358024691357)],
)
def test_lesson_cost_of_a_million_tokens(utilisation: float, usd_per_million: float) -> None:
    cost = usd_per_mtok_at(4, LESSON_TOKENS_PER_HOUR, utilisation)
    assert cost is not None
    assert float(cost) == usd_per_million


def test_lesson_month() -> None:
    cost = self_host_cost(usd_per_gpu_hour=4, gpus_per_replica=1, serving_replicas=1)
    assert LESSON_TOKENS_PER_HOUR == 5_400_000
    assert cost.usd_per_month == Decimal("2920.00")
    assert LESSON_TOKENS_PER_HOUR * 730 == 3_942_000_000


def test_serving_and_spare_gpus_are_lines_of_their_own() -> None:
    cost = self_host_cost(usd_per_gpu_hour=Decimal("3.945"), gpus_per_replica=2, serving_replicas=3, spare_replicas=1)
    # 3 x 2 GPUs x 730 h = 4,380 GPU-hours at $3.945, and 1,460 for the spare
    assert [(line.label, line.quantity, line.usd_per_month) for line in cost.lines] == [
        ("Serving GPUs", 4380, Decimal("17279.10")),
        ("Spare GPUs", 1460, Decimal("5759.70")),
    ]
    assert (cost.usd_per_month, cost.replicas, cost.gpus) == (Decimal("23038.80"), 4, 8)
    assert cost.usd_per_replica_hour == Decimal("7.890")


def test_without_tokens_the_bill_stands_and_the_cost_per_token_is_undefined() -> None:
    cost = self_host_cost(usd_per_gpu_hour=4, gpus_per_replica=1, serving_replicas=1, busy_ratio=0)
    assert cost.usd_per_month == Decimal("2920.00")
    assert cost.usd_per_mtok.blended is cost.usd_per_mtok.output_alone is cost.usd_per_mtok.input is None
    assert cost.allocation_usd_per_mtok is cost.usage_usd_per_mtok is None


def test_usage_cost_is_the_busy_part_of_the_allocation_cost() -> None:
    cost = self_host_cost(
        usd_per_gpu_hour=4, gpus_per_replica=1, serving_replicas=1, output_tokens_per_month=10**9, busy_ratio=0.25
    )
    assert cost.allocation_usd_per_mtok == Decimal("2.92")
    assert cost.usage_usd_per_mtok == Decimal("0.73")


def test_identity_returns_the_bill_with_the_spares_in_it() -> None:
    cost = self_host_cost(
        usd_per_gpu_hour=Decimal("3.2"),
        gpus_per_replica=2,
        serving_replicas=2,
        spare_replicas=1,
        output_tokens_per_month=3_000_000_000,
    )
    identity = cost_identity(
        usd_per_replica_hour=cost.usd_per_replica_hour,
        slo_tokens_per_replica_hour=2_500_000,
        replicas=3,
        tokens_per_month=3_000_000_000,
    )
    assert identity.usd_per_mtok == cost.usd_per_mtok.output_alone == Decimal("4.672")


def test_identity_without_tokens_is_undefined() -> None:
    identity = cost_identity(usd_per_replica_hour=4, slo_tokens_per_replica_hour=1000, replicas=1, tokens_per_month=0)
    assert (identity.utilisation_ratio, identity.usd_per_mtok) == (0, None)


@pytest.mark.parametrize("hours", [0, -1, 745, float("nan")])
def test_impossible_month_is_refused(hours: float) -> None:
    with pytest.raises(ValueError):
        self_host_cost(usd_per_gpu_hour=1, gpus_per_replica=1, serving_replicas=1, hours_per_month=hours)


@pytest.mark.parametrize("wrong", [{"usd_per_gpu_hour": -1}, {"gpus_per_replica": 0}, {"serving_replicas": -1}])
def test_impossible_fleet_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        self_host_cost(**{"usd_per_gpu_hour": 1, "gpus_per_replica": 1, "serving_replicas": 1, **wrong})


def test_idle_hours_are_paid_unless_the_fleet_scales_to_zero() -> None:
    assert paid_hours_per_month(730, "always_on", active_ratio=0.3) == 730
    assert paid_hours_per_month(730, "scale_to_zero", active_ratio=0.3) == 219


prices = st.decimals("0.01", "50", places=4)
counts = st.integers(0, 10**13)


@given(prices, st.integers(1, 8), st.integers(0, 40), st.integers(0, 5), counts, counts)
def test_split_prices_add_up_to_the_bill(
    price: Decimal, gpus: int, serving: int, spare: int, tokens_in: int, tokens_out: int
) -> None:
    bill = self_host_cost(
        usd_per_gpu_hour=price, gpus_per_replica=gpus, serving_replicas=serving, spare_replicas=spare
    ).exact_usd_per_month
    split = split_usd_per_mtok(bill, tokens_in, tokens_out)
    if tokens_in + tokens_out:
        assert split.input is not None
        assert split.output is not None
        together = (split.input * tokens_in + split.output * tokens_out) / 10**6
        assert abs(together - bill) <= bill * Decimal("1e-20")
        assert abs(split.output - 4 * split.input) <= split.output * Decimal("1e-20")


@given(prices, prices, st.integers(1, 8), st.integers(1, 40))
def test_dearer_gpus_never_make_a_cheaper_bill(one: Decimal, other: Decimal, gpus: int, serving: int) -> None:
    low, high = (
        self_host_cost(usd_per_gpu_hour=price, gpus_per_replica=gpus, serving_replicas=serving).usd_per_month
        for price in sorted([one, other])
    )
    assert low <= high


@given(st.lists(st.decimals("0", "1000000", places=7), max_size=12))
def test_cents_add_up(amounts: list[Decimal]) -> None:
    rounded = split_to_cents(amounts)
    assert sum(rounded, Decimal(0)) == to_cents(sum(amounts, Decimal(0)))
    assert all(abs(cent - amount) < Decimal("0.01") for cent, amount in zip(rounded, amounts, strict=True))


def test_a_float_counts_as_written() -> None:
    assert exact(2.4) == Fraction(12, 5)
    assert exact(0.1) * 3 == exact(0.3)
