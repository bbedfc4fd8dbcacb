"""Classes and tenants kept apart."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator import (
    EngineConfig,
    GoodputSlo,
    SimulatorError,
    Speculation,
    linear_step_time,
    simulate,
    summarise,
    summarise_groups,
)
from simulator.headroom import kv_cliff_blocks
from simulator.workload import Workload
from tests.simulator.logs import even_replica, log_of


def test_each_group_has_its_own_latencies_and_thresholds() -> None:
    log = log_of([0, 0, 0, 0], [10, 20, 30, 40], [110, 120, 530, 540], [11, 11, 11, 11])
    groups = summarise_groups(
        log, [0, 0, 7, 7], slo={0: [GoodputSlo(ttft_ms=15)], 7: [GoodputSlo(tpot_ms=60, ttft_ms=35)]}
    )
    assert list(groups) == [0, 7]
    assert groups[0].latencies.ttft.mean_ms == 15
    assert groups[7].latencies.tpot.mean_ms == pytest.approx(50)
    assert groups[0].goodput[0].ratio == groups[7].goodput[0].ratio == 0.5
    assert groups[0].output_tokens_share == 0.5


def test_groups_make_up_the_whole() -> None:
    rng = np.random.default_rng(3)
    config, step_time = even_replica(10**10, seats=4, blocks=60)
    load = Workload(np.sort(rng.integers(0, 10**12, 60)), rng.integers(1, 100, 60), rng.integers(1, 40, 60))
    log = simulate(config, step_time, load, engine="reference")
    groups = summarise_groups(log, rng.integers(0, 3, 60)).values()
    assert sum(group.requests for group in groups) == 60
    assert sum(group.output_tokens for group in groups) == log.generated_tokens.sum()
    assert sum(group.output_tokens_share for group in groups) == pytest.approx(1)
    mean = sum(group.latencies.e2e.mean_ms * group.finished for group in groups) / 60  # type: ignore[operator]
    assert mean == pytest.approx(summarise(log).e2e.mean_ms)


@pytest.mark.parametrize("group", [[0], [0.5, 1.5], [[0, 1]]])
def test_groups_need_one_whole_number_each(group: object) -> None:
    with pytest.raises(SimulatorError):
        summarise_groups(log_of([0, 0], [1, 1], [2, 2], [2, 2]), group)  # type: ignore[arg-type]


def test_latency_from_admission_and_per_token() -> None:
    """A second request waits 100 ms for the only seat: it counts in TTFT from arrival, not from admission."""
    config, step_time = even_replica(10**10, seats=1)
    summary = summarise(simulate(config, step_time, Workload([0, 0], [5, 5], [10, 10]), engine="reference"))
    assert summary.ttft.mean_ms == pytest.approx((10 + 110) / 2)
    assert summary.ttft_admitted.mean_ms == pytest.approx(10)
    assert summary.queue.mean_ms == pytest.approx(50)
    assert summary.normalised.mean_ms == pytest.approx((100 + 200) / 2 / 10)
    assert summary.total_tokens_per_s == pytest.approx(30 / 0.2)
    assert summary.batch_mean == 1


def test_the_kv_cliff_is_where_preemptions_begin() -> None:
    """100 equal requests of 512 + 256 tokens at once: 4,800 blocks of 16, to a block each."""
    config, step_time = even_replica(10**10, seats=256, blocks=4900, max_num_batched_tokens=8192)
    load = Workload(np.zeros(100, np.int64), np.full(100, 512), np.full(100, 256))
    cliff = kv_cliff_blocks(config, step_time, load)
    assert cliff == pytest.approx(4800, rel=0.01)
    assert simulate(replace(config, num_blocks=cliff), step_time, load).preemptions.sum() == 0
    assert simulate(replace(config, num_blocks=cliff - 1), step_time, load).preemptions.sum() > 0
    assert summarise(simulate(config, step_time, load)).kv_cliff_load_ratio == pytest.approx(4900 / cliff)


@pytest.mark.parametrize(
    "changes",
    [
        {"max_num_batched_tokens": 16},
        {"scheduler": "sglang"},
        {"scheduler": "tensorrt_llm"},
        {"scheduler": "static"},
        {"pipeline_stages": 2},
        {"speculation": Speculation(draft_tokens=2, acceptance_ratio=0.5)},
    ],
)
def test_at_the_cliff_a_run_is_as_with_blocks_without_end(changes: dict[str, Any]) -> None:
    base = {"max_num_seqs": 4, "max_num_batched_tokens": 64, "num_blocks": 50, "max_model_len": 64, "block_size": 4}
    config = EngineConfig(**(base | changes))
    step_time = linear_step_time(config, step_ps=10, decode_seq_ps=1, prefill_token_ps=1)
    draws = np.random.default_rng(3)
    lengths = draws.integers(1, 30, 40), draws.integers(1, 20, 40)
    load = Workload(np.cumsum(draws.integers(0, 60, 40)), *lengths)
    cliff = kv_cliff_blocks(config, step_time, load, rng=np.random.default_rng(1))

    def finishes(blocks: int) -> list[int]:
        seed = int(np.random.default_rng(1).integers(2**63))
        pool = replace(config, num_blocks=blocks)
        ends: list[int] = simulate(pool, step_time, load, rng=np.random.default_rng(seed)).finish_ps.tolist()
        return ends

    assert finishes(cliff) == finishes(10 * cliff)
    assert finishes(cliff - 1) != finishes(cliff)
