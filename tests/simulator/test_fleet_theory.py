"""Fleets against theory: Poisson splitting, pooling gains of routers, and what caches change about them."""

import numpy as np
import pytest

from simulator import EventLog, Fleet, Pool, Workload, fixed_tokens, poisson_arrivals_ps, simulate_fleet, summarise
from simulator.fleet import Router
from simulator.steptime import PS_PER_S
from tests.simulator.fleets import pool_of
from tests.simulator.logs import MS, even_replica

COUNT = 20_000
SERVICE_MS = 10.0


def served(replicas: int, router: Router, rate_rps: float, seed: int = 1) -> EventLog:
    """Requests of one step of 10 ms each on replicas of one seat: deterministic service, Poisson arrivals."""
    config, times = even_replica(int(SERVICE_MS) * MS, max_num_batched_tokens=64)
    workload = Workload(
        poisson_arrivals_ps(rate_rps, COUNT, np.random.default_rng(seed)),
        fixed_tokens(1, COUNT), fixed_tokens(1, COUNT),
    )  # fmt: skip
    fleet = Fleet((Pool(config, times, replicas),), router)
    return simulate_fleet(fleet, workload, rng=np.random.default_rng(seed + 1))


def mean_wait_ms(log: EventLog) -> float:
    mean_ms = summarise(log, warmup_ratio=0.1).queue.mean_ms
    assert mean_ms is not None
    return mean_ms


def m_d_1_wait_ms(load: float) -> float:
    return SERVICE_MS * load / (2 * (1 - load))


def test_waiting_falls_with_replicas_under_random_routing_as_m_d_1() -> None:
    # 90 requests per second: a load of 0.9 on one, 0.45 on two, 0.3 on three replicas.
    for replicas in (1, 2, 3):
        simulated = mean_wait_ms(served(replicas, "random", 90.0))
        assert simulated == pytest.approx(m_d_1_wait_ms(0.9 / replicas), rel=0.15)


def test_a_poisson_stream_splits_into_poisson_streams() -> None:
    log = served(4, "random", 200.0)
    for replica in range(4):
        gaps_s = np.diff(log.arrival_ps[log.replica == replica]) / PS_PER_S
        assert gaps_s.mean() == pytest.approx(4 / 200.0, rel=0.06)  # 5,000 gaps: four standard deviations
        assert gaps_s.std() / gaps_s.mean() == pytest.approx(1.0, abs=0.06)
        # Two successive gaps are independent.
        assert abs(np.corrcoef(gaps_s[:-1], gaps_s[1:])[0, 1]) < 0.06


def test_round_robin_makes_arrivals_more_even_than_random() -> None:
    log = served(4, "round_robin", 200.0)
    gaps_s = np.diff(log.arrival_ps[log.replica == 0]) / PS_PER_S
    assert gaps_s.std() / gaps_s.mean() == pytest.approx(0.5, abs=0.04)  # the sum of four gaps: 1 / sqrt(4)


def test_looking_at_the_queues_pools_the_replicas() -> None:
    # Eight replicas at a load of 0.9. Random waits as M/D/1; two choices remove most of it, all eight nearly all.
    random, two, least = (
        mean_wait_ms(served(8, router, 720.0)) for router in ("random", "power_of_two", "least_requests")
    )
    assert random == pytest.approx(m_d_1_wait_ms(0.9), rel=0.2)
    assert two < 0.4 * random
    assert least < 0.6 * two


def test_replicas_behind_least_requests_wait_less_than_one_as_fast_under_the_same_load_each() -> None:
    one, eight = mean_wait_ms(served(1, "least_requests", 80.0)), mean_wait_ms(served(8, "least_requests", 640.0))
    assert eight < 0.3 * one


def cached_run(replicas: int, router: Router, rate_rps: float = 0.2) -> EventLog:
    """40 groups of prompts with 960 of 1,000 tokens in common, far apart in time: 1 ms a token, nobody waits."""
    count = 400
    rng = np.random.default_rng(3)
    pool = pool_of(
        replicas, base_ps=MS, token_ps=MS, enable_prefix_caching=True, max_num_batched_tokens=1024,
        max_model_len=2048, num_blocks=20_000,
    )  # fmt: skip
    workload = Workload(
        poisson_arrivals_ps(rate_rps, count, rng), fixed_tokens(1000, count), fixed_tokens(2, count),
        rng.integers(0, 40, count), np.full(count, 960),
    )  # fmt: skip
    return simulate_fleet(Fleet((pool,), router), workload, rng=rng)


def hits(log: EventLog) -> float:
    return summarise(log).cache_hit_ratio


def test_with_caches_more_replicas_can_be_slower() -> None:
    # At a low rate waiting is no matter: eight replicas have to fill eight caches with the same 40 beginnings.
    one, eight = cached_run(1, "round_robin"), cached_run(8, "round_robin")
    first_one, first_eight = summarise(one).ttft.mean_ms, summarise(eight).ttft.mean_ms
    assert first_one is not None
    assert first_eight is not None
    assert hits(one) == pytest.approx(0.96 * 0.9, abs=0.001)  # all but the 40 first ones
    assert hits(eight) < 0.5 * hits(one)
    assert first_eight > 3 * first_one


@pytest.mark.parametrize("router", ["prefix_affine", "kv_aware"])
def test_affinity_keeps_the_hits_of_one_cache(router: Router) -> None:
    assert hits(cached_run(8, router)) == pytest.approx(0.96 * 0.9, abs=0.02)


def test_affinity_to_prefixes_spreads_the_groups() -> None:
    log = cached_run(8, "prefix_affine", rate_rps=6.0)
    counts = np.bincount(log.replica, minlength=8)
    assert counts.min() > 0
    assert hits(log) > 1.3 * hits(cached_run(8, "least_requests", rate_rps=6.0))
