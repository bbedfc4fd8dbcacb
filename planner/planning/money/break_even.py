"""Where the fleet and each API cost the same: whole replicas against a line."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from costmodel import BreakEven, CurvePoint, Staircase, break_even, break_even_curve, staircase
from costmodel.pricing.breakeven_week import Piece, pieces_of, piecewise_break_even
from costmodel.pricing.money import exact
from planner.planning.money.bills import FleetBill
from planner.planning.money.hosted import Hosted
from planner.planning.money.running import Running
from planner.planning.report.plain import usd
from planner.planning.schema import Scenario
from planner.planning.traffic.load import Load

STEPS_SHOWN = 60
SHOWN_BEYOND_LOAD = 3
EDGES = 240
FAR_LOAD = 10_000
Points = tuple[CurvePoint, ...]


def break_even_against(
    scenario: Scenario, load: Load, bill: FleetBill, api: Hosted, *, edges_shown: int = EDGES
) -> BreakEven:
    """Every volume at which the cheaper side changes, in the shape of the scenario's week and its billing mode."""
    running = bill.running
    if _whole_stairs(running) and not api.minimum_usd:
        return break_even(stairs_of(scenario, load, bill), api.bill.usd_per_request)
    pieces = pieces_of(_month_of(load, running), _edges(load, running, edges_shown))
    return _against_pieces(scenario, load, running, pieces, api)


def stairs_of(scenario: Scenario, load: Load, bill: FleetBill) -> Staircase:
    """The cost of a fleet that is always on against load, in the shape of the scenario's week."""
    return staircase(
        capacity_rps=bill.running.capacity_rps,
        usd_per_replica_hour=bill.running.terms.usd_per_replica_hour,
        tokens_per_request=_tokens_per_request(load),
        peak_to_mean_ratio=max(Fraction(1), exact(load.peak_rps) / exact(load.mean_rps)),
        spare_replicas=bill.running.terms.spare_replicas,
        hours_per_month=scenario.billing.hours_per_month,
    )


def break_even_section(scenario: Scenario, load: Load, bill: FleetBill, hosted: tuple[Hosted, ...]) -> dict[str, Any]:
    """The `break_even` part of the report."""
    running = bill.running
    if _whole_stairs(running) and not any(api.minimum_usd for api in hosted):
        points, found = _always_on(load, stairs_of(scenario, load, bill), hosted)
    else:
        pieces = pieces_of(_month_of(load, running), _edges(load, running, EDGES))
        points = _piece_points(scenario, load, running, pieces, hosted)
        found = [_against_pieces(scenario, load, running, pieces, api) for api in hosted]
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


def _always_on(load: Load, stairs: Staircase, hosted: tuple[Hosted, ...]) -> tuple[Points, list[BreakEven]]:
    found = [break_even(stairs, api.bill.usd_per_request) for api in hosted]
    points = break_even_curve(
        stairs,
        [api.bill.usd_per_request for api in hosted],
        until_mean_rps=_until(load, stairs, found),
        steps_shown=STEPS_SHOWN,
    )
    return points, found


def _whole_stairs(running: Running) -> bool:
    """Whether the month is a number of replicas times a replica's month."""
    return running.terms.mode == "always_on" and running.work is None


def _tokens_per_request(load: Load) -> Fraction:
    """With those of the requests with a deadline that come beside it."""
    live, batch = exact(load.mix.prompt_tokens_mean) + exact(load.mix.output_tokens_mean), load.batch
    if batch is None:
        return live
    each = exact(batch.requests_per_week) / (exact(load.mean_rps) * 3600 * len(batch.week_requests))
    return live + each * (exact(batch.mix.prompt_tokens_mean) + exact(batch.mix.output_tokens_mean))


def _month_of(load: Load, running: Running) -> Callable[[float], float]:
    def month_usd(mean_rps: float) -> float:
        ratio = mean_rps / load.mean_rps
        month = running.month(load_ratio=ratio, rounding="float")
        return float(month.usd) + float(running.outside_usd(month, exact(ratio)))

    return month_usd


def _edges(load: Load, running: Running, most: int) -> list[float]:
    """Mean rates at which an hour of the week needs a replica more, the first `most` of them; to zero and
    with batch work an even grid, as the month bends or steps elsewhere. Beyond the load by half at least."""
    week, capacity = np.array(running.rates_rps) / load.mean_rps, float(running.capacity_rps)
    if running.terms.mode == "scale_to_zero" or running.work is not None:
        most = min(most, EDGES // 2)
        far = max(SHOWN_BEYOND_LOAD * load.mean_rps, 2 * capacity / float(week.max()))
        return [far * place / most for place in range(1, most + 1)]
    levels = np.unique(np.round(week[week > 0], 12))
    per_rps = float(levels.sum()) / capacity
    until = max(1.5 * load.mean_rps, min(SHOWN_BEYOND_LOAD * load.mean_rps + 6 * capacity / levels[-1], most / per_rps))
    until = float(until)
    counts = [int(until * level / capacity) for level in levels]
    stride = max(1, -(-sum(counts) // most))
    edges = [
        place * capacity / float(level)
        for level, count in zip(levels, counts, strict=True)
        for place in range(1, count + 1)
    ]
    return [*sorted(edges)[::stride], until]


def _against_pieces(
    scenario: Scenario, load: Load, running: Running, pieces: tuple[Piece, ...], api: Hosted
) -> BreakEven:
    seconds = exact(scenario.billing.hours_per_month) * 3600
    far = FAR_LOAD * load.mean_rps * max(1.0, float(running.capacity_rps) / load.mean_rps)
    return piecewise_break_even(
        pieces,
        api.bill.usd_per_request,
        seconds_per_month=seconds,
        tokens_per_request=_tokens_per_request(load),
        limit_usd_per_request=_month_of(load, running)(far) / (far * float(seconds)),
        minimum_usd=api.minimum_usd,
    )


def _piece_points(
    scenario: Scenario, load: Load, running: Running, pieces: tuple[Piece, ...], hosted: tuple[Hosted, ...]
) -> Points:
    seconds = exact(scenario.billing.hours_per_month) * 3600
    stride = -(-len(pieces) // STEPS_SHOWN)
    shown = [piece for place, piece in enumerate(pieces) if place % stride == 0 or piece is pieces[-1]]

    def point(mean_rps: float, piece: Piece, amount: float) -> CurvePoint:
        rate = exact(mean_rps)
        serving = running.month(load_ratio=piece.to_rps / load.mean_rps, rounding="float").serving
        return CurvePoint(
            mean_rps=rate,
            tokens_per_month=rate * seconds * _tokens_per_request(load),
            replicas=serving + running.terms.spare_replicas,
            self_host_usd_per_month=exact(amount),
            api_usd_per_month=tuple(max(api.minimum_usd, rate * seconds * api.bill.usd_per_request) for api in hosted),
        )

    ends = [[(piece.from_rps, piece, piece.low_usd), (piece.to_rps, piece, piece.high_usd)] for piece in shown]
    return tuple(point(*end) for pair in ends for end in pair)


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
