"""From a scenario to a report: every candidate tried, the cheapest that meets the targets put beside the APIs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from costmodel.pricing.money import exact
from planner.planning.advice.section import advice_section
from planner.planning.money.batch import batch_section
from planner.planning.money.bills import FleetBill, fleet_bill
from planner.planning.money.break_even import break_even_section
from planner.planning.money.further import further_of
from planner.planning.money.horizon import horizon_section
from planner.planning.money.hosted import Hosted, cheapest, hosted_bills
from planner.planning.money.hybrid import find_split, hybrid_section
from planner.planning.money.operation import billing_row, billing_sentence, operation_rows, operation_sentence
from planner.planning.money.sensitivity import Base, sensitivity
from planner.planning.money.tokens import monthly_tokens
from planner.planning.progress import OnProgress, Teller
from planner.planning.report.classes import class_rows
from planner.planning.report.confirmation import confirmation_section, router_row
from planner.planning.report.estimate_rows import unsimulated_row
from planner.planning.report.frontier import frontier_rows, knob_rows
from planner.planning.report.launch_commands import engine_commands, engine_settings, pool_rows
from planner.planning.report.names import counted
from planner.planning.report.owned import owned_rows
from planner.planning.report.plain import plain
from planner.planning.report.precisions import precision_rows, precision_sentence
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
from planner.planning.search.candidates import Candidate, Job, Setup, make_job, prepare, setups_of, simulated
from planner.planning.search.confirmation import Whole, confirmed_hour
from planner.planning.search.constraints import constraint_reason
from planner.planning.search.fleet import one_more
from planner.planning.search.intervals import Sized, sized, sized_by_simulation
from planner.planning.search.inventory import Gpu, resolve_gpus
from planner.planning.search.options import Option, batch_capacity_rps, option_of, preference
from planner.planning.search.pruning import SIMULATED_LEAST, SIMULATED_WHOLE, Order, PoolOrder
from planner.planning.uncertainty.section import uncertainty_section
from planner.planning.uncertainty.sentence import sure_sentence
from planner.planning.uncertainty.sure import sure_candidate

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
    against = cheapest(hosted)
    answers, best, hour = _search(job, gpus, against, teller)
    if best is None or hour is None:
        report = _without_fleet(job, gpus, hosted, answers)
    else:
        teller.say(SEARCH_SHARE, f"Looking closer at {best.candidate.name}")
        report = _with_fleet(job, gpus, hosted, answers, best, hour, teller)
        if on_requests is not None:
            assert best.candidate.fleet is not None
            on_requests(request_log(best.candidate.fleet.run.logs, steady=not job.load.is_trace))
    return {key: plain(value) for key, value in report.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A candidate with what it costs; size and bill are None when it is out or was not simulated. option: the closed
    form, where that is all."""

    candidate: Candidate
    size: Sized | None = None
    bill: FleetBill | None = None
    option: Option | None = None


def _search(
    job: Job, gpus: Sequence[Gpu], against: Hosted | None, teller: Teller
) -> tuple[list[Answer], Sized | None, Whole | None]:
    """The cheapest fleet, of replicas that do both and of prefill and decode pools, as asked, with its confirmation.

    Confirming adds replicas, and so does the probability asked for. Candidates that were left out at the price before
    are then simulated too where they may cost less than the price now, until none is left: what is left out costs more
    than the fleet that is recommended.
    """
    asked = job.scenario.serving.disaggregation
    setups = [setup for gpu in gpus for setup in setups_of(job, gpu)]
    answers, order = ([], None) if asked == "on" else _replicas(job, setups, against, teller)
    prepared = [] if asked == "off" else [prepare(job, setup) for setup in setups]
    pools = None if asked == "off" else PoolOrder(job, prepared)
    best: Sized | None = None
    hour: Whole | None = None
    first = True
    while True:
        more = 0
        if order is not None:
            order.again(_least_usd(answers))
            more += _further_replicas(job, answers, order, against, teller)
        if pools is not None:
            pools.again(_least_usd(answers))
            found = _further_pools(job, pools, against, teller)
            answers, more = answers + found, more + len(found)
        if not more and not first:
            break
        first = False
        answers, best, hour = _confirmed(job, answers, against, teller)
    if asked == "on":
        answers += [Answer(candidate) for candidate in prepared if candidate.replica is None]
    return answers, best, hour


def _least_usd(answers: Sequence[Answer]) -> Fraction | None:
    """The cheapest month of what was simulated."""
    return min((exact(a.bill.cost.exact_usd_per_month) for a in answers if a.bill is not None), default=None)


def _further_pools(job: Job, order: PoolOrder, against: Hosted | None, teller: Teller) -> list[Answer]:
    """Prefill and decode pools, those first that cost least by the closed form."""
    answers: list[Answer] = []
    for candidate in order:
        answer = _simulated(job, candidate, against, teller, len(answers), max(1, order.likely))
        answers.append(answer)
        if answer.bill is not None:
            order.found(exact(answer.bill.cost.exact_usd_per_month))
    return answers


def _replicas(
    job: Job, setups: Sequence[Setup], against: Hosted | None, teller: Teller
) -> tuple[list[Answer], Order | None]:
    """All candidates simulated, or where there are many, their closed form and the order in which to simulate them."""
    if len(setups) <= SIMULATED_WHOLE:
        return [
            _simulated(job, prepare(job, setup), against, teller, done, len(setups))
            for done, setup in enumerate(setups)
        ], None
    teller.say(0.0, f"Looking at {len(setups)} candidates by the closed form")
    options = [_looked_at(job, setup, against) for setup in setups]
    return [Answer(option.candidate, option=option) for option in options], Order(job, options)


def _further_replicas(job: Job, answers: list[Answer], order: Order, against: Hosted | None, teller: Teller) -> int:
    """Simulate in that order, in the places of the closed forms; how many there were."""
    done, likely = 0, max(1, min(len(answers), 2 * SIMULATED_LEAST))
    for place in order:
        answer = _simulated(job, replace(answers[place].candidate, reason=None), against, teller, done, likely)
        answers[place], done = answer, done + 1
        if answer.bill is not None:
            order.found(exact(answer.bill.cost.exact_usd_per_month))
    return done


def _looked_at(job: Job, setup: Setup, against: Hosted | None) -> Option:
    job.tick()
    return option_of(job, prepare(job, setup), against)


def _simulated(job: Job, prepared: Candidate, against: Hosted | None, teller: Teller, done: int, of: int) -> Answer:
    count = f"{done + 1} of {of}" if done < of else f"{done + 1}"
    teller.say(SEARCH_SHARE * min(1.0, done / of), f"Sizing {prepared.name}, {count}")
    candidate = simulated(job, prepared)
    answer = _priced(job, candidate, sized(job, candidate) if candidate.feasible else None, against)
    teller.rows.append(plain(_row(job, answer)))
    return answer


def _priced(job: Job, candidate: Candidate, size: Sized | None, against: Hosted | None) -> Answer:
    if size is None:
        return Answer(candidate)
    bill = fleet_bill(
        job.scenario,
        candidate.gpu,
        job.load,
        size,
        gpus_per_replica=candidate.gpus_per_replica,
        capacity_rps=size.capacity_rps,
        targets=job.targets,
        against=against,
        batch_rps=batch_capacity_rps(job, candidate),
        pools=candidate.pools,
    )
    reason = constraint_reason(
        job.scenario, candidate.gpu, candidate.gpus_per_replica, size.serving, size.capacity_rps, bill
    )
    if reason is not None:
        return Answer(replace(candidate, reason=reason))
    return Answer(candidate, size, bill)


def _row(job: Job, answer: Answer) -> dict[str, Any]:
    if answer.option is not None and answer.option.form is not None:
        return unsimulated_row(job, answer.option)
    return candidate_row(job, answer.candidate, answer.size, answer.bill)


def _cheapest_fleet(answers: Sequence[Answer]) -> Sized | None:
    """The lowest bill; of equal ones what `preference` puts first."""
    found = [((a.bill.cost.exact_usd_per_month, *preference(a.candidate, a.bill.cost.gpus)), a.size)
             for a in answers if a.size is not None and a.bill is not None]  # fmt: skip
    return min(found, key=lambda item: item[0])[1] if found else None


def _confirmed(
    job: Job, answers: list[Answer], against: Hosted | None, teller: Teller
) -> tuple[list[Answer], Sized | None, Whole | None]:
    """The cheapest fleet that meets the targets when it is simulated whole, too: one that does not is given a replica
    more, after which another may be the cheapest."""
    while (best := _cheapest_fleet(answers)) is not None:
        candidate, fleet = best.candidate, best.candidate.fleet
        assert fleet is not None
        assert candidate.replica is not None
        assert candidate.capacity is not None
        teller.say(SEARCH_SHARE, f"Confirming {counted(fleet.serving, 'replica')} of {candidate.name}")
        hour = confirmed_hour(candidate.replica, job.load, job.targets, fleet.serving, candidate.replica.router)
        asked = job.scenario.slo.confidence_ratio
        if hour.run.ok and (asked is None or fleet.sure_ratio is not None):
            return answers, best, hour
        if hour.run.ok and asked is not None:
            teller.say(SEARCH_SHARE, f"Adding replicas to {candidate.name} until the targets are likely enough")
            grown = sure_candidate(job, candidate, asked)
        else:
            grown = replace(candidate, fleet=one_more(candidate.replica, job.load, job.targets, fleet, hour.run))
        answer = _priced(job, grown, sized(job, grown) if grown.feasible else None, against)
        answers = [answer if a.candidate is candidate else a for a in answers]
    return answers, None, None


def _common(job: Job, hosted: Sequence[Hosted], answers: Sequence[Answer], chosen: str | None) -> dict[str, Any]:
    rows = [_row(job, answer) for answer in answers]
    best = next((answer.candidate for answer in answers if answer.candidate.id == chosen), None)
    classes = class_rows(job, hosted, best)
    return ({"classes": classes} if classes else {}) | {
        "schema_version": SCHEMA_VERSION,
        "name": job.scenario.name,
        "candidates": rows,
        "precisions": precision_rows([answer.candidate for answer in answers], rows, chosen),
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
    return _common(job, hosted, answers, None) | {
        "verdict": with_detail(no_fleet_verdict(candidates, cheapest(hosted)), withdrawn_sentence(hosted)),
        "recommended": None,
        "slo": [],
        "confirmation": None,
        "load": None,
        "memory": memory_section(job.load, nearest) if nearest and fits else None,
        "cost": None,
        "break_even": None,
        "hybrid": None,
        "operation": [],
        "batch": None,
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
    job: Job,
    gpus: Sequence[Gpu],
    hosted: tuple[Hosted, ...],
    answers: list[Answer],
    best: Sized,
    hour: Whole,
    teller: Teller,
) -> dict[str, Any]:
    scenario, load = job.scenario, job.load
    candidate = best.candidate
    size = sized_by_simulation(job, candidate)
    against = cheapest(hosted)
    answer = _priced(job, candidate, size, against)
    bill = answer.bill
    assert bill is not None
    assert candidate.deployment is not None
    assert candidate.replica is not None
    answers = [answer if a.candidate is candidate else a for a in answers]
    teller.say(0.95, "Load curves and break-even")
    tokens = monthly_tokens(load, scenario.billing.hours_per_month)
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
            job.targets.step_limit_ms,
            slow_serves,
        )
    notes = notes_of(job, gpus, [candidate])
    operation = operation_rows(job, size, bill, against)
    split = None if candidate.apart else find_split(
        scenario, load, candidate.gpu, bill, against, gpus_per_replica=candidate.gpus_per_replica,
        low_rps=size.low_rps, high_rps=size.high_rps,
    )  # fmt: skip
    chosen = split if split is not None and split.is_verdict else None
    shown_load, unsure = load_section(job, size), uncertainty_section(job, size, bill, against, chosen)
    turns = unsure["verdict_flip_probability_ratio"]
    said = verdict(
        load, candidate, size.serving, bill, against, further=further_of(scenario), split=split,
        split_ratio=None if turns is None else 1 - turns,
    )  # fmt: skip
    batch = batch_section(job, bill, against)
    otherwise = operation_sentence(operation, said["choice"])
    gone, formats = withdrawn_sentence(hosted), precision_sentence(candidate, job.model.native_weight_dtype)
    sure = sure_sentence(unsure["replicas"], size.serving, scenario.slo.confidence_ratio)
    return _common(job, hosted, answers, candidate.id) | {
        "verdict": with_detail(
            said, billing_sentence(bill), "" if batch is None else batch["sentence"], formats, gone, otherwise, sure
        ),
        "recommended": _recommended(scenario, size, bill),
        "slo": slo_rows(size),
        "confirmation": confirmation_section(job, size, hour),
        "load": shown_load,
        "memory": memory_section(load, candidate),
        "cost": cost_section(bill, tokens.input, tokens.output),
        "break_even": break_even_section(scenario, load, bill, hosted),
        "hybrid": hybrid_section(split),
        "operation": operation,
        "batch": batch,
        "horizon": horizon_section(job, size, bill, against),
        "curves": curve_rows(job, size),
        "frontier": frontier_rows(job, [(a.size, a.bill) for a in answers if a.size and a.bill]),
        "knobs": knob_rows(job, size),
        "sensitivity": sensitivity(base) if base else [],
        "uncertainty": unsure,
        "advice": advice_section(job, size, bill, shown_load, unsure["slo_probability_ratio"]),
        "provenance": provenance(job, gpus, hosted, size.coverage, assumptions(job, hosted), notes),
    }


def _recommended(scenario: Scenario, size: Sized, bill: FleetBill) -> dict[str, Any]:
    candidate = size.candidate
    assert candidate.deployment is not None
    pools = pool_rows(scenario, candidate, bill)
    return {
        "candidate": candidate.id,
        "gpu": candidate.gpu.accelerator.id,
        **layout_row(candidate.layout),
        "serving_replicas": size.serving,
        "spare_replicas": bill.running.terms.spare_replicas,
        "replicas": bill.cost.replicas,
        "gpus": bill.cost.gpus,
        "billing": billing_row(bill),
        "engine": engine_settings(scenario, candidate.deployment),
        "commands": pools[0]["commands"] if pools else engine_commands(scenario, candidate.deployment),
        "pools": pools,
        "router": router_row(size),
    }
