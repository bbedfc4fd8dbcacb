"""Against queueing theory, where it is exact: one seat is a single server, M/D/1 or M/G/1."""

import numpy as np
import pytest

from simulator import (
    Workload,
    constant_arrivals_ps,
    fixed_tokens,
    poisson_arrivals_ps,
    simulate,
    summarise,
    uniform_tokens,
)
from simulator.steptime import PS_PER_S
from tests.simulator.logs import MS, even_replica

COUNT = 200_000


def mean_wait_ms(output: np.ndarray, load: float, seed: int) -> tuple[float, float, float]:
    """(simulated mean wait, half its 95 % interval, Pollaczek-Khinchine's) where a token takes 1 ms."""
    rate_rps = load / (output.mean() / 1000)
    arrivals = poisson_arrivals_ps(rate_rps, output.size, np.random.default_rng(seed))
    log = simulate(*even_replica(MS), Workload(arrivals, np.ones_like(output), output))
    summary = summarise(log, stationary=True)
    assert summary.stability is not None
    assert summary.stability.verdict == "steady"
    assert summary.busy_ratio == pytest.approx(load, rel=0.01)
    interval = summary.queue.intervals["mean"]
    assert summary.queue.mean_ms is not None
    second_moment_s2 = float((output.astype(float) ** 2).mean()) / 1e6
    theory = rate_rps * second_moment_s2 / (2 * (1 - load)) * 1000
    return summary.queue.mean_ms, (interval.high - interval.low) / 2, theory


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_equal_services_wait_as_m_d_1(load: float) -> None:
    simulated, half, theory = mean_wait_ms(fixed_tokens(20, COUNT), load, seed=1)
    assert abs(simulated - theory) < 2 * half
    assert simulated == pytest.approx(theory, rel=0.05)


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_uniform_services_wait_as_m_g_1(load: float) -> None:
    output = uniform_tokens(1, 60, COUNT, np.random.default_rng(2))
    simulated, half, theory = mean_wait_ms(output, load, seed=3)
    assert abs(simulated - theory) < 2 * half
    assert simulated == pytest.approx(theory, rel=0.05)


def test_spaced_arrivals_never_wait() -> None:
    log = simulate(
        *even_replica(MS), Workload(constant_arrivals_ps(10, 500), fixed_tokens(5, 500), fixed_tokens(20, 500))
    )
    assert (log.admitted_ps == log.arrival_ps).all()
    assert (log.finish_ps - log.arrival_ps == 20 * MS).all()


def test_throughput_reaches_its_bound_under_overload_and_never_passes_it() -> None:
    config, times = even_replica(MS, seats=8)
    count = 4_000
    log = simulate(
        config, times, Workload(constant_arrivals_ps(1e6, count), fixed_tokens(1, count), fixed_tokens(50, count))
    )
    tokens_per_s = log.generated_tokens.sum() / (log.end_ps / PS_PER_S)
    assert 0.98 * 8 * 1000 < tokens_per_s <= 8 * 1000


def test_more_seats_shorten_the_wait() -> None:
    count = 5_000
    workload = Workload(
        poisson_arrivals_ps(100, count, np.random.default_rng(4)), fixed_tokens(5, count), fixed_tokens(20, count)
    )
    waits = [summarise(simulate(*even_replica(MS, seats=seats), workload)).queue.mean_ms for seats in (3, 4, 8)]
    assert waits == sorted(waits, reverse=True)
