"""Runs without rare mechanisms have code of their own, made of the same kernels."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator import Admission, EngineConfig, EventLog, Fleet, Pool, Speculation, Workload
from simulator.benchmark import WORKLOADS, benchmark_step_time
from simulator.kernels import layout, loop, readout, state
from simulator.kernels.plain import is_plain
from simulator.transfer import Transfer

CONFIG = WORKLOADS["chat"].config()
NO_DRAWS = np.zeros((0, 2), np.int64)


def fleet_of(config: EngineConfig = CONFIG, **settings: Any) -> Fleet:
    return Fleet((Pool(config, benchmark_step_time(config), replicas=2),), "least_requests", **settings)


def workload() -> Workload:
    return WORKLOADS["pressured"].generate(400, np.random.default_rng(1))


def runs_plainly(fleet: Fleet) -> bool:
    memory = layout.lay_out(fleet, workload(), NO_DRAWS, 0, None)
    return is_plain(memory.m, memory.replicas())


def log_by(advance: Any, fleet: Fleet) -> EventLog:
    requests = workload()
    memory = layout.lay_out(fleet, requests, NO_DRAWS, 0, None)
    while advance(*memory, 1_000) == state.MORE:
        pass
    return readout.read_log(fleet, requests, memory, [])


@pytest.mark.parametrize("blocks", [30_000, 1_100])
def test_both_entries_give_the_same_log(blocks: int) -> None:
    fleet = fleet_of(replace(CONFIG, num_blocks=blocks))
    assert runs_plainly(fleet)
    log = log_by(loop.advance_plain, fleet)
    assert log.differences(log_by(loop.advance, fleet)) == []
    assert bool(log.preemptions.any()) == (blocks < 2_000)


def test_a_closed_loop_runs_plainly() -> None:
    requests = replace(workload(), concurrency=7)
    memory = layout.lay_out(fleet_of(), requests, NO_DRAWS, 0, None)
    assert is_plain(memory.m, memory.replicas())


@pytest.mark.parametrize(
    "settings",
    [
        {"enable_prefix_caching": True},
        {"scheduler": "static"},
        {"scheduler": "sglang"},
        {"scheduler": "tensorrt_llm"},
        {"scheduler": "vllm_v0"},
        {"kv_allocation": "contiguous"},
        {"overlap_scheduling": True},
        {"order": "priority"},
        {"speculation": Speculation(draft_tokens=2, acceptance_ratio=0.7)},
    ],
)
def test_a_rare_mechanism_of_an_engine_takes_the_other_entry(settings: dict[str, Any]) -> None:
    assert not runs_plainly(fleet_of(replace(CONFIG, **settings)))


def test_a_rare_mechanism_of_a_fleet_takes_the_other_entry() -> None:
    assert not runs_plainly(fleet_of(admission=Admission(max_waiting=3)))
    pool = fleet_of().pools[0]
    apart = (replace(pool, role="prefill"), replace(pool, role="decode"))
    assert not runs_plainly(Fleet(apart, "least_requests", transfer=Transfer(token_ps=1_000)))
