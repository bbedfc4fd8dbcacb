"""The other bill: an API's month for the same requests, as its provider would charge it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from costmodel.pricing.api_bill import ApiBill, ApiTraffic, BillPart, api_bill, api_traffic, bill_of, joined_bill
from costmodel.pricing.api_bill import with_minimum as at_least
from costmodel.pricing.api_rates import ApiPrice
from costmodel.pricing.money import exact, to_decimal
from planner.planning.money.api_cache import Kept, kept_ways
from planner.planning.money.api_hours import HourCard, hour_cards
from planner.planning.money.tokens import Tokens, monthly_tokens
from planner.planning.report.plain import usd, usd_per_mtok
from planner.planning.schema import Scenario
from planner.planning.schema.api import ApiAlternative
from planner.planning.search.inventory import resolve_api
from planner.planning.traffic.lengths import IntArray
from planner.planning.traffic.load import BatchLoad, Load


@dataclass(frozen=True, slots=True)
class Hosted:
    """One API: its price and the month's bill. kept: what its cache does. live: the bill without requests that have a
    deadline, whose part is at batch rates where the API lists any. usage: the bill without what is missing to a
    monthly minimum, in proportion to the load."""

    choice: ApiAlternative
    price: ApiPrice
    bill: ApiBill
    usage: ApiBill
    kept: Kept
    live: ApiBill | None = None

    @property
    def live_bill(self) -> ApiBill:
        return self.usage if self.live is None else self.live

    @property
    def live_usd(self) -> Fraction:
        return exact(self.live_bill.exact_usd_per_month)

    @property
    def batch_usd(self) -> Fraction:
        return exact(self.usage.exact_usd_per_month) - self.live_usd

    @property
    def minimum_usd(self) -> Fraction:
        return exact(self.bill.minimum_usd)

    def usd_at(self, ratio: Fraction) -> Fraction:
        """The month at so many times the load (or its price), the minimum included."""
        return max(self.minimum_usd, exact(self.usage.exact_usd_per_month) * ratio)

    def part_usd(self, amount_usd: Fraction) -> Fraction:
        """What a part of the load costs that alone would come to so much: none of it, no agreement and no minimum."""
        return max(self.minimum_usd, amount_usd) if amount_usd else Fraction(0)

    def as_dict(self) -> dict[str, Any]:
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
            "terms": self.terms,
            "minimum_usd_per_month": usd(self.bill.minimum_usd),
            "note": "; ".join(self._notes()),
        }

    @property
    def terms(self) -> str:
        """What differs from the provider's standard service and list price, in words; empty where nothing does."""
        choice = self.choice
        found: list[str] = [choice.service_tier] if choice.service_tier != "standard" else []
        if choice.discount_ratio:
            found.append(f"{choice.discount_ratio:.3%}".rstrip("0%").rstrip(".") + " % off the list price")
        if choice.min_usd_per_month:
            found.append(f"at least ${choice.min_usd_per_month:,.0f} a month")
        return ", ".join(found)

    def _notes(self) -> list[str]:
        notes = [note for note in (self.kept.note,) if note]
        if self.live is not None and self.price.batch is None:
            notes.append("no batch price is listed: requests with a deadline at the standard rates")
        if self.choice.service_tier == "flex":
            notes.append("flex: cheaper and slower, without a promise of capacity, so that latency targets may fail")
        if self.choice.service_tier == "priority":
            notes.append("priority: dearer, served before others")
        return [*notes, *self.price.notes]


def hosted_bills(scenario: Scenario, load: Load) -> tuple[Hosted, ...]:
    """The bill of every alternative, in the order asked for. Raises PriceUnknownError or UnknownIdError."""
    tokens = monthly_tokens(load, scenario.billing.hours_per_month)
    return tuple(_hosted(scenario, load, tokens, choice) for choice in scenario.api.alternatives)


def _hosted(scenario: Scenario, load: Load, tokens: Tokens, choice: ApiAlternative) -> Hosted:
    price = resolve_api(choice, scenario.priced_at)
    sent = 1 + exact(scenario.costs.api_retry_ratio)
    live, kept = _cheapest_way(scenario, load, tokens.requests, choice, price)
    usage, with_batch = replace(live, usd_per_request=live.usd_per_request * sent), None
    if load.batch is not None:
        with_batch = usage
        traffic = _batch_traffic(scenario, load.batch, tokens.batch_requests * sent)
        more = api_bill(price, traffic, batch=price.batch is not None)
        label = "Batch" if price.batch is not None else "With a deadline"
        usage = joined_bill(usage, more, label, requests_per_month=tokens.requests)
    bill = at_least(usage, to_decimal(choice.min_usd_per_month)) if choice.min_usd_per_month else usage
    return Hosted(choice, price, bill, usage, kept, with_batch)


def _cheapest_way(
    scenario: Scenario, load: Load, requests: Fraction, choice: ApiAlternative, price: ApiPrice
) -> tuple[ApiBill, Kept]:
    """Of the ways to use the provider's cache that the alternative leaves open."""
    ways = kept_ways(scenario, load, choice, price)
    bills = [(live_bill(scenario, load, requests, price, kept), kept) for kept in ways]
    return min(bills, key=lambda found: found[0].exact_usd_per_month)


def live_bill(
    scenario: Scenario, load: Load, requests: Fraction, price: ApiPrice, kept: Kept, *, output_ratio: float = 1.0
) -> ApiBill:
    """The month of the requests without a deadline, each hour at its own rates; retries are billed again.
    output_ratio stretches the outputs."""
    traffic = _traffic(scenario, load, requests, kept, output_ratio)
    return bill_of(price, _parts(price, traffic, hour_cards(price, load, scenario.api.utc_offset_hours)))


def class_bills_usd(scenario: Scenario, load: Load, api: Hosted) -> list[Fraction]:
    """What each class of requests costs at an API, before a monthly minimum; without requests that have a deadline."""
    of, requests = load.mix.class_of, monthly_tokens(load, scenario.billing.hours_per_month).requests
    assert of is not None
    found = []
    for place in range(len(load.mix.classes)):
        inside = of == place
        part = replace(load, mix=load.mix.of_class(place))
        kept = replace(
            api.kept, read_tokens=api.kept.read_tokens[inside], written_tokens=api.kept.written_tokens[inside]
        )
        own = requests * int(inside.sum()) / len(of)
        found.append(exact(live_bill(scenario, part, own, api.price, kept).exact_usd_per_month))
    return found


def _parts(price: ApiPrice, traffic: ApiTraffic, hours: Sequence[HourCard]) -> list[BillPart]:
    if not hours:
        return [BillPart(price.standard, traffic)]
    return [
        BillPart(part.card, replace(traffic, requests_per_month=traffic.requests_per_month * part.share), part.label)
        for part in hours
    ]


def _traffic(scenario: Scenario, load: Load, requests: Fraction, kept: Kept, output_ratio: float) -> ApiTraffic:
    """The mix as an API counts it: in its own tokens."""
    ratio, mix = scenario.costs.api_token_ratio, load.mix
    return api_traffic(
        counted_tokens(mix.prompt_tokens, ratio),
        counted_tokens(mix.output_tokens, ratio * output_ratio),
        requests_per_month=requests * (1 + exact(scenario.costs.api_retry_ratio)),
        cached_read_tokens=kept.read_tokens,
        cached_write_tokens=kept.written_tokens,
        hour_writes=kept.for_an_hour,
    )


def _batch_traffic(scenario: Scenario, batch: BatchLoad, requests_per_month: Fraction) -> ApiTraffic:
    ratio, mix = scenario.costs.api_token_ratio, batch.mix
    return api_traffic(
        counted_tokens(mix.prompt_tokens, ratio),
        counted_tokens(mix.output_tokens, ratio),
        requests_per_month=requests_per_month,
    )


def counted_tokens(tokens: IntArray, ratio: float) -> IntArray:
    """Lengths in the API's tokens, halves up."""
    return tokens if ratio == 1.0 else (tokens * ratio + 0.5).astype(tokens.dtype)


def cheapest(hosted: tuple[Hosted, ...]) -> Hosted | None:
    """The available alternative with the lowest bill; None without one."""
    return min((h for h in hosted if h.price.available), key=lambda h: h.bill.exact_usd_per_month, default=None)
