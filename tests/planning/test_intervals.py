"""Ends of the intervals: what slow steps do to a candidate, in numbers and in words."""

from dataclasses import replace

import pytest

from costmodel import Parallelism
from planner.planning import parse_scenario, plan
from planner.planning.report.rows import slo_rows
from planner.planning.search.candidates import evaluate, make_job
from planner.planning.search.intervals import sized, sized_by_simulation
from planner.planning.uncertainty.sentence import slo_sentence
from tests.planning.scenarios import changed, setup_of


def sized_candidate(slo, *, rps=1.0):
    """Llama-3.1-8B on one L4, whose decode step takes some 57 ms: a target a little above leaves slow steps no way."""
    document = changed("model", {"id": "meta-llama/Llama-3.1-8B-Instruct"})
    document["hardware"] = {"gpus": ["L4"], "tensor_parallel": [1]}
    document["traffic"]["prefix"] = {"kind": "none"}
    document["traffic"]["shape"] = {"kind": "constant"}
    document["traffic"]["arrival"]["mean_rps"] = rps
    document["slo"] = slo
    scenario = parse_scenario(document)
    job = make_job(scenario, lambda: None)
    return job, evaluate(job, setup_of(job, Parallelism(tp=1)))


@pytest.fixture(scope="module")
def tight():
    return sized_candidate({"tpot_p95_ms": 68})


def test_a_target_that_slow_steps_never_meet_is_said_to_need_more_than_replicas(tight):
    job, candidate = tight
    assert candidate.feasible
    size = sized_by_simulation(job, candidate)
    assert size.low_rps == 0
    sentence = slo_sentence(size)
    assert "no number of serving replicas would mend it" in sentence
    assert " 0 more" not in sentence


def test_the_quick_interval_of_a_candidate_sees_the_same_cliff(tight):
    job, candidate = tight
    assert sized(job, candidate).low_rps == 0


def test_a_fleet_that_fails_with_slow_steps_needs_more_replicas_and_one_that_holds_none():
    for rps in (0.5, 2.0, 3.0):
        job, candidate = sized_candidate({"ttft_p95_ms": 3000, "tpot_p95_ms": 120}, rps=rps)
        size = sized_by_simulation(job, candidate)
        assert size.low_rps <= size.capacity_rps <= size.high_rps
        assert (size.serving_high > size.serving) == (not size.slow_run.ok)


def test_no_percentile_is_shown_of_a_queue_that_grows():
    job, candidate = sized_candidate({"ttft_p95_ms": 3000, "tpot_p95_ms": 120}, rps=2.0)
    size = sized_by_simulation(job, candidate)
    growing = replace(size, slow_run=replace(size.slow_run, stable=False))
    for row in slo_rows(growing):
        assert row["high"] == float("inf")  # null in the report: without bound
        assert row["low"] <= row["predicted"]


def test_shorter_outputs_never_cost_replicas_and_longer_ones_never_save_any():
    """16,000-token prompts: the rate hangs on prefill, and only noise would move it with the output length."""
    document = changed("traffic.prompt_tokens", {"kind": "lognormal", "mean": 16_000, "p95": 24_000})
    document["hardware"] = {"gpus": ["H200-SXM-141GB"], "tensor_parallel": [1]}
    document["traffic"]["arrival"]["mean_rps"] = 0.5
    document["traffic"]["shape"] = {"kind": "constant"}
    document["traffic"]["prefix"] = {"kind": "none"}
    document["engine"]["max_model_len"] = 65_536
    document["slo"] = {"ttft_p95_ms": 6_000, "tpot_p95_ms": 60}
    report = plan(parse_scenario(document))
    row = next(row for row in report["sensitivity"] if row["label"] == "Output length")
    fleet = report["cost"]["usd_per_month"]["mid"]
    api = report["api"][0]["usd_per_month"]
    shorter_fleet = api - row["saving_low_usd_per_month"]  # above the true one by what the API bill falls
    assert shorter_fleet <= fleet + 0.05 * api
    assert row["saving_high_usd_per_month"] <= api * 1.05 - fleet
