"""The fleet's month: what is paid for it, in the mode that bills it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

from costmodel.pricing.batch import BatchWork, work_of
from costmodel.pricing.money import exact, to_decimal
from costmodel.pricing.selfhost_cost import (
    CostIdentity,
    CostLine,
    HourLine,
    SelfHostCost,
    cost_identity,
    hour_lines_cost,
    self_host_cost,
)
from costmodel.pricing.terms import BillingMode, FleetMonth
from planner.planning.money.hosted import Hosted
from planner.planning.money.running import Running, billing_modes, running_in, spot_ratio
from planner.planning.money.tokens import SECONDS_PER_HOUR, Tokens, monthly_tokens
from planner.planning.report.names import counted
from planner.planning.report.plain import usd
from planner.planning.schema import Scenario
from planner.planning.search.inventory import Gpu
from planner.planning.search.targets import Target, Targets
from planner.planning.traffic.load import Load


def slo_capacity_rps(capacity_rps: float, peak_rps: float, serving: int) -> float:
    """What one replica of the fleet is counted to serve: its capacity alone, moved as little as needed to agree with
    the fleet that the simulation of the peak hour confirmed, so that ceil(peak / capacity) = serving."""
    least = peak_rps / serving * (1 + 1e-9)
    below = peak_rps / (serving - 1) * (1 - 1e-6) if serving > 1 else math.inf
    return min(max(capacity_rps, least), below)


@dataclass(frozen=True, slots=True)
class FleetBill:
    """The fleet's month in the mode that bills it. low and high: quartiles of the listed GPU prices, with the replicas
    needed when steps are as fast or slow as the residuals of the step-time model allow. meets_targets: whether every
    request of the week finds its capacity, by closed form."""

    cost: SelfHostCost
    identity: CostIdentity
    low_usd: Decimal
    high_usd: Decimal
    serving_low: int
    serving_high: int
    running: Running
    month: FleetMonth
    meets_targets: bool

    def range(self) -> dict[str, Any]:
        return {"low": usd(self.low_usd), "mid": usd(self.cost.exact_usd_per_month), "high": usd(self.high_usd)}

    @property
    def mode(self) -> BillingMode:
        return self.running.terms.mode

    @property
    def gpus_usd(self) -> Fraction:
        """The part that follows the GPU price: all but what an API bills while the fleet is closed."""
        return self.month.usd

    def flip_gpu_usd_per_hour(self, gpu: Gpu, alternative_usd: Decimal) -> Decimal | None:
        """GPU price at which the month costs as much as the alternative; None for a fleet that pays no hour."""
        if not self.gpus_usd:
            return None
        left = exact(alternative_usd) - self.running.outside_usd(self.month)
        return to_decimal(max(Fraction(0), exact(gpu.price.usd_per_gpu_hour) * left / self.gpus_usd))


class Servings(Protocol):
    """Serving replicas, with as few and as many as the interval of a replica's capacity asks for (low_rps 0: no number
    of replicas with slow steps would do)."""

    @property
    def serving(self) -> int: ...
    @property
    def serving_low(self) -> int: ...
    @property
    def serving_high(self) -> int: ...
    @property
    def low_rps(self) -> float: ...
    @property
    def high_rps(self) -> float: ...


def fleet_bill(
    scenario: Scenario, gpu: Gpu, load: Load, size: Servings, *, gpus_per_replica: int, capacity_rps: float,
    targets: Targets, against: Hosted | None, batch_rps: float | None = None, pools: int = 1,
) -> FleetBill:  # fmt: skip
    """The month of the serving replicas and the scenario's spares, in the scenario's billing mode. batch_rps: requests
    with a deadline that a replica does when it has nothing else to do. pools: each has the spares."""
    work = None
    if load.batch is not None and batch_rps:
        per_hour = batch_rps * SECONDS_PER_HOUR
        work = work_of(load.batch.week_requests, per_hour, load.batch.deadline_hours)
    running, month, meets = _billed(scenario, gpu, load, gpus_per_replica, capacity_rps, targets, against, work, pools)
    tokens = monthly_tokens(load, scenario.billing.hours_per_month)
    spare = running.terms.spare_replicas
    tokens_per_request = exact(load.mix.prompt_tokens_mean) + exact(load.mix.output_tokens_mean)
    always, paid = running.terms.mode == "always_on", month.replica_hours
    identity = cost_identity(
        usd_per_replica_hour=running.terms.usd_per_replica_hour if always or not paid else month.usd / paid,
        slo_tokens_per_replica_hour=exact(capacity_rps) * SECONDS_PER_HOUR * tokens_per_request,
        replicas=size.serving + spare,
        tokens_per_month=tokens.total if always else tokens.total * (1 - exact(month.outside_ratio)),
        hours_per_month=scenario.billing.hours_per_month,
        paid_replica_hours=paid or None,
    )
    return FleetBill(
        cost=_cost(running, month, gpus_per_replica, tokens, identity),
        identity=identity,
        low_usd=to_decimal(_end(running, gpu.price.p25_usd_per_gpu_hour, gpu, size.high_rps)),
        high_usd=to_decimal(_end(running, gpu.price.p75_usd_per_gpu_hour, gpu, size.low_rps)),
        serving_low=size.serving_low,
        serving_high=size.serving_high,
        running=running,
        month=month,
        meets_targets=meets,
    )


def _billed(
    scenario: Scenario, gpu: Gpu, load: Load, gpus_per_replica: int, capacity_rps: float, targets: Targets,
    against: Hosted | None, work: BatchWork | None, pools: int,
) -> tuple[Running, FleetMonth, bool]:  # fmt: skip
    """The mode that bills the plan: the scenario's, or of those allowed the cheapest that keeps the targets (always on
    where none does)."""
    api_usd = None if against is None else against.live_usd

    def tried(mode: BillingMode) -> tuple[Running, FleetMonth, bool]:
        running = running_in(
            mode,
            scenario,
            gpu,
            load,
            gpus_per_replica=gpus_per_replica,
            capacity_rps=capacity_rps,
            api_usd=api_usd,
            work=work,
            batch_api_usd=Fraction(0) if against is None else against.batch_usd,
            api_minimum_usd=Fraction(0) if against is None else against.minimum_usd,
            pools=pools,
        )
        month = running.month()
        return running, month, keeps_targets(running, month, targets)

    if scenario.billing.mode != "cheapest":
        return tried(scenario.billing.mode)
    known = [
        tried(mode) for mode in billing_modes(scenario)[:-1] if mode != "spot" or spot_ratio(scenario, gpu) is not None
    ]
    keeping = [found for found in known if found[2]]
    if not keeping:
        return tried("always_on")
    return min(keeping, key=lambda found: found[1].usd + found[0].outside_usd(found[1]))


def keeps_targets(running: Running, month: FleetMonth, targets: Targets) -> bool:
    """Whether every request of the week finds the capacity that it needs. Interruptible replicas may be lost several at
    once; who waits for a start misses a target of time to an answer; outside its hours a fleet serves nobody."""
    left = month.outside_ratio or month.late_ratio
    if running.terms.mode == "spot" or (left and running.api_usd is None):
        return False
    return month.cold_ratio <= min((may_miss(target) for target in targets.all), default=1.0)


def may_miss(target: Target) -> float:
    """Share of requests that may miss a target of time to an answer; those of the pace of tokens do not wait."""
    if target.metric == "goodput":
        return 1 - target.limit
    return 1 - (target.percentile or 100) / 100 if target.metric in ("ttft", "e2e") else 1.0


def _cost(
    running: Running, month: FleetMonth, gpus_per_replica: int, tokens: Tokens, identity: CostIdentity
) -> SelfHostCost:
    terms, busy = running.terms, min(Decimal(1), identity.utilisation_ratio)
    price = terms.usd_per_replica_hour / gpus_per_replica
    if terms.mode == "always_on":
        return self_host_cost(
            usd_per_gpu_hour=price,
            gpus_per_replica=gpus_per_replica,
            serving_replicas=month.serving,
            spare_replicas=terms.spare_replicas,
            hours_per_month=terms.hours_per_month,
            input_tokens_per_month=tokens.input,
            output_tokens_per_month=tokens.output,
            busy_ratio=busy,
        )
    elsewhere = running.outside_usd(month)
    outside = None
    if elsewhere:
        assert running.api_usd is not None
        whole = running.api_usd + running.batch_api_usd
        outside = CostLine("API while closed", to_decimal(elsewhere / whole), "of the API's month", to_decimal(whole),
                           to_decimal(elsewhere), "requests outside the hours")  # fmt: skip
    return hour_lines_cost(
        [
            HourLine(
                label=line.label,
                gpu_hours=line.replica_hours * gpus_per_replica,
                usd_per_gpu_hour=line.usd_per_replica_hour / gpus_per_replica,
                basis=f"{line.basis}; {counted(gpus_per_replica, 'GPU')} each",
            )
            for line in month.lines
        ],
        usd_per_replica_hour=terms.usd_per_replica_hour,
        gpus_per_replica=gpus_per_replica,
        replicas=month.bought + terms.spare_replicas,
        input_tokens_per_month=tokens.input,
        output_tokens_per_month=tokens.output,
        busy_ratio=busy,
        elsewhere=outside,
    )


def _end(running: Running, price: Decimal, gpu: Gpu, capacity_rps: float) -> Fraction:
    """The month at an end of the interval: another price and another capacity (0: none is known, the usual one)."""
    mid = exact(gpu.price.usd_per_gpu_hour)
    return running.usd(
        gpu_price_ratio=exact(price) / mid if mid else 1, capacity_rps=capacity_rps if capacity_rps > 0 else None
    )
