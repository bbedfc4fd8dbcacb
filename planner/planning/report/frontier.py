"""Cost against speed: which candidates nothing beats in both, how each behaves at rising load, and what knobs do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from costmodel import Deployment
from planner.planning.money.bills import FleetBill
from planner.planning.report.plain import usd
from planner.planning.search.candidates import Candidate, Job
from planner.planning.search.closed_form import Form, capacity_rps, closed_form, steady_at
from planner.planning.search.deployments import memory_of, tables_of
from planner.planning.search.intervals import Sized
from planner.planning.search.replica import make_replica
from planner.planning.search.targets import latencies, percentile
from simulator import SimulatorError

CURVE_RATIOS = (0.2, 0.4, 0.6, 0.75, 0.85, 0.95, 1.05, 1.2)
"""Of the simulated capacity of a replica."""
KNEE_RATIO = 1.5
"""A p95 above this many times its value at the lowest load lies beyond the knee."""
BUDGETS, SEATS = (2_048, 4_096, 8_192, 16_384), (64, 256, 1_024)

Priced = tuple[Sized, FleetBill]


def frontier_rows(job: Job, fleets: Sequence[Priced]) -> list[dict[str, Any]]:
    """Every fleet that meets the targets, the cheapest first. on_frontier: no other is at least as good in cost, TTFT
    p95 and TPOT p95 and better in one of them. Latencies are of the simulated peak hour."""
    rows = [_fleet_row(job, size, bill) for size, bill in fleets]
    for row in rows:
        row["on_frontier"] = not any(_beats(other, row) for other in rows)
    return sorted(rows, key=lambda row: (row["usd_per_month"], row["candidate"]))


def _fleet_row(job: Job, size: Sized, bill: FleetBill) -> dict[str, Any]:
    assert size.candidate.fleet is not None
    pooled = latencies(size.candidate.fleet.run.logs, steady=not job.load.is_trace)
    return {
        "candidate": size.candidate.id,
        "usd_per_month": usd(bill.cost.exact_usd_per_month),
        "ttft_p95_ms": percentile(pooled.ttft_ms, 95),
        "tpot_p95_ms": percentile(pooled.tpot_ms, 95),
        "curve": curve(job, size),
    }


def _beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
    keys = ("usd_per_month", "ttft_p95_ms", "tpot_p95_ms")
    pairs = [(one[key], other[key]) for key in keys if one[key] is not None and other[key] is not None]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


def curve(job: Job, size: Sized) -> list[dict[str, Any]]:
    """A replica at rising load by the closed form, scaled so that its capacity is the simulated one. knee: the first
    point at which TTFT or TPOT p95 is well above that of the lowest load. Rates and tokens are of one replica. None of
    prefill and decode pools, which the closed form does not know under load."""
    replica = size.candidate.replica
    assert replica is not None
    if replica.apart is not None:
        return []
    form = closed_form(replica, job.load)
    own = capacity_rps(form, job.targets)
    points = [_point(form, job, size, ratio, own) for ratio in CURVE_RATIOS] if own else []
    low = points[0] if points else None
    found = False
    for point in points:
        assert low is not None
        point["knee"] = not found and any(_bends(point[key], low[key]) for key in ("ttft_p95_ms", "tpot_p95_ms"))
        found = found or point["knee"]
    return points


def _point(form: Form, job: Job, size: Sized, ratio: float, own_rps: float) -> dict[str, Any]:
    steady = steady_at(form, ratio * own_rps * form.surge_ratio)
    rate = ratio * size.capacity_rps
    pooled = None if steady is None else steady.latencies

    def at(metric: str, percent: int) -> float | None:
        return None if pooled is None else percentile(pooled.of(metric), percent)

    return {
        "rps": rate,
        "output_tokens_per_s": rate * job.load.mix.output_tokens_mean,
        "ttft_p50_ms": at("ttft", 50),
        "ttft_p95_ms": at("ttft", 95),
        "tpot_p50_ms": at("tpot", 50),
        "tpot_p95_ms": at("tpot", 95),
        "stable": steady is not None,
    }


def _bends(value: float | None, low: float | None) -> bool:
    return value is None or (low is not None and value > KNEE_RATIO * low)


def knob_rows(job: Job, size: Sized) -> list[dict[str, Any]]:
    """Capacity of a replica by tokens per step and seats, closed form, over that of the settings of the plan. Memory is
    counted anew: a larger budget leaves less KV cache."""
    candidate = size.candidate
    if candidate.apart:
        return []
    assert candidate.deployment is not None
    assert candidate.replica is not None
    base = capacity_rps(closed_form(candidate.replica, job.load), job.targets)
    rows = []
    for deployment in _settings(candidate):
        rate = _rate(job, deployment)
        rows.append(
            {
                "max_num_batched_tokens": deployment.max_num_batched_tokens,
                "max_num_seqs": deployment.max_num_seqs,
                "capacity_ratio": None if rate is None or not base else rate / base,
                "chosen": deployment == candidate.deployment,
            }
        )
    return rows


def _settings(candidate: Candidate) -> Iterator[Deployment]:
    chosen = candidate.deployment
    assert chosen is not None
    budgets = sorted({*BUDGETS, chosen.max_num_batched_tokens})
    seats = sorted({*SEATS, chosen.max_num_seqs})
    for budget in budgets:
        for count in seats:
            if budget >= count:
                yield replace(chosen, max_num_batched_tokens=budget, max_num_seqs=count)


def _rate(job: Job, deployment: Deployment) -> float | None:
    """None where the engine would not start so."""
    memory = memory_of(deployment)
    if not memory.fits:
        return None
    try:
        replica = make_replica(deployment, memory, tables_of(deployment), job.load.mix, job.tick)
    except (SimulatorError, ValueError):
        return None
    return capacity_rps(closed_form(replica, job.load), job.targets)
