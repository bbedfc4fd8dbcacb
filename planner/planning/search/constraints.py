"""What the user is not allowed: more GPUs than a quota, more money than a budget."""

from __future__ import annotations

from decimal import Decimal

from planner.planning.money.bills import FleetBill
from planner.planning.report.plain import usd
from planner.planning.schema import Scenario
from planner.planning.search.candidates import Candidate
from planner.planning.search.feasibility import Reason
from planner.planning.search.intervals import Sized


def constraint_reason(scenario: Scenario, candidate: Candidate, size: Sized, bill: FleetBill) -> Reason | None:
    """Why a fleet that meets the targets is out all the same; None when it keeps to quota and budget."""
    quota, budget = scenario.hardware.max_gpus, scenario.billing.max_usd_per_month
    if quota is not None and bill.cost.gpus > quota:
        spare = bill.cost.replicas - size.serving
        carried = max(0, quota // candidate.gpus_per_replica - spare)
        detail = f"The fleet takes {bill.cost.gpus:,} GPUs, spares included; the quota is {quota:,}."
        rate = carried * size.capacity_rps
        change = f"A quota of {bill.cost.gpus:,} GPUs"
        change += f", or a peak of {rate:.3g} requests/s, which {carried:,} serving replicas carry." if carried else "."
        return Reason("beyond_quota", detail, change, bill.cost.gpus / quota)
    if budget is not None and bill.cost.exact_usd_per_month > Decimal(repr(budget)):
        month = usd(bill.cost.exact_usd_per_month)
        detail = f"The fleet costs ${month:,} a month; the budget is ${budget:,.2f}."
        change = f"A budget of ${month:,}, fewer spares, or a lower GPU price."
        return Reason("beyond_budget", detail, change, float(bill.cost.exact_usd_per_month) / budget)
    return None
