"""Published rental prices of accelerators, each with provider, region, date and source."""

from __future__ import annotations

import csv
import re
from calendar import monthrange
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from importlib import resources
from typing import Literal

MARKETPLACES = frozenset({"akash", "lium", "sfcompute", "vast"})
Precision = Literal["day", "month", "year"]


@dataclass(frozen=True, slots=True)
class AsOf:
    """A date as its source gives it. `first_day` and `last_day` bound what a month or a year can mean."""

    text: str
    precision: Precision
    first_day: date
    last_day: date


@dataclass(frozen=True, slots=True)
class GpuListing:
    """One published price of one accelerator. `labels` say what kind of offer it is; none means a plain price.
    withdrawn: said to be offered no more since that day; it has no price then."""

    accelerator_id: str
    provider: str
    instance: str
    gpus_per_instance: int
    region: str
    on_demand_usd_per_gpu_hour: Decimal | None
    spot_usd_per_gpu_hour: Decimal | None
    reserved_1y_usd_per_gpu_hour: Decimal | None
    reserved_3y_usd_per_gpu_hour: Decimal | None
    as_of: AsOf
    source: str
    note: str
    labels: tuple[str, ...]
    withdrawn: bool = False


def parse_as_of(text: str) -> AsOf:
    """Read `2026-08-26`, `2026-08` or `2026`, keeping the precision. Raises ValueError for anything else."""
    match = re.fullmatch(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", text.strip())
    if match is None:
        raise ValueError(f"not a date, month or year: {text!r}")
    year, month, day = (int(part) if part else None for part in match.groups())
    assert year is not None
    if month is None:
        return AsOf(text.strip(), "year", date(year, 1, 1), date(year, 12, 31))
    if day is None:
        return AsOf(text.strip(), "month", date(year, month, 1), date(year, month, monthrange(year, month)[1]))
    exact_day = date(year, month, day)
    return AsOf(text.strip(), "day", exact_day, exact_day)


@lru_cache(maxsize=1)
def shipped_listings() -> tuple[GpuListing, ...]:
    """Every shipped listing, in the order of the file (`data/gpu_prices.csv`)."""
    table = resources.files("costmodel") / "data" / "gpu_prices.csv"
    return read_listings(table.read_text(encoding="utf-8").splitlines())


def read_listings(lines: Iterable[str]) -> tuple[GpuListing, ...]:
    """Listings from CSV lines with the columns of `data/gpu_prices.csv`. Prices are per GPU, not per instance."""
    return tuple(_listing(row) for row in csv.DictReader(lines))


def _listing(row: Mapping[str, str]) -> GpuListing:
    return GpuListing(
        accelerator_id=row["gpu"],
        provider=row["provider"],
        instance=row["instance"],
        gpus_per_instance=int(row["gpus_per_instance"]),
        region=row["region"],
        on_demand_usd_per_gpu_hour=_price(row["on_demand_usd_per_gpu_hr"]),
        spot_usd_per_gpu_hour=_price(row["spot_usd_per_gpu_hr"]),
        reserved_1y_usd_per_gpu_hour=_price(row["reserved_1y_usd_per_gpu_hr"]),
        reserved_3y_usd_per_gpu_hour=_price(row["reserved_3y_usd_per_gpu_hr"]),
        as_of=parse_as_of(row["as_of"]),
        source=row["source"],
        note=row["note"],
        labels=_labels(row["provider"], row["instance"], row["note"]),
    )


def _price(text: str) -> Decimal | None:
    if not text.strip():
        return None
    value = Decimal(text)
    if not value.is_finite() or value <= 0:
        raise ValueError(f"a price must be above zero: {text!r}")
    return value


def _labels(provider: str, instance: str, note: str) -> tuple[str, ...]:
    wording = f"{provider} {instance} {note}".casefold()
    marks = {
        "average of listings": "average of listings" in wording or "provider average" in wording,
        "community": "community" in wording or "third-party hosts" in wording,
        "marketplace": provider.casefold() in MARKETPLACES,
        "resale": "via shadeform" in wording,
        "changed since": note.startswith("STALE"),
    }
    return tuple(label for label, applies in marks.items() if applies)
