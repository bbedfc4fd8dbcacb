"""The chosen fleet simulated whole, the stopping rule, and Little's law as the report shows it."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from costmodel import Parallelism
from planner.planning import parse_scenario, plan
from planner.planning.report.confirmation import confirmation_section
from planner.planning.search.candidates import evaluate, make_job
from planner.planning.search.capacity import find_capacity, run_at
from planner.planning.search.concurrency import poisson_quantile
from planner.planning.search.confirmation import confirmed_hour
from planner.planning.search.fleet import SAMPLED_MOST, settled_run
from planner.planning.search.intervals import sized
from planner.planning.traffic.load import day_stream
from tests.planning.scenarios import changed, setup_of


def document(rps=4.0, peak_to_mean=2.0, **slo):
    scenario = changed("model", {"id": "meta-llama/Llama-3.1-8B-Instruct"})
    scenario["hardware"] = {"gpus": ["L40S"], "tensor_parallel": [1]}
    scenario["traffic"]["arrival"]["mean_rps"] = rps
    scenario["traffic"]["shape"]["peak_to_mean"] = peak_to_mean
    scenario["traffic"]["prefix"] = {"kind": "none"}
    scenario["slo"] = slo or {"ttft_p95_ms": 1000, "tpot_p95_ms": 60}
    return scenario


@pytest.fixture(scope="module")
def chat():
    job = make_job(parse_scenario(document()), lambda: None)
    return job, evaluate(job, setup_of(job, Parallelism(tp=1)))


@pytest.fixture(scope="module")
def report():
    return plan(parse_scenario(document()))


def test_the_report_tells_the_peak_hour_the_day_and_another_router(report):
    told = report["confirmation"]
    assert told["peak_hour"]["met"]
    assert told["peak_hour"]["requests"] == int(report["load"]["offered_rps"] * 3600)
    assert [row["router"] for row in told["routers"]] == ["round_robin", "least_requests"]
    day = told["day"]
    rates = [hour["rps"] for hour in day["hours"]]
    assert max(rates) == pytest.approx(report["load"]["offered_rps"])
    asked = sum(rates) * 3600 * day["hour_ratio"] * day["simulated_replicas"] / day["serving_replicas"]
    assert day["requests"] == pytest.approx(asked, rel=0.02)
    assert sum(hour["requests"] for hour in day["hours"]) == day["requests"]
    assert "Simulated whole" in told["sentence"]


def test_a_fleet_of_one_is_what_its_replica_does(chat):
    """The whole fleet of one replica agrees with the lane that sizes it, within what other draws make of it."""
    job, candidate = chat
    rate = 0.6 * candidate.capacity.rps
    alone = run_at(candidate.replica, job.load, job.targets, rate, 8_000)
    whole = confirmed_hour(candidate.replica, job.load.scaled(rate / job.load.peak_rps), job.targets, 1, "round_robin")
    for ours, theirs in zip(alone.judged, whole.run.judged, strict=True):
        assert ours.predicted == pytest.approx(theirs.predicted, rel=0.1)


def test_a_large_fleet_is_judged_by_some_of_its_replicas_with_their_share(chat):
    job, candidate = chat
    serving = 400
    load = job.load.scaled(serving * 0.6 * candidate.capacity.rps / job.load.peak_rps)
    whole = confirmed_hour(candidate.replica, load, job.targets, serving, "round_robin")
    assert whole.replicas < serving
    each = whole.run.rate_rps / whole.replicas
    assert each == pytest.approx(load.peak_rps / serving)
    assert whole.run.ok
    size = replace(sized(job, candidate), serving=serving)
    told = confirmation_section(replace(job, load=load), size, whole)
    assert told["day"]["requests"] < 130_000
    assert "whole" not in told["sentence"]
    assert "with their share of the load" in told["sentence"]


def test_a_fleet_that_fails_as_a_whole_gets_a_replica_more(report, monkeypatch):
    module = sys.modules["planner.planning.plan"]
    asked = []

    def doubtful(replica, load, targets, serving, router):
        asked.append(serving)
        hour = confirmed_hour(replica, load, targets, serving, router)
        return replace(hour, run=replace(hour.run, stable=False)) if len(asked) == 1 else hour

    monkeypatch.setattr(module, "confirmed_hour", doubtful)
    grown = plan(parse_scenario(document()))
    assert asked == [report["recommended"]["serving_replicas"], report["recommended"]["serving_replicas"] + 1]
    assert grown["recommended"]["serving_replicas"] == asked[1]
    assert grown["recommended"]["gpus"] == report["recommended"]["gpus"] + 1
    assert f"With {asked[0]} of {asked[1]} serving replicas" in grown["candidates"][0]["binding"]


def test_runs_go_on_while_a_target_lies_within_their_noise(chat):
    job, candidate = chat
    replica = candidate.replica
    capacity = find_capacity(replica, job.load, job.targets)
    count = 6_000
    clear = settled_run(replica, job.load, job.targets, 1, count, 0.5 * capacity.rps)
    assert (clear.settled, len(clear.logs)) == (True, 1)
    close = settled_run(replica, job.load, job.targets, 1, count, capacity.rps)
    assert len(close.logs) > 1
    assert close.settled or len(close.logs) == SAMPLED_MOST


def test_a_day_of_a_drawn_load_follows_its_hours(chat):
    job, _ = chat
    rates = np.array([0.0, 2.0, 6.0, 1.0])
    stream = day_stream(job.load, rates, 3600.0, 1)
    counts = np.histogram(stream.arrival_ps / 3.6e15, bins=range(5))[0]
    assert counts == pytest.approx(rates * 3600, abs=4 * 6 * 60)
    assert counts[0] == 0


def test_seats_follow_from_the_rate_by_littles_law(report):
    chain, load = report["load"]["seats"], report["load"]
    assert chain["arrival_rps"] == pytest.approx(load["per_replica_rps"], rel=1e-4)
    assert chain["concurrency_mean"] == pytest.approx(chain["arrival_rps"] * chain["e2e_s"], rel=1e-4)
    assert chain["concurrency_p95"] == poisson_quantile(chain["concurrency_mean"], 0.95)
    assert chain["kv_tokens_mean"] == pytest.approx(chain["concurrency_mean"] * chain["context_tokens_mean"], rel=1e-4)
    simulated = load["littles_law"]["measured"] / report["recommended"]["serving_replicas"]
    assert chain["concurrency_mean"] == pytest.approx(simulated, rel=0.25)  # a closed form beside a simulation
