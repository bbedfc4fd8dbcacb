"""Which published prices are in force: those that are shipped, and what an operator approved since, in its order.

Approved prices are data with a date, a source and a licence, never a change of what was there: a GPU price of a later
day takes the place of the same offer's earlier one from its own day on, so that a scenario priced before it is priced
as it was. What is in force belongs to the thread or task that asks (`using`), as a run has to keep to what it was
asked of while another request already sees newer prices.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

from costmodel.catalog.catalog import load_catalog
from costmodel.pricing.api_first_source import bundled_label, bundled_providers, parsed_providers
from costmodel.pricing.gpu_listings import GpuListing, shipped_listings

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

OfferKey = tuple[str, str, str, int, str]
SourceLabel = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ApprovedGpuPrices:
    """Listings that were approved together. digest: of their content, which tells two approvals apart."""

    digest: str
    listings: tuple[GpuListing, ...]


@dataclass(frozen=True, slots=True)
class ApprovedApiPrices:
    """A whole list of API prices as genai-prices publishes it. held_back: (provider, model) that keep what they had."""

    digest: str
    document: bytes = field(repr=False)
    label: SourceLabel
    held_back: frozenset[tuple[str, str]] = frozenset()


Approved = ApprovedGpuPrices | ApprovedApiPrices


@dataclass(frozen=True, eq=False)
class PriceBook:
    """The shipped prices and the approvals after them, the oldest first. Compared by identity: keep one for reuse."""

    approved: tuple[Approved, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Eight hex digits that name the approvals; empty without any."""
        if not self.approved:
            return ""
        return hashlib.sha256(" ".join(each.digest for each in self.approved).encode()).hexdigest()[:8]

    @cached_property
    def listings(self) -> tuple[GpuListing, ...]:
        """Every GPU listing of whatever day, the shipped ones first."""
        later = (row for each in self.approved if isinstance(each, ApprovedGpuPrices) for row in each.listings)
        return (*shipped_listings(), *later)

    @cached_property
    def _approved_offers(self) -> frozenset[OfferKey]:
        return frozenset(offer_key(row) for row in self.listings[len(shipped_listings()) :])

    @cached_property
    def _kept_days(self) -> dict[date, tuple[GpuListing, ...]]:
        return {}

    def listings_on(self, day: date) -> tuple[GpuListing, ...]:
        """What is offered as known on that day: of an offer that was approved anew only the latest price by then, and
        none once it was withdrawn. Later prices are left in, as the shipped ones are."""
        if not self._approved_offers:
            return shipped_listings()
        known = self._kept_days.get(day)
        if known is None:
            if len(self._kept_days) >= 16:
                self._kept_days.clear()
            known = self._kept_days[day] = self._latest_by(day)
        return known

    def _latest_by(self, day: date) -> tuple[GpuListing, ...]:
        latest: dict[OfferKey, GpuListing] = {}
        for row in self.listings:
            key = offer_key(row)
            if key in self._approved_offers and row.as_of.last_day <= day:
                former = latest.get(key)
                if former is None or former.as_of.last_day <= row.as_of.last_day:
                    latest[key] = row

        def stands(row: GpuListing) -> bool:
            key = offer_key(row)
            return key not in latest or row is latest[key] or row.as_of.last_day > day

        return tuple(row for row in self.listings if stands(row) and not row.withdrawn)

    @cached_property
    def providers(self) -> Mapping[str, Provider]:
        """API providers by id, with their models' dated prices."""
        return self._api[0]

    def api_source(self, provider: str, model: str) -> SourceLabel:
        """Name of the source of a model's API price with its release, and the day or month it dates from."""
        _, label, held = self._api
        return held.get((provider, model), label)

    @cached_property
    def _api(self) -> tuple[Mapping[str, Provider], SourceLabel, Mapping[tuple[str, str], SourceLabel]]:
        providers: Mapping[str, Provider] = bundled_providers()
        label, held = bundled_label(), dict[tuple[str, str], SourceLabel]()
        for each in self.approved:
            if isinstance(each, ApprovedApiPrices):
                former = providers
                providers = {
                    name: _with_held_back(provider, former.get(name), each.held_back)
                    for name, provider in parsed_providers(each.document).items()
                }
                kept = {pair: held.get(pair, label) for pair in each.held_back if _has(providers, *pair)}
                label, held = each.label, kept
        return providers, label, held


def offer_key(row: GpuListing) -> OfferKey:
    """What makes two listings the same offer on different days."""
    return (row.accelerator_id, row.provider, row.instance, row.gpus_per_instance, row.region)


def _has(providers: Mapping[str, Provider], provider: str, model: str) -> bool:
    return provider in providers and any(each.id == model for each in providers[provider].models)


def _with_held_back(provider: Provider, former: Provider | None, held_back: frozenset[tuple[str, str]]) -> Provider:
    """The provider with its former models where these were held back; a new model held back is left out."""
    names = {model for name, model in held_back if name == provider.id}
    if not names:
        return provider
    before: dict[str, ModelInfo] = {model.id: model for model in (former.models if former else ())}
    now = [before.get(model.id) if model.id in names else model for model in provider.models]
    gone = [before[name] for name in sorted(names & before.keys() - {model.id for model in provider.models})]
    return replace(provider, models=[*(model for model in now if model is not None), *gone])


SHIPPED_PRICES = PriceBook()
_in_force: ContextVar[PriceBook] = ContextVar("prices_in_force", default=SHIPPED_PRICES)


def prices_in_force() -> PriceBook:
    """The prices that this thread or task works with; the shipped ones unless it said otherwise."""
    return _in_force.get()


@contextmanager
def using(book: PriceBook) -> Iterator[None]:
    """Work with these prices inside the block."""
    token = _in_force.set(book)
    try:
        yield
    finally:
        _in_force.reset(token)


def gpu_listings() -> tuple[GpuListing, ...]:
    """Every listing in force, of whatever day, in the order of the file (`data/gpu_prices.csv`), approved ones last."""
    return prices_in_force().listings


def catalog_version() -> str:
    """What decides a result beside scenario and engine: the digest of the shipped data, and after a dot that of the
    approved prices where there are any."""
    shipped, approved = load_catalog().version, prices_in_force().digest
    return f"{shipped}.{approved}" if approved else shipped
