"""One replica as the simulator sees it, and what can be said of it without simulating."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from costmodel import Deployment
from costmodel.memory.plan import MemoryPlan
from costmodel.steptime import StepTimeTables
from planner.planning.scheduling import scheduling_fields
from planner.planning.search.apart import Apart, apart_rates
from planner.planning.search.classed import with_classes
from planner.planning.search.room import cached_tokens, sequences_in_pool
from planner.planning.step_times import scaled, simulator_step_time
from planner.planning.traffic.load import Load, Mix, classed_workload
from planner.planning.traffic.replay import fitting_blocks
from simulator import EngineConfig, EventLog, Fleet, Pool, StepTime, Workload, simulate, simulate_fleet
from simulator.fleet import Router

FloatArray = npt.NDArray[np.float64]
LEAST_BLOCK_TOKENS = 16
LEAST_SEATS = 0.05
SEATS_TRIED = 512
BATCH_RATIO = 0.9
"""What filling and draining a batch costs, and a margin; a test simulates it."""
LONE_GAP_PS = 3_700 * 10**12
"""Above the largest target, an hour."""
LONE_REQUESTS = 600
"""With the gap 26 days, which the simulator's clock holds; enough for a p99."""

Tick = Callable[[], None]
"""Called between requests of a simulation; raises PlanCancelled when someone asked to stop."""


@dataclass(frozen=True, slots=True, eq=False)
class Replica:
    """Engine settings and step times of one replica. tick: see Tick.

    lanes: schedulers in it, each with seats, pool and step times of its own: attention-DP ranks, or the micro-batches
    of a pipeline. Config and step time are of one lane, and so is what is simulated: requests are dealt over lanes as
    over replicas. Measured rows are compared in the same way. Ranks that wait for the slowest are in the residual.

    apart: where prompts and outputs are computed on different replicas; a run then has both kinds. router: how
    requests are dealt to the replicas of a fleet.
    """

    config: EngineConfig
    step_time: StepTime
    tick: Tick
    lanes: int = 1
    apart: Apart | None = None
    router: Router = "round_robin"

    @property
    def together(self) -> bool:
        """Whether replicas of a fleet depend on each other, so that they are simulated together. Dealt in turn, they do
        not."""
        return self.apart is not None or self.router != "round_robin"

    @property
    def least(self) -> int:
        """The fewest replicas that serve anything."""
        return 1 if self.apart is None else 2

    def run(self, stream: Workload, *, until_ps: int | None = None) -> EventLog:
        """Serve a stream of requests."""

        def on_progress(_: float) -> bool:
            self.tick()
            return True

        if self.apart is not None:
            return self.run_fleet(stream, self.least, router=self.router, until_ps=until_ps)
        stream = self._fitting(stream)
        log = simulate(self.config, self.step_time, stream, until_ps=until_ps, on_progress=on_progress)
        return with_classes(log, stream)

    def run_fleet(
        self, stream: Workload, replicas: int, *, router: Router = "round_robin", until_ps: int | None = None
    ) -> EventLog:
        """Serve a stream with so many replicas behind a router."""

        def on_progress(_: float) -> bool:
            self.tick()
            return True

        transfer = None if self.apart is None else self.apart.transfer
        fleet = Fleet(self.pools(replicas), router=router, transfer=transfer)
        log = simulate_fleet(fleet, self._fitting(stream), until_ps=until_ps, on_progress=on_progress)
        return with_classes(log, stream)

    def pools(self, replicas: int) -> tuple[Pool, ...]:
        """So many replicas as the simulator's pools: one, or one for prompts and one for outputs."""
        if self.apart is None:
            return (Pool(self.config, self.step_time, replicas=replicas * self.lanes),)
        prefill, decode = self.apart.split(replicas)
        return (
            Pool(self.config, self.step_time, replicas=prefill, role="prefill"),
            Pool(self.config, self.step_time, replicas=decode, role="decode"),
        )

    def _fitting(self, stream: Workload) -> Workload:
        if stream.block_hashes is None:
            return stream
        return replace(stream, block_hashes=fitting_blocks(stream.block_hashes, self.config.block_size))

    def slowed(self, ratio: float) -> Replica:
        """The same replica with every step lasting `ratio` times as long."""
        return replace(self, step_time=scaled(self.step_time, ratio))


def make_replica(deployment: Deployment, memory: MemoryPlan, tables: StepTimeTables, mix: Mix, tick: Tick) -> Replica:
    """The simulator's view of a deployment whose memory fits.

    The prefix cache is simulated also where prompts share nothing: a preempted request finds its own blocks again,
    without which long prompts in a small pool are computed over and over, and a load that the engine carries would
    look like a growing queue. With priorities steps are not scheduled ahead (a step of TTFT; the fast simulator knows
    both only apart). Blocks below 16 tokens are simulated as 16, which wastes at most 15 tokens a sequence.
    """
    block_size = max(deployment.block_size, LEAST_BLOCK_TOKENS)
    config = EngineConfig(
        max_num_seqs=deployment.max_num_seqs,
        max_num_batched_tokens=deployment.max_num_batched_tokens,
        num_blocks=_pool_tokens(memory, mix) // block_size // deployment.parallelism.pp,
        max_model_len=deployment.max_model_len,
        block_size=block_size,
        enable_chunked_prefill=deployment.enable_chunked_prefill,
        enable_prefix_caching=deployment.enable_prefix_caching,
        order="priority" if mix.by_priority else "fcfs",
        **(scheduling_fields(deployment) | ({"overlap_scheduling": False} if mix.by_priority else {})),
    )
    spread, step_time = deployment.parallelism, simulator_step_time(tables)
    if mix.by_priority and step_time.window_tokens > 0:
        raise ValueError("priorities of classes are not simulated for models with sliding windows")
    return Replica(config, step_time, tick, spread.pp * spread.dp)


def _pool_tokens(memory: MemoryPlan, mix: Mix) -> int:
    """Tokens of the pool; where windows or recurrent state make short contexts dear or cheap, those that hold as many
    sequences of the mean context."""
    block = memory.deployment.block_size
    if memory.kv_bytes_per_token == memory.kv_growth_bytes_per_token:
        return memory.kv_blocks * block
    return max(1, memory.blocks_at(mix.context_tokens_mean)) * block


@dataclass(frozen=True, slots=True)
class Estimate:
    """Closed form of a steady replica. saturation_rps: no load beyond it can be served. start_rps: where a search for
    the rate at a TPOT target starts, with `concurrency` sequences running in each lane. within_limit: whether any mean
    step meets the target; where none does, the start is one sequence."""

    saturation_rps: float
    start_rps: float
    concurrency: float
    within_limit: bool = True


def estimate(replica: Replica, mix: Mix, tpot_limit_ms: float | None) -> Estimate:
    """Rates from the mean step of n running sequences: each decodes one token, and prefill keeps pace with departures.

    With E[p] prompt and E[n] output tokens a step of n sequences admits n / E[n] requests, so it holds
    T = n + n·E[p'] / E[n] tokens (p' without cached prefixes), lasts f(T, n, S) and serves n / (E[n]·f) requests a
    second. The best n within seats, pool and token budget gives saturation; the best with f below the TPOT limit the
    start. n is a mean and takes any value, below 1 too: a prompt beyond the budget is spread over several steps.
    """
    return estimates(replica, mix, tpot_limit_ms, (1.0,))[0]


def estimates(
    replica: Replica, mix: Mix, tpot_limit_ms: float | None, step_ratios: Sequence[float]
) -> tuple[Estimate, ...]:
    """The same with every step so many times as long, for each ratio: the steps are looked up once."""
    if replica.apart is not None:
        return tuple(_apart_estimate(replica, mix, tpot_limit_ms, ratio) for ratio in step_ratios)
    fits = most_sequences(replica, mix)
    seats = np.geomspace(min(LEAST_SEATS, fits / 2), fits, SEATS_TRIED)
    step_ps = mean_step_ps(replica, mix, seats)
    rates = seats / mix.output_tokens_mean / (step_ps * 1e-12) * replica.lanes
    found = []
    for ratio in step_ratios:
        fast = step_ps * (1e-9 * ratio) <= (tpot_limit_ms or np.inf)
        best = np.argmax(np.where(fast, rates, -1.0)) if fast.any() else np.argmin(np.abs(seats - 1))
        whole, started = float(rates.max()) / ratio, float(rates[best]) / ratio
        found.append(Estimate(whole, started, float(seats[best]), bool(fast.any())))
    return tuple(found)


def _apart_estimate(replica: Replica, mix: Mix, tpot_limit_ms: float | None, step_ratio: float) -> Estimate:
    """Of a replica in a fleet whose pools are filled alike: 1 / (1 / prefill rate + 1 / decode rate)."""
    whole = apart_rates(replica.config, replica.step_time, mix, None, step_ratio)
    within = apart_rates(replica.config, replica.step_time, mix, tpot_limit_ms, step_ratio)
    return Estimate(whole.each_rps, within.each_rps, within.concurrency, within.within_limit)


def mean_step_ps(replica: Replica, mix: Mix, seats: FloatArray) -> FloatArray:
    """The mean step of so many running sequences while prefill keeps pace with departures; see `estimate`."""
    config, step = replica.config, replica.step_time
    cached = cached_tokens(config, mix)
    prompt = max(1.0, mix.prompt_tokens_mean - cached)
    pairs = float(((mix.prompt_tokens.astype(np.float64) ** 2 - cached**2) / 2).mean())
    admitted = seats / mix.output_tokens_mean
    table = np.arange(len(step.seats_ps))
    context_ps = np.interp(seats, table, step.context_ps)
    return np.asarray(
        np.interp(np.maximum(1.0, seats + admitted * prompt), np.arange(len(step.tokens_ps)), step.tokens_ps)
        + np.interp(seats, table, step.seats_ps)
        + context_ps * (seats * mix.context_tokens_mean + admitted * cached)
        + admitted * (pairs * step.prefill_pair_ps + step.prefill_seq_ps)
        - np.expm1(-admitted) * step.prefill_step_ps
    )


def most_sequences(replica: Replica, mix: Mix) -> float:
    """Sequences of the mix that seats, pool and token budget hold at once, on average."""
    config = replica.config
    prompt = max(1.0, mix.prompt_tokens_mean - cached_tokens(config, mix))
    budget = config.max_num_batched_tokens / (1 + prompt / mix.output_tokens_mean)
    return min(float(config.max_num_seqs), sequences_in_pool(config, mix), budget)


def lone_stream(load: Load, count: int = LONE_REQUESTS) -> Workload:
    """Requests of the mix so far apart that none meets another: what an idle replica does, with its one shared
    prefix cached. Those that need longer than the gap are beyond every target of TTFT and E2E. Of a trace only what no
    request before had is computed, and the cached context costs nothing: a floor, since no cache finds more."""
    mix = load.mix
    places = ((np.arange(count) + 0.5) * len(mix.prompt_tokens) / count).astype(np.int64)
    prompt = mix.prompt_tokens[places]
    if mix.class_of is not None:
        return classed_workload(mix, np.arange(count, dtype=np.int64) * LONE_GAP_PS, places, None)
    if mix.recorded is not None:
        prompt = np.maximum(1, prompt - mix.reused_tokens[places])
    return Workload(
        arrival_ps=np.arange(count, dtype=np.int64) * LONE_GAP_PS,
        prompt_tokens=prompt,
        output_tokens=mix.output_tokens[places],
        prefix_group=np.zeros(count, np.int64) if mix.prefix_tokens else None,
        prefix_tokens=np.minimum(mix.prefix_tokens, mix.prompt_tokens[places]) if mix.prefix_tokens else None,
    )


def batch_rps(replica: Replica, mix: Mix) -> float:
    """Requests a second of a replica that has nothing else to do and no latency to keep: BATCH_RATIO of the closed
    form's saturation."""
    return BATCH_RATIO * estimate(replica, mix, None).saturation_rps
