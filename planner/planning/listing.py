"""The catalog as rows, for API and pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from pydantic import ValidationError

from costmodel import ModelConfigError, PriceUnknownError, api_price_listing, gpu_listings, gpu_price, load_catalog
from planner.planning.report.plain import plain
from planner.planning.schema.model import Model
from planner.planning.search.inventory import resolve_model

KINDS = ("accelerators", "models", "gpu-prices", "api-prices")


def catalog_listing(kind: str, priced_at: date) -> list[dict[str, Any]]:
    """Rows of one part of the catalog, in its order. Raises ValueError for another kind than KINDS."""
    makers = {"accelerators": _accelerators, "models": _models, "gpu-prices": _gpu_prices, "api-prices": _api_prices}
    if kind not in makers:
        raise ValueError(f"no catalog of {kind}; there are {', '.join(KINDS)}")
    rows: list[dict[str, Any]] = plain(makers[kind](priced_at))
    return rows


def _accelerators(_: date) -> list[dict[str, Any]]:
    return [
        {
            "id": a.id,
            "vendor": a.vendor,
            "memory_gib": a.memory_gib,
            "memory_bandwidth_gb_per_s": a.memory_bandwidth_gb_per_s,
            "bf16_dense_tflops": a.bf16_dense_tflops,
            "fp8_dense_tflops": a.fp8_dense_tflops,
            "interconnect": a.interconnect,
            "link_gb_per_s": a.link_gb_per_s,
            "gpus_per_node": a.gpus_per_node,
            "release_year": a.release_year,
            "note": a.note,
            "source": a.source,
            "as_of": a.as_of,
        }
        for a in load_catalog().accelerators.values()
    ]


def _models(_: date) -> list[dict[str, Any]]:
    models = load_catalog().models
    return [
        {
            "id": model_id,
            "params_total_b": models[model_id].params_total / 1e9,
            "params_active_b": models[model_id].params_active / 1e9,
            "layers": models[model_id].layers,
            "max_context_tokens": models[model_id].max_context_tokens,
            "native_weight_dtype": models[model_id].native_weight_dtype,
            "confidence": entry.confidence,
            "source": entry.source,
            "as_of": entry.as_of,
            "note": entry.note,
        }
        for model_id, entry in models.entries.items()
        if entry.listed
    ]


def model_facts(value: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a model that is given by config or sizes, as a team keeps it; empty where the shape does not make
    one any more."""
    try:
        spec = resolve_model(Model.model_validate({name: part for name, part in value.items() if name != "id"}))
    except (ValidationError, ModelConfigError):
        return {}
    return {
        "params_total_b": spec.params_total / 1e9,
        "params_active_b": spec.params_active / 1e9,
        "layers": spec.layers,
        "max_context_tokens": spec.max_context_tokens,
        "native_weight_dtype": spec.native_weight_dtype,
        "confidence": "given",
    }


def _gpu_prices(priced_at: date) -> list[dict[str, Any]]:
    """One row per published price that counts on that day; an accelerator without any has one row that says so."""
    return [row for accelerator_id in load_catalog().accelerators for row in _gpu_price(accelerator_id, priced_at)]


def gpu_price_days() -> tuple[date, date]:
    """The oldest and the newest day that a listed GPU price dates from; of a month or a year, its first day."""
    days = [listing.as_of.first_day for listing in gpu_listings() if not listing.withdrawn]
    return min(days), max(days)


def _gpu_price(accelerator_id: str, priced_at: date) -> list[dict[str, Any]]:
    try:
        price = gpu_price(accelerator_id, priced_at)
    except PriceUnknownError as error:
        return [_gpu_price_row(accelerator_id, note=f"{error}")]
    return [
        _gpu_price_row(
            accelerator_id,
            provider=item.provider,
            instance=item.instance,
            region=item.region,
            usd_per_gpu_hour=item.on_demand_usd_per_gpu_hour,
            spot_usd_per_gpu_hour=item.spot_usd_per_gpu_hour,
            median_usd_per_gpu_hour=price.usd_per_gpu_hour,
            as_of=item.as_of.text,
            source=item.source,
            note=item.note,
        )
        for item in price.listings
    ]


def _gpu_price_row(
    gpu: str,
    *,
    provider: str = "",
    instance: str = "",
    region: str = "",
    usd_per_gpu_hour: Decimal | None = None,
    spot_usd_per_gpu_hour: Decimal | None = None,
    median_usd_per_gpu_hour: Decimal | None = None,
    as_of: str = "",
    source: str = "",
    note: str = "",
) -> dict[str, Any]:
    """`median_usd_per_gpu_hour` is what a plan takes for this accelerator on that day."""
    return {
        "gpu": gpu,
        "provider": provider,
        "instance": instance,
        "region": region,
        "usd_per_gpu_hour": usd_per_gpu_hour,
        "spot_usd_per_gpu_hour": spot_usd_per_gpu_hour,
        "median_usd_per_gpu_hour": median_usd_per_gpu_hour,
        "as_of": as_of,
        "source": source,
        "note": note,
    }


def _api_prices(priced_at: date) -> list[dict[str, Any]]:
    return [
        {
            "provider": price.provider,
            "model": price.model,
            "input_usd_per_mtok": price.standard.rates.input_usd_per_mtok,
            "output_usd_per_mtok": price.standard.rates.output_usd_per_mtok,
            "cached_read_usd_per_mtok": price.standard.rates.cached_read_usd_per_mtok,
            "available": price.available,
            "source": price.source,
            "as_of": price.as_of,
            "note": "; ".join(price.notes),
        }
        for price in api_price_listing(priced_at)
    ]
