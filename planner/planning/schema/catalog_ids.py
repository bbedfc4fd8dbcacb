"""Forgiving names replaced by catalog ids, so that one meaning has one text and one digest."""

from __future__ import annotations

from costmodel import api_price, load_catalog
from planner.planning.schema.api import Api, ApiAlternative
from planner.planning.schema.model import GpuChoice, Hardware, Model
from planner.planning.schema.scenario import Scenario


def with_catalog_ids(scenario: Scenario) -> Scenario:
    """The scenario with every name as the catalog spells it. The names must be known (see catalog_checks)."""
    return scenario.model_copy(
        update={
            "model": _model(scenario.model),
            "hardware": _hardware(scenario.hardware),
            "api": _api(scenario),
        }
    )


def _model(model: Model) -> Model:
    """A name that also announces a number format stays: the format is part of its meaning."""
    if model.id is None:
        return model
    spec = load_catalog().model(model.id)
    if spec.id not in load_catalog().models or load_catalog().models[spec.id] != spec:
        return model
    return model.model_copy(update={"id": spec.id})


def _hardware(hardware: Hardware) -> Hardware:
    overrides = {load_catalog().accelerator(name).id: price for name, price in hardware.price_overrides.items()}
    owned = {load_catalog().accelerator(name).id: gpus for name, gpus in hardware.owned_gpus.items()}
    if hardware.gpus == "any":
        return hardware.model_copy(update={"price_overrides": overrides, "owned_gpus": owned})
    chosen: dict[str, GpuChoice] = {}
    for choice in hardware.gpus:
        named: GpuChoice = choice
        if isinstance(choice, str) and choice != "any":
            named = load_catalog().accelerator(choice).id
        chosen.setdefault(named if isinstance(named, str) else named.id, named)
    return hardware.model_copy(
        update={"gpus": tuple(chosen.values()), "price_overrides": overrides, "owned_gpus": owned}
    )


def _api(scenario: Scenario) -> Api:
    found: dict[ApiAlternative, None] = {}
    own: dict[tuple[str, str], ApiAlternative] = {}
    for choice in scenario.api.alternatives:
        if choice.price is not None:
            if own.setdefault((choice.provider, choice.model), choice) is choice:
                found.setdefault(choice)
            continue
        price = api_price(choice.provider, choice.model, scenario.priced_at)
        found.setdefault(choice.model_copy(update={"provider": price.provider, "model": price.model}))
    return scenario.api.model_copy(update={"alternatives": tuple(found)})
