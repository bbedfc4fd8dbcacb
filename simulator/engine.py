"""`simulate`: one replica, one workload, one event log."""

from collections.abc import Callable
from typing import Literal

from simulator.config import EngineConfig
from simulator.errors import SimulatorError, require_int
from simulator.fast import simulate_fast
from simulator.records import EventLog
from simulator.reference import simulate_reference
from simulator.requests import BlockContent
from simulator.steptime import StepTime
from simulator.workload import Workload

Engine = Literal["fast", "reference"]


def simulate(
    config: EngineConfig,
    step_time: StepTime,
    workload: Workload,
    *,
    engine: Engine = "fast",
    until_ps: int | None = None,
    on_progress: Callable[[float], bool] | None = None,
) -> EventLog:
    """Serve `workload` on one replica and return its EventLog.

    engine       `fast` (compiled, jumps over stretches in which nothing changes) or `reference` (steps every
                 iteration); both give the same log, bit for bit
    until_ps     stop at the first step boundary at or after this time; what is not done by then is `unfinished`
    on_progress  called now and then with the share of requests that have ended; answering False raises
                 SimulationCancelled

    Raises SimulatorError for a configuration, step time or workload that cannot be simulated.
    """
    step_time.longest_step_ps(config)
    if until_ps is not None:
        until_ps = require_int("until_ps", until_ps, 0, 2**61)
    if config.enable_prefix_caching:
        BlockContent(workload, config.block_size)  # refuses recorded blocks that this block size does not divide
    if engine not in ("fast", "reference"):
        raise SimulatorError("unknown_engine", "engine", f"must be fast or reference, got {engine!r}")
    run = simulate_fast if engine == "fast" else simulate_reference
    return run(config, step_time, workload, until_ps, on_progress)
