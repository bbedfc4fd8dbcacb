"""A candidate as far as the closed form gets: its reason to be out, or its capacity, fleet and bill."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from costmodel import Coverage, replicas_for_peak
from costmodel.pricing.money import exact
from costmodel.pricing.terms import BillingMode
from planner.planning.money.bills import FleetBill, fleet_bill
from planner.planning.money.hosted import Hosted
from planner.planning.money.running import billing_modes, running_in
from planner.planning.search.candidates import Candidate, Job
from planner.planning.search.closed_form import Form
from planner.planning.search.constraints import constraint_reason
from planner.planning.search.deployments import coverage_of
from planner.planning.search.feasibility import missed_alone_reason, no_rate_reason
from planner.planning.search.fleet import MAX_REPLICAS
from planner.planning.search.inventory import Gpu
from planner.planning.search.precisions import BITS
from planner.planning.search.replica import batch_rps
from planner.planning.search.replica_rates import ReplicaRates, replica_rates

SIMULATED_RATIO = (0.73, 0.9, 1.15)
"""Simulated over closed-form capacity: low, usual and high over the setups of docs/method.md, "The estimate"."""
HOPE_RATIO = 1.3
"""No simulated capacity is taken to be more than this many times the closed form's."""


@dataclass(frozen=True, slots=True)
class Size:
    """What one replica serves within the targets, with its interval, and the serving replicas that follow."""

    low_rps: float
    mid_rps: float
    high_rps: float
    serving: int
    serving_low: int
    serving_high: int


@dataclass(frozen=True, slots=True, eq=False)
class Option:
    """A candidate as far as the closed form got; size, bill and coverage are None where it is out. form_rps: capacity
    before the usual correction."""

    candidate: Candidate
    form: Form | None = None
    form_rps: float = 0.0
    size: Size | None = None
    bill: FleetBill | None = None
    coverage: Coverage | None = None


def option_of(job: Job, candidate: Candidate, against: Hosted | None) -> Option:
    """The closed form of a prepared candidate."""
    replica = candidate.replica
    if replica is None:
        return Option(candidate)
    deployment = candidate.deployment
    assert deployment is not None
    rates = replica_rates(job, deployment, replica)
    form, capacity = rates.form, rates.capacity_rps
    reason = missed_alone_reason(rates.alone, len(form.sample.prompt), widest=candidate.widest)
    if reason is not None:
        return Option(replace(candidate, reason=reason), form)
    if capacity * SIMULATED_RATIO[1] * MAX_REPLICAS < job.load.peak_rps:
        reason = no_rate_reason(capacity * SIMULATED_RATIO[1], job.load)
        return Option(replace(candidate, reason=reason), form)
    size = _size(job, rates)
    bill = fleet_bill(
        job.scenario,
        candidate.gpu,
        job.load,
        size,
        gpus_per_replica=candidate.gpus_per_replica,
        capacity_rps=size.mid_rps,
        targets=job.targets,
        against=against,
        batch_rps=batch_capacity_rps(job, candidate),
    )
    reason = constraint_reason(
        job.scenario, candidate.gpu, candidate.gpus_per_replica, size.serving, size.mid_rps, bill
    )
    if reason is not None:
        return Option(replace(candidate, reason=reason), form, capacity)
    return Option(candidate, form, capacity, size, bill, coverage_of(deployment))


def batch_capacity_rps(job: Job, candidate: Candidate) -> float | None:
    """Requests with a deadline that a replica does when idle; None where the scenario has none."""
    if job.load.batch is None or candidate.replica is None:
        return None
    return batch_rps(candidate.replica, job.load.batch.mix)


def _size(job: Job, rates: ReplicaRates) -> Size:
    """The interval joins two independent errors, of the closed form and of step times: their logarithms add up as
    squares. 0 at the low end where with slow steps no target of TPOT can be met."""
    low_ratio, usual_ratio, high_ratio = SIMULATED_RATIO
    slow, fast = rates.slow_ratio, rates.fast_ratio
    mid = rates.capacity_rps * usual_ratio
    low = mid * math.exp(-math.hypot(math.log(low_ratio / usual_ratio), math.log(slow))) if slow > 0 else 0.0
    high = mid * math.exp(math.hypot(math.log(high_ratio / usual_ratio), math.log(fast)))
    peak = job.load.peak_rps
    serving = replicas_for_peak(peak, mid)
    return Size(
        low_rps=low,
        mid_rps=mid,
        high_rps=high,
        serving=serving,
        serving_low=replicas_for_peak(peak, high),
        serving_high=replicas_for_peak(peak, low) if low > 0 else serving,
    )


def preference(candidate: Candidate, gpus: int) -> tuple[int, int, int, int, str]:
    """Order of fleets that cost the same: fewer GPUs, then smaller replicas, then wider number formats, whose answers
    are nearer to the model's own."""
    deployment = candidate.deployment
    assert deployment is not None
    widths = BITS[deployment.weight_dtype], BITS[deployment.kv_dtype]
    return gpus, candidate.gpus_per_replica, -widths[0], -widths[1], candidate.id


def fleet_usd(job: Job, gpu: Gpu, gpus_per_replica: int, serving: int, pools: int = 1) -> Fraction:
    """The least that a month of so many serving replicas and the spares of each pool costs, by the modes that may bill
    it."""
    billing = job.scenario.billing
    if billing.mode != "always_on":
        return min(_least_usd(job, gpu, gpus_per_replica, serving, mode, pools) for mode in billing_modes(job.scenario))
    gpus = gpus_per_replica * (serving + pools * billing.spare_replicas)
    return exact(gpu.price.usd_per_gpu_hour) * gpus * exact(billing.hours_per_month)


def _least_usd(job: Job, gpu: Gpu, gpus_per_replica: int, serving: int, mode: BillingMode, pools: int) -> Fraction:
    """Without what an API serves while the fleet is closed."""
    running = running_in(
        mode, job.scenario, gpu, job.load, gpus_per_replica=gpus_per_replica,
        capacity_rps=job.load.peak_rps / serving, api_usd=None, pools=pools,
    )  # fmt: skip
    return running.month(rounding="float").usd


def hoped_usd(job: Job, option: Option) -> Fraction | None:
    """A month that the fleet costs at least: with HOPE_RATIO times the capacity of the closed form. None where it finds
    no capacity at all."""
    if option.form_rps <= 0:
        return None
    candidate = option.candidate
    serving = replicas_for_peak(job.load.peak_rps, option.form_rps * HOPE_RATIO)
    return fleet_usd(job, candidate.gpu, candidate.gpus_per_replica, serving)
