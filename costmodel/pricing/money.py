"""Exact amounts: how numbers become exact, how dollars are rounded so that lines still add up, and what is unpriced.

Money is rounded half up, away from zero, everywhere: as invoices, spreadsheets and browsers do.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from fractions import Fraction

Number = int | float | Decimal | Fraction

CENT = Decimal("0.01")
MTOK = 1_000_000
HOURS_PER_MONTH = Decimal(730)


class PriceUnknownError(LookupError):
    """No price can be given. `what` is the thing without a price, `needed` says what would supply one."""

    def __init__(self, what: str, *, detail: str, needed: str) -> None:
        self.what = what
        self.detail = detail
        self.needed = needed
        super().__init__(f"no price for {what}: {detail}. {needed}")


def exact(value: Number) -> Fraction:
    """The number as written: a float counts as its shortest decimal form, so 2.4 is 24/10 and not its binary neighbour.

    Raises ValueError for NaN and infinities.
    """
    if type(value) is Fraction:
        return value
    if isinstance(value, float):
        value = Decimal(repr(float(value)))  # NumPy's floats write their type too
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"not a finite number: {value}")
    return Fraction(value)


def to_decimal(value: Number) -> Decimal:
    """A Decimal of 28 significant digits, exact wherever so many suffice."""
    ratio = exact(value)
    return Decimal(ratio.numerator) / Decimal(ratio.denominator)


def to_cents(usd: Decimal) -> Decimal:
    """One amount rounded to the cent, half up."""
    return rounded(usd, 2)


def rounded(amount: Decimal, digits: int) -> Decimal:
    """To so many decimals, half up: 3.945 -> 3.95, -3.945 -> -3.95."""
    return amount.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)


def split_to_cents(amounts_usd: Sequence[Decimal]) -> tuple[Decimal, ...]:
    """Round every amount to a cent up or down such that together they equal the rounded sum (largest remainder)."""
    floors = [amount.quantize(CENT, rounding=ROUND_FLOOR) for amount in amounts_usd]
    missing_cents = int((to_cents(sum(amounts_usd, Decimal(0))) - sum(floors, Decimal(0))) / CENT)
    by_remainder = sorted(range(len(floors)), key=lambda i: (floors[i] - amounts_usd[i], i))
    for index in by_remainder[:missing_cents]:
        floors[index] += CENT
    return tuple(floors)


def checked_hours(hours_per_month: Number) -> Fraction:
    """Hours of a month as agreed: 730 unless the user says otherwise (720, 729.6 and 744 are seen). At most 744."""
    hours = exact(hours_per_month)
    if not 0 < hours <= 744:
        raise ValueError(f"hours_per_month must lie in (0, 744], not {hours_per_month}")
    return hours
