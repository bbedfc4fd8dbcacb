"""The hybrid: base load on a fleet of one's own, overflow and spikes at the API by a router."""

from __future__ import annotations

from typing import Any

from costmodel.pricing.hybrid import HybridPoint, cheapest_hybrid, hybrid_points
from costmodel.pricing.money import exact
from planner.planning.money.bills import FleetBill, Hosted, monthly_tokens
from planner.planning.money.further import Further, further_of
from planner.planning.report.names import counted, hosted_name
from planner.planning.report.plain import usd
from planner.planning.search.candidates import Job
from planner.planning.search.intervals import Sized

POINTS_SHOWN = 40


def hybrid_section(job: Job, size: Sized, bill: FleetBill, against: Hosted | None) -> dict[str, Any] | None:
    """The cheapest split over the hours of the week, against either alone; None without an API.

    The fleet of the split has no spares: when a replica is lost, its requests go to the API as others beyond the
    capacity do. Within an hour the rate is taken as steady.
    """
    if against is None:
        return None
    load, hours = job.load, job.scenario.billing.hours_per_month
    points = hybrid_points(
        load.week_rps.tolist(),
        capacity_rps=size.capacity_rps,
        usd_per_replica_month=exact(bill.cost.usd_per_replica_hour) * exact(hours),
        usd_per_request=against.bill.usd_per_request,
        requests_per_month=monthly_tokens(load, hours).requests,
    )
    best = cheapest_hybrid(points)
    fleet, api = exact(bill.cost.exact_usd_per_month), exact(against.bill.exact_usd_per_month)
    more = further_of(job.scenario)
    alone = min(fleet + exact(more.self_host_usd), api + exact(more.api_usd))
    split = best.usd + exact(more.self_host_usd if best.replicas else 0)
    split += exact(more.api_usd if best.self_hosted_ratio < 1 else 0)
    return {
        "provider": against.price.provider,
        "model": against.price.model,
        "best": _row(best),
        "saves_against_api_usd_per_month": usd(api - best.usd),
        "saves_against_self_host_usd_per_month": usd(fleet - best.usd),
        "points": [_row(point) for point in _shown(points, best)],
        "sentence": _sentence(best, against, float(alone - split), more),
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
    return [p for p in points if p.replicas % stride == 0 or p in (best, points[-1])]


def _sentence(best: HybridPoint, against: Hosted, saves_usd: float, more: Further) -> str:
    """saves_usd: against the cheaper of both alone, with the further lines of the sides that are used."""
    name = hosted_name(against.price.provider, against.price.model)
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
    if more.counted:
        return (
            f"{out} of GPUs and API bill; with the further lines it costs ${-saves_usd:,.0f} a month more than the "
            "cheaper of both alone."
        )
    return f"{out}."
