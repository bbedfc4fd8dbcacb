"""What the user is not allowed: more GPUs than a quota, more money than a budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from costmodel.pricing.money import exact, to_decimal
from planner.planning.money.bills import FleetBill
from planner.planning.money.running import spot_ratio
from planner.planning.report.names import amount, counted
from planner.planning.report.plain import usd
from planner.planning.schema import Scenario
from planner.planning.search.feasibility import Reason
from planner.planning.search.inventory import Gpu


def constraint_reason(
    scenario: Scenario, gpu: Gpu, gpus_per_replica: int, serving: int, capacity_rps: float, bill: FleetBill
) -> Reason | None:
    """Why a fleet of `serving` replicas that meets the targets is out all the same; None when it keeps to quota and
    budget. capacity_rps: what one replica counts for.

    Where both are exceeded, both are named, and what would help mends both.
    """
    quota, budget = scenario.hardware.max_gpus, scenario.billing.max_usd_per_month
    cost = bill.cost
    found = []
    if quota is not None and cost.gpus > quota:
        found.append(
            _Beyond(
                code="beyond_quota",
                detail=f"takes {counted(cost.gpus, 'GPU')}, spares included; the quota is {quota:,}",
                needed=f"a quota of {counted(cost.gpus, 'GPU')}",
                miss_ratio=cost.gpus / quota,
                replicas=quota // gpus_per_replica,
            )
        )
    if budget is not None and cost.exact_usd_per_month > to_decimal(budget):
        month = usd(cost.exact_usd_per_month)
        found.append(
            _Beyond(
                code="beyond_budget",
                detail=f"costs ${month:,.2f} a month; the budget is ${budget:,.2f}",
                needed=f"a budget of ${month:,.2f}",
                miss_ratio=float(cost.exact_usd_per_month) / budget,
                replicas=_affordable(bill, serving, exact(budget)) + cost.replicas - serving,
            )
        )
    if bill.mode == "spot" and spot_ratio(scenario, gpu) is None:
        detail = "No renter lists a spot price for this GPU."
        return Reason("no_spot_price", detail, "A spot_price_ratio of your own, or another billing mode.", 1.0)
    if not found:
        return None
    carried = min(item.replicas for item in found) - (cost.replicas - serving)
    needed = " and ".join(item.needed for item in found)
    change = needed[0].upper() + needed[1:]
    if carried > 0:
        rate, verb = amount(carried * capacity_rps), "carries" if carried == 1 else "carry"
        change += f", or a peak of {rate} requests/s, which {counted(carried, 'serving replica')} {verb}"
    detail = "The fleet " + ", and ".join(item.detail for item in found) + "."
    return Reason(found[0].code, detail, change + ".", max(item.miss_ratio for item in found))


def _affordable(bill: FleetBill, serving: int, budget: Fraction) -> int:
    """The most serving replicas, below `serving`, whose week keeps to the budget."""
    low, high = 0, serving
    while high - low > 1:
        middle = (low + high) // 2
        full = exact(middle) * exact(bill.running.capacity_rps) / exact(max(bill.running.rates_rps))
        if bill.running.usd(load_ratio=full) <= budget:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True, slots=True)
class _Beyond:
    """A limit that a fleet exceeds. replicas: the most that it allows, spares included."""

    code: str
    detail: str
    needed: str
    miss_ratio: float
    replicas: int
