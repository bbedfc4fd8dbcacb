"""`simulate` and `simulate_fleet`: one workload in, one event log out."""

from collections.abc import Callable
from typing import Literal

import numpy as np

from simulator.checks import checked
from simulator.config import EngineConfig
from simulator.content import check_block_size
from simulator.errors import SimulatorError, require_int
from simulator.fast import simulate_fast
from simulator.fleet import Fleet, Pool
from simulator.handover import handed_over
from simulator.records import EventLog
from simulator.reference import simulate_reference
from simulator.steptime import IntArray, StepTime
from simulator.workload import Workload

Engine = Literal["fast", "reference"]
Progress = Callable[[float], bool]


@checked
def simulate(
    config: EngineConfig,
    step_time: StepTime,
    workload: Workload,
    *,
    rng: np.random.Generator | None = None,
    engine: Engine = "fast",
    until_ps: int | None = None,
    on_progress: Progress | None = None,
) -> EventLog:
    """Serve `workload` on one replica: `simulate_fleet` with a fleet of one."""
    fleet = Fleet((Pool(config, step_time),))
    return simulate_fleet(fleet, workload, rng=rng, engine=engine, until_ps=until_ps, on_progress=on_progress)


@checked
def simulate_fleet(
    fleet: Fleet,
    workload: Workload,
    *,
    rng: np.random.Generator | None = None,
    engine: Engine = "fast",
    until_ps: int | None = None,
    on_progress: Progress | None = None,
) -> EventLog:
    """Serve `workload` on a fleet and return its EventLog.

    rng          for routers that draw and for draft tokens (SimulatorError without it)
    engine       `fast` (compiled, jumps over stretches in which nothing changes; hands to the reference what
                 `handed_over` names) or `reference` (steps every iteration); both give the same log, bit for bit
    until_ps     no step begins at or after this time; what is not done by then is `unfinished`
    on_progress  called now and then with the share of requests that have ended; answering False raises
                 SimulationCancelled

    Raises SimulatorError for a fleet or workload that cannot be simulated.
    """
    if until_ps is not None:
        until_ps = require_int("until_ps", until_ps, 0, 2**61)
    for pool in fleet.pools:
        most = pool.config.max_new_tokens
        if most is not None and len(workload) and workload.output_tokens.max() > most:
            raise SimulatorError("out_of_range", "max_new_tokens", f"requests ask for more than {most} output tokens")
        if pool.config.enable_prefix_caching:
            check_block_size(workload, pool.config.block_size)
    draws, word = _draws(fleet, workload, rng), _word(fleet, rng)
    if engine == "fast" and not handed_over(fleet):
        return simulate_fast(fleet, workload, draws, word, until_ps, on_progress)
    if engine in ("fast", "reference"):
        return simulate_reference(fleet, workload, draws, word, until_ps, on_progress)
    raise SimulatorError("unknown_engine", "engine", f"must be fast or reference, got {engine!r}")


def _draws(fleet: Fleet, workload: Workload, rng: np.random.Generator | None) -> IntArray:
    """Two random numbers per request and choice of a router that draws, [n, 2 or 4]; without rows for others."""
    numbers = 4 if fleet.disaggregated else 2
    if not fleet.draws:
        return np.zeros((0, numbers), np.int64)
    if rng is None:
        raise SimulatorError("missing", "rng", f"the router {fleet.router} draws random numbers")
    return rng.integers(0, 2**31, (len(workload), numbers), dtype=np.int64)


def _word(fleet: Fleet, rng: np.random.Generator | None) -> int:
    """32 random bits from which draft tokens are accepted or not; 0 where nobody drafts."""
    if all(pool.config.speculation is None for pool in fleet.pools):
        return 0
    if rng is None:
        raise SimulatorError("missing", "rng", "which draft tokens are accepted is drawn at random")
    return int(rng.integers(0, 2**32))
