"""Frontier, curves and knobs: what no other fleet beats, what rising load and settings do."""

import pytest

from planner.planning import parse_scenario, plan
from planner.planning.report.frontier import _beats
from tests.planning.scenarios import changed


@pytest.fixture(scope="module")
def report():
    scenario = changed("model", {"id": "meta-llama/Llama-3.1-8B-Instruct"})
    scenario["hardware"] = {"gpus": ["L40S", "H100-SXM5-80GB"], "tensor_parallel": [1, 2]}
    scenario["slo"] = {"ttft_p95_ms": 1000, "tpot_p95_ms": 60}
    return plan(parse_scenario(scenario))


def test_one_beats_another_only_when_it_is_worse_in_nothing():
    base = {"usd_per_month": 10, "ttft_p95_ms": 100.0, "tpot_p95_ms": 20.0}
    assert _beats(base | {"ttft_p95_ms": 90.0}, base)
    assert not _beats(base, base)
    assert not _beats(base | {"usd_per_month": 9, "tpot_p95_ms": 21.0}, base)


def test_the_cheapest_fleet_leads_and_is_on_the_frontier(report):
    rows = report["frontier"]
    feasible = [row for row in report["candidates"] if row["feasible"]]
    assert {row["candidate"] for row in rows} == {row["id"] for row in feasible}
    assert rows[0]["candidate"] == report["recommended"]["candidate"]
    assert rows[0]["usd_per_month"] == report["cost"]["usd_per_month"]["mid"]
    assert rows[0]["on_frontier"]
    for row in rows:
        beaten = any(_beats(other, row) for other in rows)
        assert row["on_frontier"] == (not beaten)


def test_latencies_of_the_frontier_are_those_of_the_targets(report):
    best = report["frontier"][0]
    predicted = {row["metric"]: row["predicted"] for row in report["slo"]}
    assert best["ttft_p95_ms"] == pytest.approx(predicted["ttft"], rel=1e-5)
    assert best["tpot_p95_ms"] == pytest.approx(predicted["tpot"], rel=1e-5)


def test_curves_rise_and_have_at_most_one_knee(report):
    for row in report["frontier"]:
        rates = [point["rps"] for point in row["curve"]]
        assert rates == sorted(rates)
        tails = [point["tpot_p95_ms"] for point in row["curve"] if point["stable"]]
        assert tails == sorted(tails)
        assert sum(point["knee"] for point in row["curve"]) <= 1
        stable = [point["stable"] for point in row["curve"]]
        assert stable == sorted(stable, reverse=True)


def test_knobs_hold_the_plans_own_settings_as_one(report):
    chosen = [row for row in report["knobs"] if row["chosen"]]
    assert [row["capacity_ratio"] for row in chosen] == [1.0]
    engine = report["recommended"]["engine"]
    assert chosen[0]["max_num_batched_tokens"] == engine["max_num_batched_tokens"]
    assert all(row["max_num_batched_tokens"] >= row["max_num_seqs"] for row in report["knobs"])
