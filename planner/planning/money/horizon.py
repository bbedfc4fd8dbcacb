"""Both sides over the horizon: growth, one-off costs, later money, and GPUs of one's own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from costmodel.pricing.breakeven import replicas_for_peak
from costmodel.pricing.money import exact
from costmodel.pricing.ownership import first_month, growth_ratios, own_gpu, present_value
from planner.planning.money.bills import FleetBill
from planner.planning.money.further import further_of, further_rows
from planner.planning.money.hosted import Hosted
from planner.planning.report.plain import usd
from planner.planning.search.candidates import Job
from planner.planning.search.intervals import Sized


def horizon_section(job: Job, size: Sized, bill: FleetBill, against: Hosted | None) -> dict[str, Any]:
    """Month by month: load × (1 + growth)^(m − 1), replicas for its peak, both bills with every further line.

    `full` has all lines; `marginal` GPUs and API bill alone. break_even_month: from it on the month of self-hosting is
    the cheaper one; payback_month: from it on all that was paid until then, the one-off sum included.
    """
    scenario, costs = job.scenario, job.scenario.costs
    months, further = scenario.uncertainty.horizon_months, further_of(job.scenario)
    rows, fleet_months, api_months = [], [], []
    for month, ratio in enumerate(growth_ratios(costs.growth_per_month_ratio, months), start=1):
        serving = max(1, replicas_for_peak(exact(job.load.peak_rps) * ratio, size.capacity_rps))
        fleet = bill.running.usd(load_ratio=ratio) + exact(further.self_host_usd)
        fleet_months.append(fleet)
        row: dict[str, Any] = {
            "month": month,
            "load_ratio": float(ratio),
            "serving_replicas": serving,
            "self_host_usd": usd(fleet),
            "api_usd": None,
        }
        if against is not None:
            api_months.append(against.usd_at(ratio) + exact(further.api_usd))
            row["api_usd"] = usd(api_months[-1])
        rows.append(row)
    one_off = exact(costs.one_off_usd)
    fleet_now = present_value(fleet_months, costs.discount_per_year_ratio, one_off)
    api_now = present_value(api_months, costs.discount_per_year_ratio) if api_months else None
    return {
        "months": months,
        "growth_per_month_ratio": costs.growth_per_month_ratio,
        "discount_per_year_ratio": costs.discount_per_year_ratio,
        "one_off_usd": usd(one_off),
        "rows": rows,
        "self_host_usd": usd(fleet_now),
        "api_usd": None if api_now is None else usd(api_now),
        "saving_usd": None if api_now is None else usd(api_now - fleet_now),
        "break_even_month": first_month([a > f for a, f in zip(api_months, fleet_months, strict=False)]),
        "payback_month": _payback(fleet_months, api_months, one_off),
        "lines": further_rows(scenario),
        "full": _view(fleet_months, api_months),
        "marginal": _view(
            [fleet_months[0] - exact(further.self_host_usd)],
            [api_months[0] - exact(further.api_usd)] if api_months else [],
        ),
        "own_hardware": _own(job, bill),
        "sentence": further.sentence,
    }


def _view(fleet: list[Fraction], api: list[Fraction]) -> dict[str, Any]:
    """The first month."""
    return {
        "self_host_usd_per_month": usd(fleet[0]),
        "api_usd_per_month": usd(api[0]) if api else None,
        "saving_usd_per_month": usd(api[0]) - usd(fleet[0]) if api else None,
    }


def _payback(fleet: list[Fraction], api: list[Fraction], one_off: Fraction) -> int | None:
    paid, ahead = one_off, []
    for own, other in zip(fleet, api, strict=False):
        paid += own - other
        ahead.append(paid < 0)
    return first_month(ahead)


def _own(job: Job, bill: FleetBill) -> dict[str, Any] | None:
    """The same GPUs bought; None unless their price is given."""
    own = job.scenario.costs.own_hardware
    if own is None:
        return None
    each = own_gpu(
        usd=own.usd_per_gpu,
        months=own.months,
        residual_ratio=own.residual_ratio,
        maintenance_per_year_ratio=own.maintenance_per_year_ratio,
        kw=own.kw_per_gpu,
        pue=own.pue,
        usd_per_kwh=own.usd_per_kwh,
        colocation_usd_per_month=own.colocation_usd_per_gpu_month,
        hours_per_month=job.scenario.billing.hours_per_month,
    )
    gpus, rented = bill.cost.gpus, exact(bill.cost.exact_usd_per_month)
    parts = (
        ("Depreciation", each.depreciation_usd),
        ("Maintenance", each.maintenance_usd),
        ("Power", each.power_usd),
        ("Colocation", each.colocation_usd),
    )
    return {
        "gpus": gpus,
        "capital_usd": usd(exact(own.usd_per_gpu) * gpus),
        "lines": [{"label": label, "usd_per_month": usd(amount * gpus)} for label, amount in parts],
        "usd_per_month": usd(each.usd_per_month * gpus),
        "usd_per_gpu_hour": float(each.usd_per_month / exact(job.scenario.billing.hours_per_month)),
        "saves_against_rent_usd_per_month": usd(rented - each.usd_per_month * gpus),
    }
