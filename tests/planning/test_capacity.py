"""Capacity, fleets and targets on a server so simple that a pencil knows the answer."""

import numpy as np
import pytest

from planner.planning import parse_scenario
from planner.planning.money.bills import slo_capacity_rps
from planner.planning.search.capacity import Capacity, find_capacity, run_at
from planner.planning.search.fleet import find_fleet
from planner.planning.search.replica import Replica, estimate
from planner.planning.search.targets import slo_targets
from planner.planning.traffic.load import scenario_load
from simulator import EngineConfig, StepTime
from tests.planning.scenarios import changed

MS = 10**9


def server(step_ms=20, seats=8):
    """Every step lasts the same; `seats` sequences at once."""
    config = EngineConfig(max_num_seqs=seats, max_num_batched_tokens=4096, num_blocks=100_000, max_model_len=16384)
    tokens = np.full(4097, step_ms * MS, np.int64)
    zeros = np.zeros(seats + 1, np.int64)
    return Replica(config, StepTime(tokens, zeros, zeros), lambda: None)


def job(slo, **arrival):
    """Prompts of 100 and outputs of 50 tokens: a request takes 50 steps, the first of them its prompt's."""
    document = changed("traffic.prompt_tokens", {"kind": "fixed", "tokens": 100})
    document["traffic"]["output_tokens"] = {"kind": "fixed", "tokens": 50}
    document["traffic"]["prefix"] = {"kind": "none"}
    document["traffic"]["shape"] = {"kind": "constant"}
    document["traffic"]["arrival"] = {"kind": "poisson", "mean_rps": 20, **arrival}
    document["slo"] = slo
    scenario = parse_scenario(document)
    return scenario_load(scenario, 16384), slo_targets(scenario.slo)


def test_capacity_without_a_tight_target_is_seats_over_service_time():
    """8 seats, 50 steps of 20 ms: 8 requests a second, whatever TPOT is asked for above 20 ms."""
    load, targets = job({"tpot_p95_ms": 30})
    capacity = find_capacity(server(), load, targets)
    assert capacity.estimate.saturation_rps == pytest.approx(8, rel=0.02)
    assert capacity.rps == pytest.approx(8, rel=0.05)


def test_a_ttft_target_costs_capacity_and_bursts_cost_more():
    load, targets = job({"ttft_p95_ms": 200})
    smooth = find_capacity(server(), load, targets)
    bursty = find_capacity(server(), *job({"ttft_p95_ms": 200}, kind="gamma", cv=3))
    assert bursty.rps < smooth.rps < 8
    assert smooth.passing.ok
    assert not smooth.failing.ok
    assert smooth.failing.rate_rps / smooth.passing.rate_rps <= 1.0201


def test_load_beyond_capacity_is_unstable_and_the_queue_grows_by_the_excess():
    """Capacity 0.7, arrivals 1.0: ρ = 1.43, the queue grows by 0.3 requests/s, two replicas carry it."""
    replica = server(step_ms=20 * 8 / 0.7)
    load, targets = job({"ttft_p95_ms": 60_000}, mean_rps=1.0)
    run = run_at(replica, load, targets, 1.0, 4_000)
    assert not run.stable
    assert run.growth_rps == pytest.approx(0.3, abs=0.02)
    assert "queue grows" in run.failure()
    fleet = find_fleet(replica, load, targets, find_capacity(replica, load, targets))
    assert fleet.serving == 2


def test_the_fleet_is_the_smallest_that_passes():
    load, targets = job({"ttft_p95_ms": 200})
    replica = server()
    fleet = find_fleet(replica, load, targets, find_capacity(replica, load, targets))
    assert fleet.run.ok
    assert fleet.one_less is not None
    assert not fleet.one_less.ok
    assert fleet.serving == pytest.approx(20 / 8, abs=1.5)


def test_a_wrong_capacity_does_not_mislead_the_fleet():
    load, targets = job({"ttft_p95_ms": 200})
    replica = server()
    right = find_fleet(replica, load, targets, find_capacity(replica, load, targets)).serving
    start = estimate(replica, load.mix, None)
    for wrong in (0.4, 30.0):
        assert find_fleet(replica, load, targets, Capacity(wrong, None, None, start)).serving == right


@pytest.mark.parametrize(("capacity", "serving"), [(2.0, 3), (1.5, 3), (3.5, 3), (9.0, 1)])
def test_counted_capacity_agrees_with_the_fleet(capacity, serving):
    counted = slo_capacity_rps(capacity, 5.0, serving)
    assert -(-5.0 // counted) == serving


def test_goodput_takes_the_percentile_targets_as_thresholds():
    _, targets = job({"ttft_p50_ms": 100, "ttft_p95_ms": 300, "tpot_p95_ms": 40, "goodput_min_ratio": 0.9})
    assert targets.goodput_limits_ms == {"ttft": 300, "tpot": 40}
    _, own = job({"goodput": {"ttft_ms": 250, "min_ratio": 0.9}})
    assert own.goodput_limits_ms == {"ttft": 250}


def test_bursts_that_one_replica_never_carries_are_dealt_over_a_fleet():
    """With gaps of cv 10 a burst comes as one, however low the rate; round robin deals it over the replicas."""
    load, targets = job({"ttft_p95_ms": 45}, kind="gamma", cv=10)
    replica = server(seats=1)
    capacity = find_capacity(replica, load, targets)
    assert capacity.rps == 0
    fleet = find_fleet(replica, load, targets, capacity)
    assert fleet.run.ok
    assert not fleet.one_less.ok
