"""The fast engine gives the reference's log, bit for bit, under every policy."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator import EngineConfig, EventLog, Fleet, Pool, StepTime, Workload, simulate_fleet
from simulator.engine import Engine
from tests.simulator.random_runs import fleet_runs, layered_runs, limited_runs, ordered_runs, runs

Run = tuple[EngineConfig, StepTime, Workload]


def _known(fleet: Fleet) -> Fleet:
    """The fleet without what only the reference engine knows so far."""
    plain = {
        "overlap_scheduling": False,
        "mixed_chunk": False,
        "schedule_conservativeness": 1.0,
        "capacity_policy": "guaranteed_no_evict",
        "swap": None,
    }
    pools = tuple(
        replace(
            pool,
            config=replace(
                pool.config,
                scheduler="static" if pool.config.scheduler == "static" else "vllm_v1",
                order="fcfs" if _order_unknown(pool) else pool.config.order,
                **plain,
                free_outside_window=pool.config.free_outside_window and not _windows_unknown(pool.config),
            ),
        )
        for pool in fleet.pools
    )
    return replace(fleet, pools=pools)


def _order_unknown(pool: Pool) -> bool:
    windowed = set(pool.config.windows) != {None} or pool.step_time.window_tokens > 0
    return pool.config.order == "priority" and windowed


def _windows_unknown(config: EngineConfig) -> bool:
    return config.enable_prefix_caching or config.kv_allocation == "contiguous"


def _agree(fleet: Fleet, workload: Workload, stopped_at: float | None = None) -> None:
    """`stopped_at`: share of the run after which it is stopped."""
    fleet, until_ps = _known(fleet), None

    def run(engine: Engine) -> EventLog:
        return simulate_fleet(fleet, workload, rng=np.random.default_rng(7), until_ps=until_ps, engine=engine)

    reference = run("reference")
    if stopped_at is not None:
        until_ps = int(reference.end_ps * stopped_at)
        reference = run("reference")
    assert run("fast").differences(reference) == []


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
