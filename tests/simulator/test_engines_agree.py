"""The fast engine gives the reference's log, bit for bit, under every policy."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import EngineConfig, EventLog, Fleet, Pool, StepTime, Workload, simulate_fleet
from simulator.admission import NO_LIMITS
from simulator.engine import Engine
from simulator.handover import handed_over
from simulator.records import SERIES_BINS
from tests.simulator.logs import even_replica
from tests.simulator.random_runs import (
    crowded_disaggregated_runs,
    disaggregated_runs,
    fleet_runs,
    layered_runs,
    limited_runs,
    ordered_runs,
    runs,
)

Run = tuple[EngineConfig, StepTime, Workload]


def _known(fleet: Fleet) -> Fleet:
    """The fleet without what only the reference engine knows so far."""
    plain = {
        "swap": None,
    }
    pools = tuple(
        replace(
            pool,
            config=replace(
                pool.config,
                **({"order": "fcfs", "tenant_weights": ()} if _order_unknown(pool) else {}),
                **plain,
                free_outside_window=pool.config.free_outside_window and not _windows_unknown(pool.config),
            ),
        )
        for pool in fleet.pools
    )
    fleet = replace(fleet, pools=pools)
    return _plainer(fleet) if fleet.disaggregated else fleet


def _plainer(fleet: Fleet) -> Fleet:
    """Without what the fast engine does not know together with prefill and decode pools."""
    plain: dict[str, Any] = {
        "scheduler": "vllm_v1",
        "overlap_scheduling": False,
        "mixed_chunk": False,
        "schedule_conservativeness": 1.0,
        "capacity_policy": "guaranteed_no_evict",
        "order": "fcfs",
        "tenant_weights": (),
        "free_outside_window": False,
    }
    pools = tuple(
        replace(
            pool,
            config=replace(pool.config, **plain),
            step_time=replace(pool.step_time, window_tokens=0, window_context_ps=None),
        )
        for pool in fleet.pools
    )
    return replace(fleet, pools=pools, admission=NO_LIMITS)


def _order_unknown(pool: Pool) -> bool:
    config = pool.config
    windowed = set(config.windows) != {None} or pool.step_time.window_tokens > 0
    falls = config.order == "priority" and config.scheduler == "vllm_v1"
    return falls and (config.overlap_scheduling or windowed)


def _windows_unknown(config: EngineConfig) -> bool:
    apart = config.overlap_scheduling or config.scheduler not in ("vllm_v1", "static")
    return apart or config.kv_allocation == "contiguous"


def _agree(fleet: Fleet, workload: Workload, stopped_at: float | None = None) -> None:
    """`stopped_at`: share of the run after which it is stopped."""
    fleet, until_ps = _known(fleet), None
    assert "transfer" not in handed_over(fleet)

    def run(engine: Engine) -> EventLog:
        return simulate_fleet(fleet, workload, rng=np.random.default_rng(7), until_ps=until_ps, engine=engine)

    if stopped_at is not None:
        until_ps = int(run("fast").end_ps * stopped_at)
    assert run("fast").differences(run("reference")) == []


@settings(max_examples=400, deadline=None)
@given(runs())
def test_fast_equals_reference(run: Run) -> None:
    config, step_time, workload = run
    _agree(Fleet((Pool(config, step_time),)), workload)


@settings(max_examples=300, deadline=None)
@given(runs(caching=True))
def test_fast_equals_reference_with_prefix_cache(run: Run) -> None:
    config, step_time, workload = run
    _agree(Fleet((Pool(config, step_time),)), workload)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["vllm_v0", "vllm_v1", "sglang", "sglang", "tensorrt_llm"]).flatmap(lambda name: runs(among=[name]))
)
def test_fast_equals_reference_under_other_schedulers(run: Run) -> None:
    """In pools that are just large enough, so that requests fall or are turned away."""
    config, step_time, workload = run
    need = int((workload.prompt_tokens + workload.output_tokens).max()) + config.decode_tokens + config.lookahead_tokens
    config = replace(config, num_blocks=1 + 3 * need // (2 * config.block_size))
    _agree(Fleet((Pool(config, step_time),)), workload)


def _greedy_sglang(seed: int) -> tuple[Fleet, Workload]:
    """Nothing is kept for outputs, so that SGLang lets in too many and sends some back."""
    rng = np.random.default_rng(seed)
    config = EngineConfig(
        scheduler="sglang",
        overlap_scheduling=seed % 3 == 1,
        schedule_conservativeness=0.0,
        max_num_seqs=6,
        max_num_batched_tokens=int(rng.integers(8, 60)),
        num_blocks=18,
        block_size=4,
        max_model_len=48,
        enable_prefix_caching=bool(seed % 2),
        mixed_chunk=seed % 3 == 0,
        max_new_tokens=None if seed % 4 else 30,
    )
    count = 40
    arrival_ps = np.cumsum(rng.integers(0, 400, count))
    prompt, output = rng.integers(1, 8, count), rng.integers(12, 26, count) // rng.choice([1, 1, 8], count)
    group, shared = rng.integers(-1, 2, count), np.minimum(prompt, 5)
    zeros = np.zeros(7, np.int64)
    return (
        Fleet((Pool(config, StepTime(100 + np.arange(61), zeros, zeros)),)),
        Workload(arrival_ps, prompt, output, group, shared, concurrency=5 if seed % 5 == 0 else None),
    )


def test_fast_equals_reference_when_sglang_retracts() -> None:
    preemptions = 0
    for seed in range(36):
        fleet, workload = _greedy_sglang(seed)
        _agree(fleet, workload, stopped_at=0.5 if seed % 7 == 0 else None)
        preemptions += int(simulate_fleet(fleet, workload).preemptions.sum())
    assert preemptions > 20


@settings(max_examples=200, deadline=None)
@given(runs(), st.floats(0.0, 1.2))
def test_fast_equals_reference_when_stopped_early(run: Run, share: float) -> None:
    config, step_time, workload = run
    _agree(Fleet((Pool(config, step_time),)), workload, share)


@settings(max_examples=200, deadline=None)
@given(st.one_of(layered_runs(), layered_runs(caching=True)))
def test_fast_equals_reference_with_layer_groups(run: Run) -> None:
    config, step_time, workload = run
    _agree(Fleet((Pool(config, step_time),)), workload)


@settings(max_examples=400, deadline=None)
@given(fleet_runs())
def test_fast_equals_reference_in_fleets(run: tuple[Fleet, Workload]) -> None:
    _agree(*run)


@settings(max_examples=150, deadline=None)
@given(fleet_runs(), st.floats(0.0, 1.2))
def test_fast_equals_reference_when_a_fleet_is_stopped_early(run: tuple[Fleet, Workload], share: float) -> None:
    _agree(*run, share)


@settings(max_examples=200, deadline=None)
@given(limited_runs(), st.one_of(st.none(), st.floats(0.0, 1.2)))
def test_fast_equals_reference_when_not_all_are_let_in(run: tuple[Fleet, Workload], share: float | None) -> None:
    _agree(*run, share)


@settings(max_examples=200, deadline=None)
@given(ordered_runs(), st.one_of(st.none(), st.floats(0.0, 1.2)))
def test_fast_equals_reference_in_any_order(run: tuple[Fleet, Workload], share: float | None) -> None:
    _agree(*run, share)


@settings(max_examples=100, deadline=None)
@given(disaggregated_runs())
def test_fast_equals_reference_with_prefill_and_decode_apart(run: tuple[Fleet, Workload]) -> None:
    _agree(*run)


@settings(max_examples=100, deadline=None)
@given(crowded_disaggregated_runs())
def test_fast_equals_reference_where_kv_is_held_back(run: tuple[Fleet, Workload]) -> None:
    _agree(*run)


@settings(max_examples=50, deadline=None)
@given(st.one_of(disaggregated_runs(caching=True), crowded_disaggregated_runs()), st.floats(0.0, 1.2))
def test_fast_equals_reference_when_prefill_and_decode_stop_early(run: tuple[Fleet, Workload], share: float) -> None:
    _agree(*run, share)


def test_bins_of_the_series_widen_only_where_a_step_begins() -> None:
    """With overlap a finished request is let go after the last step, behind the last bin: nothing begins there."""
    config, step_time = even_replica(2**30 * (SERIES_BINS + 1), overlap_scheduling=True)
    fleet = Fleet((Pool(config, step_time),))
    _agree(fleet, Workload([0], [5], [1]))
    assert simulate_fleet(fleet, Workload([0], [5], [1])).series.bin_ps == 2**30
    _agree(fleet, Workload([0, 2**40], [5, 5], [1, 2]))
