"""Short lists from the catalog for the form: models, accelerators with their prices, hosted models."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from planner import planning
from planner.reports import names
from planner.reports.numbers import between, usd

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class GpuChoice:
    """An accelerator that can be ticked, with what it is rented for."""

    id: str
    name: str
    price: str


@dataclass(frozen=True, slots=True)
class Choices:
    """Everything that the form suggests."""

    models: tuple[str, ...]
    gpus: tuple[GpuChoice, ...]
    providers: tuple[str, ...]
    api_models: tuple[tuple[str, str], ...]


@lru_cache(maxsize=4)
def choices(priced_at: date) -> Choices:
    """What can be chosen, at the prices of a date."""
    hosted = planning.catalog_listing("api-prices", priced_at)
    return Choices(
        models=tuple(row["id"] for row in planning.catalog_listing("models", priced_at)),
        gpus=_gpus(priced_at),
        providers=tuple(sorted({row["provider"] for row in hosted})),
        api_models=tuple(sorted({(row["model"], row["provider"]) for row in hosted})),
    )


def _gpus(priced_at: date) -> tuple[GpuChoice, ...]:
    """Accelerators with a price, the most listed first."""
    priced = [row for row in planning.catalog_listing("gpu-prices", priced_at) if row["usd_per_gpu_hour"] is not None]
    priced.sort(key=lambda row: -len(row["listings"]))
    return tuple(GpuChoice(row["gpu"], names.gpu(row["gpu"]), _price(row)) for row in priced)


def _price(row: Row) -> str:
    spread = between(row["low_usd_per_gpu_hour"], row["high_usd_per_gpu_hour"], lambda value: usd(value, 2))
    return f"{usd(row['usd_per_gpu_hour'], 2)} median of {len(row['listings'])}, {spread}"
