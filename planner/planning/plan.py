"""From a scenario to a report: every candidate tried, the cheapest that meets the targets put beside the APIs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.planning.advice.section import advice_section
from planner.planning.money.bills import FleetBill, Hosted, cheapest, fleet_bill, hosted_bills, monthly_tokens
from planner.planning.money.break_even import break_even_section, stairs_of
from planner.planning.money.further import further_of
from planner.planning.money.horizon import horizon_section
from planner.planning.money.hybrid import hybrid_section
from planner.planning.money.operation import operation_rows, operation_sentence
from planner.planning.money.sensitivity import Base, sensitivity
from planner.planning.progress import OnProgress, Teller
from planner.planning.report.frontier import frontier_rows, knob_rows
from planner.planning.report.launch_commands import engine_commands, engine_settings
from planner.planning.report.names import candidate_name
from planner.planning.report.owned import owned_rows
from planner.planning.report.plain import plain
from planner.planning.report.provenance import assumptions, notes_of, provenance
from planner.planning.report.request_log import RequestLog, request_log
from planner.planning.report.rows import (
    candidate_row,
    cost_section,
    curve_rows,
    layout_row,
    load_section,
    memory_section,
    slo_rows,
)
from planner.planning.report.verdict import (
    nearest_candidate,
    no_fleet_verdict,
    verdict,
    with_detail,
    withdrawn_sentence,
)
from planner.planning.schema import SCHEMA_VERSION, Scenario
from planner.planning.search.candidates import Candidate, Job, evaluate, layouts_of, make_job
from planner.planning.search.constraints import constraint_reason
from planner.planning.search.intervals import Sized, sized, sized_by_simulation
from planner.planning.search.inventory import Gpu, resolve_gpus
from planner.planning.uncertainty.section import uncertainty_section
from planner.planning.uncertainty.sentence import sure_sentence

SEARCH_SHARE = 0.85
"""Share of the work that the search takes, for progress; the rest is the closer look at the recommended candidate."""


OnRequests = Callable[[RequestLog], None]


def plan(
    scenario: Scenario, on_progress: OnProgress | None = None, on_requests: OnRequests | None = None
) -> dict[str, Any]:
    """The sizing report of a scenario, as plain values (see docs/architecture.md, "The report").

    on_requests gets the requests of the run that confirmed the recommended fleet, where there is one.
    Raises PlanCancelled when on_progress answers False.
    """
    teller = Teller(on_progress)
    teller.tick()
    job = make_job(scenario, teller.tick)
    gpus = resolve_gpus(scenario.hardware, scenario.priced_at)
    hosted = hosted_bills(scenario, job.load)
    answers = _search(job, gpus, teller)
    best = _cheapest_fleet(answers)
    if best is None:
        report = _without_fleet(job, gpus, hosted, answers)
    else:
        name = candidate_name(best.candidate.gpu.accelerator.id, best.candidate.layout)
        teller.say(SEARCH_SHARE, f"Looking closer at {name}")
        report = _with_fleet(job, gpus, hosted, answers, best, teller)
        if on_requests is not None:
            assert best.candidate.fleet is not None
            on_requests(request_log(best.candidate.fleet.run.logs, steady=not job.load.is_trace))
    return {key: plain(value) for key, value in report.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A candidate with what it costs; size and bill are None when it is out."""

    candidate: Candidate
    size: Sized | None
    bill: FleetBill | None


def _search(job: Job, gpus: Sequence[Gpu], teller: Teller) -> list[Answer]:
    pairs = [(gpu, layout) for gpu in gpus for layout in layouts_of(job, gpu)]
    answers = []
    for done, (gpu, layout) in enumerate(pairs):
        name = candidate_name(gpu.accelerator.id, layout)
        teller.say(SEARCH_SHARE * done / len(pairs), f"Sizing {name}, {done + 1} of {len(pairs)}")
        candidate = evaluate(job, gpu, layout)
        answer = _priced(job, candidate, sized(job, candidate) if candidate.feasible else None)
        answers.append(answer)
        teller.rows.append(plain(_row(job, answer)))
    return answers


def _priced(job: Job, candidate: Candidate, size: Sized | None) -> Answer:
    if size is None:
        return Answer(candidate, None, None)
    bill = fleet_bill(
        job.scenario,
        candidate.gpu,
        job.load,
        size,
        gpus_per_replica=candidate.gpus_per_replica,
        capacity_rps=size.capacity_rps,
    )
    reason = constraint_reason(job.scenario, candidate.gpus_per_replica, size.serving, size.capacity_rps, bill)
    if reason is not None:
        return Answer(replace(candidate, reason=reason), None, None)
    return Answer(candidate, size, bill)


def _row(job: Job, answer: Answer) -> dict[str, Any]:
    return candidate_row(job, answer.candidate, answer.size, answer.bill)


def _cheapest_fleet(answers: Sequence[Answer]) -> Sized | None:
    """The lowest bill; of equal ones the fewer GPUs, then the smaller replicas."""
    found = [(a.bill.cost.exact_usd_per_month, a.bill.cost.gpus, a.candidate.gpus_per_replica, a.candidate.id, a.size)
             for a in answers if a.size is not None and a.bill is not None]  # fmt: skip
    return min(found, key=lambda item: item[:4])[4] if found else None


def _common(job: Job, hosted: Sequence[Hosted], answers: Sequence[Answer]) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "name": job.scenario.name,
        "candidates": [_row(job, answer) for answer in answers],
        "api": [api.as_dict() for api in hosted],
        "owned": owned_rows(job, [answer.candidate for answer in answers]),
    }


def _without_fleet(
    job: Job, gpus: Sequence[Gpu], hosted: tuple[Hosted, ...], answers: Sequence[Answer]
) -> dict[str, Any]:
    """Nothing meets the targets: what is known, and why."""
    candidates = [answer.candidate for answer in answers]
    nearest = nearest_candidate(candidates)
    fits = nearest is not None and nearest.memory is not None and nearest.memory.fits
    return _common(job, hosted, answers) | {
        "verdict": with_detail(no_fleet_verdict(candidates, cheapest(hosted)), withdrawn_sentence(hosted)),
        "recommended": None,
        "slo": [],
        "load": None,
        "memory": memory_section(job.load, nearest) if nearest and fits else None,
        "cost": None,
        "break_even": None,
        "hybrid": None,
        "operation": [],
        "horizon": None,
        "curves": [],
        "frontier": [],
        "knobs": [],
        "sensitivity": [],
        "uncertainty": None,
        "advice": None,
        "provenance": provenance(job, gpus, hosted, None, assumptions(job, hosted), notes_of(job, gpus, candidates)),
    }


def _with_fleet(
    job: Job, gpus: Sequence[Gpu], hosted: tuple[Hosted, ...], answers: list[Answer], best: Sized, teller: Teller
) -> dict[str, Any]:
    scenario, load = job.scenario, job.load
    candidate = best.candidate
    size = sized_by_simulation(job, candidate)
    answer = _priced(job, candidate, size)
    bill = answer.bill
    assert bill is not None
    assert candidate.deployment is not None
    assert candidate.replica is not None
    answers = [answer if a.candidate is candidate else a for a in answers]
    teller.say(0.95, "Load curves and break-even")
    tokens = monthly_tokens(load, scenario.billing.hours_per_month)
    against = cheapest(hosted)
    base = None
    if against is not None:
        slow_serves = size.low_rps > 0
        base = Base(
            scenario,
            load,
            bill,
            against,
            candidate.replica,
            size.capacity_rps,
            size.serving,
            job.targets.step_limit_ms,
            slow_serves,
        )
    stairs = stairs_of(scenario, load, bill.cost.usd_per_replica_hour, size.capacity_rps)
    notes = notes_of(job, gpus, [candidate])
    operation = operation_rows(job, size, bill, against)
    shown_load, unsure = load_section(job, size), uncertainty_section(job, size, bill, against)
    said = verdict(scenario, load, candidate, size.serving, bill, against, further=further_of(scenario))
    otherwise = operation_sentence(operation, said["choice"])
    gone = withdrawn_sentence(hosted)
    sure = sure_sentence(unsure["replicas"], size.serving)
    return _common(job, hosted, answers) | {
        "verdict": with_detail(said, gone, otherwise, sure),
        "recommended": _recommended(scenario, size, bill),
        "slo": slo_rows(size),
        "load": shown_load,
        "memory": memory_section(load, candidate),
        "cost": cost_section(bill, tokens.input, tokens.output),
        "break_even": break_even_section(load, stairs, hosted),
        "hybrid": hybrid_section(job, size, bill, against),
        "operation": operation,
        "horizon": horizon_section(job, size, bill, against),
        "curves": curve_rows(job, size),
        "frontier": frontier_rows(job, [(a.size, a.bill) for a in answers if a.size and a.bill]),
        "knobs": knob_rows(job, size),
        "sensitivity": sensitivity(base) if base else [],
        "uncertainty": unsure,
        "advice": advice_section(job, size, shown_load, unsure["slo_probability_ratio"]),
        "provenance": provenance(job, gpus, hosted, size.coverage, assumptions(job, hosted), notes),
    }


def _recommended(scenario: Scenario, size: Sized, bill: FleetBill) -> dict[str, Any]:
    candidate = size.candidate
    assert candidate.deployment is not None
    return {
        "candidate": candidate.id,
        "gpu": candidate.gpu.accelerator.id,
        **layout_row(candidate.layout),
        "serving_replicas": size.serving,
        "spare_replicas": scenario.billing.spare_replicas,
        "replicas": bill.cost.replicas,
        "gpus": bill.cost.gpus,
        "engine": engine_settings(scenario, candidate.deployment),
        "commands": engine_commands(scenario, candidate.deployment),
    }
