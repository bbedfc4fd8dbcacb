"""The two bills: the fleet's month and the API's month for the same requests."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from costmodel.pricing.api_bill import ApiBill, ApiTraffic, api_bill, api_traffic
from costmodel.pricing.api_rates import ApiPrice
from costmodel.pricing.money import exact
from costmodel.pricing.selfhost_cost import CostIdentity, SelfHostCost, cost_identity, self_host_cost
from planner.planning.report.plain import usd, usd_per_mtok
from planner.planning.schema import Scenario
from planner.planning.search.inventory import Gpu, resolve_api
from planner.planning.traffic.lengths import IntArray
from planner.planning.traffic.load import Load

SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Tokens:
    """A month of the load: requests, and whole tokens in and out."""

    requests: Fraction
    input: int
    output: int

    @property
    def total(self) -> int:
        return self.input + self.output


def monthly_tokens(load: Load, hours_per_month: float) -> Tokens:
    """Mean rate × 3600 × hours, times the mean lengths of the mix (exact, then rounded to whole tokens)."""
    requests = exact(load.mean_rps) * SECONDS_PER_HOUR * exact(hours_per_month)
    count = len(load.mix.prompt_tokens)
    total_in = round(int(load.mix.prompt_tokens.sum()) * requests / count)
    total_out = round(int(load.mix.output_tokens.sum()) * requests / count)
    return Tokens(requests, total_in, total_out)


def slo_capacity_rps(capacity_rps: float, peak_rps: float, serving: int) -> float:
    """What one replica of the fleet is counted to serve: its capacity alone, moved as little as needed to agree with
    the fleet that the simulation of the peak hour confirmed, so that ceil(peak / capacity) = serving."""
    least = peak_rps / serving * (1 + 1e-9)
    below = peak_rps / (serving - 1) * (1 - 1e-6) if serving > 1 else math.inf
    return min(max(capacity_rps, least), below)


@dataclass(frozen=True, slots=True)
class FleetBill:
    """The fleet's month. low and high: quartiles of the listed GPU prices, with the replicas needed when steps are as
    fast or slow as the residuals of the step-time model allow."""

    cost: SelfHostCost
    identity: CostIdentity
    low_usd: Decimal
    high_usd: Decimal
    serving_low: int
    serving_high: int

    def range(self) -> dict[str, Any]:
        return {"low": usd(self.low_usd), "mid": usd(self.cost.exact_usd_per_month), "high": usd(self.high_usd)}


class Servings(Protocol):
    """Serving replicas, with as few and as many as the interval of a replica's capacity asks for."""

    @property
    def serving(self) -> int: ...
    @property
    def serving_low(self) -> int: ...
    @property
    def serving_high(self) -> int: ...


def fleet_bill(
    scenario: Scenario, gpu: Gpu, load: Load, size: Servings, *, gpus_per_replica: int, capacity_rps: float
) -> FleetBill:
    """The month of the serving replicas and the scenario's spares."""
    billing = scenario.billing
    tokens = monthly_tokens(load, billing.hours_per_month)
    spare = billing.spare_replicas
    tokens_per_request = exact(load.mix.prompt_tokens_mean) + exact(load.mix.output_tokens_mean)
    identity = cost_identity(
        usd_per_replica_hour=exact(gpu.price.usd_per_gpu_hour) * gpus_per_replica,
        slo_tokens_per_replica_hour=exact(capacity_rps) * SECONDS_PER_HOUR * tokens_per_request,
        replicas=size.serving + spare,
        tokens_per_month=tokens.total,
        hours_per_month=billing.hours_per_month,
    )
    cost = self_host_cost(
        usd_per_gpu_hour=gpu.price.usd_per_gpu_hour,
        gpus_per_replica=gpus_per_replica,
        serving_replicas=size.serving,
        spare_replicas=spare,
        hours_per_month=billing.hours_per_month,
        input_tokens_per_month=tokens.input,
        output_tokens_per_month=tokens.output,
        busy_ratio=min(Decimal(1), identity.utilisation_ratio),
    )
    gpu_hours = exact(billing.hours_per_month) * gpus_per_replica

    def month(price: Decimal, replicas: int) -> Decimal:
        amount = exact(price) * gpu_hours * (replicas + spare)
        return Decimal(amount.numerator) / Decimal(amount.denominator)

    return FleetBill(
        cost=cost,
        identity=identity,
        low_usd=month(gpu.price.p25_usd_per_gpu_hour, size.serving_low),
        high_usd=month(gpu.price.p75_usd_per_gpu_hour, size.serving_high),
        serving_low=size.serving_low,
        serving_high=size.serving_high,
    )


@dataclass(frozen=True, slots=True)
class Hosted:
    """One API: its price and the month's bill. cached: whether the shared prefix is billed as cached input."""

    price: ApiPrice
    bill: ApiBill
    cached: bool

    def as_dict(self) -> dict[str, Any]:
        notes = list(self.price.notes)
        if self.cached:
            notes.insert(0, "assumes that every shared prefix is read from the provider's cache")
        return {
            "provider": self.price.provider,
            "model": self.price.model,
            "available": self.price.available,
            "usd_per_month": usd(self.bill.exact_usd_per_month),
            "lines": [
                {
                    "label": line.label,
                    "tokens": line.tokens,
                    "usd_per_mtok": usd_per_mtok(line.usd_per_mtok),
                    "usd_per_month": line.usd_per_month,
                }
                for line in self.bill.lines
            ],
            "usd_per_mtok_blended": usd_per_mtok(self.bill.usd_per_mtok_blended),
            "source": ", ".join(part for part in (self.price.source, self.price.as_of) if part),
            "priced_at": self.price.priced_at.isoformat(),
            "note": "; ".join(notes),
        }


def hosted_bills(scenario: Scenario, load: Load) -> tuple[Hosted, ...]:
    """The bill of every alternative, in the order asked for. Raises PriceUnknownError or UnknownIdError."""
    tokens = monthly_tokens(load, scenario.billing.hours_per_month)
    out = []
    for choice in scenario.api.alternatives:
        price = resolve_api(choice, scenario.priced_at)
        cached = load.mix.shares_prefixes and price.standard.rates.cached_read_usd_per_mtok is not None
        bill = api_bill(price, hosted_traffic(scenario, load, tokens.requests, cached=cached))
        sent = 1 + exact(scenario.costs.api_retry_ratio)
        out.append(Hosted(price, replace(bill, usd_per_request=bill.usd_per_request * sent), cached))
    return tuple(out)


def hosted_traffic(
    scenario: Scenario, load: Load, requests_per_month: Fraction, *, cached: bool, output_ratio: float = 1.0
) -> ApiTraffic:
    """The mix as an API counts it: retries are billed again, tokens are its own. output_ratio stretches the outputs."""
    ratio, mix = scenario.costs.api_token_ratio, load.mix
    return api_traffic(
        _counted(mix.prompt_tokens, ratio),
        _counted(mix.output_tokens, ratio * output_ratio),
        requests_per_month=requests_per_month * (1 + exact(scenario.costs.api_retry_ratio)),
        cached_read_tokens=np.floor(mix.reused_tokens * ratio).astype(np.int64) if cached else 0,
    )


def _counted(tokens: IntArray, ratio: float) -> IntArray:
    """Lengths in the API's tokens, halves up."""
    return tokens if ratio == 1.0 else (tokens * ratio + 0.5).astype(tokens.dtype)


def cheapest(hosted: tuple[Hosted, ...]) -> Hosted | None:
    """The available alternative with the lowest bill; None without one."""
    return min((h for h in hosted if h.price.available), key=lambda h: h.bill.exact_usd_per_month, default=None)
