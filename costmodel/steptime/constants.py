"""The constants of the step-time model: `data/step_time_constants.toml`, resolved for one deployment."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costmodel.catalog.hardware import Accelerator
from costmodel.deployment.deployment import Deployment
from costmodel.steptime.shape import dense_class, expert_kernels, link_class

Value = float | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class StepConstants:
    """Effective constants of one deployment. Shares are of the hardware's peak; times are in seconds."""

    roofline_power: Value
    gemm_efficiency: Value
    plain_efficiency: Value
    gemm_tile_area: Value
    moe_efficiency: Value
    moe_half_width: Value
    moe_bandwidth: Value
    head_efficiency: Value
    weight_bandwidth: Value
    kv_bandwidth: Value
    activation_bandwidth: Value
    prefill_efficiency: Value
    decode_attention_efficiency: Value
    collective_latency_s: Value
    collective_growth: Value
    collective_bandwidth: Value
    exchange_latency_s: Value
    exchange_power: Value
    host_step_s: Value
    host_layer_s: Value
    host_moe_layer_s: Value
    host_latent_layer_s: Value
    host_recurrent_layer_s: Value
    host_quantised_layer_s: Value
    host_sequence_s: Value
    host_prefill_s: Value
    graph_tokens: Value
    prefill_layer_s: Value
    prefill_moe_layer_s: Value
    prefill_mixer_layer_s: Value
    request_s: Value
    request_token_s: Value


@dataclass(frozen=True, slots=True)
class ConstantKeys:
    """What selects a deployment's constants: engine, hardware generation, compute classes and link class."""

    engine: str
    generation: str
    dense: str
    expert: str
    link: str
    fp8_kv: bool


def silicon_key(accelerator: Accelerator) -> str:
    """Hardware generation; cards on PCIe alone (GDDR memory, lower clocks under load) stand apart as `-card`."""
    return accelerator.generation + ("-card" if accelerator.link_kind == "pcie" else "")


def constant_keys(deployment: Deployment) -> ConstantKeys:
    """The keys under which a deployment's constants stand."""
    return ConstantKeys(
        engine=deployment.profile.name,
        generation=silicon_key(deployment.accelerator),
        dense=dense_class(deployment),
        expert=expert_kernels(deployment),
        link=link_class(deployment),
        fp8_kv=deployment.kv_dtype == "fp8",
    )


@cache
def shipped_constants() -> dict[str, Any]:
    """The document of `data/step_time_constants.toml`."""
    text = (files("costmodel") / "data" / "step_time_constants.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@cache
def _folds() -> dict[str, Any]:
    text = (files("costmodel") / "data" / "step_time_folds.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def held_out_constants(deployment: Deployment) -> dict[str, Any]:
    """A document of constants fitted without this model and accelerator pair, for honest errors.

    A pair that no fold holds was not fitted on: the shipped constants are held out from it as they are. Architecture
    twins under other names may be in the fit.
    """
    folds = _folds()
    pair = f"{deployment.model.id} | {deployment.accelerator.id}"
    number = folds["pair"].get(pair)
    if number is None:
        return shipped_constants()
    document: dict[str, Any] = folds["fold"][number]
    return document


def resolve_constants(keys: ConstantKeys, document: dict[str, Any] | None = None) -> StepConstants:
    """Constants of one deployment: global ones, scaled by those of its engine and hardware generation.

    An engine or generation without entry takes the `default` one. Raises KeyError for a broken document.
    """
    doc = shipped_constants() if document is None else document
    common, link = doc["common"], doc["link"][keys.link]
    engine = {**doc["engine"]["default"], **doc["engine"].get(keys.engine, {})}
    silicon = {**doc["generation"]["default"], **doc["generation"].get(keys.generation, {})}
    dense_scale = engine["gemm_scale"] * silicon["gemm_scale"]
    moe_scale = engine["moe_scale"] * silicon["moe_scale"]
    bandwidth = silicon["bandwidth_share"]
    return StepConstants(
        roofline_power=common["roofline_power"],
        gemm_efficiency=doc["gemm_efficiency"][keys.dense] * dense_scale,
        plain_efficiency=doc["gemm_efficiency"]["bf16"] * dense_scale,
        gemm_tile_area=1e6 * common["gemm_tile_area"] * silicon["tile_scale"],
        moe_efficiency=doc["moe_efficiency"][keys.expert] * moe_scale,
        moe_half_width=common["moe_half_width"],
        moe_bandwidth=common["moe_bandwidth_scale"] * bandwidth,
        head_efficiency=doc["gemm_efficiency"]["bf16"] * dense_scale,
        weight_bandwidth=bandwidth,
        kv_bandwidth=common["kv_bandwidth_scale"] * bandwidth * (engine["fp8_kv_scale"] if keys.fp8_kv else 1.0),
        activation_bandwidth=common["activation_bandwidth_scale"] * bandwidth,
        prefill_efficiency=common["prefill_efficiency"] * engine["prefill_scale"],
        decode_attention_efficiency=common["decode_attention_efficiency"],
        collective_latency_s=link["latency_us"] * engine["collective_scale"] * silicon["link_latency_scale"] * 1e-6,
        collective_growth=common["collective_growth"],
        collective_bandwidth=link["bandwidth_share"] * silicon["link_bandwidth_scale"],
        exchange_latency_s=link["exchange_us"] * silicon["exchange_scale"] * 1e-6,
        exchange_power=common["exchange_power"],
        host_step_s=engine["step_us"] * 1e-6,
        host_layer_s=engine["layer_us"] * silicon["host_scale"] * 1e-6,
        host_moe_layer_s=engine["moe_layer_us"] * silicon["moe_host_scale"] * 1e-6,
        host_latent_layer_s=common["latent_layer_us"] * silicon["host_scale"] * 1e-6,
        host_recurrent_layer_s=common["recurrent_layer_us"] * silicon["host_scale"] * 1e-6,
        host_quantised_layer_s=engine["quantised_layer_us"] * silicon["host_scale"] * 1e-6,
        host_sequence_s=engine["sequence_us"] * 1e-6,
        host_prefill_s=engine["prefill_us"] * 1e-6,
        graph_tokens=engine["graph_tokens"],
        prefill_layer_s=engine["prefill_layer_us"] * silicon["host_scale"] * 1e-6,
        prefill_moe_layer_s=engine["prefill_moe_layer_us"] * silicon["host_scale"] * 1e-6,
        prefill_mixer_layer_s=engine["prefill_mixer_layer_us"] * silicon["host_scale"] * 1e-6,
        request_s=engine["request_ms"] * 1e-3,
        request_token_s=common["request_token_us"] * 1e-6,
    )
