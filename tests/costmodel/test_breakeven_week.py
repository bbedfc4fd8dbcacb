"""Break-even of a fleet that is not always on: equal to the staircase where it is, by hand where it is not."""

import math

import pytest

from costmodel.pricing.breakeven import break_even, staircase
from costmodel.pricing.breakeven_week import pieces_of, piecewise_break_even

SECONDS = 730 * 3600


def found(month_usd, edges, usd_per_request, limit=0.0):
    return piecewise_break_even(
        pieces_of(month_usd, edges), usd_per_request, seconds_per_month=SECONDS, tokens_per_request=100,
        limit_usd_per_request=limit,
    )  # fmt: skip


@pytest.mark.parametrize("usd_per_request", ["0.0011", "0.0005", "0.00042"])
def test_an_always_on_fleet_crosses_where_the_staircase_does(usd_per_request):
    """Replicas of 1 request/s at $1,000 a month, one spare."""
    price = float(usd_per_request)
    stairs = staircase(capacity_rps=1, usd_per_replica_hour=1000 / 730, tokens_per_request=100, spare_replicas=1)
    exact = break_even(stairs, price)
    edges = [float(n) for n in range(1, 60)]
    here = found(lambda rate: (math.ceil(rate * (1 - 1e-12)) + 1) * 1000.0, edges, price)
    assert [float(c.mean_rps) for c in here.crossings] == pytest.approx([float(c.mean_rps) for c in exact.crossings])
    assert [c.cheaper_above for c in here.crossings] == [c.cheaper_above for c in exact.crossings]
    assert here.crossings_total == exact.crossings_total
    assert not here.never


def test_a_fleet_that_is_paid_in_proportion_and_dearer_is_never_cheaper():
    here = found(lambda rate: 2000.0 * rate, [1.0, 2.0], 1000 / SECONDS, limit=2000 / SECONDS)
    assert here.never
    assert "never cheaper" in here.sentence


def test_a_fixed_sum_and_a_share_of_the_bill():
    """$500 and half of the API's bill: equal where half the bill is $500."""
    here = found(lambda rate: 500.0 + 500.0 * rate, [4.0], 1000 / SECONDS, limit=500 / SECONDS)
    assert [float(c.mean_rps) for c in here.crossings] == pytest.approx([1.0])
    assert here.crossings[0].cheaper_above == "self_host"


def test_what_lies_beyond_the_volumes_looked_at_is_said():
    here = found(lambda rate: 9000.0, [1.0], 1000 / SECONDS, limit=1e-9)
    assert not here.never
    assert "beyond that" in here.sentence
