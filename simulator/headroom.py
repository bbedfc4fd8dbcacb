"""How far a run is from the point where the KV pool runs out."""

from dataclasses import replace

from simulator.config import EngineConfig
from simulator.engine import simulate
from simulator.steptime import StepTime
from simulator.workload import Workload


def kv_cliff_blocks(config: EngineConfig, step_time: StepTime, workload: Workload) -> int:
    """The smallest pool, in blocks, in which this workload runs on one replica as if blocks were without end.

    That is the most that a run with room for every seat holds at once: with fewer, a request waits for blocks or is
    preempted, and latencies rise from there on (the KV cliff).
    """
    enough = config.max_num_seqs * config.blocks_for(config.max_model_len)
    roomy = replace(config, num_blocks=enough, watermark_ratio=0.0)
    return simulate(roomy, step_time, workload).replicas[0].kv_peak_blocks
