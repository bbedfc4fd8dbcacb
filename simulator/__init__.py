"""What happens to requests under load: continuous batching and paged KV, simulated at iteration level.

>>> import numpy as np
>>> config = EngineConfig(max_num_seqs=64, max_num_batched_tokens=2048, num_blocks=4000, max_model_len=8192)
>>> step_time = linear_step_time(config, step_ps=6_000_000_000, decode_seq_ps=20_000_000, prefill_token_ps=30_000_000)
>>> rng = np.random.default_rng(1)
>>> workload = Workload(
...     arrival_ps=poisson_arrivals_ps(4.0, 400, rng),
...     prompt_tokens=lognormal_tokens(400, rng, mean=1155, p95=3200),
...     output_tokens=fixed_tokens(100, 400),
... )
>>> log = simulate(config, step_time, workload)
>>> summary = summarise(log, slo=[GoodputSlo(ttft_ms=1000, tpot_ms=50)], stationary=True)
>>> summary.finished, summary.stability.verdict, round(summary.goodput[0].ratio, 2)
(400, 'steady', 1.0)
"""

from simulator.admission import Admission
from simulator.config import EngineConfig, HostSwap
from simulator.content import PrefixReuse, prefix_reuse, shareable_tokens, shared_tokens
from simulator.control import Autoscaling, Outage, draw_outages
from simulator.engine import simulate, simulate_fleet
from simulator.errors import SimulationCancelled, SimulatorError
from simulator.fast import warm_up
from simulator.fleet import Fleet, Pool
from simulator.groups import GroupSummary, summarise_groups
from simulator.handover import handed_over
from simulator.headroom import kv_cliff_blocks
from simulator.kv import KvGroup
from simulator.metrics import Goodput, GoodputSlo, Latencies, Latency, LittlesLaw, Summary, summarise, sustained_rps
from simulator.ramps import RampMisses, ramp_misses
from simulator.records import EventLog, ReplicaTotals, Series
from simulator.speculation import Speculation
from simulator.stability import Stability
from simulator.statistics import Interval
from simulator.steptime import StepTime, linear_step_time
from simulator.timeline import Timeline, timeline
from simulator.traffic.arrivals import (
    burst_arrivals_ps,
    constant_arrivals_ps,
    gamma_arrivals_ps,
    poisson_arrivals_ps,
    replay_arrivals_ps,
    shaped_arrivals_ps,
)
from simulator.traffic.lengths import (
    CutTokens,
    cut_to_context,
    empirical_tokens,
    fixed_tokens,
    lognormal_parameters,
    lognormal_tokens,
    uniform_tokens,
)
from simulator.traffic.merging import merge_workloads
from simulator.traffic.prefixes import shared_prefix
from simulator.traffic.shapes import SHAPES, weekly_shape
from simulator.transfer import Transfer, kv_token_ps
from simulator.workload import NO_DEADLINE_PS, BlockHashes, Workload

__all__ = [
    "NO_DEADLINE_PS",
    "SHAPES",
    "Admission",
    "Autoscaling",
    "BlockHashes",
    "CutTokens",
    "EngineConfig",
    "EventLog",
    "Fleet",
    "Goodput",
    "GoodputSlo",
    "GroupSummary",
    "HostSwap",
    "Interval",
    "KvGroup",
    "Latencies",
    "Latency",
    "LittlesLaw",
    "Outage",
    "Pool",
    "PrefixReuse",
    "RampMisses",
    "ReplicaTotals",
    "Series",
    "SimulationCancelled",
    "SimulatorError",
    "Speculation",
    "Stability",
    "StepTime",
    "Summary",
    "Timeline",
    "Transfer",
    "Workload",
    "burst_arrivals_ps",
    "constant_arrivals_ps",
    "cut_to_context",
    "draw_outages",
    "empirical_tokens",
    "fixed_tokens",
    "gamma_arrivals_ps",
    "handed_over",
    "kv_cliff_blocks",
    "kv_token_ps",
    "linear_step_time",
    "lognormal_parameters",
    "lognormal_tokens",
    "merge_workloads",
    "poisson_arrivals_ps",
    "prefix_reuse",
    "ramp_misses",
    "replay_arrivals_ps",
    "shaped_arrivals_ps",
    "shareable_tokens",
    "shared_prefix",
    "shared_tokens",
    "simulate",
    "simulate_fleet",
    "summarise",
    "summarise_groups",
    "sustained_rps",
    "timeline",
    "uniform_tokens",
    "warm_up",
    "weekly_shape",
]
