"""The recommended fleet run in other ways than always on: schedules, autoscaling, to zero, commitments, spot."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from statistics import median
from typing import Any

from costmodel.pricing.breakeven import replicas_for_peak
from costmodel.pricing.money import exact
from costmodel.pricing.operation import (
    SECONDS_PER_HOUR,
    always_on_hours,
    cheapest_commitment,
    interrupted_replicas,
    scale_to_zero,
    scheduled_hours,
)
from planner.planning.money.bills import FleetBill, Hosted
from planner.planning.money.further import further_of
from planner.planning.report.names import counted
from planner.planning.report.plain import usd
from planner.planning.search.candidates import Job
from planner.planning.search.intervals import Sized
from planner.planning.search.targets import Target

BUSINESS_HOURS = tuple(24 * day + hour for day in range(5) for hour in range(8, 18))
"""Monday to Friday, 8:00 to 18:00."""

HARDLY_SLEEPS_RATIO = 0.9


def operation_rows(job: Job, size: Sized, bill: FleetBill, against: Hosted | None) -> list[dict[str, Any]]:
    """A month of the same serving capacity, run in each way, spares included. meets_targets: whether every request of
    the week finds the capacity that it needs; by closed form, not simulated."""
    rates = job.load.week_rps.tolist()
    needed = [max(1, replicas_for_peak(rate, size.capacity_rps)) for rate in rates]
    more = further_of(job.scenario)
    api_usd = None
    if against is not None:
        api_usd = exact(against.bill.exact_usd_per_month + more.api_usd - more.self_host_usd)
    week = _Week(job, size, bill, api_usd, rates, needed)
    rows = [
        week.row("always_on", "Always on", always_on_hours(needed), "the replicas of the busiest hour, every hour"),
        week.row("scheduled", "By a schedule", scheduled_hours(needed, week.ready_s),
                 f"each hour what it needs, started {week.ready_s:g} s ahead; the week must repeat"),
        week.row("autoscaled", "Autoscaled", scheduled_hours(_autoscaled(week), week.ready_s),
                 "headroom for the steepest rise within a start, each level kept an hour"),
        _to_zero(week),
        _business_hours(week, against),
        *_committed(week),
        *_spot(week),
    ]  # fmt: skip
    return [row for row in rows if row is not None]


class _Week:
    """What all rows share."""

    def __init__(
        self, job: Job, size: Sized, bill: FleetBill, api_usd: Fraction | None, rates: Sequence[float],
        needed: Sequence[int],
    ) -> None:  # fmt: skip
        self.job, self.size, self.bill, self.rates, self.needed = job, size, bill, rates, needed
        self.api_usd = api_usd
        self.billing = job.scenario.billing
        self.ready_s = self.billing.ready_s
        self.spares = self.billing.spare_replicas
        self.month_ratio = exact(self.billing.hours_per_month) / len(rates)
        self.usd_per_replica_hour = exact(bill.cost.usd_per_replica_hour)

    def row(self, key: str, label: str, hours: Fraction, basis: str) -> dict[str, Any]:
        """hours: replica-hours of a week without spares, which are on all the time."""
        paid = (hours + self.spares * len(self.rates)) * self.month_ratio
        return self.priced(key, label, paid, paid * self.usd_per_replica_hour, basis)

    def priced(
        self, key: str, label: str, paid: Fraction, amount: Fraction, basis: str, *, meets: bool = True
    ) -> dict[str, Any]:
        always = exact(self.bill.cost.exact_usd_per_month)
        return {
            "key": key,
            "label": label,
            "replica_hours_per_month": float(paid),
            "usd_per_month": usd(amount),
            "saves_usd_per_month": usd(always - amount),
            "cheaper_than_api": None if self.api_usd is None else amount < self.api_usd,
            "meets_targets": meets,
            "basis": basis,
        }


def _autoscaled(week: _Week) -> list[int]:
    """What a rule that sees only the present keeps on: room for the steepest rise of the week during one start, and the
    level of the hour before, since scaling down waits."""
    rates, lead = week.rates, week.ready_s / SECONDS_PER_HOUR
    rises = [after / now - 1 for now, after in zip(rates, [*rates[1:], rates[0]], strict=True) if now > 0]
    room = 1 + max(0.0, *rises) * min(1.0, lead)
    most = max(week.needed)
    needed = []
    for before, now in zip([rates[-1], *rates[:-1]], rates, strict=True):
        wanted = max(now * room, before)
        needed.append(min(most, max(1, replicas_for_peak(wanted, week.size.capacity_rps))))
    return needed


def _to_zero(week: _Week) -> dict[str, Any] | None:
    """Where one replica carries every hour and would sleep at all: else all it saved would be the spare. Requests that
    meet a start miss any TTFT target shorter than it."""
    if max(week.needed) > 1:
        return None
    billing = week.billing
    found = scale_to_zero(
        week.rates, idle_s=billing.idle_s, ready_s=week.ready_s, hours_per_month=billing.hours_per_month
    )
    if found.on_ratio > HARDLY_SLEEPS_RATIO:
        return None
    allowed = min(_may_miss(target) for target in week.job.targets.all)
    hours = exact(found.on_ratio) * len(week.rates)
    paid = hours * week.month_ratio
    basis = (
        f"off after {billing.idle_s:g} s without a request, no spare; {found.cold_ratio:.1%} of the requests wait for "
        f"a start of {week.ready_s:g} s or more, {found.starts_per_month:,.0f} starts a month"
    )
    meets = found.cold_ratio <= allowed
    return week.priced("scale_to_zero", "To zero when idle", paid, paid * week.usd_per_replica_hour, basis, meets=meets)


def _may_miss(target: Target) -> float:
    """Share of requests that may miss a target of time to an answer; those of the pace of tokens do not wait."""
    if target.metric == "goodput":
        return 1 - target.limit
    return 1 - (target.percentile or 100) / 100 if target.metric in ("ttft", "e2e") else 1.0


def _business_hours(week: _Week, against: Hosted | None) -> dict[str, Any]:
    inside = [week.needed[hour] for hour in BUSINESS_HOURS]
    outside = 1 - sum(week.rates[hour] for hour in BUSINESS_HOURS) / sum(week.rates)
    hours = Fraction(max(inside) * len(inside))
    spares = Fraction(week.spares * len(inside))
    paid = (hours + spares) * week.month_ratio
    amount = paid * week.usd_per_replica_hour
    basis = f"Monday to Friday, 8 to 18; {outside:.1%} of the requests come outside"
    served = outside < 1e-9
    if against is not None and not served:
        amount += exact(outside) * exact(against.bill.exact_usd_per_month)
        basis += ", which the API serves"
    meets = served or against is not None
    return week.priced("business_hours", "Business hours", paid, amount, basis, meets=meets)


def _committed(week: _Week) -> list[dict[str, Any]]:
    rows = []
    for years, discount in ((1, week.billing.reserved_1y_discount_ratio), (3, week.billing.reserved_3y_discount_ratio)):
        found = cheapest_commitment(
            [count + week.spares for count in week.needed],
            usd_per_hour=week.usd_per_replica_hour,
            committed_usd_per_hour=week.usd_per_replica_hour * (1 - exact(discount)),
            hours_per_month=week.billing.hours_per_month,
            ready_s=week.ready_s,
        )
        paid = found.committed * exact(week.billing.hours_per_month) + found.by_hour_usd / week.usd_per_replica_hour
        term, replicas = f"{years} year{'s' if years > 1 else ''}", counted(found.committed, "replica")
        basis = (
            f"{replicas} for {term} at {discount:.0%} off, of which {found.unused_ratio:.0%} of the hours are not "
            "used, the rest by schedule"
        )
        rows.append(week.priced(f"committed_{years}y", f"Committed {term}", paid, found.usd, basis))
    return rows


def _spot(week: _Week) -> list[dict[str, Any]]:
    """Serving replicas interruptible, spares at the full price; where the same renters list both prices."""
    listings = week.size.candidate.gpu.price.listings
    ratios: list[Decimal] = [
        item.spot_usd_per_gpu_hour / item.on_demand_usd_per_gpu_hour
        for item in listings
        if item.spot_usd_per_gpu_hour and item.on_demand_usd_per_gpu_hour
    ]
    if not ratios:
        return []
    ratio, rate = exact(median(ratios)), week.billing.spot_interruptions_per_hour
    serving = interrupted_replicas(max(week.needed), interruptions_per_hour=rate, ready_s=week.ready_s)
    hours = exact(week.billing.hours_per_month)
    amount = (serving * ratio + week.spares) * hours * week.usd_per_replica_hour
    replicas, listed = counted(serving, "replica"), counted(len(ratios), "listing")
    basis = (
        f"{replicas} at {float(ratio):.0%} of the price (median of {listed}), each "
        f"lost {rate:g} times an hour for {week.ready_s:g} s; several lost at once miss the targets"
    )
    paid = (serving + week.spares) * hours
    return [week.priced("spot", "Spot", paid, amount, basis, meets=False)]


def operation_sentence(rows: Sequence[dict[str, Any]], choice: str) -> str:
    """What running the fleet otherwise does to a verdict for the API; "" where it does nothing."""
    found = [row for row in rows if row["key"] in ("scheduled", "autoscaled") and row["cheaper_than_api"]]
    if choice != "api" or not found:
        return ""
    best = min(found, key=lambda row: row["usd_per_month"])
    how = best["label"].lower()
    return (
        f"Run {how} and not always on, the fleet would cost ${best['usd_per_month']:,.0f} a month, less than the API."
    )
