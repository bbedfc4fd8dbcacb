"""The recommended fleet by every way to run and pay it: schedules, autoscaling, to zero, commitments, spot."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from costmodel.pricing.money import exact
from costmodel.pricing.terms import BILLING_MODES, BillingMode, FleetMonth
from planner.planning.money.bills import FleetBill, keeps_targets
from planner.planning.money.further import further_of
from planner.planning.money.hosted import Hosted
from planner.planning.money.running import LABELS, WORDS, Running, running_in, spot_listings, spot_ratio
from planner.planning.report.names import counted
from planner.planning.report.plain import usd
from planner.planning.search.candidates import Job
from planner.planning.search.intervals import Sized

HARDLY_SLEEPS_RATIO = 0.9


def operation_rows(job: Job, size: Sized, bill: FleetBill, against: Hosted | None) -> list[dict[str, Any]]:
    """A month of the same serving capacity, run in each way, spares included. meets_targets: whether every request of
    the week finds the capacity that it needs; by closed form, not simulated. bills_the_plan: the way that the report's
    cost is of."""
    more = further_of(job.scenario)
    api_usd = None
    if against is not None:
        api_usd = exact(against.bill.exact_usd_per_month + more.api_usd - more.self_host_usd)
    ways = {mode: _in_mode(job, size, bill, mode) for mode in BILLING_MODES}
    always = ways["always_on"].usd()
    rows = []
    for mode, running in ways.items():
        month = running.month()
        if mode == bill.mode or _worth_showing(job, size, running, month):
            rows.append(_row(job, size, running, month, always, api_usd) | {"bills_the_plan": mode == bill.mode})
    return rows


def _in_mode(job: Job, size: Sized, bill: FleetBill, mode: BillingMode) -> Running:
    candidate = size.candidate
    return running_in(
        mode, job.scenario, candidate.gpu, job.load, gpus_per_replica=candidate.gpus_per_replica,
        capacity_rps=size.capacity_rps, api_usd=bill.running.api_usd, work=bill.running.work,
        batch_api_usd=bill.running.batch_api_usd, api_minimum_usd=bill.running.api_minimum_usd,
        pools=bill.running.pools,
    )  # fmt: skip


def _worth_showing(job: Job, size: Sized, running: Running, month: FleetMonth) -> bool:
    """To zero where the replica would sleep at all, else all it saved would be the spare; spot with a known price."""
    mode = running.terms.mode
    if mode == "spot":
        return spot_ratio(job.scenario, size.candidate.gpu) is not None
    if mode != "scale_to_zero":
        return True
    return month.serving <= 1 and month.replica_hours <= exact(HARDLY_SLEEPS_RATIO) * running.terms.hours_per_month


def _row(
    job: Job, size: Sized, running: Running, month: FleetMonth, always: Fraction, api_usd: Fraction | None
) -> dict[str, Any]:
    amount = month.usd + running.outside_usd(month)
    mode = running.terms.mode
    return {
        "key": mode,
        "label": LABELS[mode],
        "replica_hours_per_month": float(month.replica_hours),
        "usd_per_month": usd(amount),
        "saves_usd_per_month": usd(always - amount),
        "cheaper_than_api": None if api_usd is None else amount < api_usd,
        "meets_targets": keeps_targets(running, month, job.targets),
        "basis": _basis(job, size, running, month),
    }


def _basis(job: Job, size: Sized, running: Running, month: FleetMonth) -> str:
    terms = running.terms
    if terms.mode == "always_on":
        return "the replicas of the busiest hour, every hour"
    if terms.mode == "scheduled":
        return f"each hour what it needs, started {terms.ready_s:g} s ahead; the week must repeat"
    if terms.mode == "autoscaled":
        return "headroom for the steepest rise within a start, each level kept an hour"
    if terms.mode == "scale_to_zero":
        return (
            f"off after {terms.idle_s:g} s without a request, no spare; {month.cold_ratio:.1%} of the requests wait "
            f"for a start of {terms.ready_s:g} s or more, {month.starts_per_month:,.0f} starts a month"
        )
    if terms.mode == "business_hours":
        served = ", which the API serves" if running.api_usd is not None and month.outside_ratio else ""
        return f"Monday to Friday, 8 to 18; {month.outside_ratio:.1%} of the requests come outside{served}"
    if terms.mode == "spot":
        return _spot_basis(job, size, running, month)
    years = 1 if terms.mode == "committed_1y" else 3
    term, replicas = f"{years} year{'s' if years > 1 else ''}", counted(month.committed, "replica")
    return (
        f"{replicas} for {term} at {float(1 - terms.price_ratio):.0%} off, of which {month.unused_ratio:.0%} of the "
        "hours are not used, the rest by schedule"
    )


def _spot_basis(job: Job, size: Sized, running: Running, month: FleetMonth) -> str:
    terms, given = running.terms, job.scenario.billing.spot_price_ratio
    listed = counted(len(spot_listings(size.candidate.gpu)), "listing")
    source = "given in the scenario" if given is not None else f"median of {listed}"
    return (
        f"{counted(month.bought, 'replica')} at {float(terms.price_ratio):.0%} of the price ({source}), each lost "
        f"{terms.interruptions_per_hour:g} times an hour for {terms.ready_s:g} s; several lost at once miss the targets"
    )


def operation_sentence(rows: Sequence[dict[str, Any]], choice: str) -> str:
    """What running the fleet otherwise does to a verdict for the API; "" where it does nothing."""
    billed = next(row for row in rows if row["bills_the_plan"])
    found = [
        row
        for row in rows
        if row["key"] in ("scheduled", "autoscaled") and row["cheaper_than_api"] and row is not billed
    ]
    if choice != "api" or not found:
        return ""
    best = min(found, key=lambda row: row["usd_per_month"])
    if best["usd_per_month"] >= billed["usd_per_month"]:
        return ""
    how, otherwise = best["label"].lower(), WORDS[billed["key"]]
    return (
        f"Run {how} and not {otherwise}, the fleet would cost ${best['usd_per_month']:,.0f} a month, less than the API."
    )


def billing_sentence(bill: FleetBill) -> str:
    """How the plan is billed, where that is not every replica every hour, and what it misses."""
    if bill.mode == "always_on":
        return ""
    month, terms = bill.month, bill.running.terms
    out = f"The fleet is run {WORDS[bill.mode]} and billed {float(month.replica_hours):,.0f} replica-hours a month"
    out += f" at {float(terms.price_ratio):.0%} of the price" if bill.mode == "spot" else ""
    if bill.mode.startswith("committed"):
        out += f", {counted(month.committed, 'replica')} for the term at {float(1 - terms.price_ratio):.0%} off"
    if month.outside_ratio:
        who = "an API serves" if bill.running.api_usd is not None else "nobody serves"
        out += f"; {who} the {month.outside_ratio:.0%} of the requests that come outside its hours"
    if bill.mode == "scale_to_zero":
        out += f"; {month.cold_ratio:.1%} of the requests wait {terms.ready_s:g} s or more for a start"
        out += "" if bill.meets_targets else ", which misses the targets"
    if bill.mode == "spot":
        out += "; replicas lost together miss the targets"
    return f"{out}."


def billing_row(bill: FleetBill) -> dict[str, Any]:
    """The mode that bills the plan, and what it comes to."""
    month, terms = bill.month, bill.running.terms
    return {
        "mode": bill.mode,
        "label": LABELS[bill.mode],
        "replica_hours_per_month": float(month.replica_hours),
        "price_ratio": float(terms.price_ratio),
        "committed_replicas": month.committed,
        "unused_ratio": month.unused_ratio,
        "outside_ratio": month.outside_ratio,
        "cold_ratio": month.cold_ratio,
        "meets_targets": bill.meets_targets,
    }
