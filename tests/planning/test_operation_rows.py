"""The fleet run otherwise, and the hybrid, against the report's own week."""

import math

import pytest

from planner.planning import parse_scenario, plan
from tests.planning.scenarios import changed

HOURS = 730


def document(mean_rps=20.0, **billing):
    scenario = changed("model", {"id": "meta-llama/Llama-3.1-8B-Instruct"})
    scenario["hardware"] = {"gpus": ["L40S"], "tensor_parallel": [1],
                            "price_overrides": {"L40S": {"usd_per_gpu_hour": 1.0}}}  # fmt: skip
    scenario["traffic"]["prefix"] = {"kind": "none"}
    scenario["traffic"]["arrival"]["mean_rps"] = mean_rps
    scenario["slo"] = {"ttft_p95_ms": 1000, "tpot_p95_ms": 60}
    scenario["billing"] = {"spare_replicas": 1, "ready_s": 600, **billing}
    return scenario


@pytest.fixture(scope="module")
def report():
    return plan(parse_scenario(document()))


def rows_of(report):
    return {row["key"]: row for row in report["operation"]}


def test_always_on_is_the_bill(report):
    row = rows_of(report)["always_on"]
    assert row["usd_per_month"] == report["cost"]["usd_per_month"]["mid"]
    assert row["saves_usd_per_month"] == 0


def test_a_schedule_pays_the_replicas_of_each_hour_and_their_starts(report):
    needed = [hour["replicas_needed"] for hour in report["load"]["week"]]
    starts = sum(max(0, after - now) for now, after in zip(needed, [*needed[1:], needed[0]], strict=True))
    hours = sum(needed) + starts * 600 / 3600 + sum(map(bool, needed))  # and one spare, while anything serves
    assert rows_of(report)["scheduled"]["usd_per_month"] == pytest.approx(hours * HOURS / 168, abs=0.02)


def test_who_sees_less_ahead_pays_more(report):
    rows = rows_of(report)
    order = [rows[key]["usd_per_month"] for key in ("scheduled", "autoscaled", "always_on")]
    assert order == sorted(order)


def test_a_commitment_never_costs_more_than_the_hours_alone(report):
    rows = rows_of(report)
    by_hour = rows["scheduled"]["usd_per_month"]
    starts_of_spares = 7 * 600 / 3600 * HOURS / 168
    assert rows["committed_3y"]["usd_per_month"] <= rows["committed_1y"]["usd_per_month"] <= by_hour + starts_of_spares


def test_to_zero_is_only_for_what_one_replica_carries_and_cold_starts_miss_a_ttft_target(report):
    assert "scale_to_zero" not in rows_of(report)
    idle = rows_of(plan(parse_scenario(document(mean_rps=0.001))))["scale_to_zero"]
    assert not idle["meets_targets"]
    assert idle["usd_per_month"] < 2 * HOURS
    assert "scale_to_zero" not in rows_of(plan(parse_scenario(document(mean_rps=0.01, idle_s=86_400))))  # never sleeps
    instant = rows_of(plan(parse_scenario(document(mean_rps=0.001, ready_s=0))))["scale_to_zero"]
    assert instant["basis"].startswith("off after 900 s")


def test_the_hybrid_is_no_dearer_than_either_alone(report):
    best, fleet = report["hybrid"]["best"], report["cost"]["usd_per_month"]["mid"]
    api = report["api"][0]["usd_per_month"]
    assert best["usd_per_month"] <= min(api, fleet) + 0.02
    assert report["hybrid"]["saves_against_api_usd_per_month"] == pytest.approx(api - best["usd_per_month"], abs=0.02)


def test_overflow_is_what_the_week_holds_beyond_the_replicas(report):
    week = [hour["rps"] for hour in report["load"]["week"]]
    capacity = report["load"]["capacity_rps"] / report["recommended"]["serving_replicas"]
    api = report["api"][0]["usd_per_month"]
    for point in report["hybrid"]["points"]:
        beyond = sum(max(0.0, rate - point["replicas"] * capacity) for rate in week) / sum(week)
        assert point["api_usd_per_month"] == pytest.approx(beyond * api, rel=1e-3, abs=0.5)
        assert point["self_host_usd_per_month"] == pytest.approx(point["replicas"] * HOURS, abs=0.01)
    assert math.isclose(report["hybrid"]["points"][-1]["api_usd_per_month"], 0, abs_tol=0.01)


def test_dearer_gpus_never_make_the_hybrid_or_any_way_cheaper(report):
    scenario = document()
    scenario["hardware"]["price_overrides"]["L40S"]["usd_per_gpu_hour"] = 1.5
    dearer = plan(parse_scenario(scenario))
    assert dearer["hybrid"]["best"]["usd_per_month"] >= report["hybrid"]["best"]["usd_per_month"]
    for key, row in rows_of(dearer).items():
        assert row["usd_per_month"] >= rows_of(report)[key]["usd_per_month"]


def test_without_an_api_there_is_nothing_to_share_with():
    scenario = document()
    scenario["api"] = {}
    report = plan(parse_scenario(scenario))
    assert report["hybrid"] is None
    assert not rows_of(report)["business_hours"]["meets_targets"]


def test_the_verdict_names_the_split_where_it_is_cheapest(report):
    """13 of 14 replicas and Groq for the peak: below the fleet with its spare, and far below the API."""
    said, best = report["verdict"], report["hybrid"]["best"]
    split = said["hybrid"]
    assert said["choice"] == "hybrid"
    assert said["sentence"].startswith("A split is cheapest: ")
    assert (split["replicas"], split["usd_per_month"]) == (best["replicas"], best["usd_per_month"])
    fleet, api = report["cost"]["usd_per_month"]["mid"], report["api"][0]["usd_per_month"]
    saving = split["saving_usd_per_month"]
    assert saving["mid"] == pytest.approx(min(fleet, api) - split["usd_per_month"], abs=0.02)
    assert saving["low"] <= saving["mid"] <= saving["high"]
    assert split["saves_against"] == "self_host"
    assert split["probability_ratio"] == pytest.approx(1 - report["uncertainty"]["verdict_flip_probability_ratio"])
    assert "Self-hosting Llama-3.1-8B-Instruct" in said["detail"]


def test_between_the_named_gpu_prices_the_same_split_is_cheapest(report):
    """At either end the split costs as much as one side alone: with its replicas, against the API and the fleet."""
    split, best = report["verdict"]["hybrid"], report["hybrid"]["best"]
    band, fleet = split["cheapest_gpu_usd_per_hour"], report["recommended"]["gpus"] * HOURS
    api = report["api"][0]["usd_per_month"]
    own = best["replicas"] * HOURS
    assert own * band["high"] + best["api_usd_per_month"] == pytest.approx(api, rel=1e-4)
    assert own * band["low"] + best["api_usd_per_month"] == pytest.approx(fleet * band["low"], rel=1e-3)


def test_further_lines_of_both_sides_can_keep_the_verdict_to_one():
    scenario = document()
    scenario["costs"] = {"api_staff_usd_per_month": 5_000}
    said = plan(parse_scenario(scenario))["verdict"]
    assert (said["choice"], said["hybrid"]) == ("self_host", None)
