"""The closed-form estimate of a scenario: what fits, what it would cost and whether that beats the API, in
milliseconds and without a simulation. A run confirms or corrects it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from costmodel.pricing.money import exact
from planner.planning.money.break_even import against_row, break_even_against
from planner.planning.money.further import further_of
from planner.planning.money.hosted import Hosted, cheapest, hosted_bills
from planner.planning.money.hybrid import find_split
from planner.planning.money.operation import billing_sentence
from planner.planning.money.tokens import monthly_tokens
from planner.planning.report.estimate_cells import flat_row
from planner.planning.report.estimate_rows import assumptions, option_row
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
from planner.planning.search.candidates import Job, Setup, make_job, prepare, setups_of
from planner.planning.search.inventory import Gpu, resolve_gpus
from planner.planning.search.options import Option, fleet_usd, option_of, preference
from planner.planning.traffic.picture import traffic_picture

METHOD = "closed_form"
EDGES_OF_CELLS = 40
"""Steps of the week that break-even looks at where the fleet is not always on; cells have no time for more."""


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
    notes += not_estimated(scenario)
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


def not_estimated(scenario: Scenario) -> list[str]:
    """What the scenario asks for and only a run answers, as sentences."""
    notes, serving, confidence = [], scenario.serving, scenario.slo.confidence_ratio
    if serving.disaggregation != "off":
        also = "only sizes" if serving.disaggregation == "on" else "also sizes"
        notes.append(f"The estimate is of replicas that compute prompts and outputs; a run {also} them apart.")
    if serving.router != "round_robin":
        notes.append("The estimate deals requests in turn; a run simulates the router asked for.")
    if confidence is not None:
        notes.append(f"The estimate adds no replicas for a confidence of {confidence:.0%}; a run does.")
    return notes


def estimate_cells(scenario: Scenario, *, load_ratio: float = 1.0, output_ratio: float = 1.0) -> dict[str, Any]:
    """The estimate as one flat row, its columns ESTIMATE_COLUMNS: the cheapest candidate that meets the targets, else
    the nearest one with its reason. The ratios move the rate and the length of outputs (`what_if`)."""
    found = _estimate(scenario, only_best=True, load_ratio=load_ratio, output_ratio=output_ratio)
    nearest = nearest_candidate([option.candidate for option in found.options])
    shown = found.best or next(option for option in found.options if option.candidate is nearest)
    row = option_row(found.job, shown, found.against)
    deployment = shown.candidate.deployment
    own = None if deployment is None else deployment.calibration
    cells = flat_row(scenario, found.job.load, row, found.against, _verdict(found), _break_even(found), own)
    return {key: plain(value) for key, value in cells.items()}


def _estimate(
    scenario: Scenario, *, only_best: bool = False, load_ratio: float = 1.0, output_ratio: float = 1.0
) -> Estimate:
    job = _changed(make_job(scenario, lambda: None), load_ratio, output_ratio)
    gpus = resolve_gpus(scenario.hardware, scenario.priced_at)
    hosted = hosted_bills(scenario, job.load)
    against = cheapest(hosted)
    setups = [setup for gpu in gpus for setup in setups_of(job, gpu)]
    options = (
        _worth_trying(job, setups, against)
        if only_best
        else [option_of(job, prepare(job, setup), against) for setup in setups]
    )
    return Estimate(job, gpus, hosted, tuple(options), _best(options), against)


def _changed(job: Job, load_ratio: float, output_ratio: float) -> Job:
    if load_ratio == output_ratio == 1:
        return job
    load = job.load.scaled(load_ratio)
    return replace(job, load=replace(load, mix=load.mix.stretched(output_ratio=output_ratio)))


def _worth_trying(job: Job, setups: Sequence[Setup], against: Hosted | None) -> list[Option]:
    """Candidates from the cheapest replica upwards, until one replica and the spares cost more than the best fleet so
    far: no later one can be the best. All of them where none meets the targets, or not every hour is paid."""
    options, least = [], None
    all_hours = job.scenario.billing.mode == "always_on"

    def floor(setup: Setup) -> Fraction:
        return fleet_usd(job, setup.gpu, setup.layout.gpus, 1)

    for setup in sorted(setups, key=floor):
        if all_hours and least is not None and floor(setup) > least:
            break
        option = option_of(job, prepare(job, setup), against)
        options.append(option)
        if option.bill is not None:
            cost = exact(option.bill.cost.exact_usd_per_month)
            least = cost if least is None else min(least, cost)
    return options


def _best(options: Sequence[Option]) -> Option | None:
    """The lowest bill; of equal ones what `preference` puts first."""
    found = [
        ((option.bill.cost.exact_usd_per_month, *preference(option.candidate, option.bill.cost.gpus)), option)
        for option in options
        if option.bill is not None
    ]
    return min(found, key=lambda item: item[0])[1] if found else None


def _verdict(found: Estimate) -> dict[str, Any]:
    best, job, gone = found.best, found.job, withdrawn_sentence(found.hosted)
    if best is None:
        return with_detail(no_fleet_verdict([option.candidate for option in found.options], found.against), gone)
    assert best.size is not None
    assert best.bill is not None
    size, bill, more = best.size, best.bill, further_of(job.scenario)
    split = find_split(
        job.scenario, job.load, best.candidate.gpu, bill, found.against,
        gpus_per_replica=best.candidate.gpus_per_replica, low_rps=size.low_rps, high_rps=size.high_rps,
    )  # fmt: skip
    said = verdict(
        job.load, best.candidate, size.serving, bill, found.against, estimated=True, further=more, split=split
    )
    return with_detail(said, billing_sentence(bill), gone)


def _break_even(found: Estimate) -> dict[str, Any] | None:
    """Of the recommended candidate against the cheapest API; None without either."""
    best, against, job = found.best, found.against, found.job
    if best is None or against is None:
        return None
    assert best.bill is not None
    crossed = break_even_against(job.scenario, job.load, best.bill, against, edges_shown=EDGES_OF_CELLS)
    return against_row(against, crossed)
