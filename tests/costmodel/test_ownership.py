"""GPUs of one's own, growth and later money, by hand."""

from fractions import Fraction

import pytest

from costmodel.pricing.ownership import first_month, growth_ratios, own_gpu, present_value


def test_a_gpu_of_ones_own_by_hand():
    """$36,000 over 36 months to 10 %: $900; 6 % a year: $180; 1 kW × 1.3 × 730 h × $0.10: $94.90; rack: $50."""
    gpu = own_gpu(usd=36_000, months=36, residual_ratio=0.1, maintenance_per_year_ratio=0.06, kw=1, pue=1.3,
                  usd_per_kwh=0.10, colocation_usd_per_month=50)  # fmt: skip
    assert (gpu.depreciation_usd, gpu.maintenance_usd, gpu.colocation_usd) == (900, 180, 50)
    assert gpu.power_usd == Fraction("94.9")
    assert gpu.usd_per_month == Fraction("1224.9")


@pytest.mark.parametrize("bad", [{"months": 0}, {"residual_ratio": 1.1}, {"pue": 0.9}, {"kw": -1}])
def test_impossible_hardware_is_refused(bad):
    with pytest.raises(ValueError, match="PUE"):
        own_gpu(**({"usd": 1000, "months": 36} | bad))


def test_growth_compounds():
    assert [float(r) for r in growth_ratios(0.1, 4)] == pytest.approx([1, 1.1, 1.21, 1.331])
    assert growth_ratios(0, 3) == (1, 1, 1)


def test_later_money_is_worth_less():
    """Twelve months of $100 at 21 % a year, the last worth 100 / 1.21; nothing discounted adds up as it is."""
    assert present_value([100] * 12, 0, one_off_usd=50) == 1250
    assert float(present_value([0] * 11 + [121], 0.21)) == pytest.approx(100)
    assert 1000 < float(present_value([100] * 12, 0.21)) < 1200


@pytest.mark.parametrize(
    ("ahead", "month"),
    [([True, True], 1), ([False, True, True], 2), ([True, False, True], 3), ([True, False], None), ([], None)],
)
def test_a_month_counts_when_it_holds_to_the_end(ahead, month):
    assert first_month(ahead) == month
