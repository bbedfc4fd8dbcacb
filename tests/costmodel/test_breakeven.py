"""Break-even: the staircase, all crossings against brute force, the curve, the price that flips the verdict."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from costmodel.pricing.breakeven import (
    CROSSINGS_SHOWN,
    BreakEven,
    Staircase,
    break_even,
    break_even_curve,
    flip_gpu_price,
    replicas_for_peak,
    staircase,
)
from costmodel.pricing.selfhost_cost import self_host_cost

HOUR_AT_ONE_DOLLAR = {"tokens_per_request": 1, "usd_per_replica_hour": 1, "hours_per_month": 1}


def side_at(stairs: Staircase, usd_per_request: Fraction, mean_rps: Fraction) -> int:
    """-1 when self-hosting is cheaper, 1 when the API is, 0 when equal."""
    difference = stairs.usd_per_month(mean_rps) - usd_per_request * mean_rps * stairs.seconds_per_month
    return (difference > 0) - (difference < 0)


def lead_changes(stairs: Staircase, usd_per_request: Fraction, steps: int) -> list[tuple[Fraction, int]]:
    """By brute force: the cheaper side between all places where it could change, and the places where it does."""
    places = {step * stairs.step_mean_rps for step in range(1, steps + 1)}
    if usd_per_request:
        for replicas in range(1, steps + stairs.spare_replicas + 2):
            equal_at = replicas * stairs.usd_per_replica_month / (usd_per_request * stairs.seconds_per_month)
            if equal_at < steps * stairs.step_mean_rps:
                places.add(equal_at)
    ordered = sorted(place for place in places if place > 0)
    bounds = [Fraction(0), *ordered]
    sides = [side_at(stairs, usd_per_request, (low + high) / 2) for low, high in zip(bounds, ordered, strict=False)]
    return [(place, after) for place, before, after in zip(ordered, sides, sides[1:], strict=False) if before != after]


def test_lesson_breaks_even_at_2920_million_tokens_and_74_percent() -> None:
    # $4 an hour, 1,500 tokens per second, API at $1 per million; a "request" is one token here
    stairs = staircase(capacity_rps=1500, usd_per_replica_hour=4, tokens_per_request=1)
    answer = break_even(stairs, Decimal("0.000001"))
    first = answer.crossings[0]
    assert first.tokens_per_month == 2_920_000_000
    assert (first.cheaper_below, first.cheaper_above) == ("api", "self_host")
    assert float(first.tokens_per_month / stairs.tokens_per_month(1500)) == 0.7407407407407407


def test_lesson_goes_on_with_a_second_replica() -> None:
    # At 3,942 M tokens one replica is full: the second costs $2,920 more, and pays again from 5,840 M on; the
    # third step starts at 7,884 M, where three replicas cost $8,760: the API leads until 8,760 M tokens, and so on.
    stairs = staircase(capacity_rps=1500, usd_per_replica_hour=4, tokens_per_request=1)
    answer = break_even(stairs, Decimal("0.000001"))
    mtok = [crossing.tokens_per_month / 10**6 for crossing in answer.crossings]
    assert mtok == [2920, 3942, 5840, 7884, 8760]
    assert [crossing.at_step for crossing in answer.crossings] == [False, True, False, True, False]


def test_one_crossing_where_the_api_is_far_dearer() -> None:
    stairs = staircase(capacity_rps=10, **HOUR_AT_ONE_DOLLAR)
    answer = break_even(stairs, Decimal("0.001"))  # a full replica would cost $36 at the API
    assert answer.crossings_total == 1
    assert answer.crossings[0].mean_rps == Fraction(1000, 3600)
    assert answer.sentence.startswith("The API is cheaper below")


def test_never_where_a_full_replica_costs_more_than_the_api() -> None:
    stairs = staircase(capacity_rps=10, **HOUR_AT_ONE_DOLLAR)
    answer = break_even(stairs, Fraction(1, 36001))
    assert (answer.never, answer.crossings, answer.crossings_total) == (True, (), 0)
    assert "never cheaper" in answer.sentence


def test_equal_at_full_load_is_still_never_cheaper() -> None:
    assert break_even(staircase(capacity_rps=10, **HOUR_AT_ONE_DOLLAR), Fraction(1, 36000)).never


def test_free_api_is_never_beaten_and_free_gpus_always_win() -> None:
    assert break_even(staircase(capacity_rps=10, **HOUR_AT_ONE_DOLLAR), 0).never
    free = staircase(capacity_rps=10, usd_per_replica_hour=0, tokens_per_request=1)
    assert break_even(free, Decimal("0.001")).always


def test_spares_move_the_break_even_up() -> None:
    without, with_spare = (
        break_even(staircase(capacity_rps=10, spare_replicas=spares, **HOUR_AT_ONE_DOLLAR), Decimal("0.001"))
        for spares in (0, 1)
    )
    assert with_spare.crossings[0].mean_rps == 2 * without.crossings[0].mean_rps


def test_peak_shrinks_the_load_that_a_replica_carries() -> None:
    stairs = staircase(capacity_rps=Decimal("1.2"), peak_to_mean_ratio=2.4, **HOUR_AT_ONE_DOLLAR)
    assert stairs.step_mean_rps == Fraction(1, 2)
    assert [stairs.serving_replicas(rate) for rate in (0, 0.1, 0.5, 0.500001, 1)] == [0, 1, 1, 2, 2]


def test_countless_crossings_are_counted_but_not_all_listed() -> None:
    stairs = staircase(capacity_rps=10, **HOUR_AT_ONE_DOLLAR)
    answer = break_even(stairs, Fraction(10**9 + 1, 36000 * 10**9))
    assert answer.crossings_total == 2 * 10**9 - 1  # inside steps 1 to 10^9, and at the edges between them
    assert len(answer.crossings) == CROSSINGS_SHOWN
    last = answer.crossings[-1]
    assert (last.cheaper_above, last.at_step) == ("self_host", False)


def test_replicas_for_peak_are_exact() -> None:
    assert replicas_for_peak(0.3, 0.1) == 3
    assert replicas_for_peak(6.0 * 2.4, 1.44) == 10
    assert replicas_for_peak(0, 5) == 0
    assert replicas_for_peak(1e-9, 5) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"capacity_rps": 0}, {"peak_to_mean_ratio": 0.5}, {"spare_replicas": -1}, {"tokens_per_request": 0}],
)
def test_impossible_staircase_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError):
        staircase(**{"capacity_rps": 1, **HOUR_AT_ONE_DOLLAR, **wrong})


small = st.fractions(Fraction(1, 10), 10, max_denominator=20)


@given(small, small, st.integers(0, 4), small)
@example(Fraction(1), Fraction(1), 0, Fraction(2, 3600))  # touches at a step edge
@example(Fraction(1), Fraction(1), 1, Fraction(3, 3600))
def test_crossings_match_brute_force(
    capacity: Fraction, replica_usd: Fraction, spares: int, usd_per_request: Fraction
) -> None:
    usd_per_request = usd_per_request / 3600 if usd_per_request > Fraction(1, 360) else usd_per_request
    stairs = staircase(
        capacity_rps=capacity,
        usd_per_replica_hour=replica_usd,
        spare_replicas=spares,
        tokens_per_request=1,
        hours_per_month=1,
    )
    answer = break_even(stairs, usd_per_request)
    steps = 40
    assume(answer.never or answer.crossings[-1].mean_rps < (steps - 1) * stairs.step_mean_rps)
    assume(answer.crossings_total <= CROSSINGS_SHOWN)
    found = [(item.mean_rps, -1 if item.cheaper_above == "self_host" else 1) for item in answer.crossings]
    assert found == lead_changes(stairs, usd_per_request, steps)
    assert answer.never == (side_at_some_point_self_hosted(stairs, usd_per_request, steps) is False)


def side_at_some_point_self_hosted(stairs: Staircase, usd_per_request: Fraction, steps: int) -> bool:
    return any(side_at(stairs, usd_per_request, step * stairs.step_mean_rps) < 0 for step in range(1, steps + 1))


@given(small, small, st.integers(0, 3), small)
def test_bills_meet_at_a_crossing_and_jump_at_a_step(
    capacity: Fraction, replica_usd: Fraction, spares: int, api_usd_per_3600: Fraction
) -> None:
    stairs = staircase(
        capacity_rps=capacity,
        usd_per_replica_hour=replica_usd,
        spare_replicas=spares,
        tokens_per_request=7,
        hours_per_month=1,
    )
    usd_per_request = api_usd_per_3600 / 3600
    for crossing in break_even(stairs, usd_per_request).crossings:
        api_usd = usd_per_request * crossing.mean_rps * 3600
        fleet_usd = stairs.usd_per_month(crossing.mean_rps)
        if crossing.at_step:
            assert fleet_usd < api_usd < fleet_usd + stairs.usd_per_replica_month
        else:
            assert fleet_usd == api_usd


@given(small, small, small, st.integers(0, 3), small)
def test_dearer_gpus_never_make_self_hosting_cheaper(
    capacity: Fraction, one: Fraction, other: Fraction, spares: int, api_usd_per_3600: Fraction
) -> None:
    def answer(replica_usd: Fraction) -> BreakEven:
        stairs = staircase(
            capacity_rps=capacity,
            usd_per_replica_hour=replica_usd,
            spare_replicas=spares,
            tokens_per_request=1,
            hours_per_month=1,
        )
        return break_even(stairs, api_usd_per_3600 / 3600)

    cheap, dear = answer(min(one, other)), answer(max(one, other))
    if cheap.never:
        assert dear.never
    elif not dear.never:
        assert cheap.crossings[0].mean_rps <= dear.crossings[0].mean_rps
        assert cheap.crossings[-1].mean_rps <= dear.crossings[-1].mean_rps


@given(st.decimals("0.01", "20", places=3), st.integers(1, 30), st.integers(1, 8), st.decimals("1", "99999", places=2))
def test_verdict_flips_at_the_flip_price(price: Decimal, replicas: int, gpus: int, api_usd: Decimal) -> None:
    flip = flip_gpu_price(api_usd_per_month=api_usd, replicas=replicas, gpus_per_replica=gpus)
    assert flip is not None
    bill = self_host_cost(usd_per_gpu_hour=price, gpus_per_replica=gpus, serving_replicas=replicas).exact_usd_per_month
    assert (bill < api_usd) == (price < flip)


def test_flip_price_of_no_fleet_is_undefined() -> None:
    assert flip_gpu_price(api_usd_per_month=5, replicas=0, gpus_per_replica=2) is None


def test_curve_shows_each_step_from_both_sides() -> None:
    stairs = staircase(capacity_rps=10, spare_replicas=1, **HOUR_AT_ONE_DOLLAR)
    points = break_even_curve(stairs, [Decimal("0.001"), 0], until_mean_rps=25)
    assert [(point.mean_rps, point.replicas) for point in points] == [
        (0, 2), (10, 2), (10, 3), (20, 3), (20, 4), (25, 4),
    ]  # fmt: skip
    assert points[1].api_usd_per_month == (36, 0)
    assert points[1].self_host_usd_per_month == 2


def test_curve_that_ends_on_an_edge_ends_below_the_step() -> None:
    points = break_even_curve(staircase(capacity_rps=10, **HOUR_AT_ONE_DOLLAR), [], until_mean_rps=20)
    assert [(point.mean_rps, point.replicas) for point in points] == [(0, 1), (10, 1), (10, 2), (20, 2)]


@given(st.integers(1, 5000), st.integers(1, 50))
def test_curve_stays_short_and_true(steps: int, shown: int) -> None:
    stairs = staircase(capacity_rps=2, **HOUR_AT_ONE_DOLLAR)
    points = break_even_curve(stairs, [1], until_mean_rps=2 * steps, steps_shown=shown)
    assert len(points) <= 2 * shown + 2
    rates = [point.mean_rps for point in points]
    assert rates == sorted(rates)
    assert all(point.replicas - stairs.replicas(point.mean_rps) in (0, 1) for point in points)
