"""Short lists from the catalog for the form: models, accelerators with their prices, hosted models."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from typing import Any

from planner import planning
from planner.reports import names, separators
from planner.reports.numbers import between, unit_price

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


_TRIM = re.compile(r"[^a-z0-9]+|instruct|chat|-it$")


def choices(priced_at: date, model_id: str) -> Choices:
    """What can be chosen, at the prices of a date. Hosted models are those that look like `model_id`."""
    return _choices(planning.result_version(), priced_at, model_id, separators.current())


@lru_cache(maxsize=16)
def _choices(_version: str, priced_at: date, model_id: str, marks: separators.Separators) -> Choices:
    """marks: those that the prices are written with, so that they are kept for readers of the same alone."""
    hosted = api_rows(priced_at)
    key = family(model_id)
    return Choices(
        models=tuple(row["id"] for row in planning.catalog_listing("models", priced_at)),
        gpus=_gpus(priced_at),
        providers=tuple(sorted({row["provider"] for row in hosted})),
        api_models=tuple(sorted({(r["model"], r["provider"]) for r in hosted if key and key in family(r["model"])})),
    )


def with_own(found: Choices, own: planning.OwnCatalog) -> Choices:
    """The same with the team's own models, accelerators, prices and hosted models, which come first."""
    of = {kind: [e for e in own.entries if e.kind == kind] for kind in planning.CATALOG_KINDS}
    stated = {entry.name: entry for entry in of["gpu-prices"]}
    listed = (
        replace(gpu, price=f"{_own_price(stated[gpu.id])}; list: {gpu.price}") if gpu.id in stated else gpu
        for gpu in found.gpus
    )
    chips = (GpuChoice(entry.name, entry.name, _own_price(entry)) for entry in of["accelerators"])
    hosted = [(str(e.name.partition("/")[2]), str(e.name.partition("/")[0])) for e in of["api-prices"]]
    return Choices(
        models=(*(entry.name for entry in of["models"]), *found.models),
        gpus=(*chips, *listed),
        providers=tuple(sorted({*found.providers, *(provider for _, provider in hosted)})),
        api_models=(*hosted, *found.api_models),
    )


def _own_price(entry: planning.OwnEntry) -> str:
    return f"{unit_price(entry.value['usd_per_gpu_hour'])}/h, your team's"


def api_rows(priced_at: date) -> tuple[Row, ...]:
    """Every hosted model with a price; thousands, so kept."""
    return _api_rows(planning.result_version(), priced_at)


@lru_cache(maxsize=4)
def _api_rows(_version: str, priced_at: date) -> tuple[Row, ...]:
    return tuple(planning.catalog_listing("api-prices", priced_at))


def family(model_id: str) -> str:
    """A model's name as bare letters and digits, so that spellings can be compared: llama3370b."""
    return _TRIM.sub("", model_id.rpartition("/")[2].lower())


def _gpus(priced_at: date) -> tuple[GpuChoice, ...]:
    """Accelerators with a price, the most listed first."""
    listed: dict[str, list[Row]] = {}
    for row in planning.catalog_listing("gpu-prices", priced_at):
        if row["usd_per_gpu_hour"] is not None:
            listed.setdefault(row["gpu"], []).append(row)
    by_count = sorted(listed.items(), key=lambda item: -len(item[1]))
    return tuple(GpuChoice(gpu, names.gpu(gpu), _price(rows)) for gpu, rows in by_count)


def _price(rows: Sequence[Row]) -> str:
    prices = [row["usd_per_gpu_hour"] for row in rows]
    spread = between(min(prices), max(prices), unit_price)
    return f"{unit_price(rows[0]['median_usd_per_gpu_hour'])}/h, median of {len(rows)}: {spread}"
