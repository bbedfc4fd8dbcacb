"""Unit conventions that tools disagree on."""

from decimal import Decimal

import pytest

from costmodel.pricing.money import HOURS_PER_MONTH


@pytest.mark.parametrize(("hours", "usd"), [("720", 1800), ("729.6", 1824), ("730", 1825), ("744", 1860)])
def test_a_month_of_a_gpu_by_convention(hours: str, usd: int) -> None:
    # https://ai-costcalculator.com/self-hosted-llm-vs-api-calculator/
    assert Decimal("2.5") * Decimal(hours) == usd


def test_730_hours_are_the_default_month() -> None:
    assert HOURS_PER_MONTH == 730
    longest, shortest = 744, 720
    assert 100 * (longest / shortest - 1) == pytest.approx(3.3, abs=0.1)
