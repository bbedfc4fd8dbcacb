"""Per-request logs of real runs: the same arrivals and lengths replayed, and the latencies compared.

A log is a folder with `meta.json` (engine settings) and `requests.jsonl`. Its name begins with the GPU:
`RTXPRO6000_Llama-3.1-8B`. Each line of `requests.jsonl` is one request as vLLM's own statistics tell it, in seconds:
`arrival_time` (sent; the wall clock of the process that sends), `queued_ts` (seen by the engine, which looks between
steps), `scheduled_ts` (first scheduled), `first_token_ts`, `last_token_ts` (all four the engine's clock), and
`input_toks`, `output_toks`. HTTP, tokenizer and the way of a token back to a client lie outside these times.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costmodel import Deployment, DeploymentError, Parallelism, engine_profile, make_deployment
from costmodel.steptime import held_out_constants
from costmodel.steptime.coverage import coverage
from planner.planning.validation.compare import Comparison, Missing, deployment_groups
from planner.planning.validation.names import accelerator_named, model_named
from planner.planning.validation.runs import lane_config, step_time_of
from planner.planning.validation.setups import LONGEST_TOKENS, MOST_GPUS
from planner.planning.validation.silicon import MeasuredSteps
from planner.planning.validation.unusable import Unusable
from simulator import SimulatorError, Workload, replay_arrivals_ps, simulate
from simulator.steptime import PS_PER_S

GPU_NAMES = {"RTXPRO6000": "RTX-PRO-6000-96GB"}
STATISTICS = {"mean": None, "p50": 50, "p95": 95}
LATENCIES = ("ttft", "tpot", "e2e")
FIELDS = (
    "arrival_time",
    "queued_ts",
    "scheduled_ts",
    "first_token_ts",
    "last_token_ts",
    "input_toks",
    "output_toks",
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Served:
    """When requests were sent, first scheduled, gave their first and their last token: seconds from the first sent."""

    sent_s: FloatArray
    scheduled_s: FloatArray
    first_token_s: FloatArray
    last_token_s: FloatArray
    output_tokens: IntArray

    def latency_ms(self, latency: str) -> FloatArray:
        """`ttft` and `e2e` from sent to first and last token; `tpot` between those two, without one-token requests."""
        if latency == "ttft":
            return 1e3 * (self.first_token_s - self.sent_s)
        if latency == "e2e":
            return 1e3 * (self.last_token_s - self.sent_s)
        several = self.output_tokens > 1
        decode_s = self.last_token_s[several] - self.first_token_s[several]
        return 1e3 * decode_s / (self.output_tokens[several] - 1)


@dataclass(frozen=True, slots=True)
class RequestLog:
    """One log in the order of arrival: what ran, how long requests were, and when they were served."""

    name: str
    meta: Mapping[str, Any]
    prompt_tokens: IntArray
    measured: Served


@dataclass(frozen=True, slots=True)
class Replay:
    """A log, the deployment that it ran on, and the same requests as simulated."""

    log: RequestLog
    deployment: Deployment
    predicted: Served


def compare_request_log(
    name: str,
    meta: bytes,
    requests: bytes,
    *,
    cross_validated: bool = False,
    silicon: MeasuredSteps | None = None,
) -> list[Comparison | Missing]:
    """Mean, median and p95 of TTFT, TPOT and E2E of one log, predicted over measured. Never raises."""
    try:
        log = read_request_log(name, meta, requests)
        replay = replay_request_log(log, cross_validated=cross_validated, silicon=silicon)
    except Unusable as problem:
        return [Missing("requests", name, str(problem))]
    groups = {**deployment_groups(replay.deployment), "load": "replayed arrivals", "source": "request log"}
    known = coverage(replay.deployment)
    found: list[Comparison | Missing] = []
    for latency in LATENCIES:
        measured, predicted = replay.log.measured.latency_ms(latency), replay.predicted.latency_ms(latency)
        if not measured.size:
            found.append(Missing("requests", f"{name}: {latency}", "one output token: TPOT undefined"))
            continue
        for label, percentile in STATISTICS.items():
            ratio = statistic(predicted, percentile) / statistic(measured, percentile)
            row_id = f"{name}: {latency} {label}"
            low, high = (
                (known.ttft_p10_ratio, known.ttft_p90_ratio)
                if latency == "ttft"
                else (known.step_time_p10_ratio, known.step_time_p90_ratio)
            )
            interval = None if silicon else (low * ratio, high * ratio)
            found.append(Comparison("requests", row_id, ratio, interval, groups))
    return found


def read_request_log(name: str, meta: bytes, requests: bytes) -> RequestLog:
    """Parse a log. Raises Unusable.

    The clock that requests were sent by is laid on the engine's so that the request which was seen soonest was seen
    at once; every other wait before `queued_ts` is kept. It is most of a step: the engine does not look during steps.
    """
    try:
        settings = json.loads(meta)
        records = [json.loads(line) for line in requests.splitlines() if line.strip()]
        table = np.array([[float(record[field]) for field in FIELDS] for record in records])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise Unusable("request log not readable") from None
    if not isinstance(settings, dict) or not table.size or not np.isfinite(table).all():
        raise Unusable("request log not readable")
    arrival, queued, scheduled, first, last, prompt, output = table[np.argsort(table[:, 0], kind="stable")].T
    sent = np.minimum(arrival + (queued - arrival).min(), queued)
    tokens = prompt + output
    if prompt.min() < 1 or output.min() < 1 or tokens.max() > LONGEST_TOKENS:
        raise Unusable("lengths not usable")
    in_order = (queued <= scheduled) & (scheduled < first) & (first <= last) & ((first < last) | (output == 1))
    if not in_order.all():
        raise Unusable("times out of order")
    start = sent[0]
    measured = Served(sent - start, scheduled - start, first - start, last - start, output.astype(np.int64))
    return RequestLog(name, settings, prompt.astype(np.int64), measured)


def replay_request_log(
    log: RequestLog,
    *,
    cross_validated: bool = False,
    silicon: MeasuredSteps | None = None,
    deployment: Deployment | None = None,
) -> Replay:
    """The log's requests in the simulator, with its engine settings, or on another deployment. Raises Unusable."""
    deployment = deployment or log_deployment(log)
    try:
        return Replay(log, deployment, _simulated(log, deployment, cross_validated, silicon))
    except SimulatorError as problem:
        raise Unusable(f"not simulated: {problem.code}") from problem


def statistic(values: FloatArray, percentile: int | None) -> float:
    """Mean (None), or nearest-rank percentile."""
    if percentile is None:
        return float(values.mean())
    return float(np.sort(values)[max(0, math.ceil(percentile / 100 * values.size) - 1)])


def log_deployment(log: RequestLog) -> Deployment:
    """The replica that a log is of. Raises Unusable."""
    kwargs = log.meta.get("engine_kwargs")
    kwargs = kwargs if isinstance(kwargs, dict) else {}
    gpu = log.name.split("_")[0]
    longest = int((log.prompt_tokens + log.measured.output_tokens).max())
    model = model_named(str(kwargs.get("model") or log.meta.get("model") or ""))
    try:
        tp, dp = kwargs.get("tensor_parallel_size") or 1, kwargs.get("data_parallel_size") or 1
        if not tp * dp <= MOST_GPUS:
            raise Unusable("parallelism not usable")
        spread_experts = bool(kwargs.get("enable_expert_parallel")) and model.is_moe
        return make_deployment(
            model,
            accelerator_named(GPU_NAMES.get(gpu, gpu)),
            engine_profile("vllm", str(log.meta.get("vllm_version") or "0.19.0")),
            Parallelism(tp=tp, dp=dp, ep=tp * dp if spread_experts else 1),
            weight_dtype="bf16" if kwargs.get("dtype") == "bfloat16" else "native",
            max_model_len=max(longest, kwargs.get("max_model_len") or model.max_context_tokens),
            max_num_seqs=kwargs.get("max_num_seqs"),
            max_num_batched_tokens=kwargs.get("max_num_batched_tokens"),
        )
    except (DeploymentError, LookupError, TypeError) as problem:
        raise Unusable("deployment refused") from problem


def _simulated(log: RequestLog, deployment: Deployment, cross_validated: bool, silicon: MeasuredSteps | None) -> Served:
    """The same arrivals and lengths, dealt in turn over data-parallel ranks; no prompt shares a prefix.

    Times are the engine's, as in the log: what a request spends outside (`request_ps`) is not added.
    """
    output_tokens = log.measured.output_tokens
    config = lane_config(deployment, float((log.prompt_tokens + output_tokens).mean()))
    constants = held_out_constants(deployment) if cross_validated else None
    step_time = step_time_of(deployment, config, constants, silicon)
    times_s = np.empty((4, output_tokens.size))
    for rank in range(min(deployment.parallelism.dp, output_tokens.size)):
        own = slice(rank, None, deployment.parallelism.dp)
        sent_s = log.measured.sent_s[own]
        stream = Workload(replay_arrivals_ps(sent_s), log.prompt_tokens[own], output_tokens[own])
        run = simulate(config, step_time, stream)
        if (run.finish_ps < 0).any() or (run.first_token_ps < 0).any():
            raise Unusable("requests do not fit the KV pool by our memory model")
        times_ps = (run.arrival_ps, run.admitted_ps, run.first_token_ps, run.finish_ps)
        times_s[:, own] = sent_s[0] + np.array(times_ps) / PS_PER_S
    return Served(times_s[0], times_s[1], times_s[2], times_s[3], output_tokens)
