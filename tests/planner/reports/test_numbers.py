from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.reports import numbers


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (14326, 0, "14,326"),
        (-1182, 0, "−1,182"),
        (-0.2, 0, "0"),
        (0.5, 2, "0.50"),
        (None, 0, "–"),
        (float("nan"), 0, "–"),
    ],
)
def test_numbers_have_separators_and_a_true_minus(value: float | None, digits: int, text: str) -> None:
    assert numbers.number(value, digits) == text


def test_money_keeps_its_sign_before_the_dollar() -> None:
    assert numbers.usd(-1182) == "−$1,182"
    assert numbers.usd_signed(310) == "+$310"


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.945, "$3.945"), (0.5, "$0.50"), (0.0375, "$0.0375"), (0.04875, "$0.0488"), (10.0, "$10.00"), (None, "–")],
)
def test_prices_of_a_unit_keep_their_digits(value: float | None, text: str) -> None:
    assert numbers.unit_price(value) == text
    assert numbers.price_number(value) == text.lstrip("$")


def test_ranges_are_words() -> None:
    assert numbers.between(625, 1739) == "625 to 1,739"
    assert numbers.between(4.001, 4.002) == "4"
    assert numbers.between(None, 3) == "–"


@pytest.mark.parametrize(
    ("value", "text"), [(3327e6, "3.33 B"), (999, "999"), (18.2e9, "18.2 B"), (2_500_000, "2.50 M")]
)
def test_large_token_counts_are_said_short(value: float, text: str) -> None:
    assert numbers.tokens(value) == text


def test_age_counts_days_and_a_month_from_its_first() -> None:
    today = date(2026, 11, 30)
    assert numbers.age_days("2026-08-26", today) == 96
    assert numbers.age_days("2026-11", today) == 29
    assert numbers.age_days("", today) is None
    assert numbers.age_days("soon", today) is None
    assert numbers.age_days("2027-01-01", today) == 0


def test_text_of_the_engine_gets_a_true_minus_and_times_sign() -> None:
    assert numbers.tidy("-0.91 GiB left, 3 replicas x 1 GPU, TP-2") == "−0.91 GiB left, 3 replicas × 1 GPU, TP-2"


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e12, max_value=1e12))
def test_no_number_reads_as_a_negative_zero_or_an_exponent(value: float) -> None:
    text = numbers.significant(value)
    assert "e" not in text
    assert numbers.number(value) not in ("−0", "-0")


@pytest.mark.parametrize(("value", "text"), [(3.945, "3.95"), (2.675, "2.68"), (1.005, "1.01"), (3.9449, "3.94")])
def test_halves_go_up_as_they_are_written(value: float, text: str) -> None:
    assert numbers.number(value, 2) == text
    assert numbers.number(-value, 2) == f"−{text}"
