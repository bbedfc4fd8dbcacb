"""A fleet's month in each billing mode, worked by hand on one week."""

import math
from fractions import Fraction

import pytest

from costmodel.pricing.terms import BILLING_MODES, OPEN_HOURS, Terms, fleet_month

PRICE = Fraction(10)
HOURS = Fraction(672)  # a month of four weeks: 672 / 168 = 4
NIGHT, DAY, NOON = 1.0, 3.0, 5.0
# each day: 8 hours at 1, 12 at 3, 4 at 5 requests/s; a replica carries 2: 1, 2 and 3 replicas
WEEK = [rate for _ in range(7) for rate in [NIGHT] * 8 + [DAY] * 6 + [NOON] * 4 + [DAY] * 6]


def terms(mode, **more):
    return Terms(mode, PRICE, HOURS, **{"spare_replicas": 1, "ready_s": 900.0, **more})


def month(mode, week=WEEK, capacity=2, **more):
    return fleet_month(terms(mode, **more), week, capacity)


def test_always_on_pays_the_busiest_hour_all_month():
    """3 serving and a spare, 672 hours each, $10."""
    assert month("always_on").usd == (3 + 1) * 672 * 10
    assert [(line.label, line.replica_hours) for line in month("always_on").lines] == [
        ("Serving GPUs", 3 * 672), ("Spare GPUs", 672)]  # fmt: skip


def test_a_schedule_pays_each_hour_what_it_needs_and_a_quarter_of_an_hour_for_each_start():
    """A day: 8 × 1 + 12 × 2 + 4 × 3 = 44 replica-hours, two starts of 900 s; 28 days; the spare 672 hours."""
    assert month("scheduled").usd == (28 * (44 + 2 * Fraction(1, 4)) + 672) * 10


def test_hours_without_requests_are_not_paid_by_a_schedule():
    """Nights at zero: 36 replica-hours a day in 16 hours; three starts from nothing; the spare on for the 16 hours."""
    week = [0.0 if rate == NIGHT else rate for rate in WEEK]
    assert month("scheduled", week).usd == 28 * (36 + 3 * Fraction(1, 4) + 16) * 10
    assert month("always_on", week).usd == month("always_on").usd


def test_autoscaling_keeps_a_level_an_hour_and_room_for_the_steepest_rise():
    """The steepest rise is × 3 in an hour, × 1.5 within 900 s: 1.5 -> 1, 4.5 -> 3, and noon's 7.5 is capped at 3; the
    hour after a level keeps it. A day: nights 7 hours at 1 and one kept at 3 (from 4.5 the evening before: 3 / 2 = 2
    replicas), days all at 3."""
    held = 8 * 1 + 1 + 16 * 3  # the first hour of the night is kept for the 3 requests/s before: 2 replicas
    starts = 3 - 1
    assert month("autoscaled").usd == (28 * (held + starts * Fraction(1, 4)) + 672) * 10


def test_to_zero_pays_what_is_awake():
    """A request each 1,000 s, off after 500 s, 100 s to start: sleeps with e^-1/2; a cycle is 1000 + e^-1/2 × 100."""
    found = month("scale_to_zero", [0.001] * 168, ready_s=100.0, idle_s=500.0, spare_replicas=0)
    sleeps = math.exp(-0.5)
    awake = (1000 * (1 - sleeps) + 100 * sleeps) / (1000 + 100 * sleeps)
    assert float(found.usd) == pytest.approx(awake * 672 * 10)
    assert found.cold_ratio == pytest.approx(sleeps * 1.1 / (1 + sleeps * 0.1))


def test_to_zero_pays_hours_of_several_replicas_as_autoscaled():
    """One request each 1,000 s, off after 500, 100 to start: sleeps with e^-1/2; a cycle is 1000 + e^-1/2 × 100 s."""
    busy = fleet_month(terms("autoscaled", spare_replicas=0), WEEK, 2).usd
    assert float(month("scale_to_zero", idle_s=900.0, spare_replicas=0).usd) == pytest.approx(float(busy))


def test_business_hours_are_fifty_of_the_week():
    """3 serving and a spare for 50 of 168 hours. Inside: five days of 6 × 3 + 4 × 5 = 38 of the week's 7 × 64."""
    found = month("business_hours")
    assert len(OPEN_HOURS) == 50
    assert found.usd == (3 + 1) * 50 * 4 * 10
    assert found.outside_ratio == pytest.approx(1 - 5 * 38 / (7 * 64))


def test_a_year_is_committed_to_what_is_used_enough():
    """At 35 % off: the spare and the first replica are on all hours, the second serving one 16 of 24 = 67 % of them
    (with a start 16.25: 68 %), above 65 %, so committed; the third 4 of 24, by the hour, with its start 4.25."""
    found = month("committed_1y", price_ratio=Fraction(65, 100))
    assert found.committed == 3
    assert found.usd == 3 * 672 * Fraction(65, 10) + 28 * (4 + Fraction(1, 4)) * 10
    assert found.unused_ratio == pytest.approx((8 / 24) / 3)


def test_three_years_at_more_than_half_off():
    """At 45 % of the price the third, used 18 % of the hours, still does not pay."""
    assert month("committed_3y", price_ratio=Fraction(45, 100)).committed == 3
    assert month("committed_3y", price_ratio=Fraction(17, 100)).committed == 4


def test_spot_buys_what_stands_in_for_the_lost():
    """Lost once in ten hours for a quarter of an hour: 2.5 % away, so 4 for 3; at 40 %, and the spare in full."""
    found = month("spot", price_ratio=Fraction(4, 10), interruptions_per_hour=0.1)
    assert found.bought == 4
    assert found.usd == 4 * 672 * 4 + 672 * 10


@pytest.mark.parametrize("mode", BILLING_MODES)
def test_no_mode_gets_cheaper_by_dearer_hours_or_more_load(mode):
    known = {"price_ratio": Fraction(1, 2), "idle_s": 900.0}
    base = month(mode, **known)
    dearer = fleet_month(Terms(mode, 2 * PRICE, HOURS, 1, ready_s=900.0, **known), WEEK, 2)
    assert dearer.usd == 2 * base.usd
    assert month(mode, [2 * rate for rate in WEEK], **known).usd >= base.usd
    assert fleet_month(terms(mode, **known), WEEK, 2, rounding="float") == base


@pytest.mark.parametrize("mode", ["always_on", "scheduled", "autoscaled", "committed_1y", "spot"])
def test_a_steady_week_costs_every_way_of_the_hour_the_same(mode):
    """Nothing to switch off: always on, by a schedule, or committed at no discount."""
    found = month(mode, [3.0] * 168, interruptions_per_hour=0.0)
    assert found.usd == 3 * 672 * 10


def test_no_load_pays_nothing():
    assert month("always_on", [0.0] * 168).usd == 0
