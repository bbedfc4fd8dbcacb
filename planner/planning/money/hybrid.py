"""The hybrid: base load on a fleet of one's own, overflow and spikes at the API by a router."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from costmodel.pricing.hybrid import HybridPoint, cheapest_hybrid, hybrid_points, most_replicas
from costmodel.pricing.money import exact, to_decimal
from costmodel.pricing.terms import OPEN_HOURS
from planner.planning.money.bills import FleetBill
from planner.planning.money.further import Further, further_of
from planner.planning.money.hosted import Hosted
from planner.planning.money.running import Running
from planner.planning.money.tokens import monthly_tokens
from planner.planning.report.names import counted, hosted_name
from planner.planning.report.plain import usd
from planner.planning.schema import Scenario
from planner.planning.search.inventory import Gpu
from planner.planning.traffic.load import Load

POINTS_SHOWN = 40
POINTS_PRICED = 200
LEAST_SAVING_RATIO = Decimal("0.01")
"""A second system is not advised for less than this share of the cheaper side alone; our policy."""


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The cheapest split of the load between replicas and an API, and what either alone costs, USD a month with the
    further lines of the sides that are used. low and high: of the saving, at the ends of the GPU price's quartiles
    together with those of a replica's capacity, fleet and split made anew."""

    against: Hosted
    best: HybridPoint
    points: tuple[HybridPoint, ...]
    gpus: int
    usd: Fraction
    fleet_usd: Fraction
    api_usd: Fraction
    low_usd: Fraction
    high_usd: Fraction
    cheapest_from: Decimal
    cheapest_to: Decimal | None
    more: Further
    outside_ratio: float

    @property
    def saving_usd(self) -> Fraction:
        """Against the cheaper of both alone."""
        return min(self.fleet_usd, self.api_usd) - self.usd

    @property
    def is_verdict(self) -> bool:
        """Whether it is the answer: it wins, and sends something on while the fleet is open. Else the API only stands
        in for a spare."""
        return self.wins and self.best.self_hosted_ratio + self.outside_ratio < 1 - 1e-9

    @property
    def wins(self) -> bool:
        """Some replicas, and enough below the cheaper side alone."""
        alone = min(self.fleet_usd, self.api_usd)
        return self.best.replicas > 0 and self.saving_usd >= exact(LEAST_SAVING_RATIO) * alone and self.saving_usd > 0


def find_split(
    scenario: Scenario, load: Load, gpu: Gpu, bill: FleetBill, against: Hosted | None, *, gpus_per_replica: int,
    low_rps: float, high_rps: float,
) -> Split | None:  # fmt: skip
    """The cheapest split over the hours of the week; None without an API.

    The fleet of the split has no spares: when a replica is lost, its requests go to the API as others beyond the
    capacity do. Within an hour the rate is taken as steady.
    """
    if against is None:
        return None
    points = _points(scenario, load, bill.running, against)
    best, more = cheapest_hybrid(points), further_of(scenario)
    api_usd = exact(against.bill.exact_usd_per_month)

    def total(point: HybridPoint, gpu_price_ratio: Fraction = Fraction(1)) -> Fraction:
        amount = point.self_host_usd * gpu_price_ratio + point.api_usd
        amount += exact(more.self_host_usd if point.replicas else 0)
        return amount + exact(more.api_usd if point.self_hosted_ratio < 1 else 0)

    def saving(price: Decimal, capacity_rps: float) -> Fraction:
        mid = exact(gpu.price.usd_per_gpu_hour)
        ratio = exact(price) / mid if mid else Fraction(1)
        capacity = capacity_rps if capacity_rps > 0 else bill.running.capacity_rps
        point = min(_points(scenario, load, bill.running, against, capacity), key=lambda p: total(p, ratio))
        fleet = bill.running.usd(gpu_price_ratio=ratio, capacity_rps=capacity) + exact(more.self_host_usd)
        return min(fleet, api_usd + exact(more.api_usd)) - total(point, ratio)

    fleet_usd = exact(bill.cost.exact_usd_per_month) + exact(more.self_host_usd)
    alone_usd = api_usd + exact(more.api_usd)
    ends = [
        saving(gpu.price.p25_usd_per_gpu_hour, high_rps),
        saving(gpu.price.p75_usd_per_gpu_hour, low_rps),
        min(fleet_usd, alone_usd) - total(best),
    ]
    band = _band(exact(gpu.price.usd_per_gpu_hour), best, total(best), fleet_usd, alone_usd, bill)
    return Split(
        against=against,
        best=best,
        points=points,
        gpus=best.replicas * gpus_per_replica,
        usd=total(best),
        fleet_usd=fleet_usd,
        api_usd=alone_usd,
        low_usd=min(ends),
        high_usd=max(ends),
        cheapest_from=band[0],
        cheapest_to=band[1],
        more=more,
        outside_ratio=bill.month.outside_ratio,
    )


def _points(
    scenario: Scenario, load: Load, running: Running, against: Hosted, capacity_rps: float | None = None,
) -> tuple[HybridPoint, ...]:  # fmt: skip
    hours = scenario.billing.hours_per_month
    capacity = running.capacity_rps if capacity_rps is None else capacity_rps
    requests, usd_per_request = monthly_tokens(load, hours).requests, against.live_bill.usd_per_request
    closed = () if running.terms.mode != "business_hours" else sorted(set(range(168)) - set(OPEN_HOURS))

    def month_usd(count: int) -> Fraction:
        if running.terms.mode == "always_on" or not count:
            return count * running.terms.usd_per_replica_hour * running.terms.hours_per_month
        return running.month(capacity_rps=capacity, spares=0, at_most=count).usd

    def priced(counts: Iterable[int]) -> tuple[HybridPoint, ...]:
        found = hybrid_points(
            running.rates_rps, capacity_rps=capacity, month_usd=month_usd, usd_per_request=usd_per_request,
            requests_per_month=requests, replicas=sorted(set(counts)), closed_hours=closed,
        )  # fmt: skip
        if running.work is not None:
            found = tuple(
                replace(point, api_usd=point.api_usd + late(point.replicas) * against.batch_usd) for point in found
            )
        return tuple(replace(point, api_usd=against.part_usd(point.api_usd)) for point in found)

    def late(count: int) -> Fraction:
        """Share of the requests with a deadline that so many replicas do not do in time: the API's too."""
        if not count:
            return Fraction(1)
        part = running.month(capacity_rps=capacity, spares=0, at_most=count).batch
        return exact(part.run.late_ratio) if part else Fraction(0)

    most = most_replicas(running.rates_rps, capacity)
    stride = -(-most // POINTS_PRICED) or 1
    coarse = [*range(0, most, stride), most]
    if stride == 1:
        return priced(coarse)
    near = cheapest_hybrid(priced(coarse)).replicas
    return priced([*coarse, *range(max(0, near - stride), min(most, near + stride) + 1)])


def _band(
    price: Fraction, best: HybridPoint, split: Fraction, fleet: Fraction, api: Fraction, bill: FleetBill
) -> tuple[Decimal, Decimal | None]:
    """GPU prices between which this split is the cheapest of the three, its replicas unchanged; None: no upper end."""
    upper = None
    if best.self_host_usd:
        upper = to_decimal(max(Fraction(0), price * (1 + (api - split) / best.self_host_usd)))
    more = bill.gpus_usd - best.self_host_usd
    lower = price * (1 - (fleet - split) / more) if more > 0 else Fraction(0)
    return to_decimal(max(Fraction(0), lower)), upper


def hybrid_section(split: Split | None) -> dict[str, Any] | None:
    """The `hybrid` part of the report."""
    if split is None:
        return None
    best, against = split.best, split.against
    fleet, api = split.fleet_usd - exact(split.more.self_host_usd), split.api_usd - exact(split.more.api_usd)
    return {
        "provider": against.price.provider,
        "model": against.price.model,
        "best": _row(best),
        "saves_against_api_usd_per_month": usd(api - best.usd),
        "saves_against_self_host_usd_per_month": usd(fleet - best.usd),
        "points": [_row(point) for point in _shown(split.points, best)],
        "sentence": _sentence(split),
    }


def _row(point: HybridPoint) -> dict[str, Any]:
    return {
        "replicas": point.replicas,
        "self_host_usd_per_month": usd(point.self_host_usd),
        "api_usd_per_month": usd(point.api_usd),
        "usd_per_month": usd(point.usd),
        "self_hosted_ratio": point.self_hosted_ratio,
        "overflow_hours_ratio": point.overflow_hours_ratio,
    }


def _shown(points: tuple[HybridPoint, ...], best: HybridPoint) -> list[HybridPoint]:
    """Every k-th, the ends and the best."""
    stride = -(-len(points) // POINTS_SHOWN)
    return [p for place, p in enumerate(points) if place % stride == 0 or p in (best, points[-1])]


def _sentence(split: Split) -> str:
    """Against the cheaper of both alone, with the further lines of the sides that are used."""
    best, saves_usd = split.best, float(split.saving_usd)
    name = hosted_name(split.against.price.provider, split.against.price.model)
    if best.replicas == 0:
        return f"No replica pays beside {name}: the whole load there is the cheapest split."
    if best.self_hosted_ratio >= 1:
        out = f"{counted(best.replicas, 'replica')} for the whole load, without spares, is the cheapest split"
    else:
        out = (
            f"The cheapest split is {counted(best.replicas, 'replica')} for {best.self_hosted_ratio:.0%} of the "
            f"requests and {name} for the rest, in {best.overflow_hours_ratio:.0%} of the hours"
        )
    if saves_usd > 0:
        return f"{out}, ${saves_usd:,.0f} a month less than the cheaper of both alone."
    if split.more.counted:
        return (
            f"{out} of GPUs and API bill; with the further lines it costs ${-saves_usd:,.0f} a month more than the "
            "cheaper of both alone."
        )
    return f"{out}."
