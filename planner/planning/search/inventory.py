"""From the names in a scenario to the things they mean: model, accelerators, prices, engine profile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date

from costmodel import (
    Accelerator,
    ApiPrice,
    EngineProfile,
    GpuPrice,
    ModelSpec,
    PriceUnknownError,
    api_price,
    custom_accelerator,
    engine_profile,
    gpu_price,
    load_catalog,
    model_from_hf_config,
    model_from_params,
    model_from_sizes,
    own_api_price,
)
from planner.planning.schema.api import ApiAlternative
from planner.planning.schema.fields import Sourced
from planner.planning.schema.model import CustomAccelerator, Hardware, Model
from planner.planning.schema.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Gpu:
    """An accelerator to try, and the price of an hour of it. `own`: what the scenario says where its own price is
    from."""

    accelerator: Accelerator
    price: GpuPrice
    custom: bool
    own: Sourced | None = None


def resolve_model(model: Model) -> ModelSpec:
    """The architecture that a scenario names. Raises UnknownIdError or ModelConfigError."""
    if model.id is not None:
        return load_catalog().model(model.id)
    if model.hf_config is not None:
        return model_from_hf_config(model.hf_config, model.name or "custom", source=model.source or "")
    if model.layers is None or model.hidden is None or model.n_heads is None:
        assert model.params_total_b is not None
        return model_from_params(
            model.params_total_b,
            params_active_b=model.params_active_b,
            max_context_tokens=model.max_context,
            model_id=model.name or "custom",
        )
    return model_from_sizes(
        model_id=model.name or "custom",
        layers=model.layers,
        hidden=model.hidden,
        n_heads=model.n_heads,
        n_kv_heads=model.n_kv_heads,
        head_dim=model.head_dim,
        intermediate=model.intermediate,
        vocab=model.vocab,
        params_total_b=model.params_total_b,
        max_context_tokens=model.max_context,
    )


def _custom(custom: CustomAccelerator) -> Accelerator:
    """A user's accelerator in the catalog's terms; what was not said is unknown."""
    return custom_accelerator(
        custom.id,
        memory_gib=custom.memory_gib,
        memory_bandwidth_gb_per_s=custom.memory_bandwidth_gb_per_s,
        bf16_dense_tflops=custom.bf16_dense_tflops,
        fp8_dense_tflops=custom.fp8_dense_tflops,
        link_gb_per_s=custom.interconnect_gb_per_s,
        link_kind="nvswitch",
        gpus_per_node=custom.gpus_per_node,
    )


class TierUnknownError(PriceUnknownError):
    """The model is sold, but not in the tier of service that was asked for."""


def resolve_api(choice: ApiAlternative, priced_at: date) -> ApiPrice:
    """The price of a hosted model: the scenario's own, else the list price, less the discount; the standard rates are
    those of the tier asked for. Raises UnknownIdError, PriceUnknownError, or TierUnknownError where the tier has no
    price."""
    price = _listed_or_own(choice, priced_at)
    card = price.card(choice.service_tier)
    if card is None:
        raise TierUnknownError(
            f"{choice.service_tier} processing of {price.model} at {price.provider}",
            detail="no such price is listed",
            needed="Use the standard tier",
        )
    if choice.service_tier != "standard":
        price = replace(price, standard=card, half_hours=())
    return price.less(choice.discount_ratio) if choice.discount_ratio else price


def _listed_or_own(choice: ApiAlternative, priced_at: date) -> ApiPrice:
    own = choice.price
    if own is None:
        return api_price(choice.provider, choice.model, priced_at)
    return own_api_price(
        choice.provider,
        choice.model,
        priced_at,
        input_usd_per_mtok=own.input_usd_per_mtok,
        output_usd_per_mtok=own.output_usd_per_mtok,
        cached_read_usd_per_mtok=own.cached_read_usd_per_mtok,
        cached_write_usd_per_mtok=own.cached_write_usd_per_mtok,
        cached_write_1h_usd_per_mtok=own.cached_write_1h_usd_per_mtok,
        batch_input_usd_per_mtok=own.batch_input_usd_per_mtok,
        batch_output_usd_per_mtok=own.batch_output_usd_per_mtok,
        usd_per_1k_requests=own.usd_per_1k_requests,
        source=own.source or "the scenario",
        as_of=own.as_of.isoformat() if own.as_of else "",
    )


def resolve_gpus(hardware: Hardware, priced_at: date) -> tuple[Gpu, ...]:
    """Accelerators to try, in the order asked for; "any", alone or beside others, is the catalog's that have a price.

    Raises UnknownIdError or PriceUnknownError.
    """
    found: dict[str, Gpu] = {}
    for choice in ("any",) if hardware.gpus == "any" else hardware.gpus:
        for gpu in _catalogued(hardware, priced_at) if choice == "any" else (resolve_gpu(choice, hardware, priced_at),):
            found.setdefault(gpu.accelerator.id, gpu)
    return tuple(found.values())


def _catalogued(hardware: Hardware, priced_at: date) -> tuple[Gpu, ...]:
    catalog = load_catalog().accelerators.values()
    return tuple(gpu for accelerator in catalog if (gpu := _priced(accelerator, hardware, priced_at)))


def resolve_gpu(choice: str | CustomAccelerator, hardware: Hardware, priced_at: date) -> Gpu:
    """One accelerator with its price. Raises UnknownIdError or PriceUnknownError."""
    if isinstance(choice, CustomAccelerator):
        price = gpu_price(choice.id, priced_at, override=choice.usd_per_gpu_hour)
        return Gpu(_custom(choice), price, custom=True, own=choice)
    accelerator = load_catalog().accelerator(choice)
    override = hardware.price_overrides.get(accelerator.id)
    price = gpu_price(
        accelerator.id,
        priced_at,
        override=override.usd_per_gpu_hour if override else None,
        providers=hardware.providers or None,
        regions=hardware.regions or None,
    )
    return Gpu(accelerator, price, custom=False, own=override)


def _priced(accelerator: Accelerator, hardware: Hardware, priced_at: date) -> Gpu | None:
    try:
        return resolve_gpu(accelerator.id, hardware, priced_at)
    except PriceUnknownError:
        return None


def resolve_profile(scenario: Scenario) -> EngineProfile:
    """Defaults of the scenario's engine version, the newest where none is named. Raises UnknownIdError."""
    return engine_profile(scenario.engine.name, scenario.engine.version)
