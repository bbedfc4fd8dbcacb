"""Beyond renting by the hour: a GPU of one's own, growth, and money of later months."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from costmodel.pricing.money import Number, exact

MONTHS_PER_YEAR = 12


@dataclass(frozen=True, slots=True)
class OwnGpu:
    """A month of one installed GPU of one's own, USD, exact, by line. It is paid whether busy or not."""

    depreciation_usd: Fraction
    maintenance_usd: Fraction
    power_usd: Fraction
    colocation_usd: Fraction

    @property
    def usd_per_month(self) -> Fraction:
        return self.depreciation_usd + self.maintenance_usd + self.power_usd + self.colocation_usd


def own_gpu(
    *,
    usd: Number,
    months: int,
    residual_ratio: Number = 0,
    maintenance_per_year_ratio: Number = 0,
    kw: Number = 0,
    pue: Number = 1,
    usd_per_kwh: Number = 0,
    colocation_usd_per_month: Number = 0,
    hours_per_month: Number = 730,
) -> OwnGpu:
    """Straight-line depreciation to the residual value, maintenance on the price, power x PUE on the installed GPU.

    usd: price of a GPU with its share of host and network. kw: drawn at the wall by the same share, all hours.
    Raises ValueError for no months, negative amounts, a residual above the price or a PUE below 1.
    """
    price, residual, rate = exact(usd), exact(residual_ratio), exact(maintenance_per_year_ratio)
    drawn, overhead, tariff = exact(kw), exact(pue), exact(usd_per_kwh)
    negative = any(value < 0 for value in (price, residual, rate, drawn, tariff, exact(colocation_usd_per_month)))
    if months < 1 or negative or residual > 1 or overhead < 1:
        raise ValueError("at least a month, no negative amounts, a residual of at most 1 and a PUE of at least 1")
    return OwnGpu(
        depreciation_usd=price * (1 - residual) / months,
        maintenance_usd=price * rate / MONTHS_PER_YEAR,
        power_usd=drawn * overhead * tariff * exact(hours_per_month),
        colocation_usd=exact(colocation_usd_per_month),
    )


def growth_ratios(growth_per_month_ratio: Number, months: int) -> tuple[Fraction, ...]:
    """The load of each month over that of the first: (1 + g)^(m - 1)."""
    step = 1 + exact(growth_per_month_ratio)
    ratios = [Fraction(1)]
    for _ in range(months - 1):
        ratios.append((ratios[-1] * step).limit_denominator(10**12))
    return tuple(ratios)


def present_value(amounts_usd: Sequence[Number], discount_per_year_ratio: Number, one_off_usd: Number = 0) -> Fraction:
    """What amounts at the end of each month are worth at the start, with a sum paid at once.

    Amount m is divided by (1 + r)^(m / 12). Raises ValueError for a rate of -1 or less.
    """
    rate = float(exact(discount_per_year_ratio))
    if rate <= -1:
        raise ValueError("a discount rate must be above -1")
    total = exact(one_off_usd)
    for month, amount in enumerate(amounts_usd, start=1):
        total += exact(amount) * exact((1 + rate) ** (-month / MONTHS_PER_YEAR))
    return total


def first_month(ahead: Sequence[bool]) -> int | None:
    """The first month, from 1, from which on the condition holds to the end; None when it does not at the end."""
    if not ahead or not ahead[-1]:
        return None
    month = len(ahead)
    while month > 1 and ahead[month - 2]:
        month -= 1
    return month
