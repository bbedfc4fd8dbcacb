"""The closed-form estimate of a scenario: what fits, what it would cost and whether that beats the API, in
milliseconds and without a simulation. A run confirms or corrects it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from costmodel import Parallelism, break_even, replicas_for_peak
from costmodel.pricing.money import exact
from planner.planning.money.bills import Hosted, cheapest, fleet_bill, hosted_bills, monthly_tokens
from planner.planning.money.break_even import against_row, stairs_of
from planner.planning.money.further import further_of
from planner.planning.report.estimate_cells import flat_row
from planner.planning.report.estimate_rows import Option, Size, assumptions, option_row
from planner.planning.report.plain import plain
from planner.planning.report.provenance import notes_of, provenance
from planner.planning.report.verdict import (
    nearest_candidate,
    no_fleet_verdict,
    verdict,
    with_detail,
    withdrawn_sentence,
)
from planner.planning.schema import SCHEMA_VERSION, Scenario
from planner.planning.search.candidates import Candidate, Job, layouts_of, make_job, prepare
from planner.planning.search.constraints import constraint_reason
from planner.planning.search.deployments import coverage_of
from planner.planning.search.feasibility import missed_alone_reason, no_rate_reason
from planner.planning.search.fleet import MAX_REPLICAS
from planner.planning.search.inventory import Gpu, resolve_gpus
from planner.planning.search.replica_rates import ReplicaRates, replica_rates
from planner.planning.traffic.picture import traffic_picture

METHOD = "closed_form"
SIMULATED_RATIO = (0.73, 0.9, 1.15)
"""Simulated over closed-form capacity: low, usual and high over the setups of docs/method.md, "The estimate"."""


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What the closed form says of a scenario; best and against are None where there is none."""

    job: Job
    gpus: tuple[Gpu, ...]
    hosted: tuple[Hosted, ...]
    options: tuple[Option, ...]
    best: Option | None
    against: Hosted | None


def estimate_scenario(scenario: Scenario) -> dict[str, Any]:
    """The estimate as plain values: the keys of a report where they mean the same, `method` "closed_form".

    Every candidate has its first reason to be out or its capacity, replicas, month and Little's law. Percentiles under
    load are approximate; what only a simulation shows (preemption, routing, cache evictions) is left out.
    """
    return _document(_estimate(scenario))


def estimate_preview(scenario: Scenario) -> dict[str, Any]:
    """The estimate for a form that is being typed: of the candidates only those from the cheapest replica upwards until
    no later one can be the best, and `traffic`, the pictures of the week and of the lengths (`traffic_picture`)."""
    found = _estimate(scenario, only_best=True)
    return _document(found) | {"traffic": traffic_picture(found.job.load)}


def _document(found: Estimate) -> dict[str, Any]:
    scenario = found.job.scenario
    job, best, against = found.job, found.best, found.against
    candidates = [option.candidate for option in found.options]
    tokens = monthly_tokens(job.load, scenario.billing.hours_per_month)
    notes = notes_of(job, found.gpus, [best.candidate] if best else candidates)
    covered = best.coverage if best else None
    document = {
        "schema_version": SCHEMA_VERSION,
        "method": METHOD,
        "name": scenario.name,
        "verdict": _verdict(found),
        "recommended": best.candidate.id if best else None,
        "candidates": [option_row(job, option, against) for option in found.options],
        "load": {
            "mean_rps": job.load.mean_rps,
            "peak_rps": job.load.peak_rps,
            "prompt_tokens_mean": job.load.mix.prompt_tokens_mean,
            "output_tokens_mean": job.load.mix.output_tokens_mean,
            "context_tokens_mean": job.load.mix.context_tokens_mean,
            "monthly_tokens": {"input": tokens.input, "output": tokens.output, "total": tokens.total},
        },
        "api": [api.as_dict() for api in found.hosted],
        "break_even": _break_even(found),
        "provenance": provenance(job, found.gpus, found.hosted, covered, assumptions(job, found.hosted), notes),
    }
    return {key: plain(value) for key, value in document.items()}


def estimate_cells(scenario: Scenario, *, load_ratio: float = 1.0, output_ratio: float = 1.0) -> dict[str, Any]:
    """The estimate as one flat row, its columns ESTIMATE_COLUMNS: the cheapest candidate that meets the targets, else
    the nearest one with its reason. The ratios move the rate and the length of outputs (`what_if`)."""
    found = _estimate(scenario, only_best=True, load_ratio=load_ratio, output_ratio=output_ratio)
    nearest = nearest_candidate([option.candidate for option in found.options])
    shown = found.best or next(option for option in found.options if option.candidate is nearest)
    row = option_row(found.job, shown, found.against)
    cells = flat_row(scenario, found.job.load, row, found.against, _verdict(found), _break_even(found))
    return {key: plain(value) for key, value in cells.items()}


def _estimate(
    scenario: Scenario, *, only_best: bool = False, load_ratio: float = 1.0, output_ratio: float = 1.0
) -> Estimate:
    job = _changed(make_job(scenario, lambda: None), load_ratio, output_ratio)
    gpus = resolve_gpus(scenario.hardware, scenario.priced_at)
    hosted = hosted_bills(scenario, job.load)
    pairs = [(gpu, layout) for gpu in gpus for layout in layouts_of(job, gpu)]
    options = _worth_trying(job, pairs) if only_best else [_option(job, prepare(job, *pair)) for pair in pairs]
    return Estimate(job, gpus, hosted, tuple(options), _best(options), cheapest(hosted))


def _changed(job: Job, load_ratio: float, output_ratio: float) -> Job:
    if load_ratio == output_ratio == 1:
        return job
    load = job.load.scaled(load_ratio)
    return replace(job, load=replace(load, mix=load.mix.stretched(output_ratio=output_ratio)))


def _worth_trying(job: Job, pairs: Sequence[tuple[Gpu, Parallelism]]) -> list[Option]:
    """Candidates from the cheapest replica upwards, until one replica and the spares cost more than the best fleet so
    far: no later one can be the best. All of them where none meets the targets."""
    replicas, options, least = 1 + job.scenario.billing.spare_replicas, [], None

    def floor(pair: tuple[Gpu, Parallelism]) -> Fraction:
        gpu, layout = pair
        return exact(gpu.price.usd_per_gpu_hour) * layout.gpus * replicas * exact(job.scenario.billing.hours_per_month)

    for pair in sorted(pairs, key=floor):
        if least is not None and floor(pair) > least:
            break
        option = _option(job, prepare(job, *pair))
        options.append(option)
        if option.bill is not None:
            cost = exact(option.bill.cost.exact_usd_per_month)
            least = cost if least is None else min(least, cost)
    return options


def _option(job: Job, candidate: Candidate) -> Option:
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
    )
    reason = constraint_reason(job.scenario, candidate.gpus_per_replica, size.serving, size.mid_rps, bill)
    if reason is not None:
        return Option(replace(candidate, reason=reason), form)
    return Option(candidate, form, capacity, size, bill, coverage_of(deployment))


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


def _best(options: Sequence[Option]) -> Option | None:
    """The lowest bill; of equal ones the fewer GPUs, then the smaller replicas."""
    found = [
        (
            option.bill.cost.exact_usd_per_month,
            option.bill.cost.gpus,
            option.candidate.gpus_per_replica,
            option.candidate.id,
            option,
        )
        for option in options
        if option.bill is not None
    ]
    return min(found, key=lambda item: item[:4])[4] if found else None


def _verdict(found: Estimate) -> dict[str, Any]:
    best, job, gone = found.best, found.job, withdrawn_sentence(found.hosted)
    if best is None:
        return with_detail(no_fleet_verdict([option.candidate for option in found.options], found.against), gone)
    assert best.size is not None
    assert best.bill is not None
    size, bill, more = best.size, best.bill, further_of(job.scenario)
    said = verdict(
        job.scenario, job.load, best.candidate, size.serving, bill, found.against, estimated=True, further=more
    )
    return with_detail(said, gone)


def _break_even(found: Estimate) -> dict[str, Any] | None:
    """Of the recommended candidate against the cheapest API; None without either."""
    best, against, job = found.best, found.against, found.job
    if best is None or against is None:
        return None
    assert best.size is not None
    assert best.bill is not None
    stairs = stairs_of(job.scenario, job.load, best.bill.cost.usd_per_replica_hour, best.size.mid_rps)
    return against_row(against, break_even(stairs, against.bill.usd_per_request))
