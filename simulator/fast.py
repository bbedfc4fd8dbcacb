"""The fast engine: lays out the kernels' memory, runs them in slices, and reads the event log off it.

Importing this module does not import numba; running it does.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from simulator.config import EngineConfig
from simulator.errors import SimulationCancelled, beyond_horizon
from simulator.fleet import Fleet, Pool
from simulator.records import EventLog
from simulator.steptime import IntArray, StepTime
from simulator.workload import Workload

INSTANTS_PER_CALL = 200_000


def simulate_fast(
    fleet: Fleet,
    workload: Workload,
    draws: IntArray,
    word: int = 0,
    until_ps: int | None = None,
    on_progress: Callable[[float], bool] | None = None,
) -> EventLog:
    """As `simulate_reference`, bit for bit."""
    from simulator.kernels import layout, loop, plain, power_layout, readout, state

    memory = layout.lay_out(fleet, workload, draws, word, until_ps)
    advance = loop.advance_plain if plain.is_plain(memory.m, memory.replicas()) else loop.advance
    starts: list[tuple[int, int, int]] = []
    answer = state.MORE
    while answer == state.MORE:
        answer = advance(*memory, INSTANTS_PER_CALL)
        starts += power_layout.take_starts(memory.m)
        if answer == state.BEYOND_HORIZON:
            raise beyond_horizon()
        ended_ratio = float(memory.m[state.ENDED]) / len(workload)
        if answer == state.MORE and on_progress is not None and not on_progress(ended_ratio):
            raise SimulationCancelled
    return readout.read_log(fleet, workload, memory, starts)


def warm_up() -> None:
    """Compile the kernels, or load them from numba's cache, so that the first run does not wait for it."""
    tables = np.ones(9, np.int64)
    ones = np.ones(2, np.int64)
    plain = EngineConfig(max_num_seqs=2, max_num_batched_tokens=8, num_blocks=8, max_model_len=16, block_size=4)
    for config in (plain, replace(plain, enable_prefix_caching=True)):  # one for each entry
        fleet = Fleet((Pool(config, StepTime(tables, tables, tables)),))
        simulate_fast(fleet, Workload(ones, ones, ones), np.zeros((0, 2), np.int64))
