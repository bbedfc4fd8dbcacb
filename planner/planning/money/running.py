"""How the fleet is run and paid over the week: the scenario's billing mode, and what its month comes to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from statistics import median

from costmodel.pricing.batch import BatchWork
from costmodel.pricing.money import Number, exact
from costmodel.pricing.terms import BillingMode, FleetMonth, Rounding, Terms, fleet_month
from planner.planning.schema import Scenario
from planner.planning.search.inventory import Gpu
from planner.planning.traffic.load import Load

LABELS: dict[BillingMode, str] = {
    "always_on": "Always on",
    "scheduled": "By a schedule",
    "autoscaled": "Autoscaled",
    "scale_to_zero": "To zero when idle",
    "business_hours": "Business hours",
    "committed_1y": "Committed 1 year",
    "committed_3y": "Committed 3 years",
    "spot": "Spot",
}
WORDS: dict[BillingMode, str] = {
    "always_on": "always on",
    "scheduled": "by a schedule",
    "autoscaled": "autoscaled",
    "scale_to_zero": "autoscaled to zero",
    "business_hours": "in business hours",
    "committed_1y": "committed for 1 year",
    "committed_3y": "committed for 3 years",
    "spot": "on spot",
}


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """A fleet under terms in a week. capacity_rps: of one replica. api_usd: what an API would charge a month for the
    whole load; it bills what comes while the fleet is closed. None: such requests are not served. batch_api_usd: for
    all requests with a deadline, of which it bills what closed hours make late; api_minimum_usd: least that it bills a
    month in which it serves anything. work: with a
    deadline, beside the load; it grows with load and shrinks with capacity as the load's own replicas do. pools: in
    which the replicas stand; each has spares of its own, which the terms count together."""

    terms: Terms
    rates_rps: tuple[float, ...]
    capacity_rps: float
    api_usd: Fraction | None = None
    work: BatchWork | None = None
    batch_api_usd: Fraction = Fraction(0)
    api_minimum_usd: Fraction = Fraction(0)
    pools: int = 1

    def month(
        self,
        *,
        load_ratio: Number = 1,
        capacity_rps: Number | None = None,
        spares: int | None = None,
        at_most: int | None = None,
        rounding: Rounding = "exact",
    ) -> FleetMonth:
        """The fleet's month at so many times the load, with replicas of another capacity, with other spares."""
        terms = self.terms if spares is None else replace(self.terms, spare_replicas=spares)
        ratio = exact(load_ratio)
        capacity = exact(self.capacity_rps if capacity_rps is None else capacity_rps)
        rates = self.rates_rps
        work = self.work
        if work is not None:
            work = work.scaled(float(ratio * exact(self.capacity_rps) / capacity))
        if terms.mode == "scale_to_zero":  # the only one in which gaps between requests count
            rates = tuple(rate * float(ratio) for rate in rates)
        else:
            capacity = capacity / ratio
        return fleet_month(terms, rates, capacity, at_most=at_most, rounding=rounding, work=work)

    def usd(
        self,
        *,
        load_ratio: Number = 1,
        capacity_rps: Number | None = None,
        spares: int | None = None,
        gpu_price_ratio: Number = 1,
        api_price_ratio: Number = 1,
    ) -> Fraction:
        """The month, USD, with what an API serves while the fleet is closed."""
        month = self.month(load_ratio=load_ratio, capacity_rps=capacity_rps, spares=spares)
        outside = self.outside_usd(month, exact(load_ratio) * exact(api_price_ratio))
        return month.usd * exact(gpu_price_ratio) + outside

    def outside_usd(self, month: FleetMonth, ratio: Fraction = Fraction(1)) -> Fraction:
        """The API's part of the month, at so many times the present load (or its price)."""
        usage = exact(month.outside_ratio) * (self.api_usd or 0) + exact(month.late_ratio) * self.batch_api_usd
        return max(self.api_minimum_usd, usage * ratio) if usage else usage

    def usd_of(self, serving: int, *, spares: int | None = None) -> Fraction:
        """The month when so many replicas are needed in the busiest hour for the same load."""
        return self.usd(capacity_rps=exact(max(self.rates_rps)) / serving, spares=spares)


def running_in(
    mode: BillingMode, scenario: Scenario, gpu: Gpu, load: Load, *, gpus_per_replica: int, capacity_rps: float,
    api_usd: Fraction | None, work: BatchWork | None = None, batch_api_usd: Fraction = Fraction(0),
    api_minimum_usd: Fraction = Fraction(0), pools: int = 1,
) -> Running:  # fmt: skip
    """The fleet in one mode, with the scenario's spares in each pool. Interruptible hours of a GPU without such a price
    count in full: see `spot_ratio`."""
    billing = scenario.billing
    ratios = {
        "committed_1y": 1 - exact(billing.reserved_1y_discount_ratio),
        "committed_3y": 1 - exact(billing.reserved_3y_discount_ratio),
        "spot": spot_ratio(scenario, gpu) or Fraction(1),
    }
    terms = Terms(
        mode=mode,
        usd_per_replica_hour=exact(gpu.price.usd_per_gpu_hour) * gpus_per_replica,
        hours_per_month=exact(billing.hours_per_month),
        spare_replicas=0 if mode == "scale_to_zero" else pools * billing.spare_replicas,
        price_ratio=ratios.get(mode, Fraction(1)),
        ready_s=billing.ready_s,
        idle_s=billing.idle_s,
        interruptions_per_hour=billing.spot_interruptions_per_hour,
    )
    return Running(terms, week_of(load), capacity_rps, api_usd, work, batch_api_usd, api_minimum_usd, pools)


def billing_modes(scenario: Scenario) -> tuple[BillingMode, ...]:
    """Modes by which the plan may be billed: the scenario's, or those among which the cheapest is taken."""
    billing = scenario.billing
    if billing.mode != "cheapest":
        return (billing.mode,)
    idle = scenario.traffic.batch is None  # work with a deadline leaves no replica idle to be switched off
    return (*(mode for mode in billing.allowed_modes if idle or mode != "scale_to_zero"), "always_on")


def week_of(load: Load) -> tuple[float, ...]:
    """Rates of the hours; the busiest is the peak itself, which rounding of the week's shape may miss."""
    rates = load.week_rps.tolist()
    top = max(rates)
    return tuple(load.peak_rps if rate == top else rate for rate in rates)


def spot_listings(gpu: Gpu) -> list[Decimal]:
    """Spot over on-demand price of every renter who lists both."""
    return [
        item.spot_usd_per_gpu_hour / item.on_demand_usd_per_gpu_hour
        for item in gpu.price.listings
        if item.spot_usd_per_gpu_hour and item.on_demand_usd_per_gpu_hour
    ]


def spot_ratio(scenario: Scenario, gpu: Gpu) -> Fraction | None:
    """Price of an interruptible hour over that of an hour on demand: the scenario's, else the median of the renters who
    list both; None where nobody does."""
    given = scenario.billing.spot_price_ratio
    if given is not None:
        return exact(given)
    listed = spot_listings(gpu)
    return exact(median(listed)) if listed else None
