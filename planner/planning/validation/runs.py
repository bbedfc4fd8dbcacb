"""A measured row's run in the simulator: its own number of requests, lengths, limits and load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costmodel import Deployment, memory_plan, step_time_tables
from planner.planning.scheduling import scheduling_fields
from planner.planning.step_times import scaled, simulator_step_time
from planner.planning.validation.setups import Histogram, RowLoad, RowSetup
from planner.planning.validation.silicon import MeasuredSteps
from planner.planning.validation.unusable import Unusable
from simulator import (
    EngineConfig,
    EventLog,
    SimulatorError,
    StepTime,
    Workload,
    burst_arrivals_ps,
    constant_arrivals_ps,
    poisson_arrivals_ps,
    simulate,
    uniform_tokens,
)
from simulator.metrics import e2e_ms, tpot_ms, ttft_ms
from simulator.records import FINISHED
from simulator.steptime import PS_PER_S

BLOCK_TOKENS = 16
CHAT_PROMPT_CAP = 1024
CHAT_TOTAL_CAP = 2048
CHAT_CV = 1.2
SEED = 1
MOST_STATIC_TOKENS = 4_000_000


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the simulated run gives, over all GPUs of the row; latencies are means over its requests."""

    throughput_tok_s: float
    ttft_ms: float
    ttft_median_ms: float
    tpot_ms: float | None
    tpot_median_ms: float | None
    e2e_s: float
    percentiles_ms: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(metric, p90 or p95 or p99) of ttft, tpot, e2e, where there are enough requests."""


@dataclass(frozen=True, slots=True)
class Share:
    """One lane's part of the load."""

    requests: int
    in_flight: int
    lanes: int


def predict(
    setup: RowSetup,
    constants: dict[str, Any] | None = None,
    *,
    step_ratio: float = 1.0,
    silicon: MeasuredSteps | None = None,
) -> Prediction:
    """Simulate one lane of the row's replica with its share of the load, steps `step_ratio` times as long.

    Step times are those of our model, or of `silicon` where it is given. Raises Unusable.
    """
    share = lane_share(setup)
    try:
        config, step_time, stream = lane_run(setup, share, constants, silicon)
        log = simulate(config, step_time if step_ratio == 1.0 else scaled(step_time, step_ratio), stream)
    except SimulatorError as problem:
        raise Unusable(f"not simulated: {problem.code}") from problem
    return _measure(log, share.lanes, _counted(setup.load, share))


def _counted(load: RowLoad, share: Share) -> slice:
    """The lane's requests that are measured: without the warm-up, and without those that only keep the load up."""
    if not load.warm_up and not load.after:
        return slice(None)
    first = min(share.requests - 1, round(load.warm_up / share.lanes))
    return slice(first, max(first + 1, share.requests - round(load.after / share.lanes)))


def lane_share(setup: RowSetup) -> Share:
    """What one lane of the row's replica has to do, and how many lanes do it."""
    load = setup.load
    in_flight = load.in_flight if load.kind == "closed" else load.requests
    active = max(1, min(setup.lanes, in_flight))
    return Share(requests=_part(load.requests, active), in_flight=_part(in_flight, active), lanes=active)


def _part(count: int, lanes: int) -> int:
    return max(1, round(count / lanes))


def lane_run(
    setup: RowSetup, share: Share, constants: dict[str, Any] | None = None, silicon: MeasuredSteps | None = None
) -> tuple[EngineConfig, StepTime, Workload]:
    """What is simulated for one lane. A benchmark inside the process pays nothing for HTTP. Raises Unusable."""
    prompts, outputs = draw_lengths(setup.load, share.requests)
    config = engine_config(setup, prompts, outputs, share)
    step_time = step_time_of(setup.deployment, config, constants, silicon)
    if not setup.load.served:
        step_time = replace(step_time, request_ps=0)
    return config, step_time, workload(setup.load, share, prompts, outputs)


def draw_lengths(load: RowLoad, count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Prompt and output lengths as the benchmark draws them, with a fixed seed.

    `uniform_80_100`: whole numbers from 0.8 to 1.0 of the nominal, apart for prompt and output. `chat`: lognormal with
    the stated means and a chat data set's long tail (coefficient of variation 1.2, an assumption), within the limits
    by which vLLM's benchmark keeps a conversation: a prompt of 1024 tokens, 2048 with its output.
    """
    rng = np.random.default_rng(SEED)
    means = (load.prompt_tokens, load.output_tokens)
    match load.lengths:
        case "uniform_80_100":
            prompts, outputs = (
                uniform_tokens(max(1, math.ceil(0.8 * mean)), max(1, int(mean)), count, rng) for mean in means
            )
        case "chat":
            prompts, outputs = (_chat_tokens(mean, count, rng) for mean in means)
            prompts = np.minimum(prompts, max(CHAT_PROMPT_CAP, round(means[0])))
            outputs = np.minimum(outputs, np.maximum(CHAT_TOTAL_CAP - prompts, round(means[1])))
        case "histogram" if load.histograms is not None:
            sides = zip(load.histograms, means, strict=True)
            prompts, outputs = (_histogram_tokens(each, mean, count, rng) for each, mean in sides)
        case _:
            prompts, outputs = (np.full(count, max(1, round(mean)), np.int64) for mean in means)
    return prompts, outputs


def _histogram_tokens(histogram: Histogram, mean: float, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Straight lines between the bounds of buckets, then stretched to the mean, which is known exactly."""
    bounds, counts = np.array(((0.0, 0.0), *histogram)).T
    counts = np.maximum.accumulate(counts)
    drawn = np.interp(rng.random(count) * counts[-1], counts, bounds)
    drawn *= mean / max(float(drawn.mean()), 1e-9)
    tokens: NDArray[np.int64] = np.maximum(1, np.rint(drawn)).astype(np.int64)
    return tokens


def _chat_tokens(mean: float, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    spread = math.log1p(CHAT_CV * CHAT_CV)
    drawn = np.rint(rng.lognormal(math.log(mean) - spread / 2, math.sqrt(spread), count))
    return np.maximum(drawn, 1).astype(np.int64)


def engine_config(
    setup: RowSetup, prompts: NDArray[np.int64], outputs: NDArray[np.int64], share: Share
) -> EngineConfig:
    """Scheduler and pool of one lane. Raises Unusable where the deployment's memory does not hold the run.

    A static batch has room for all of it. Prompts are chunked throughout: where an engine runs them whole, the budget
    is at least the longest prompt.
    """
    deployment = setup.deployment
    longest = int((prompts + outputs).max())
    base = lane_config(deployment, float((prompts + outputs).mean()), cached=setup.load.cached_prompt_ratio > 0)
    if base.num_blocks * BLOCK_TOKENS < longest:
        raise Unusable("model does not fit by our memory model")
    if setup.load.kind == "static":
        budget = max(int(prompts.sum()), share.requests)
        if budget > MOST_STATIC_TOKENS:
            raise Unusable("static batch too large to simulate")
        return replace(
            base,
            scheduler="static",
            overlap_scheduling=False,
            max_num_seqs=share.requests,
            max_num_batched_tokens=budget,
        )
    budget = base.max_num_batched_tokens
    if not deployment.enable_chunked_prefill:
        budget = max(budget, int(prompts.max()))
    return replace(base, max_model_len=longest, max_num_batched_tokens=budget)


def lane_config(deployment: Deployment, mean_context_tokens: float, *, cached: bool = False) -> EngineConfig:
    """One lane's scheduler and pool by the deployment's own limits. Pipeline stages share the pool of a rank.

    Admission asks for room for the whole prompt. An engine that asks for the first chunk only finds the blocks of a
    prompt that it had to drop again in its prefix cache, so it computes nothing twice; without the cache, which random
    prompts do not need, such a pool would thrash here and not there.

    Raises Unusable when the memory model leaves no pool.
    """
    plan = memory_plan(deployment)
    if plan.kv_pool_bytes <= 0:
        raise Unusable("model does not fit by our memory model")
    scheduling = scheduling_fields(deployment)
    tokens = plan.blocks_at(mean_context_tokens) * deployment.block_size // deployment.parallelism.pp
    return EngineConfig(
        max_num_seqs=deployment.max_num_seqs,
        max_num_batched_tokens=max(deployment.max_num_batched_tokens, deployment.max_num_seqs),
        num_blocks=max(1, tokens // BLOCK_TOKENS),
        max_model_len=deployment.max_model_len,
        block_size=BLOCK_TOKENS,
        enable_prefix_caching=cached,
        scheduler=scheduling["scheduler"],
        overlap_scheduling=scheduling["overlap_scheduling"],
        reserve_full_isl=True,
    )


def step_time_of(
    deployment: Deployment,
    config: EngineConfig | None = None,
    constants: dict[str, Any] | None = None,
    silicon: MeasuredSteps | None = None,
) -> StepTime:
    """Step-time tables of a deployment, as long as `config` needs them, in the simulator's form. Raises Unusable."""
    limits = config or lane_config(deployment, 1.0)
    sized = replace(deployment, max_num_seqs=limits.max_num_seqs, max_num_batched_tokens=limits.max_num_batched_tokens)
    return simulator_step_time(silicon.tables(sized) if silicon else step_time_tables(sized, constants))


def workload(load: RowLoad, share: Share, prompts: NDArray[np.int64], outputs: NDArray[np.int64]) -> Workload:
    """One lane's requests: all at once, a closed loop, or at its part of the rate."""
    count = share.requests
    rng = np.random.default_rng(SEED + 1)
    if load.steps:
        arrivals = moving_arrivals_ps(load.steps, count, rng)
    elif load.kind == "poisson":
        arrivals = poisson_arrivals_ps(load.rate_rps / share.lanes, count, rng)
    elif load.kind == "constant":
        arrivals = constant_arrivals_ps(load.rate_rps / share.lanes, count)
    else:
        arrivals = burst_arrivals_ps(count)
    cached = load.cached_prompt_ratio
    return Workload(
        arrival_ps=arrivals,
        prompt_tokens=prompts,
        output_tokens=outputs,
        prefix_group=np.zeros(count, np.int64) if cached else None,
        prefix_tokens=(prompts * cached).astype(np.int64) if cached else None,
        concurrency=share.in_flight if load.kind == "closed" else None,
    )


def moving_arrivals_ps(steps: Sequence[tuple[float, float]], count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """So many arrivals of a Poisson process with this rate: given their number, they lie apart from each other."""
    seconds = np.concatenate(((0.0,), np.cumsum([each for each, _ in steps])))
    expected = np.concatenate(((0.0,), np.cumsum([each * rps for each, rps in steps])))
    times_s = np.interp(np.sort(rng.random(count)) * expected[-1], expected, seconds)
    arrival_ps: NDArray[np.int64] = np.rint(times_s * PS_PER_S).astype(np.int64)
    return arrival_ps


def _measure(log: EventLog, lanes: int, counted: slice) -> Prediction:
    done = log.outcome == FINISHED
    if not done.any() or not bool(done.all()):
        raise Unusable("requests do not fit the KV pool by our memory model")
    first, several, whole = ttft_ms(log)[counted], tpot_ms(log)[counted], e2e_ms(log)[counted]
    several = several[~np.isnan(several)]
    return Prediction(
        throughput_tok_s=lanes * _tokens_per_s(log, counted),
        ttft_ms=float(first.mean()),
        ttft_median_ms=float(np.median(first)),
        tpot_ms=float(several.mean()) if several.size else None,
        tpot_median_ms=float(np.median(several)) if several.size else None,
        e2e_s=float(whole.mean()) / 1e3,
        percentiles_ms=_percentiles_ms({"ttft": first, "tpot": several, "e2e": whole}),
    )


def _tokens_per_s(log: EventLog, counted: slice) -> float:
    """Output tokens of what ended while the counted requests were sent; of the whole run where all are counted."""
    sent_ps = log.arrival_ps[counted]
    from_ps, to_ps = int(sent_ps[0]), int(sent_ps[-1])
    if counted == slice(None) or to_ps <= from_ps:
        return float(log.output_tokens.sum()) / (log.end_ps / PS_PER_S)
    ended = (log.finish_ps > from_ps) & (log.finish_ps <= to_ps)
    return float(log.output_tokens[ended].sum()) / ((to_ps - from_ps) / PS_PER_S)


def _percentiles_ms(latencies_ms: Mapping[str, NDArray[np.float64]]) -> dict[tuple[str, str], float]:
    """Nearest-rank, none from fewer requests than it needs."""
    return {
        (metric, f"p{percent}"): float(np.percentile(values, percent, method="inverted_cdf"))
        for metric, values in latencies_ms.items()
        for percent in (90, 95, 99)
        if values.size * (100 - percent) >= 500
    }
