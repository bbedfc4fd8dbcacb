"""Rows of the report: candidates, targets, load, memory, curves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from costmodel import Parallelism, replicas_for_peak
from costmodel.memory.plan import MemoryPlan
from costmodel.steptime.coverage import Coverage
from planner.planning.money.bills import FleetBill
from planner.planning.report.names import amount
from planner.planning.report.plain import usd_per_mtok
from planner.planning.report.seats import seats_chain
from planner.planning.search.candidates import Candidate, Job
from planner.planning.search.capacity import Run, logged_lanes, run_at, stream_count
from planner.planning.search.closed_form import closed_form
from planner.planning.search.intervals import Sized
from planner.planning.search.replica import Replica
from planner.planning.search.targets import WARM_UP_RATIO, Latencies, Target, latencies, percentile
from planner.planning.traffic.load import Load
from planner.planning.uncertainty.slo_probability import quick_probability
from simulator import EventLog, summarise
from simulator.records import FINISHED

GIB = 2**30
CURVE_RATIOS = (0.2, 0.4, 0.6, 0.75, 0.9, 1.0, 1.1, 1.25)


def candidate_row(job: Job, candidate: Candidate, size: Sized | None, bill: FleetBill | None) -> dict[str, Any]:
    """One row of `candidates`. slo_probability_ratio: by the closed form, model error included. simulated: how far the
    row can be trusted; what is out before any simulation needs none."""
    deployment = candidate.deployment
    price = candidate.gpu.price
    row: dict[str, Any] = {
        "id": candidate.id,
        "gpu": candidate.gpu.accelerator.id,
        **layout_row(candidate.layout),
        "weight_dtype": deployment.weight_dtype if deployment else None,
        "kv_dtype": deployment.kv_dtype if deployment else None,
        "precision": candidate.precision.said,
        "simulated": True,
        "feasible": candidate.feasible,
        "reason": candidate.reason.as_dict() if candidate.reason else None,
        "serving_replicas": None,
        "spare_replicas": None,
        "replicas": None,
        "gpus": None,
        "billing_mode": None,
        "capacity_rps": None,
        "usd_per_gpu_hour": price.usd_per_gpu_hour,
        "usd_per_month": None,
        "slo": [],
        "slo_probability_ratio": None,
        "kv_tokens": candidate.memory.kv_tokens if candidate.memory and candidate.memory.fits else None,
        "binding": None,
        "coverage": None,
    }
    if size is None or bill is None:
        return row
    assert candidate.fleet is not None
    return row | {
        "serving_replicas": size.serving,
        "spare_replicas": bill.running.terms.spare_replicas,
        "replicas": bill.cost.replicas,
        "gpus": bill.cost.gpus,
        "billing_mode": bill.mode,
        "capacity_rps": {"low": size.low_rps, "mid": size.capacity_rps, "high": size.high_rps},
        "usd_per_month": bill.range(),
        "slo": slo_rows(size),
        "slo_probability_ratio": quick_probability(job, size),
        "binding": binding(candidate),
        "coverage": coverage_row(size.coverage),
    }


def layout_row(layout: Parallelism) -> dict[str, int]:
    """Sizes of a replica: tensor, pipeline, expert and data parallel (attention); tp × pp × dp are its GPUs."""
    return {"tp": layout.tp, "pp": layout.pp, "ep": layout.ep, "dp": layout.dp}


def binding(candidate: Candidate) -> str:
    """What limits the fleet, in words: what fails with one replica fewer, or at the next rate of a single replica."""
    assert candidate.fleet is not None
    assert candidate.capacity is not None
    fleet = candidate.fleet
    if fleet.sure_ratio is not None and fleet.serving > 1 and (fleet.one_less is None or fleet.one_less.ok):
        fewer = f"With {fleet.serving - 1} of {fleet.serving} serving replicas"
        return f"{fewer} the targets hold with a probability below {fleet.sure_ratio:.0%}."
    if fleet.one_less is not None:
        return f"With {fleet.serving - 1} of {fleet.serving} serving replicas {fleet.one_less.failure()}."
    failing = candidate.capacity.failing
    if failing is None:
        return "One replica is enough; no limit was found."
    return f"One replica is enough; at {amount(failing.rate_rps)} requests/s {failing.failure()}."


def coverage_row(covered: Coverage) -> dict[str, Any]:
    """How well measured this model, GPU and engine are."""
    return {
        "state": covered.state,
        "sentence": covered.sentence,
        "model": covered.model,
        "gpu": covered.gpu,
        "engine": covered.engine,
    }


def slo_rows(size: Sized) -> list[dict[str, Any]]:
    """Every target with the fleet's value; low and high where the fleet was simulated with fast and slow steps. TTFT
    is also as far off as measured TTFT was from predicted."""
    assert size.candidate.fleet is not None
    rows = []
    for index, item in enumerate(size.candidate.fleet.run.judged):
        others = [_end(run, index) for run in (size.fast_run, size.slow_run) if run is not None]
        values = [value for value in (*others, item.predicted) if value is not None]
        if item.target.metric == "ttft" and item.predicted is not None:
            values += [item.predicted * size.coverage.ttft_p10_ratio, item.predicted * size.coverage.ttft_p90_ratio]
        complete = len(others) == 2 and bool(values)
        rows.append(
            {
                "metric": item.target.metric,
                "percentile": item.target.percentile,
                **_of_class(item.target),
                "unit": item.target.unit,
                "target": item.target.limit,
                "predicted": item.predicted,
                "low": min(values) if complete else None,
                "high": max(values) if complete else None,
                "met": item.met,
                "samples": item.samples,
            }
        )
    return rows


def _of_class(target: Target) -> dict[str, str]:
    """The class that a target is of; nothing for one of all requests."""
    return {"traffic_class": target.class_name} if target.class_name else {}


def _end(run: Run, index: int) -> float | None:
    """A target's value at an end of the interval; unbounded for latencies of a queue that grows, which have none."""
    item = run.judged[index]
    if run.stable or item.target.metric == "goodput":
        return item.predicted
    return math.inf


def load_section(job: Job, size: Sized) -> dict[str, Any]:
    """The peak hour on the recommended fleet, and the week around it."""
    fleet, capacity, load = size.candidate.fleet, size.candidate.capacity, job.load
    assert fleet is not None
    assert capacity is not None
    logs = fleet.run.logs
    summaries = [summarise(log) for log in logs]
    lanes = size.serving * _replica(size).lanes // logged_lanes(_replica(size), load, size.serving)
    share = lanes / len(logs) * _stretch(load, logs, lanes)
    little = [summary.littles_law for summary in summaries]
    arrivals = sum(item.arrival_rps for item in little)
    mean_s = sum(item.arrival_rps * item.mean_time_s for item in little) / arrivals
    saturation = max(capacity.estimate.saturation_rps, size.capacity_rps) * size.serving
    offered = load.peak_rps / (1 - load.error_ratio)

    def mean(name: str) -> float:
        return float(np.mean([getattr(summary, name) for summary in summaries]))

    return {
        "offered_rps": offered,
        "mean_rps": load.mean_rps,
        "served_rps": sum(_served_rps(log, steady=not load.is_trace) for log in logs) * share,
        "per_replica_rps": load.peak_rps / size.serving,
        "capacity_rps": size.capacity_rps * size.serving,
        "utilisation_ratio": load.peak_rps / (size.capacity_rps * size.serving),
        "busy_ratio": mean("busy_ratio"),
        "seats_ratio": mean("seats_ratio"),
        "concurrency_mean": sum(summary.concurrency_mean for summary in summaries) * share,
        "littles_law": {
            "arrival_rps": arrivals * share,
            "mean_e2e_s": mean_s,
            "product": arrivals * share * mean_s,
            "measured": sum(item.measured for item in little) * share,
        },
        "seats": None
        if size.candidate.apart
        else seats_chain(closed_form(_replica(size), load), load.peak_rps / lanes),
        "kv_mean_ratio": mean("kv_mean_ratio"),
        "kv_peak_ratio": max(summary.kv_peak_ratio for summary in summaries),
        "preemptions": sum(summary.preemptions for summary in summaries),
        "preemption_ratio": mean("preemption_ratio"),
        "cache_hit_ratio": _cache_hit_ratio(logs),
        "headroom_ratio": 1 - load.peak_rps / saturation,
        "saturation_rps": saturation,
        "prompt_tokens_mean": load.mix.prompt_tokens_mean,
        "output_tokens_mean": load.mix.output_tokens_mean,
        "cut_ratio": load.mix.cut_ratio,
        "error_ratio": load.error_ratio,
        "week": week_rows(load, size.capacity_rps),
    }


def _replica(size: Sized) -> Replica:
    assert size.candidate.replica is not None
    return size.candidate.replica


def _stretch(load: Load, logs: tuple[EventLog, ...], lanes: int) -> float:
    """Rate asked for over the rate simulated: 1, but less where so few requests come that a sample of them would last
    too long and was drawn denser; they hardly meet in either, so that counts per second scale."""
    if load.is_trace:
        return 1.0
    simulated_rps = sum(len(log) / (int(log.arrival_ps[-1]) / 1e12) for log in logs) / len(logs)
    return load.peak_rps / lanes / simulated_rps


def _served_rps(log: EventLog, *, steady: bool) -> float:
    """Finished requests per second. A drawn load goes on where its sample ends, so that filling and draining are left
    out; a trace is counted from its first arrival to its last finish."""
    if not steady:
        return summarise(log).served_rps
    start, end = (int(log.arrival_ps[place]) for place in (int(len(log) * WARM_UP_RATIO), -1))
    done = np.count_nonzero((log.outcome == FINISHED) & (log.finish_ps > start) & (log.finish_ps <= end))
    return float(done / ((end - start) / 1e12))


def week_rows(load: Load, capacity_rps: float) -> list[dict[str, Any]]:
    """Rate and serving replicas of every hour, from Monday 0:00."""
    return [
        {"hour": hour, "rps": rate, "replicas_needed": replicas_for_peak(rate, capacity_rps)}
        for hour, rate in enumerate(load.week_rps.tolist())
    ]


def _cache_hit_ratio(logs: tuple[EventLog, ...]) -> float:
    return float(sum(int(log.cached_tokens.sum()) for log in logs) / sum(int(log.prompt_tokens.sum()) for log in logs))


def memory_section(load: Load, candidate: Candidate) -> dict[str, Any]:
    """The subtraction from device memory to KV cache, of one GPU."""
    memory, deployment = candidate.memory, candidate.deployment
    assert memory is not None
    assert deployment is not None
    return {
        "candidate": candidate.id,
        "lines": _memory_lines(memory),
        "kv_pool_gib": memory.kv_pool_bytes / GIB,
        "kv_blocks": memory.kv_blocks,
        "block_size_tokens": deployment.block_size,
        "kv_tokens": memory.kv_tokens,
        "kv_bytes_per_token": memory.kv_bytes_per_token,
        "mean_context_tokens": load.mix.context_tokens_mean,
        "concurrency_at_mean": memory.sequences_at(load.mix.context_tokens_mean),
        "concurrency_at_max": int(memory.max_concurrency + 1e-9),
        "max_model_len": deployment.max_model_len,
    }


def _memory_lines(memory: MemoryPlan) -> list[dict[str, Any]]:
    return [
        {"label": line.label, "gib": line.gib, "formula": line.formula, "basis": line.basis} for line in memory.lines
    ]


def cost_section(bill: FleetBill, tokens_input: int, tokens_output: int) -> dict[str, Any]:
    """The fleet's month."""
    cost, identity = bill.cost, bill.identity
    return {
        "lines": [
            {
                "label": line.label,
                "quantity": line.quantity,
                "unit": line.unit,
                "usd_per_unit": line.usd_per_unit,
                "usd_per_month": line.usd_per_month,
                "basis": line.basis,
            }
            for line in cost.lines
        ],
        "usd_per_month": bill.range(),
        "monthly_tokens": {"input": tokens_input, "output": tokens_output, "total": tokens_input + tokens_output},
        "usd_per_mtok": {
            "output": usd_per_mtok(cost.usd_per_mtok.output),
            "input": usd_per_mtok(cost.usd_per_mtok.input),
            "blended": usd_per_mtok(cost.usd_per_mtok.blended),
            "output_alone": usd_per_mtok(cost.usd_per_mtok.output_alone),
        },
        "identity": {
            "usd_per_replica_hour": identity.usd_per_replica_hour,
            "slo_tokens_per_replica_hour": float(identity.slo_tokens_per_replica_hour),
            "utilisation_ratio": float(identity.utilisation_ratio),
            "usd_per_mtok": usd_per_mtok(identity.usd_per_mtok),
        },
        "allocation_usd_per_mtok": usd_per_mtok(cost.allocation_usd_per_mtok),
        "usage_usd_per_mtok": usd_per_mtok(cost.usage_usd_per_mtok),
    }


def curve_rows(job: Job, size: Sized) -> list[dict[str, Any]]:
    """One replica of the recommended fleet at rising load of the whole fleet."""
    candidate = size.candidate
    assert candidate.replica is not None
    assert candidate.capacity is not None
    count = stream_count(job.targets, candidate.capacity.estimate)
    rows = []
    for ratio in CURVE_RATIOS:
        rate = ratio * size.capacity_rps * size.serving
        run = run_at(candidate.replica, job.load, job.targets, rate, count, replicas=size.serving)
        logged = logged_lanes(candidate.replica, job.load, size.serving)
        rows.append(_curve_row(job, run, size.serving * candidate.replica.lanes // logged))
    return rows


def _curve_row(job: Job, run: Run, lanes: int) -> dict[str, Any]:
    pooled: Latencies = latencies(run.logs, steady=not job.load.is_trace)
    shown = run.stable or job.load.is_trace

    def at(metric: str, percent: int) -> float | None:
        return percentile(pooled.of(metric), percent) if shown else None

    return {
        "rps": run.rate_rps,
        "served_tokens_per_s": summarise(run.logs[0]).output_tokens_per_s * lanes,
        "ttft_p50_ms": at("ttft", 50),
        "ttft_p95_ms": at("ttft", 95),
        "tpot_p50_ms": at("tpot", 50),
        "tpot_p95_ms": at("tpot", 95),
        "stable": run.stable,
    }
