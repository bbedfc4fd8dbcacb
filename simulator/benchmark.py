"""Named workloads whose simulation speed is reported. Clocks come from the caller: this package knows only its own.

All with a step of 6 ms + 0.02 ms per decoding sequence + 0.03 ms per prefill token + 0.0325 µs per token of context
read, blocks of 16, chunked prefill, vLLM V1 scheduling, seed 42. Generating the workload and the metrics are counted.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from simulator.config import EngineConfig
from simulator.engine import simulate_fleet
from simulator.errors import SimulatorError, require_number
from simulator.fast import warm_up
from simulator.fleet import Fleet, Pool
from simulator.metrics import summarise
from simulator.steptime import IntArray, StepTime, linear_step_time
from simulator.traffic.arrivals import poisson_arrivals_ps, shaped_arrivals_ps
from simulator.traffic.lengths import cut_to_context, fixed_tokens, lognormal_tokens
from simulator.traffic.mooncake import mooncake_conversation
from simulator.traffic.shapes import weekly_shape
from simulator.transfer import Transfer, kv_token_ps
from simulator.workload import ROWS_AT_A_TIME, Workload

SEED = 42
CHECKED_REQUESTS = 2_000
MAX_MODEL_LEN = 16_384
KV_LINK = {"bytes_per_token": 160 * 1024, "bytes_per_s": 50e9}


class BenchmarkRow(TypedDict):
    """One workload's figures; `matches_reference`: its first 2,000 requests were bit-equal to the reference's."""

    name: str
    requests: int
    output_tokens: int
    engine_steps: int
    wall_s: float
    cpu_s: float
    requests_per_cpu_s: float
    peak_mib: float
    matches_reference: bool


@dataclass(frozen=True, slots=True)
class Clocks:
    """Readings the caller provides: elapsed and CPU seconds, and the process's peak memory in MiB."""

    wall_s: Callable[[], float]
    cpu_s: Callable[[], float]
    peak_mib: Callable[[], float]


@dataclass(frozen=True, slots=True)
class NamedWorkload:
    """A configuration and a generator of workloads, run on `replicas` replicas behind a router that sends to the one
    with the fewest requests outstanding. With `prefill_replicas` as many others compute the prompts, whose KV (160 KiB
    a token) takes one link of 50 GB/s.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    num_blocks: int
    requests: int
    generate: Callable[[int, np.random.Generator], Workload]
    replicas: int = 1
    prefill_replicas: int = 0
    max_model_len: int = MAX_MODEL_LEN
    enable_prefix_caching: bool = False

    def config(self) -> EngineConfig:
        return EngineConfig(
            max_num_seqs=self.max_num_seqs,
            max_num_batched_tokens=self.max_num_batched_tokens,
            num_blocks=self.num_blocks,
            max_model_len=self.max_model_len,
            enable_prefix_caching=self.enable_prefix_caching,
        )

    def fleet(self) -> Fleet:
        config = self.config()
        pool = Pool(config, benchmark_step_time(config), self.replicas)
        if not self.prefill_replicas:
            return Fleet((pool,), "least_requests")
        pools = (replace(pool, replicas=self.prefill_replicas, role="prefill"), replace(pool, role="decode"))
        return Fleet(pools, "least_requests", transfer=Transfer(token_ps=kv_token_ps(**KV_LINK)))


def benchmark_step_time(config: EngineConfig) -> StepTime:
    """The step time that all named workloads share."""
    return linear_step_time(
        config,
        step_ps=6_000_000_000,
        decode_seq_ps=20_000_000,
        prefill_token_ps=30_000_000,
        context_token_ps=32_500,
    )


def _peer(count: int, rng: np.random.Generator) -> Workload:
    return Workload(poisson_arrivals_ps(6.0, count, rng), fixed_tokens(512, count), fixed_tokens(128, count))


def _chat(rate_rps: float) -> Callable[[int, np.random.Generator], Workload]:
    return lambda count, rng: Workload(poisson_arrivals_ps(rate_rps, count, rng), *_chat_tokens(count, rng))


def _chat_tokens(count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    prompts = lognormal_tokens(count, rng, mean=1155, p95=3200)
    outputs = lognormal_tokens(count, rng, mean=211, p95=480)
    return cut_to_context(prompts, outputs, MAX_MODEL_LEN)[:2]


def _mooncake(count: int, rng: np.random.Generator) -> Workload:
    """The trace as it is: nothing is drawn."""
    return mooncake_conversation(count)


def _week(count: int, rng: np.random.Generator) -> Workload:
    """6 requests per second over a week, peak 2.4 times the mean."""
    arrivals = shaped_arrivals_ps(poisson_arrivals_ps(6.0, count, rng), weekly_shape("diurnal", 2.4))
    prompts, outputs = np.empty(count, np.int64), np.empty(count, np.int64)
    for first in range(0, count, ROWS_AT_A_TIME):
        rows = slice(first, min(count, first + ROWS_AT_A_TIME))
        prompts[rows], outputs[rows] = _chat_tokens(rows.stop - first, rng)
    return Workload(arrivals, prompts, outputs)


WORKLOADS: Mapping[str, NamedWorkload] = {
    "peer": NamedWorkload(128, 512, 8_000, 100_000, _peer),
    "chat": NamedWorkload(256, 2048, 30_000, 100_000, _chat(8.0)),
    "pressured": NamedWorkload(256, 2048, 6_000, 100_000, _chat(14.0)),
    "prefix": NamedWorkload(256, 2048, 30_000, 12_031, _mooncake, max_model_len=131_072, enable_prefix_caching=True),
    "fleet": NamedWorkload(256, 2048, 30_000, 200_000, _chat(120.0), replicas=16),
    "disaggregated": NamedWorkload(256, 2048, 30_000, 100_000, _chat(40.0), replicas=4, prefill_replicas=4),
    "week": NamedWorkload(256, 2048, 30_000, 3_600_000, _week, replicas=2),
}


def run_benchmark(names: Sequence[str], clocks: Clocks, scale: float = 1.0) -> list[BenchmarkRow]:
    """Run the named workloads (all when none is named), each with `scale` times its requests, after compiling.

    Raises SimulatorError for an unknown name.
    """
    unknown = [name for name in names if name not in WORKLOADS]
    if unknown:
        known = ", ".join(WORKLOADS)
        raise SimulatorError("unknown_workload", "name", f"{', '.join(unknown)} is not one of {known}")
    require_number("scale", scale, 0.0, 100.0, exclusive=True)
    warm_up()
    measured = [_run(name, WORKLOADS[name], clocks, scale) for name in names or WORKLOADS]
    # Checked when all have been measured: the reference engine's memory is none of theirs.
    return [row | {"matches_reference": _matches(WORKLOADS[row["name"]], row["requests"])} for row in measured]


def _run(name: str, named: NamedWorkload, clocks: Clocks, scale: float) -> BenchmarkRow:
    fleet = named.fleet()
    requests = max(1, int(named.requests * scale))
    wall, cpu = clocks.wall_s(), clocks.cpu_s()
    log = simulate_fleet(fleet, named.generate(requests, np.random.default_rng(SEED)))
    summarise(log)
    wall, cpu = clocks.wall_s() - wall, clocks.cpu_s() - cpu
    return BenchmarkRow(
        name=name,
        requests=requests,
        output_tokens=int(log.generated_tokens.sum()),
        engine_steps=log.steps,
        wall_s=round(wall, 4),
        cpu_s=round(cpu, 4),
        requests_per_cpu_s=round(requests / cpu) if cpu > 0 else 0.0,
        peak_mib=round(clocks.peak_mib(), 1),
        matches_reference=False,
    )


def _matches(named: NamedWorkload, count: int) -> bool:
    fleet = named.fleet()
    workload = named.generate(count, np.random.default_rng(SEED)).head(CHECKED_REQUESTS)
    reference = simulate_fleet(fleet, workload, engine="reference")
    return not simulate_fleet(fleet, workload).differences(reference)
