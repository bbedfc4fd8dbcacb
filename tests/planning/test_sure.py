"""Sizing to a probability that the targets are met."""

import pytest

from planner.planning import parse_scenario, plan
from tests.planning.scenarios import changed, errors_of


def document(ratio, **slo):
    scenario = changed("model", {"id": "meta-llama/Llama-3.1-8B-Instruct"})
    scenario["hardware"] = {"gpus": ["L40S"], "tensor_parallel": [1]}
    scenario["traffic"]["arrival"]["mean_rps"] = 4.0
    scenario["slo"] = slo or {"ttft_p95_ms": 1000, "tpot_p95_ms": 60}
    if ratio is not None:
        scenario["slo"]["confidence_ratio"] = ratio
    return plan(parse_scenario(scenario))


def test_replicas_are_added_until_the_targets_are_likely_enough():
    usual, sure = document(None), document(0.8)
    few, many = (report["recommended"]["serving_replicas"] for report in (usual, sure))
    assert many > few
    probabilities = {row["serving"]: row["slo_probability_ratio"] for row in sure["uncertainty"]["replicas"]}
    assert probabilities[many - 1] < 0.8 <= probabilities[many]
    assert "where 80% is asked for" in sure["verdict"]["detail"]
    assert sure["cost"]["usd_per_month"]["mid"] > usual["cost"]["usd_per_month"]["mid"]
    assert "probability below 80%" in sure["candidates"][0]["binding"]


def test_what_replicas_do_not_mend_is_out_with_its_cause():
    report = document(0.99, ttft_p95_ms=1000, tpot_p95_ms=28)
    (row,) = report["candidates"]
    assert (report["recommended"], row["reason"]["code"]) == (None, "confidence")


@pytest.mark.parametrize("ratio", [0.3, 1.0])
def test_probabilities_out_of_range_are_refused(ratio):
    scenario = changed("slo.confidence_ratio", ratio)
    (fault,) = errors_of(scenario)
    assert (fault.code, fault.pointer) == ("out_of_range", "/slo/confidence_ratio")
