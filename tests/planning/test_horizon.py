"""Further lines, growth and own hardware in the report, recomputed from its own rows."""

import math

import pytest

from planner.planning import parse_scenario, plan
from tests.planning.scenarios import changed


def document(mean_rps=20.0, months=12, **costs):
    scenario = changed("model", {"id": "meta-llama/Llama-3.1-8B-Instruct"})
    scenario["hardware"] = {"gpus": ["L40S"], "tensor_parallel": [1],
                            "price_overrides": {"L40S": {"usd_per_gpu_hour": 1.0}}}  # fmt: skip
    scenario["traffic"]["prefix"] = {"kind": "none"}
    scenario["traffic"]["arrival"]["mean_rps"] = mean_rps
    scenario["slo"] = {"ttft_p95_ms": 1000, "tpot_p95_ms": 60}
    scenario["costs"] = costs
    scenario["uncertainty"] = {"horizon_months": months}
    return scenario


@pytest.fixture(scope="module")
def plain():
    return plan(parse_scenario(document()))


def test_a_first_report_counts_gpus_only_and_says_so(plain):
    horizon = plain["horizon"]
    assert not any(line["counted"] for line in horizon["lines"])
    assert horizon["full"] == horizon["marginal"]
    assert horizon["self_host_usd"] == pytest.approx(12 * plain["cost"]["usd_per_month"]["mid"], abs=0.05)
    assert "GPUs only" in plain["verdict"]["detail"]


def test_staff_counts_against_self_hosting_everywhere(plain):
    report = plan(parse_scenario(document(staff_usd_per_month=15_000, monitoring_usd_per_month=500)))
    saving = plain["verdict"]["saving_usd_per_month"]["mid"]
    assert report["verdict"]["saving_usd_per_month"]["mid"] == pytest.approx(saving - 15_500, abs=0.02)
    assert "staff, monitoring in" in report["verdict"]["detail"]
    assert report["horizon"]["full"]["saving_usd_per_month"] == pytest.approx(saving - 15_500, abs=0.02)
    assert report["horizon"]["marginal"]["saving_usd_per_month"] == pytest.approx(saving, abs=0.02)
    rows = {row["label"]: row for row in plain["sensitivity"]}
    for row in report["sensitivity"]:
        before = rows[row["label"]]["saving_low_usd_per_month"]
        assert row["saving_low_usd_per_month"] == pytest.approx(before - 15_500, abs=0.02)
    p50 = {head["key"]: head["p50"] for head in report["uncertainty"]["headlines"]}
    assert p50["self_host_usd_per_month"] > 15_500


def test_growth_adds_whole_replicas_and_finds_its_months():
    report = plan(parse_scenario(document(months=24, growth_per_month_ratio=0.1, one_off_usd=1000)))
    rows, cost = report["horizon"]["rows"], report["cost"]["usd_per_month"]["mid"]
    replica = cost / report["recommended"]["replicas"]
    capacity = report["load"]["capacity_rps"] / report["recommended"]["serving_replicas"]
    for row in rows:
        ratio = 1.1 ** (row["month"] - 1)
        assert row["load_ratio"] == pytest.approx(ratio, rel=1e-4)
        assert row["serving_replicas"] == pytest.approx(
            math.ceil(report["load"]["offered_rps"] * ratio / capacity), abs=1
        )
        assert row["self_host_usd"] == pytest.approx((row["serving_replicas"] + 1) * replica, abs=0.02)
        assert row["api_usd"] == pytest.approx(report["api"][0]["usd_per_month"] * ratio, rel=1e-4)
    ahead = [row["api_usd"] > row["self_host_usd"] for row in rows]
    month = report["horizon"]["break_even_month"]
    assert (month is None) == (not ahead[-1])
    if month is not None:
        assert all(ahead[month - 1 :])
    total = sum(row["self_host_usd"] for row in rows) + 1000
    assert report["horizon"]["self_host_usd"] == pytest.approx(total, rel=1e-6)


def test_discounting_lowers_both_sides():
    flat, later = (plan(parse_scenario(document(discount_per_year_ratio=rate)))["horizon"] for rate in (0.0, 0.1))
    assert later["self_host_usd"] < flat["self_host_usd"]
    assert later["api_usd"] < flat["api_usd"]


def test_own_hardware_stands_beside_rent():
    report = plan(parse_scenario(document(own_hardware={"usd_per_gpu": 12_000, "months": 36, "pue": 1.3})))
    own = report["horizon"]["own_hardware"]
    assert own["gpus"] == report["recommended"]["gpus"]
    assert own["capital_usd"] == own["gpus"] * 12_000
    assert sum(line["usd_per_month"] for line in own["lines"]) == pytest.approx(own["usd_per_month"], abs=0.05)
    rent = report["cost"]["usd_per_month"]["mid"]
    assert own["saves_against_rent_usd_per_month"] == pytest.approx(rent - own["usd_per_month"], abs=0.02)


def test_retries_and_the_apis_own_tokens_raise_its_bill(plain):
    retried = plan(parse_scenario(document(api_retry_ratio=0.05)))
    assert retried["api"][0]["usd_per_month"] == pytest.approx(1.05 * plain["api"][0]["usd_per_month"], rel=1e-5)
    counted = plan(parse_scenario(document(api_token_ratio=1.2)))
    said = {row["what"]: row["value"] for row in counted["provenance"]["assumptions"]}
    assert said["Tokens"] == "an API counts 1.2 tokens for each of the served model"
    ratio = next(row for row in counted["uncertainty"]["drivers"] if row["key"] == "token_ratio")
    assert (ratio["p50"], ratio["p90"]) == (1.2, pytest.approx(1.32))
    assert counted["api"][0]["usd_per_month"] == pytest.approx(1.2 * plain["api"][0]["usd_per_month"], rel=2e-3)
    assert counted["cost"]["monthly_tokens"] == plain["cost"]["monthly_tokens"]


def test_lines_beyond_the_api_bill_leave_no_gpu_price_and_no_split_that_pays(plain):
    assert "a month less than the cheaper of both alone" in plain["hybrid"]["sentence"]
    report = plan(parse_scenario(document(staff_usd_per_month=500_000, api_staff_usd_per_month=100)))
    assert report["verdict"]["flip_gpu_usd_per_hour"] == 0
    assert "No GPU price would make self-hosting cheaper" in report["verdict"]["detail"]
    assert "staff, staff for the API in" in report["verdict"]["detail"]
    flip = next(row for row in report["uncertainty"]["headlines"] if row["key"] == "flip_gpu_usd_per_hour")
    assert (flip["p10"], flip["p90"]) == (0, 0)
    assert "a month less" not in report["hybrid"]["sentence"]
    assert "with the further lines it costs $" in report["hybrid"]["sentence"]


def test_a_gpu_price_below_a_cent_is_said_as_such():
    report = plan(parse_scenario(document(mean_rps=1e-4)))
    assert 0 < report["verdict"]["flip_gpu_usd_per_hour"] < 0.01
    assert "Self-hosting would be cheaper below a cent per GPU-hour; $1.00 is counted." in report["verdict"]["detail"]
