"""How far a run is from the point where the KV pool runs out."""

from dataclasses import replace

import numpy as np

from simulator.checks import checked
from simulator.config import EngineConfig
from simulator.engine import simulate
from simulator.errors import SimulatorError
from simulator.records import EventLog
from simulator.steptime import StepTime
from simulator.workload import Workload


@checked
def kv_cliff_blocks(
    config: EngineConfig, step_time: StepTime, workload: Workload, *, rng: np.random.Generator | None = None
) -> int:
    """A pool, in blocks, in which this workload runs on one replica as if blocks were without end, and with a block
    less does not: below it requests wait for blocks or are preempted, and latencies rise (the KV cliff).

    At least the most that a run with room for every seat holds at once; more where admission asks for more than is
    held, as for whole prompts. Found by simulating pools between the two. `rng` seeds runs that draw, each alike.

    Raises SimulatorError as `simulate` does.
    """
    seed = None if rng is None else int(rng.integers(2**63))

    def run(num_blocks: int) -> EventLog:
        own = None if seed is None else np.random.default_rng(seed)
        return simulate(replace(config, num_blocks=num_blocks), step_time, workload, rng=own)

    def as_roomy(num_blocks: int) -> bool:
        try:
            log = run(num_blocks)
        except SimulatorError as error:
            if error.field in ("num_blocks", "pipeline_stages"):
                return False
            raise
        return np.array_equal(log.finish_ps, roomy.finish_ps) and np.array_equal(log.admitted_ps, roomy.admitted_ps)

    enough = 2 * config.gang * config.max_num_seqs * config.blocks_for(config.max_model_len)
    roomy = run(enough)
    high = max(1, config.pipeline_stages * max(engine.kv_peak_blocks for engine in roomy.replicas))
    low = high - 1
    while high < enough and not as_roomy(high):
        low, high = high, min(enough, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if as_roomy(middle) else (middle, high)
    return high
