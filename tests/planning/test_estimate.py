"""The closed-form estimate: its shape, its money, its causes, its speed, and how it stands to the simulation."""

import json
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest

from planner.planning import (
    ESTIMATE_COLUMNS,
    estimate_cells,
    estimate_scenario,
    not_estimated,
    parse_scenario,
    plan,
    sample_scenario,
)
from tests.planning.scenarios import SUPPORT_CHAT, changed


@pytest.fixture(scope="module")
def estimate():
    return estimate_scenario(parse_scenario(SUPPORT_CHAT))


def of(**changes):
    document = dict(SUPPORT_CHAT)
    for path, value in changes.items():
        document = changed(path.replace("__", "."), value, document)
    return estimate_scenario(parse_scenario(document))


def best(estimate):
    return next(row for row in estimate["candidates"] if row["id"] == estimate["recommended"])


def test_it_has_its_sections_and_is_plain_json(estimate):
    assert set(estimate) == {
        "schema_version", "method", "name", "verdict", "recommended", "candidates", "load", "api", "break_even",
        "provenance",
    }  # fmt: skip
    assert estimate["method"] == "closed_form"
    json.dumps(estimate, allow_nan=False)


def test_every_candidate_has_the_keys_of_the_report(estimate, sample):
    report_keys = set(sample["candidates"][0])
    for row in estimate["candidates"]:
        assert set(row) >= report_keys
    assert [row["id"] for row in estimate["candidates"]] == [
        f"{gpu}/tp{tp}" for gpu in SUPPORT_CHAT["hardware"]["gpus"] for tp in (1, 2, 4, 8)
    ]


def test_simulated_capacity_lies_within_the_interval(sample):
    rows = {row["id"]: row for row in estimate_scenario(parse_scenario(sample_scenario()))["candidates"]}
    compared = 0
    for simulated in sample["candidates"]:
        row = rows[simulated["id"]]
        assert row["feasible"] == simulated["feasible"]
        assert (row["reason"] or {}).get("code") == (simulated["reason"] or {}).get("code")
        if simulated["feasible"]:
            compared += 1
            assert row["capacity_rps"]["low"] <= simulated["capacity_rps"]["mid"] <= row["capacity_rps"]["high"]
    assert compared >= 3


def test_causes_before_load_are_those_of_the_plan():
    document = changed("model", {"id": "deepseek-ai/DeepSeek-R1"})
    document["hardware"] = {"gpus": ["H100-SXM5-80GB"], "tensor_parallel": [1, 8]}
    document["engine"] = {"max_model_len": 16_000}
    scenario = parse_scenario(document)
    estimated, planned = estimate_scenario(scenario), plan(scenario)
    assert estimated["recommended"] is None
    assert [row["reason"] for row in estimated["candidates"]] == [row["reason"] for row in planned["candidates"]]
    assert estimated["candidates"][0]["memory"]["fits"] is False
    assert estimated["verdict"] == planned["verdict"]


def test_a_target_that_no_idle_replica_meets_is_the_cause_and_names_what_the_floor_is():
    row = of(slo={"ttft_p95_ms": 20})["candidates"][1]
    assert row["reason"]["code"] == "ttft_of_single_request"
    assert row["floors"]["ttft_p95_ms"] > 20


def test_the_month_is_gpus_times_price_times_hours(estimate):
    for row in estimate["candidates"]:
        if row["feasible"]:
            assert row["replicas"] == row["serving_replicas"] + 1
            assert row["gpus"] == row["replicas"] * row["tp"]
            month = Decimal(str(row["usd_per_gpu_hour"])) * row["gpus"] * 730
            assert Decimal(str(row["usd_per_month"]["mid"])) == month.quantize(Decimal("0.01"))
            cheaper = Decimal(str(estimate["api"][0]["usd_per_month"])) > month
            assert row["cheaper_than_api"] is cheaper


def test_the_api_bill_is_the_reports(estimate):
    planned = plan(parse_scenario(changed("hardware", {"gpus": ["H200-SXM-141GB"], "tensor_parallel": [1]})))
    assert estimate["api"] == planned["api"]


def test_without_an_api_nothing_is_compared():
    found = of(api={"alternatives": []})
    assert found["verdict"]["choice"] == "self_host_only"
    assert "meets every target" not in found["verdict"]["sentence"]
    assert found["break_even"] is None
    assert best(found)["cheaper_than_api"] is None


def test_dearer_gpus_never_make_self_hosting_cheaper():
    prices = (1, 2, 4, 8, 16)
    hardware = [{"gpus": ["H100-SXM5-80GB"], "price_overrides": {"H100-SXM5-80GB": {"usd_per_gpu_hour": price}}}
                for price in prices]  # fmt: skip
    found = [of(hardware=choice) for choice in hardware]
    savings = [x["verdict"]["saving_usd_per_month"]["mid"] for x in found]
    assert savings == sorted(savings, reverse=True)


def test_more_load_never_needs_fewer_replicas():
    counts = [best(of(traffic__arrival__mean_rps=rate, hardware__gpus=["H200-SXM-141GB"], hardware__tensor_parallel=[2],
                      hardware__price_overrides={}))["serving_replicas"] for rate in (0.01, 1, 5, 20, 300)]  # fmt: skip
    assert counts == sorted(counts)
    assert counts[0] == 1


def test_a_load_that_no_fleet_carries_says_so():
    row = of(traffic__arrival__mean_rps=10_000, slo={"ttft_p95_ms": 350})["candidates"][1]
    assert row["reason"]["code"] == "load"
    assert "20,000" in row["reason"]["detail"]


def test_littles_law_is_shown_and_holds(estimate):
    law = best(estimate)["littles_law"]
    assert law["concurrency_mean"] == pytest.approx(law["arrival_rps"] * law["e2e_s"], rel=1e-4)
    assert law["kv_tokens_mean"] == pytest.approx(law["concurrency_mean"] * law["context_tokens_mean"], rel=1e-4)
    assert law["concurrency_mean"] < law["concurrency_p95"] <= law["seats"]
    served = estimate["load"]["peak_rps"] / best(estimate)["serving_replicas"]
    assert law["arrival_rps"] == pytest.approx(served, rel=1e-4)


def test_the_interval_widens_around_the_middle(estimate):
    for row in estimate["candidates"]:
        if row["feasible"]:
            capacity, month = row["capacity_rps"], row["usd_per_month"]
            assert capacity["low"] < capacity["mid"] < capacity["high"] < row["saturation_rps"] * 1.5
            assert month["low"] <= month["mid"] <= month["high"]


def test_the_break_even_is_where_the_bills_meet(estimate):
    crossings = estimate["break_even"]["crossings"]
    assert estimate["break_even"]["never"] is (not crossings)
    now = estimate["load"]["mean_rps"]
    below = [crossing for crossing in crossings if crossing["mean_rps"] <= now]
    cheaper = below[-1]["cheaper_above"] == "self_host" if below else False
    assert cheaper is best(estimate)["cheaper_than_api"]


def test_the_method_and_its_limits_are_stated(estimate):
    named = {row["what"] for row in estimate["provenance"]["assumptions"]}
    assert {"Capacity of a replica", "Percentiles under load", "Bursts"} <= named
    assert estimate["provenance"]["coverage"]["state"] in ("measured", "fitted", "extrapolated")


def test_one_accelerator_takes_under_50_ms_of_one_core():
    scenario = parse_scenario(changed("hardware", {"gpus": ["H100-SXM5-80GB"]}))
    taken = []
    for _ in range(5):
        start = time.process_time()
        estimate_scenario(scenario)
        taken.append(time.process_time() - start)
    assert min(taken) < 0.05


def test_the_flat_row_says_what_the_estimate_says(estimate):
    cells = estimate_cells(parse_scenario(SUPPORT_CHAT))
    row = best(estimate)
    assert list(cells) == list(ESTIMATE_COLUMNS)
    assert (cells["candidate"], cells["replicas"]) == (row["id"], row["replicas"])
    assert cells["monthly_cost_usd"] == row["usd_per_month"]["mid"]
    assert cells["monthly_saving_usd"] == row["saving_usd_per_month"]["mid"]
    assert cells["input_mtok_per_month"] * 1e6 == pytest.approx(estimate["load"]["monthly_tokens"]["input"], rel=1e-4)
    assert cells["verdict"] == estimate["verdict"]["sentence"]
    assert cells["reason_code"] is None


def test_the_flat_row_of_what_cannot_be_names_the_reason():
    document = changed("hardware", {"gpus": ["H100-SXM5-80GB"], "tensor_parallel": [1]})
    cells = estimate_cells(parse_scenario(document))
    assert (cells["feasible"], cells["fits"], cells["reason_code"]) == (False, False, "no_kv_cache_room")
    assert cells["monthly_cost_usd"] is None
    assert cells["choice"] == "none"


@pytest.mark.parametrize("rate", [0.01, 6, 80])
@pytest.mark.parametrize("gpus", ["any", ["H200-SXM-141GB", "H100-SXM5-80GB", "L4"]])
def test_the_flat_row_leaves_out_only_what_cannot_be_the_best(rate, gpus):
    """It stops where one replica already costs more; the best and its figures are those of the whole estimate."""
    document = changed("traffic.arrival.mean_rps", rate, changed("hardware", {"gpus": gpus}))
    scenario = parse_scenario(document)
    row, cells = best(estimate_scenario(scenario)), estimate_cells(scenario)
    assert cells["candidate"] == row["id"]
    assert cells["monthly_cost_usd"] == row["usd_per_month"]["mid"]
    assert cells["capacity_rps"] == row["capacity_rps"]["mid"]


def test_a_web_process_estimates_without_loading_the_compiler():
    code = (
        "import sys; from planner import planning as p; "
        "p.estimate_cells(p.parse_scenario(p.sample_scenario())); print('numba' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False", done.stderr


def test_what_only_a_run_answers_is_said():
    asked = changed("serving", {"disaggregation": "on", "router": "least_requests"})
    assert not_estimated(parse_scenario(changed("slo.confidence_ratio", None))) == []
    asked["slo"]["confidence_ratio"] = 0.8
    notes = not_estimated(parse_scenario(asked))
    assert [word in note for word, note in zip(("apart", "router", "80%"), notes, strict=True)] == [True] * 3
    assert set(notes) <= set(estimate_scenario(parse_scenario(asked))["provenance"]["notes"])
