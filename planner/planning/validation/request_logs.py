"""Per-request logs of real runs: the same arrivals and lengths replayed, and the latencies compared.

A log is a folder with `meta.json` (engine settings) and `requests.jsonl` (`input_toks`, `output_toks`, `queued_ts`,
`first_token_ts`, `last_token_ts` in seconds). Its name begins with the GPU: `RTXPRO6000_Llama-3.1-8B`.
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
from planner.planning.validation.unusable import Unusable
from simulator import SimulatorError, Workload, replay_arrivals_ps, simulate
from simulator.metrics import e2e_ms, tpot_ms, ttft_ms

GPU_NAMES = {"RTXPRO6000": "RTX-PRO-6000-96GB"}
STATISTICS = {"mean": None, "p50": 50, "p95": 95}
LATENCIES = ("ttft", "tpot", "e2e")

Latencies = dict[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class RequestLog:
    """One log: what ran, when requests came (seconds from the first), how long they were and what they saw (ms)."""

    name: str
    meta: Mapping[str, Any]
    arrival_s: NDArray[np.float64]
    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    measured: Latencies


def compare_request_log(
    name: str, meta: bytes, requests: bytes, *, cross_validated: bool = False
) -> list[Comparison | Missing]:
    """Mean, median and p95 of TTFT, TPOT and E2E of one log, predicted over measured. Never raises."""
    try:
        log = read_request_log(name, meta, requests)
        deployment = _deployment(log)
        predicted = _replay(log, deployment, cross_validated)
    except Unusable as problem:
        return [Missing("requests", name, str(problem))]
    except SimulatorError as problem:
        return [Missing("requests", name, f"not simulated: {problem.code}")]
    groups = {**deployment_groups(deployment), "load": "replayed arrivals", "source": "request log"}
    known = coverage(deployment)
    low, high = known.step_time_p10_ratio, known.step_time_p90_ratio
    found: list[Comparison | Missing] = []
    for latency in LATENCIES:
        for label, percentile in STATISTICS.items():
            measured = _statistic(log.measured[latency], percentile)
            ratio = _statistic(predicted[latency], percentile) / measured
            row_id = f"{name}: {latency} {label}"
            found.append(Comparison("requests", row_id, ratio, low <= 1 / ratio <= high, groups))
    return found


def read_request_log(name: str, meta: bytes, requests: bytes) -> RequestLog:
    """Parse a log. Raises Unusable."""
    try:
        settings = json.loads(meta)
        records = [json.loads(line) for line in requests.splitlines() if line.strip()]
        fields = ("queued_ts", "first_token_ts", "last_token_ts", "input_toks", "output_toks")
        table = np.array([[float(record[field]) for field in fields] for record in records])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Unusable("request log not readable") from None
    if not isinstance(settings, dict) or not table.size or not np.isfinite(table).all() or (table[:, 3:] < 1).any():
        raise Unusable("request log not readable")
    table = table[np.argsort(table[:, 0], kind="stable")]
    queued, first, last, prompt, output = table.T
    gaps = np.where(output > 1, output - 1, np.nan)
    measured = {"ttft": 1e3 * (first - queued), "tpot": 1e3 * (last - first) / gaps, "e2e": 1e3 * (last - queued)}
    lengths = prompt.astype(np.int64), output.astype(np.int64)
    return RequestLog(name, settings, queued - queued[0], lengths[0], lengths[1], measured)


def _deployment(log: RequestLog) -> Deployment:
    kwargs = log.meta.get("engine_kwargs")
    kwargs = kwargs if isinstance(kwargs, dict) else {}
    gpu = log.name.split("_")[0]
    longest = int((log.prompt_tokens + log.output_tokens).max())
    model = model_named(str(kwargs.get("model") or log.meta.get("model") or ""))
    try:
        return make_deployment(
            model,
            accelerator_named(GPU_NAMES.get(gpu, gpu)),
            engine_profile("vllm", str(log.meta.get("vllm_version") or "0.19.0")),
            Parallelism(tp=kwargs.get("tensor_parallel_size") or 1),
            weight_dtype="bf16" if kwargs.get("dtype") == "bfloat16" else "native",
            max_model_len=max(longest, kwargs.get("max_model_len") or model.max_context_tokens),
            max_num_seqs=kwargs.get("max_num_seqs"),
            max_num_batched_tokens=kwargs.get("max_num_batched_tokens"),
        )
    except (DeploymentError, LookupError, TypeError) as problem:
        raise Unusable("deployment refused") from problem


def _replay(log: RequestLog, deployment: Deployment, cross_validated: bool) -> Latencies:
    """Latencies in ms of the same arrivals and lengths in the simulator; no prompt shares a prefix."""
    stream = Workload(replay_arrivals_ps(log.arrival_s), log.prompt_tokens, log.output_tokens)
    context = float((log.prompt_tokens + log.output_tokens).mean())
    config = lane_config(deployment, context)
    constants = held_out_constants(deployment) if cross_validated else None
    run = simulate(config, step_time_of(deployment, config, constants), stream)
    if (run.finish_ps < 0).any():
        raise Unusable("requests do not fit the KV pool by our memory model")
    return {"ttft": ttft_ms(run), "tpot": tpot_ms(run), "e2e": e2e_ms(run)}


def _statistic(values: NDArray[np.float64], percentile: int | None) -> float:
    """Mean, or nearest-rank percentile, without undefined values."""
    known = np.sort(values[~np.isnan(values)])
    if percentile is None:
        return float(known.mean())
    return float(known[max(0, math.ceil(percentile / 100 * known.size) - 1)])
