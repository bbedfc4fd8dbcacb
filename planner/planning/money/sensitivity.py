"""What the saving would be if one input were otherwise, all else equal.

Prices and spares are exact. For load and output length the fleet is resized by the capacity of one replica (the closed
form scales it for longer outputs); only step times are simulated again.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from costmodel.pricing.money import exact
from planner.planning.money.bills import FleetBill
from planner.planning.money.further import further_of
from planner.planning.money.hosted import Hosted, live_bill
from planner.planning.money.running import Running
from planner.planning.money.tokens import monthly_tokens
from planner.planning.report.plain import usd
from planner.planning.schema import Scenario
from planner.planning.search.replica import Replica, estimate
from planner.planning.traffic.load import Load

STEP = 0.2


@dataclass(frozen=True, slots=True)
class Base:
    """The present answer, from which one thing at a time is moved. slow_serves: some number of replicas with slow
    steps meets the targets."""

    scenario: Scenario
    load: Load
    bill: FleetBill
    api: Hosted
    replica: Replica
    capacity_rps: float
    tpot_limit_ms: float | None
    slow_serves: bool

    @property
    def api_usd(self) -> Fraction:
        """The API's bill, without further lines."""
        return exact(self.api.bill.exact_usd_per_month)

    @property
    def further_usd(self) -> Fraction:
        """What further lines add to self-hosting beyond what they add to the API; GPU and API prices leave it alone."""
        more = further_of(self.scenario)
        return exact(more.self_host_usd) - exact(more.api_usd)

    @property
    def running(self) -> Running:
        return self.bill.running

    @property
    def fleet_usd(self) -> Fraction:
        return exact(self.bill.cost.exact_usd_per_month)


def sensitivity(base: Base) -> list[dict[str, Any]]:
    """Rows of the report, the largest swing first."""
    mid = base.api_usd - base.fleet_usd - base.further_usd
    moved = [_gpu_price(base), _api_price(base), _load(base), _output(base), _step_time(base), _spares(base)]
    more = base.further_usd
    rows = [(label, low_at, high_at, low - more, high - more) for label, low_at, high_at, low, high in moved]
    rows.sort(key=lambda row: (-abs(row[4] - row[3]), row[0]))
    return [
        {
            "label": label,
            "low_label": low_label,
            "high_label": high_label,
            "saving_low_usd_per_month": usd(low),
            "saving_high_usd_per_month": usd(high),
            "flips": (low > 0) != (mid > 0) or (high > 0) != (mid > 0),
        }
        for label, low_label, high_label, low, high in rows
    ]


Row = tuple[str, str, str, Fraction, Fraction]


def _gpu_price(base: Base) -> Row:
    low, high = (base.api_usd - base.running.usd(gpu_price_ratio=1 + sign * exact(STEP)) for sign in (-1, 1))
    return ("GPU price", "−20 %", "+20 %", low, high)


def _api_price(base: Base) -> Row:
    ratios = [1 + sign * exact(STEP) for sign in (-1, 1)]
    low, high = (base.api.usd_at(ratio) - base.running.usd(api_price_ratio=ratio) for ratio in ratios)
    return ("API price", "−20 %", "+20 %", low, high)


def _load(base: Base) -> Row:
    def saving(ratio: Fraction) -> Fraction:
        return base.api.usd_at(ratio) - base.running.usd(load_ratio=ratio)

    return ("Load", "−20 %", "+20 %", saving(1 - exact(STEP)), saving(1 + exact(STEP)))


def _output(base: Base) -> Row:
    tokens = monthly_tokens(base.load, base.scenario.billing.hours_per_month)
    now = estimate(base.replica, base.load.mix, base.tpot_limit_ms).start_rps

    def saving(ratio: float) -> Fraction:
        then = estimate(base.replica, base.load.mix.stretched(output_ratio=ratio), base.tpot_limit_ms).start_rps
        grows = max(1.0, then / now) if ratio < 1 else min(1.0, then / now)
        fleet_usd = base.running.usd(capacity_rps=base.capacity_rps * grows)
        api, load = base.api, base.load
        live = live_bill(base.scenario, load, tokens.requests, api.price, api.kept, output_ratio=ratio)
        return max(api.minimum_usd, exact(live.exact_usd_per_month) + api.batch_usd) - fleet_usd

    return ("Output length", "−20 %", "+20 %", saving(1 - STEP), saving(1 + STEP))


def _step_time(base: Base) -> Row:
    fast, slow = (base.api_usd - base.running.usd_of(n) for n in (base.bill.serving_low, base.bill.serving_high))
    return ("Step time", "p10 (fast)", "p90 (slow)" if base.slow_serves else "p90 (slow; misses targets)", fast, slow)


def _spares(base: Base) -> Row:
    """One fewer and one more, in each pool where there are several."""
    spare, step = base.running.terms.spare_replicas, base.running.pools
    fewer = max(0, spare - step)
    low, high = (base.api_usd - base.running.usd(spares=count) for count in (fewer, spare + step))
    return ("Spare replicas", str(fewer), str(spare + step), low, high)
