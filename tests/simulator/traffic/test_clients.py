"""A few heavy clients and a tail: their shares, their bursts, their lengths."""

from collections.abc import Callable

import numpy as np
import pytest

from simulator import SimulatorError
from simulator.steptime import PS_PER_S
from simulator.traffic import (
    Clients,
    client_requests,
    draw_clients,
    generate,
    pareto_shares,
    steady_rate,
    zipf_shares,
)


def rng(seed: int = 5) -> np.random.Generator:
    return np.random.default_rng(seed)


def alike(count: int, cv: float) -> Clients:
    ones = np.ones(count)
    return Clients(ones / count, cv * ones, 100 * ones, 50 * ones, prompt_sigma=0.5)


def test_each_client_has_its_share_and_its_variation() -> None:
    clients = Clients(
        share=np.array([0.6, 0.3, 0.1]),
        cv=np.array([3.0, 0.5, 1.0]),
        prompt_tokens_median=np.array([100.0, 1000.0, 10.0]),
        output_tokens_mean=np.array([20.0, 200.0, 2000.0]),
        prompt_sigma=0.5,
    )
    workload = generate(client_requests(clients, steady_rate(10.0), 100_000), rng(), 400_000)
    assert len(workload) / (workload.arrival_ps[-1] / PS_PER_S) == pytest.approx(10.0, rel=0.03)
    tenant = workload.column("tenant")
    for number, (share, cv) in enumerate(zip(clients.share, clients.cv, strict=True)):
        own = workload.take(np.flatnonzero(tenant == number))
        gaps = np.diff(own.arrival_ps / PS_PER_S)
        assert gaps.mean() == pytest.approx(0.1 / share, rel=0.04)
        assert gaps.std() / gaps.mean() == pytest.approx(cv, rel=0.04)
        assert np.median(own.prompt_tokens) == pytest.approx(clients.prompt_tokens_median[number], rel=0.03)
        assert own.output_tokens.mean() == pytest.approx(clients.output_tokens_mean[number], rel=0.03)


def test_bursty_clients_have_their_rate_from_the_start() -> None:
    """Were the first gap an ordinary one, clients of CV 4 would bring far more than their share in the first gap."""
    counts = [
        np.searchsorted(
            generate(client_requests(alike(2000, 4.0), steady_rate(1000.0), 4096), rng(seed), 20_000).arrival_ps,
            2 * PS_PER_S,
        )
        for seed in range(8)
    ]
    assert np.mean(counts) == pytest.approx(2000, rel=0.1)


def test_many_small_clients_together_are_nearly_poisson_and_one_heavy_client_is_not() -> None:
    """Superposition: the sum of many sparse renewal processes tends to Poisson (Palm-Khintchine)."""

    def dispersion(clients: Clients) -> float:
        arrivals = generate(client_requests(clients, steady_rate(100.0), 4096), rng(), 100_000).arrival_ps
        counts = np.bincount(arrivals // PS_PER_S)[:-1]
        return float(counts.var() / counts.mean())

    assert dispersion(alike(20_000, 1.5)) == pytest.approx(1.0, abs=0.3)
    assert dispersion(alike(1, 1.5)) == pytest.approx(2.25, rel=0.2)


def test_drawn_clients_have_a_heavy_head_and_differ() -> None:
    clients = draw_clients(
        1000, rng(), prompt_tokens_median=800, output_tokens_mean=200, exponent=1.2, cv_median=1.5, cv_sigma=0.7,
        client_sigma=1.0,
    )  # fmt: skip
    assert clients.share[:10].sum() > 0.5
    assert np.median(clients.cv) == pytest.approx(1.5, rel=0.1)
    assert np.median(clients.prompt_tokens_median) == pytest.approx(800, rel=0.15)
    assert np.log(clients.output_tokens_mean).std() == pytest.approx(1.0, rel=0.1)
    workload = generate(client_requests(clients, steady_rate(5.0), 2000), rng(), 50_000)
    assert (workload.prompt_tokens + workload.output_tokens).max() <= 2000
    assert np.bincount(workload.column("tenant"))[0] / 50_000 == pytest.approx(clients.share[0], rel=0.1)


def test_pareto_shares_have_the_tail_index() -> None:
    """Hill's estimator over the top tenth."""
    shares = pareto_shares(100_000, 1.5, rng())
    assert shares.sum() == pytest.approx(1.0)
    assert (np.diff(shares) <= 0).all()
    assert 1 / np.log(shares[:10_000] / shares[10_000]).mean() == pytest.approx(1.5, rel=0.05)
    assert zipf_shares(10, 1.0)[0] > zipf_shares(10, 1.0)[9]


ONE = np.ones(1)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Clients(ONE / 2, ONE, ONE, ONE, 1.0), "out_of_range"),
        (lambda: Clients(ONE, ONE * 0, ONE, ONE, 1.0), "out_of_range"),
        (lambda: Clients(ONE, ONE * np.nan, ONE, ONE, 1.0), "out_of_range"),
        (lambda: Clients(ONE, np.ones(2), ONE, ONE, 1.0), "shape"),
        (lambda: Clients(ONE[:0], ONE[:0], ONE[:0], ONE[:0], 1.0), "shape"),
        (lambda: Clients(ONE, ONE, ONE, ONE, -1.0), "too_small"),
        (lambda: draw_clients(0, rng(), prompt_tokens_median=9, output_tokens_mean=9), "too_small"),
        (lambda: draw_clients(3, rng(), prompt_tokens_median=0, output_tokens_mean=9), "too_small"),
        (lambda: pareto_shares(3, 0.0, rng()), "too_small"),
        (lambda: client_requests(alike(2, 1.0), steady_rate(1.0), 1), "too_small"),
    ],
)
def test_bad_clients_are_refused_with_a_code(make: Callable[[], object], code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        make()
    assert caught.value.code == code
