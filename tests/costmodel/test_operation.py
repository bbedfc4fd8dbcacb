"""Ways to run a fleet, and to share load with an API, worked by hand."""

import math
from fractions import Fraction

import numpy as np
import pytest

from costmodel.pricing.hybrid import cheapest_hybrid, hybrid_points
from costmodel.pricing.operation import (
    cheapest_commitment,
    interrupted_replicas,
    scale_to_zero,
    scheduled_hours,
)

# four equal hours: 1, 1, 1 and 5 requests/s, a replica carries 2
RATES = (1.0, 1.0, 1.0, 5.0)


def points(replica_usd, per_request=Fraction(1, 100), requests=8_000):
    return hybrid_points(RATES, capacity_rps=2, month_usd=lambda n: n * replica_usd, usd_per_request=per_request,
                         requests_per_month=requests)  # fmt: skip


def test_overflow_by_hand():
    """None: all 8 of 8 go to the API, $80. One: 5 - 2 = 3 of 8. Two: 1 of 8. Three: nothing."""
    found = points(replica_usd=20)
    assert [float(p.api_usd) for p in found] == pytest.approx([80, 30, 10, 0])
    assert [float(p.self_host_usd) for p in found] == [0, 20, 40, 60]
    assert [p.self_hosted_ratio for p in found] == pytest.approx([0, 5 / 8, 7 / 8, 1])
    assert [p.overflow_hours_ratio for p in found] == [1, 0.25, 0.25, 0]
    assert cheapest_hybrid(found).replicas == 1  # 80, 50, 50, 60: the fewer of equal ones


@pytest.mark.parametrize(("replica_usd", "best"), [(60, 0), (49, 1), (21, 1), (19, 2), (9, 3), (0, 3)])
def test_a_replica_is_added_while_it_costs_less_than_what_it_takes_over(replica_usd, best):
    """The first takes over $50 of API bill, the second $20, the third $10."""
    assert cheapest_hybrid(points(replica_usd)).replicas == best


def test_a_hybrid_is_never_dearer_than_either_alone():
    rng = np.random.default_rng(1)
    for _ in range(50):
        rates = rng.gamma(2.0, 3.0, 24)
        replica_usd = Fraction(float(rng.uniform(1, 5000)))
        found = hybrid_points(rates, capacity_rps=float(rng.uniform(0.5, 5)), usd_per_request=Fraction(1, 1000),
                              month_usd=replica_usd.__mul__, requests_per_month=10**6)  # fmt: skip
        best = cheapest_hybrid(found)
        assert best.usd <= found[0].usd
        assert best.usd <= found[-1].usd
        totals = [float(p.usd) for p in found]
        assert all(a + c >= 2 * b - 1e-6 for a, b, c in zip(totals, totals[1:], totals[2:], strict=False))


def test_no_load_or_capacity_is_refused():
    with pytest.raises(ValueError, match="above zero"):
        hybrid_points([0.0], capacity_rps=1, month_usd=float, usd_per_request=1, requests_per_month=1)
    with pytest.raises(ValueError, match="above zero"):
        hybrid_points([1.0], capacity_rps=0, month_usd=float, usd_per_request=1, requests_per_month=1)


def test_schedule_by_hand():
    """1, 3, 2 replicas in three hours: 6 hours instead of 9; two starts of ten minutes are paid too."""
    assert scheduled_hours([1, 3, 2], 0) == 6
    assert scheduled_hours([1, 3, 2], 600) == 6 + Fraction(2, 6)


def test_a_steady_load_pays_the_same_on_any_schedule():
    assert scheduled_hours([4] * 168, 900) == 4 * 168


def test_isolated_requests_all_meet_a_cold_start():
    """20 requests a day and 277 s to start: nearly every one waits, which no target of 2 s allows."""
    found = scale_to_zero([20 / 86_400] * 24, idle_s=60, ready_s=277, hours_per_month=730)
    assert found.cold_ratio == pytest.approx(1, abs=0.02)
    assert found.waits_s == 277
    assert found.starts_per_month == pytest.approx(20 * 730 / 24, rel=0.08)
    assert found.on_ratio < 0.1


def test_a_replica_at_half_a_request_a_second_hardly_ever_sleeps():
    found = scale_to_zero([0.5] * 24, idle_s=60, ready_s=1020, hours_per_month=730)
    assert found.on_ratio == pytest.approx(1, abs=1e-6)
    assert found.cold_ratio < 1e-9


def test_scale_to_zero_by_hand():
    """One request each 100 s, off after 100 s: a gap is longer with e^-1; without a start time it is paid 1 - e^-1."""
    found = scale_to_zero([0.01], idle_s=100, ready_s=0, hours_per_month=730)
    assert found.on_ratio == pytest.approx(1 - math.exp(-1))
    assert found.cold_ratio == pytest.approx(math.exp(-1))
    assert scale_to_zero([0.0], idle_s=100, ready_s=10, hours_per_month=730).on_ratio == 0


def test_interruptions_take_more_replicas():
    """Once in ten hours, away for an hour each time: a tenth more."""
    assert interrupted_replicas(10, interruptions_per_hour=0.1, ready_s=3600) == 11
    assert interrupted_replicas(10, interruptions_per_hour=0.0, ready_s=3600) == 10
    assert interrupted_replicas(1, interruptions_per_hour=0.05, ready_s=600) == 2


def test_commitment_by_hand():
    """Replicas 1, 2, 3 are needed in 4, 2 and 1 of four hours. At 60 % of the hourly price only the first pays."""
    found = cheapest_commitment([1, 1, 2, 3], usd_per_hour=10, committed_usd_per_hour=6, hours_per_month=400)
    assert found.committed == 1
    assert found.committed_usd == 2400
    assert found.by_hour_usd == 300 * 10
    assert found.unused_ratio == 0
    cheap = cheapest_commitment([1, 1, 2, 3], usd_per_hour=10, committed_usd_per_hour=4, hours_per_month=400)
    assert cheap.committed == 2
    assert cheap.unused_ratio == pytest.approx(2 / 8)
    assert cheap.usd == 2 * 4 * 400 + 100 * 10


def test_starts_beside_a_commitment_are_paid_as_in_a_schedule():
    """Of four hours the second replica is needed in two, the third in one; each starts once, for an hour: 3 and 2."""
    terms = {"usd_per_hour": 10, "committed_usd_per_hour": 7, "hours_per_month": 4, "ready_s": 3600}
    found = cheapest_commitment([1, 1, 2, 3], **terms)
    assert (found.committed, found.by_hour_usd) == (2, 20)
    free = cheapest_commitment([1, 1, 2, 3], **terms | {"committed_usd_per_hour": 10})
    assert free.committed == 0
    assert free.usd == 10 * scheduled_hours([1, 1, 2, 3], 3600)
