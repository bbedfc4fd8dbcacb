import json

import pytest

from planner.planning import PlanCancelled, parse_scenario, plan, report_bytes, sample_scenario
from tests.planning.scenarios import SUPPORT_CHAT, changed

SMALL = changed("hardware", {"gpus": ["H200-SXM-141GB"], "tensor_parallel": [1]})

SECTIONS = {
    "schema_version", "name", "verdict", "recommended", "candidates", "slo", "load", "memory", "cost", "api",
    "break_even", "curves", "sensitivity", "uncertainty", "provenance", "owned", "hybrid",
    "operation", "horizon", "advice", "frontier", "knobs", "precisions", "confirmation", "batch",
}  # fmt: skip


@pytest.fixture(scope="module")
def small():
    return plan(parse_scenario(SMALL))


def test_a_report_has_its_sections(sample):
    assert set(sample) == SECTIONS
    assert set(sample["recommended"]) >= {
        "candidate",
        "gpu",
        "tp",
        "pp",
        "ep",
        "replicas",
        "gpus",
        "engine",
        "commands",
    }


def test_the_same_scenario_gives_the_same_bytes(small):
    assert report_bytes(plan(parse_scenario(json.dumps(SMALL)))) == report_bytes(small)


def test_another_seed_gives_other_draws_but_the_same_answer(small):
    other = plan(parse_scenario(changed("seed", 2, SMALL)))
    assert report_bytes(other) != report_bytes(small)
    assert other["recommended"]["serving_replicas"] == pytest.approx(small["recommended"]["serving_replicas"], abs=1)


def test_bytes_are_sorted_and_hold_no_minus_zero(sample):
    text = report_bytes(sample).decode()
    assert text.endswith("}\n")
    assert "-0.0," not in text
    assert list(json.loads(text)) == sorted(sample)


def test_progress_rises_and_tells_finished_candidates(sample_run):
    report, said = sample_run
    shares = [progress.fraction_ratio for progress in said]
    assert shares == sorted(shares)
    assert len(said[-1].candidates) == len(report["candidates"])
    assert {row["id"] for row in said[-1].candidates} == {row["id"] for row in report["candidates"]}


def test_answering_false_cancels():
    with pytest.raises(PlanCancelled):
        plan(parse_scenario(sample_scenario()), lambda progress: progress.fraction_ratio == 0)


def test_the_recommended_fleet_is_the_cheapest_that_meets_all(sample):
    feasible = [row for row in sample["candidates"] if row["feasible"]]
    cheapest = min(row["usd_per_month"]["mid"] for row in feasible)
    assert sample["cost"]["usd_per_month"]["mid"] == cheapest
    assert all(row["met"] for row in sample["slo"])


def test_candidates_that_are_out_say_why(sample):
    out = {row["id"]: row["reason"] for row in sample["candidates"] if not row["feasible"]}
    assert out["H100-SXM5-80GB/tp1"]["code"] == "no_kv_cache_room"
    assert "TP=2" in out["H100-SXM5-80GB/tp1"]["nearest_change"]


def test_little_holds(sample, small):
    for report in (sample, small):
        little = report["load"]["littles_law"]
        assert little["product"] == pytest.approx(little["measured"], rel=1e-4)


def test_capacity_lies_within_its_range_and_load_within_capacity(small):
    for row in small["candidates"]:
        span = row["capacity_rps"]
        assert span["low"] <= span["mid"] <= span["high"]
    load = small["load"]
    assert load["utilisation_ratio"] <= 1
    assert load["capacity_rps"] <= load["saturation_rps"]


def test_a_price_of_the_users_own_has_no_spread():
    document = changed("hardware", {"gpus": ["H100-SXM5-80GB"], "tensor_parallel": [4],
                                    "price_overrides": {"H100-SXM5-80GB": {"usd_per_gpu_hour": 2.5}}})  # fmt: skip
    report = plan(parse_scenario(document))
    row = report["candidates"][0]
    replica_usd = 4 * 2.5 * 730
    assert row["usd_per_gpu_hour"] == 2.5
    assert row["usd_per_month"]["mid"] == pytest.approx(row["replicas"] * replica_usd)
    assert row["usd_per_month"]["low"] % replica_usd == pytest.approx(0, abs=0.01)


def test_without_an_api_there_is_no_saving(small):
    report = plan(parse_scenario(changed("api", {}, SMALL)))
    assert report["verdict"]["choice"] == "self_host_only"
    assert report["verdict"]["saving_usd_per_month"] is None
    assert report["sensitivity"] == []
    assert report["cost"] == small["cost"]


def test_replicas_do_not_mend_what_one_idle_replica_misses():
    """A single request takes longer than the target: no fleet, at any load, and no advice to add replicas."""
    report = plan(parse_scenario(changed("slo", {"ttft_p95_ms": 10}, SMALL)))
    reason = report["candidates"][0]["reason"]
    assert report["recommended"] is None
    assert report["verdict"]["choice"] == "none"
    assert reason["code"] == "ttft_of_single_request"
    assert report["candidates"][0]["serving_replicas"] is None
    for remedy in ("tensor parallel", "faster GPU", "shorter prompts", "target above"):
        assert remedy in reason["nearest_change"]


def test_no_fleet_still_shows_the_api_bill():
    report = plan(parse_scenario(changed("slo", {"tpot_p95_ms": 2}, SMALL)))
    assert report["verdict"]["against"]["provider"] == "groq"
    assert report["api"][0]["usd_per_month"] > 0
    assert report["cost"] is None


def test_bandwidth_floor_of_tpot():
    """70.55 B parameters in 16 bit over 2 × 3.35 TB/s: no less than 21.06 ms per token, so 15 ms is out of reach."""
    document = changed("model", {"id": "meta-llama/Llama-3.3-70B-Instruct"})
    document["hardware"] = {"gpus": ["H100-SXM5-80GB"], "tensor_parallel": [2]}
    document["traffic"].pop("prefix")
    document["slo"] = {"tpot_p95_ms": 15}
    document["engine"] = {"max_model_len": 4096, "gpu_memory_utilization": 0.97, "max_num_seqs": 64}
    reason = plan(parse_scenario(document))["candidates"][0]["reason"]
    assert reason["code"] == "tpot_below_bandwidth_floor"
    floor_ms = float(reason["detail"].split(" in ")[1].split(" ms")[0])
    assert floor_ms == pytest.approx(21.06, rel=0.03)
    assert "Tensor parallel 4" in reason["nearest_change"]


def test_a_tensor_parallel_size_beyond_the_node_is_out():
    report = plan(parse_scenario(changed("hardware", {"gpus": ["H200-SXM-141GB"], "tensor_parallel": [16]})))
    assert report["candidates"][0]["reason"]["code"] == "tp_beyond_node"


def test_a_shared_prefix_is_hit_and_helps(small):
    without = plan(parse_scenario(changed("traffic.prefix", {"kind": "none"}, SMALL)))
    assert without["load"]["cache_hit_ratio"] == 0
    assert small["load"]["cache_hit_ratio"] == pytest.approx(288 / 1155, abs=0.02)  # 18 whole blocks of 16
    assert small["load"]["saturation_rps"] > without["load"]["saturation_rps"]
    at_half = [report["curves"][2]["ttft_p50_ms"] for report in (small, without)]
    assert at_half[0] < at_half[1]


def test_a_trace_in_the_scenario_is_a_finite_run_and_says_so():
    rows = [[0.4 * i, 400 + 13 * (i % 30), 0 if i % 50 == 49 else 80 + i % 60] for i in range(500)]
    document = changed("traffic", {"trace": {"rows": rows}, "shape": {"kind": "diurnal", "peak_to_mean": 2}}, SMALL)
    report = plan(parse_scenario(document))
    assert report["slo"][0]["samples"] == 490
    assert report["load"]["error_ratio"] == pytest.approx(0.02)
    assert report["load"]["offered_rps"] == pytest.approx(2.5, rel=0.02)
    assert any("finite run" in note for note in report["provenance"]["notes"])


def test_provenance_dates_every_price(sample):
    provenance = sample["provenance"]
    assert provenance["priced_at"] == "2026-11-30"
    listed = [row for row in provenance["sources"] if " at " in row["what"]]
    assert len(listed) > 20
    assert all(row["source"] and row["as_of"] for row in listed)
    trace = next(row for row in provenance["sources"] if "Azure LLM" in row["what"])
    assert trace["licence"] == "CC-BY-4.0"


def test_a_custom_accelerator_and_a_model_of_stated_size():
    chip = {"id": "mychip", "memory_gib": 96, "memory_bandwidth_gb_per_s": 4000, "bf16_dense_tflops": 800,
            "interconnect_gb_per_s": 100, "usd_per_gpu_hour": 2}  # fmt: skip
    document = changed("hardware", {"gpus": [chip], "tensor_parallel": [1]})
    document["model"] = {"params_total_b": 8}
    document["api"] = {}
    report = plan(parse_scenario(document))
    assert report["recommended"]["gpu"] == "mychip"
    assert any("usual architecture" in note for note in report["provenance"]["notes"])


def test_support_chat_is_planned_as_documented():
    assert SUPPORT_CHAT["name"] == "Support chat"
    report = plan(parse_scenario(changed("hardware.tensor_parallel", [2])))
    assert report["load"]["offered_rps"] == pytest.approx(6 * 2.4)
    assert [row["metric"] for row in report["slo"]] == ["ttft", "tpot", "goodput"]
