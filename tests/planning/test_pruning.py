"""Of many candidates those are simulated that may be the cheapest: what is found is what simulating all finds."""

import sys

import pytest

from planner.planning import parse_scenario, plan
from tests.planning.scenarios import changed

CHAT = {"ttft_p95_ms": 1000, "tpot_p95_ms": 60}
GPUS = ["L4", "L40S", "A100-SXM4-80GB", "H100-SXM5-80GB"]


def scenario(rps, prompt, output, slo, **more):
    document = changed("model", {"id": "meta-llama/Llama-3.1-8B-Instruct", **more})
    document["hardware"] = {"gpus": GPUS, "tensor_parallel": [1, 2]}
    document["traffic"] = {
        "arrival": {"kind": "poisson", "mean_rps": rps},
        "prompt_tokens": {"kind": "lognormal", "mean": prompt, "p95": 2.5 * prompt},
        "output_tokens": {"kind": "lognormal", "mean": output, "p95": 2.5 * output},
    }
    document["slo"] = slo
    return parse_scenario(document)


SMALL_SPACES = {
    "chat": scenario(3, 800, 200, CHAT),
    "long prompts": scenario(1, 6000, 150, {"ttft_p95_ms": 4000, "tpot_p95_ms": 100}),
}


@pytest.mark.parametrize("name", SMALL_SPACES)
def test_the_cheapest_fleet_of_a_small_space_is_found_without_simulating_all(name, monkeypatch):
    """The issue asks for 2 %; pruning by a bound gives the very fleet."""
    module = sys.modules["planner.planning.plan"]
    monkeypatch.setattr(module, "SIMULATED_WHOLE", 1_000)
    every = plan(SMALL_SPACES[name])
    monkeypatch.setattr(module, "SIMULATED_WHOLE", 0)
    monkeypatch.setattr("planner.planning.search.pruning.SIMULATED_LEAST", 2)
    pruned = plan(SMALL_SPACES[name])
    simulated = [row for row in pruned["candidates"] if row["simulated"] and row["capacity_rps"]]
    assert all(row["simulated"] for row in every["candidates"])
    assert len(simulated) < sum(1 for row in every["candidates"] if row["feasible"])
    assert pruned["recommended"] == every["recommended"]
    assert pruned["cost"] == every["cost"]
    assert [row["id"] for row in pruned["candidates"]] == [row["id"] for row in every["candidates"]]
    left = [row for row in pruned["candidates"] if not row["simulated"] and row["feasible"]]
    assert left
    assert all(row["usd_per_month"]["mid"] > pruned["cost"]["usd_per_month"]["mid"] for row in left)


def test_what_the_probability_makes_dearer_is_compared_with_what_was_left_out(monkeypatch):
    """One A100 more is needed for the probability than for the targets; the H100, left out at the price before, is then
    the cheapest."""
    document = changed("billing.spare_replicas", 0)
    document["model"] = {"id": "meta-llama/Llama-3.1-8B-Instruct"}
    document["hardware"] = {
        "gpus": ["A100-SXM4-80GB", "H100-SXM5-80GB", "H200-SXM-141GB"],
        "tensor_parallel": [1],
    }
    document["traffic"] = {
        "arrival": {"kind": "poisson", "mean_rps": 8},
        "prompt_tokens": {"kind": "lognormal", "mean": 800, "p95": 2000},
        "output_tokens": {"kind": "lognormal", "mean": 200, "p95": 500},
    }
    document["slo"] = {"ttft_p95_ms": 1000, "tpot_p95_ms": 25, "confidence_ratio": 0.9}
    asked, module = parse_scenario(document), sys.modules["planner.planning.plan"]
    every = plan(asked)
    monkeypatch.setattr(module, "SIMULATED_WHOLE", 0)
    monkeypatch.setattr("planner.planning.search.pruning.SIMULATED_LEAST", 1)
    pruned = plan(asked)
    assert every["recommended"]["gpu"] == "H100-SXM5-80GB"
    assert (pruned["recommended"], pruned["cost"]) == (every["recommended"], every["cost"])
    assert [row["id"] for row in pruned["candidates"]] == [row["id"] for row in every["candidates"]]
    assert not all(row["simulated"] for row in pruned["candidates"] if row["feasible"])
    rows = {row["gpu"]: row for row in pruned["candidates"]}
    assert "probability below 90%" in rows["A100-SXM4-80GB"]["binding"]


def test_owned_accelerators_are_simulated_however_dear(monkeypatch):
    monkeypatch.setattr(sys.modules["planner.planning.plan"], "SIMULATED_WHOLE", 0)
    monkeypatch.setattr("planner.planning.search.pruning.SIMULATED_LEAST", 1)
    asked = SMALL_SPACES["chat"]
    owner = asked.model_copy(
        update={"hardware": asked.hardware.model_copy(update={"owned_gpus": {"H100-SXM5-80GB": 4}})}
    )
    (row,) = plan(owner)["owned"]
    assert row["capacity_rps"] > 0


def test_where_nothing_meets_the_targets_every_reason_is_told(monkeypatch):
    monkeypatch.setattr(sys.modules["planner.planning.plan"], "SIMULATED_WHOLE", 0)
    report = plan(scenario(4, 800, 200, {"tpot_p95_ms": 1}))
    assert report["recommended"] is None
    assert all(row["reason"] for row in report["candidates"])
