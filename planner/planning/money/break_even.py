"""Where the fleet and each API cost the same: whole replicas against a line."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from costmodel import BreakEven, Staircase, break_even, break_even_curve, staircase
from costmodel.pricing.money import exact
from planner.planning.money.bills import Hosted
from planner.planning.report.plain import usd
from planner.planning.schema import Scenario
from planner.planning.traffic.load import Load

STEPS_SHOWN = 60
SHOWN_BEYOND_LOAD = 3


def stairs_of(scenario: Scenario, load: Load, usd_per_replica_hour: Any, capacity_rps: float) -> Staircase:
    """The fleet's cost against load, in the shape of the scenario's week."""
    return staircase(
        capacity_rps=capacity_rps,
        usd_per_replica_hour=usd_per_replica_hour,
        tokens_per_request=exact(load.mix.prompt_tokens_mean) + exact(load.mix.output_tokens_mean),
        peak_to_mean_ratio=max(Fraction(1), exact(load.peak_rps) / exact(load.mean_rps)),
        spare_replicas=scenario.billing.spare_replicas,
        hours_per_month=scenario.billing.hours_per_month,
    )


def break_even_section(load: Load, stairs: Staircase, hosted: tuple[Hosted, ...]) -> dict[str, Any]:
    """The `break_even` part of the report."""
    found = [break_even(stairs, api.bill.usd_per_request) for api in hosted]
    points = break_even_curve(
        stairs,
        [api.bill.usd_per_request for api in hosted],
        until_mean_rps=_until(load, stairs, found),
        steps_shown=STEPS_SHOWN,
    )
    return {
        "curve": [
            {
                "mean_rps": point.mean_rps,
                "tokens_per_month": round(point.tokens_per_month),
                "replicas": point.replicas,
                "self_host_usd_per_month": usd(point.self_host_usd_per_month),
                "api_usd_per_month": [usd(amount) for amount in point.api_usd_per_month],
            }
            for point in points
        ],
        "against": [against_row(api, result) for api, result in zip(hosted, found, strict=True)],
    }


def against_row(api: Hosted, result: BreakEven) -> dict[str, Any]:
    """Every volume at which the cheaper side changes, against one API."""
    return {
        "provider": api.price.provider,
        "model": api.price.model,
        "crossings": [
            {
                "mean_rps": crossing.mean_rps,
                "tokens_per_month": round(crossing.tokens_per_month),
                "cheaper_above": crossing.cheaper_above,
            }
            for crossing in result.crossings
        ],
        "never": result.never,
        "sentence": result.sentence,
    }


def _until(load: Load, stairs: Staircase, found: list[BreakEven]) -> Fraction:
    """Three times the load, and a little past each last crossing that is not absurdly far away."""
    present = SHOWN_BEYOND_LOAD * exact(load.mean_rps)
    farthest = max(present, 6 * stairs.step_mean_rps)
    for result in found:
        if result.crossings and result.crossings[-1].mean_rps < 40 * farthest:
            farthest = max(farthest, result.crossings[-1].mean_rps * Fraction(6, 5))
    return farthest
