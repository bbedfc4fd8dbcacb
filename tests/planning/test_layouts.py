"""Layouts beyond tensor parallel, what the user owns, and what the user is not allowed."""

import pytest

from costmodel import Parallelism, gpu_price, load_catalog, make_deployment
from planner.planning import estimate_scenario, parse_scenario, plan
from planner.planning.report.launch_commands import engine_commands
from planner.planning.search.candidates import evaluate, make_job
from tests.planning.scenarios import changed, errors_of, layouts_of, setup_of


def document(model, gpus, **hardware):
    scenario = changed("model", {"id": model})
    scenario["hardware"] = {"gpus": gpus, **hardware}
    scenario["traffic"]["prefix"] = {"kind": "none"}
    scenario["slo"] = {"ttft_p95_ms": 3000, "tpot_p95_ms": 100}
    return scenario


def job_of(scenario_document):
    return make_job(parse_scenario(scenario_document), lambda: None)


def test_a_model_beyond_one_node_is_tried_on_the_fewest_nodes_that_hold_it():
    """DeepSeek-R1: 629 GiB of weights; eight H100 have 633 GiB of memory in all, sixteen hold it."""
    layouts = layouts_of(job_of(document("deepseek-ai/DeepSeek-R1", ["H100-SXM5-80GB"])))
    assert layouts[-2:] == (Parallelism(tp=8, pp=2), Parallelism(tp=1, dp=16, ep=16))
    assert {layout.gpus for layout in layouts[:-2]} == {1, 2, 4, 8}


def test_experts_are_tried_whole_on_a_node_and_dense_models_are_not():
    assert layouts_of(job_of(document("deepseek-ai/DeepSeek-R1", ["H200-SXM-141GB"])))[-1] == Parallelism(dp=8, ep=8)
    dense = layouts_of(job_of(document("meta-llama/Llama-3.1-8B-Instruct", ["H200-SXM-141GB"])))
    assert dense == tuple(Parallelism(tp=tp) for tp in (1, 2, 4, 8))


def test_sizes_asked_for_are_the_only_ones_tried():
    job = job_of(document("deepseek-ai/DeepSeek-R1", ["H100-SXM5-80GB"], tensor_parallel=[8],
                               pipeline_parallel=[2, 3]))  # fmt: skip
    assert layouts_of(job) == (Parallelism(tp=8, pp=2), Parallelism(tp=8, pp=3))


def test_a_pipeline_has_a_lane_for_each_stage_with_its_share_of_the_pool():
    job = job_of(document("meta-llama/Llama-3.1-8B-Instruct", ["L40S"], pipeline_parallel=[2]))
    candidate = evaluate(job, setup_of(job, Parallelism(pp=2)))
    replica = candidate.replica
    assert replica.lanes == 2
    assert replica.config.num_blocks == candidate.memory.kv_blocks * candidate.deployment.block_size // 16 // 2
    assert candidate.gpus_per_replica == 2
    assert candidate.id == "L40S/tp1-pp2"
    alone = evaluate(job, setup_of(job, Parallelism()))
    assert alone.capacity.rps < candidate.capacity.rps < 2.6 * alone.capacity.rps


def test_expert_ranks_are_in_the_commands_and_the_row():
    scenario = document("openai/gpt-oss-20b", ["L40S"])
    scenario["hardware"]["price_overrides"] = {"L40S": {"usd_per_gpu_hour": 1.0}}
    report = plan(parse_scenario(scenario))
    row = next(row for row in report["candidates"] if row["ep"] > 1)
    assert row["id"] == f"L40S/tp1-dp{row['dp']}-ep{row['ep']}"
    assert row["gpus"] == row["replicas"] * row["dp"]


def test_commands_of_each_layout():
    scenario = parse_scenario(document("deepseek-ai/DeepSeek-R1", ["H200-SXM-141GB"]))
    catalog = load_catalog()
    model, gpu = catalog.model("deepseek-ai/DeepSeek-R1"), catalog.accelerator("H200-SXM-141GB")
    wide = engine_commands(scenario, make_deployment(model, gpu, None, Parallelism(dp=8, ep=8)))
    assert "--data-parallel-size 8 --enable-expert-parallel" in wide["vllm"]
    assert "--tp-size 8 --dp-size 8 --enable-dp-attention --ep-size 8" in wide["sglang"]
    deep = engine_commands(scenario, make_deployment(model, gpu, None, Parallelism(tp=8, pp=2)))
    assert "--tensor-parallel-size 8 --pipeline-parallel-size 2" in deep["vllm"]
    assert "--pp-size 2" in deep["sglang"]


SMALL = document("meta-llama/Llama-3.1-8B-Instruct", ["L40S"], tensor_parallel=[1])


@pytest.fixture(scope="module")
def small():
    return plan(parse_scenario(SMALL))


def test_a_quota_rules_fleets_out_and_names_the_load_that_fits(small):
    gpus = small["recommended"]["gpus"]
    report = plan(parse_scenario(changed("hardware.max_gpus", gpus - 1, SMALL)))
    reason = report["candidates"][0]["reason"]
    assert report["recommended"] is None
    assert reason["code"] == "beyond_quota"
    assert f"{gpus} GPUs" in reason["detail"]
    allowed = plan(parse_scenario(changed("hardware.max_gpus", gpus, SMALL)))
    assert allowed["recommended"]["gpus"] == gpus


def test_a_budget_rules_fleets_out_to_the_cent(small):
    month = small["cost"]["usd_per_month"]["mid"]
    assert plan(parse_scenario(changed("billing.max_usd_per_month", month, SMALL)))["recommended"] is not None
    report = plan(parse_scenario(changed("billing.max_usd_per_month", month - 0.01, SMALL)))
    assert report["candidates"][0]["reason"]["code"] == "beyond_budget"


def test_owned_gpus_carry_whole_replicas_within_the_targets(small):
    report = plan(parse_scenario(changed("hardware.owned_gpus", {"L40S": 5}, SMALL)))
    row = report["owned"][0]
    one = small["load"]["capacity_rps"] / small["recommended"]["serving_replicas"]
    assert row["serving_replicas"] == 4
    assert row["capacity_rps"] == pytest.approx(4 * one, rel=1e-4)
    assert row["mean_rps"] == pytest.approx(4 * one / 2.4, rel=1e-4)
    assert row["carries"] == (4 * one >= 14.4)
    assert row["margin_ratio"] == pytest.approx(4 * one / 14.4 - 1, abs=1e-4)
    assert 0 < row["capacity_low_rps"] <= row["capacity_rps"] <= row["capacity_high_rps"]
    assert "(target " in row["binding"]
    assert report["recommended"] == small["recommended"]


def test_owned_gpus_that_hold_the_planned_fleet_carry_the_load(small):
    """Also where the fleet, simulated whole, takes a little more than its replicas do alone."""
    gpus = small["recommended"]["gpus"]
    rows = [
        plan(parse_scenario(changed("hardware.owned_gpus", {"L40S": n}, SMALL)))["owned"][0] for n in (gpus, gpus - 1)
    ]
    assert [row["carries"] for row in rows] == [True, False]


def test_fleets_beyond_quota_and_budget_are_not_said_to_miss_the_targets(small):
    gpus, month = small["recommended"]["gpus"], small["cost"]["usd_per_month"]["mid"]
    document = changed("billing.max_usd_per_month", month / 2, changed("hardware.max_gpus", gpus - 1, SMALL))
    for answer in (plan(parse_scenario(document)), estimate_scenario(parse_scenario(document))):
        assert answer["recommended"] is None
        assert answer["verdict"]["sentence"].startswith("No candidate that meets the targets keeps to the quota")
        reason = answer["candidates"][0]["reason"]
        assert "the quota is" in reason["detail"]
        assert "the budget is" in reason["detail"]
        assert " and a budget of $" in reason["nearest_change"]
    budget = estimate_scenario(parse_scenario(changed("billing.max_usd_per_month", month / 10, SMALL)))
    assert budget["verdict"]["sentence"].startswith("No candidate that meets the targets keeps to the budget.")


def test_owned_gpus_that_hold_nothing_say_so():
    report = plan(parse_scenario(changed("hardware.owned_gpus", {"L40S": 1}, SMALL)))
    assert report["owned"][0]["candidate"] is None
    assert report["owned"][0]["capacity_rps"] == 0


def test_owned_gpus_must_be_known_and_tried():
    faults = errors_of(changed("hardware.owned_gpus", {"L4": 8, "Quantum-9": 1}, SMALL))
    assert {fault.code for fault in faults} == {"owned_not_tried", "unknown_id"}


def test_providers_narrow_the_listings_or_say_there_is_none():
    faults = errors_of(changed("hardware.providers", ["nobody"], SMALL))
    assert [fault.code for fault in faults] == ["price_unknown"]
    priced_at = parse_scenario(SMALL).priced_at
    renter = gpu_price("L40S", priced_at).listings[-1].provider
    only = gpu_price("L40S", priced_at, providers=[renter])
    report = plan(parse_scenario(changed("hardware.providers", [renter], SMALL)))
    assert report["candidates"][0]["usd_per_gpu_hour"] == pytest.approx(float(only.usd_per_gpu_hour))
    assert {listing.provider for listing in only.listings} == {renter}


def test_a_model_that_sees_images_is_started_for_the_text_that_was_planned():
    catalog = load_catalog()
    gpu = catalog.accelerator("H100-SXM5-80GB")
    scenario = parse_scenario(document("meta-llama/Llama-3.1-8B-Instruct", [gpu.id]))

    def command(model, tp):
        return engine_commands(scenario, make_deployment(catalog.model(model), gpu, parallelism=Parallelism(tp=tp)))

    assert '--limit-mm-per-prompt \'{"image": 0, "video": 0}\'' in command("Llama-4-Scout", 4)["vllm"]
    assert "--limit-mm" not in command("Llama-3.1-8B", 1)["vllm"]
