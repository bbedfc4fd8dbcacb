"""Work with a deadline in the troughs of a week: by hand, and against a search hour by hour."""

import random
from fractions import Fraction

import pytest

from costmodel.pricing.batch import BatchWork, fits, free_hours, least_replicas, run_batch
from costmodel.pricing.terms import Terms, fleet_month

# a day: 12 hours that need 1 replica, 12 that need 3
NEEDED = ([1] * 12 + [3] * 12) * 7
RATES = [2.0 * count for count in NEEDED]


def daily(replica_hours, at, deadline):
    return BatchWork(tuple(replica_hours if hour % 24 == at else 0.0 for hour in range(168)), deadline)


def test_nightly_work_fits_into_the_night():
    """20 replica-hours come at 23:00; the night leaves 2 × 12 = 24: done at two an hour, ten hours later."""
    work = daily(20.0, at=23, deadline=12)
    assert least_replicas(work, NEEDED) == 3
    run = run_batch(work, free_hours(3, NEEDED))
    assert [run.used[hour] for hour in range(24)] == [2.0] * 10 + [0.0] * 14
    assert run.longest_wait_hours == 10  # from 23:00 to the hour of 9:00
    assert run.late_ratio == 0


def test_what_does_not_fit_buys_a_replica():
    """30 a night: 24 fit; a fourth replica leaves 36 a night and 12 a day."""
    assert least_replicas(daily(30.0, at=23, deadline=12), NEEDED) == 4
    assert least_replicas(daily(30.0, at=23, deadline=24), NEEDED) == 4
    assert least_replicas(daily(24.0, at=23, deadline=12), NEEDED) == 3


def test_a_short_deadline_by_day_buys_what_a_long_one_does_not():
    """10 come at noon, when nothing is free: within 4 hours they need 2.5 replicas more, within 24 none."""
    assert least_replicas(daily(10.0, at=12, deadline=4), NEEDED) == 3 + 3
    assert least_replicas(daily(10.0, at=12, deadline=24), NEEDED) == 3


def test_too_few_replicas_leave_a_share_late():
    run = run_batch(daily(30.0, at=23, deadline=12), free_hours(3, NEEDED))
    assert run.late_ratio == pytest.approx(6 / 30)
    assert sum(run.used) == pytest.approx(7 * 24)


@pytest.mark.parametrize("seed", range(40))
def test_the_condition_is_what_a_run_hour_by_hour_shows(seed):
    rng = random.Random(seed)
    needed = [rng.randint(0, 4) for _ in range(24)]
    chance = rng.uniform(0.05, 1)
    work = BatchWork(tuple(rng.uniform(0, 5) if rng.random() < chance else 0.0 for _ in range(24)), rng.randint(1, 24))
    found = least_replicas(work, needed)
    assert run_batch(work, free_hours(found, needed)).late_ratio == 0
    if found > max(needed):
        fewer = free_hours(found - 1, needed)
        assert not fits(work, fewer)
        # an overload of a hair takes longer than three weeks to show hour by hour
        assert run_batch(work, fewer).late_ratio > 0 or sum(work.replica_hours) > 0.9 * sum(fewer)


def month(mode, work, spares=1):
    return fleet_month(Terms(mode, Fraction(10), Fraction(672), spares), RATES, 2, work=work)


def test_in_the_troughs_of_an_always_on_fleet_it_costs_nothing():
    assert month("always_on", daily(20.0, 23, 12)).usd == month("always_on", None).usd == 4 * 672 * 10
    assert month("always_on", daily(30.0, 23, 12)).usd == 5 * 672 * 10
    assert month("always_on", daily(30.0, 23, 12)).batch.bought == 1


def test_by_a_schedule_its_hours_are_paid():
    """28 nights of ten hours with two replicas more."""
    assert month("scheduled", daily(20.0, 23, 12)).usd - month("scheduled", None).usd == 28 * 20 * 10


def test_closed_hours_run_nothing():
    """Within a week all is done in open hours; within 12 hours, what comes on Friday and Saturday evening is late."""
    found = month("business_hours", daily(20.0, 23, 168))
    assert month("business_hours", daily(20.0, 23, 12)).late_ratio >= 2 / 7
    assert found.batch.run.late_ratio == 0
    assert all(used == 0 for hour, used in enumerate(found.batch.run.used) if hour % 24 not in range(8, 18))
