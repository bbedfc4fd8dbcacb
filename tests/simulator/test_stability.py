"""The verdict on fleets: a link that falls behind is found, and a number of replicas is given for one engine only."""

import numpy as np
import pytest

from simulator import (
    EngineConfig,
    Fleet,
    Pool,
    Transfer,
    Workload,
    linear_step_time,
    poisson_arrivals_ps,
    simulate_fleet,
)
from simulator.stability import Stability, judge_stability
from simulator.steptime import PS_PER_S

PROMPT = 1_000
CONFIG = EngineConfig(max_num_seqs=64, max_num_batched_tokens=2048, num_blocks=8_000, max_model_len=4096)
STEP = linear_step_time(CONFIG, step_ps=5_000_000_000, decode_seq_ps=20_000_000, prefill_token_ps=20_000_000)


def verdict(link_load: float, seed: int, rate_rps: float = 20.0) -> Stability:
    token_ps = round(link_load * PS_PER_S / (rate_rps * PROMPT))
    fleet = Fleet(
        (Pool(CONFIG, STEP, 2, role="prefill"), Pool(CONFIG, STEP, 2, role="decode")),
        transfer=Transfer(token_ps=token_ps, latency_ps=2_000_000_000),
    )
    rng = np.random.default_rng(seed)
    count = 3_000
    stream = Workload(poisson_arrivals_ps(rate_rps, count, rng), np.full(count, PROMPT), rng.integers(20, 80, count))
    return judge_stability(simulate_fleet(fleet, stream))


@pytest.mark.parametrize("seed", range(4))
def test_a_link_that_falls_behind_by_a_tenth_is_found(seed: int) -> None:
    assert verdict(1.1, seed).verdict == "unstable"


@pytest.mark.parametrize("seed", range(4))
def test_a_link_that_keeps_up_is_steady(seed: int) -> None:
    assert verdict(0.8, seed).verdict == "steady"


def test_replicas_needed_are_told_for_one_engine_only() -> None:
    rng = np.random.default_rng(1)
    stream = Workload(poisson_arrivals_ps(400.0, 2_000, rng), np.full(2_000, PROMPT), np.full(2_000, 50))
    found = judge_stability(simulate_fleet(Fleet((Pool(CONFIG, STEP, 3),)), stream))
    assert found.verdict == "unstable"
    assert found.replicas_needed is None
    assert found.load_ratio > 2
