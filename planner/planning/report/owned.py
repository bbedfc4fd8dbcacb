"""What GPUs that stand ready can take, whatever the load: the layout of each kind that carries most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.planning.money.bills import slo_capacity_rps
from planner.planning.money.tokens import SECONDS_PER_HOUR
from planner.planning.report.names import amount
from planner.planning.search.candidates import Candidate, Job
from planner.planning.search.deployments import coverage_of
from planner.planning.search.intervals import rate_ratios


def owned_rows(job: Job, candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """One row per accelerator owned, in the scenario's order.

    As many replicas as fit, spares left out of the capacity. capacity_rps: the highest rate of the busiest hour within
    all targets, replicas times what one counts for in the plan: that of one alone, moved where the simulated fleet says
    otherwise (`slo_capacity_rps`), so that GPUs that hold a fleet of the plan carry the load; mean_rps and
    tokens_per_month: at it, in the shape of the week. low, high: with slow and with fast steps. margin_ratio: what is
    left beyond the planned peak, negative where that is more than they take. binding: what fails first beyond.
    """
    return [_row(job, gpu, count, candidates) for gpu, count in job.scenario.hardware.owned_gpus.items()]


def _capacity_rps(job: Job, candidate: Candidate) -> float:
    assert candidate.capacity is not None
    if candidate.fleet is None:
        return candidate.capacity.rps
    return slo_capacity_rps(candidate.capacity.rps, job.load.peak_rps, candidate.fleet.serving)


def _row(job: Job, gpu: str, count: int, candidates: Sequence[Candidate]) -> dict[str, Any]:
    kept = job.scenario.billing.spare_replicas
    best: tuple[float, int, Candidate] | None = None
    for candidate in candidates:
        if candidate.gpu.accelerator.id != gpu or candidate.capacity is None:
            continue
        serving = count // candidate.gpus_per_replica - kept * candidate.pools
        rate = serving * _capacity_rps(job, candidate)
        if serving > 0 and rate > 0 and (best is None or (rate, -candidate.gpus_per_replica) > best[:2]):
            best = rate, -candidate.gpus_per_replica, candidate
    row: dict[str, Any] = {
        "gpu": gpu,
        "gpus": count,
        "candidate": None,
        "serving_replicas": 0,
        "spare_replicas": kept,
        "idle_gpus": count,
        "capacity_rps": 0.0,
        "capacity_low_rps": 0.0,
        "capacity_high_rps": 0.0,
        "margin_ratio": None,
        "binding": "",
        "mean_rps": 0.0,
        "tokens_per_month": 0,
        "carries": False,
        "sentence": f"{count:,} of these GPUs hold no replica that meets the targets, spares left out.",
    }
    if best is None:
        return row
    rate, _, candidate = best
    load, each = job.load, candidate.gpus_per_replica
    spares = kept * candidate.pools
    serving = count // each - spares
    mean_rps = rate * load.mean_rps / load.peak_rps
    tokens = load.mix.prompt_tokens_mean + load.mix.output_tokens_mean
    assert candidate.replica is not None
    assert candidate.deployment is not None
    slow, fast = rate_ratios(job, candidate.replica, coverage_of(candidate.deployment))
    carries = rate >= load.peak_rps
    word = "carry the load" if carries else f"carry {rate / load.peak_rps:.0%} of the load"
    return row | {
        "candidate": candidate.id,
        "serving_replicas": serving,
        "spare_replicas": spares,
        "idle_gpus": count - (serving + spares) * each,
        "capacity_rps": rate,
        "capacity_low_rps": rate * min(1.0, slow),
        "capacity_high_rps": rate * max(1.0, fast),
        "margin_ratio": rate / load.peak_rps - 1,
        "binding": _binding(candidate, serving),
        "mean_rps": mean_rps,
        "tokens_per_month": round(mean_rps * SECONDS_PER_HOUR * job.scenario.billing.hours_per_month * tokens),
        "carries": carries,
        "sentence": f"{count:,} of these GPUs {word}: {rate:.3g} requests/s in the peak hour within all targets.",
    }


def _binding(candidate: Candidate, serving: int) -> str:
    """What fails first when more comes than they can take, in words."""
    assert candidate.capacity is not None
    failing = candidate.capacity.failing
    if failing is None:
        return "No limit was found."
    each = "" if serving == 1 else f", {amount(failing.rate_rps)} on each replica,"
    return f"At {amount(failing.rate_rps * serving)} requests/s{each} {failing.failure()}."
