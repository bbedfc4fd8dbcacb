"""Number formats of weights and KV cache to try on an accelerator. What they do to answers is not judged."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel import Accelerator, ModelSpec
from costmodel.deployment.deployment import resolve_weights
from planner.planning.schema.model import Model

BITS = {"fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "w4a16": 4, "fp4": 4}


@dataclass(frozen=True, slots=True)
class Precision:
    """Types of weights and cache, as a scenario names them.

    tag: what tells this candidate's id from those in other types; said: the same in words. Both are "" where the
    scenario leaves no choice.
    """

    weight_dtype: str
    kv_dtype: str
    tag: str = ""
    said: str = ""


def precisions_of(asked: Model, model: ModelSpec, accelerator: Accelerator) -> tuple[Precision, ...]:
    """What is asked for, in its order, each combination once: `native` and the type that the checkpoint has are one."""
    found: dict[tuple[str, str], Precision] = {}
    for weights in _weights(asked, model, accelerator):
        resolved = resolve_weights(model, accelerator, weights)
        for cache in _caches(asked, accelerator):
            kept = "fp16" if resolved.kept_dtype == "fp16" else "bf16"
            names = (resolved.name, kept if cache == "auto" else cache)
            found.setdefault(
                names, _named(weights, cache, names) if asked.several_precisions else Precision(weights, cache)
            )
    return tuple(found.values())


def _named(weights: str, cache: str, names: tuple[str, str]) -> Precision:
    return Precision(
        weights, cache, f"-{names[0]}-kv_{names[1]}", f"{names[0].upper()} weights, {names[1].upper()} cache"
    )


def _weights(asked: Model, model: ModelSpec, accelerator: Accelerator) -> tuple[str, ...]:
    """Of `any`: as shipped, then each smaller type that the accelerator computes with, 4-bit weights computed in 16 bit
    on all. INT8 is tried where there is no FP8."""
    if asked.weight_dtype != "any":
        return (asked.weight_dtype,) if isinstance(asked.weight_dtype, str) else asked.weight_dtype
    runs = {
        "fp8": accelerator.fp8_native,
        "int8": not accelerator.fp8_native and accelerator.int8_dense_tops is not None,
        "w4a16": True,
        "fp4": accelerator.fp4_dense_tflops is not None,
    }
    shipped = BITS[model.native_weight_dtype]
    return ("native", *(name for name, possible in runs.items() if possible and BITS[name] < shipped))


def _caches(asked: Model, accelerator: Accelerator) -> tuple[str, ...]:
    """Of `any`: the engine's own, and FP8 where the accelerator computes with it."""
    if asked.kv_dtype != "any":
        return (asked.kv_dtype,) if isinstance(asked.kv_dtype, str) else asked.kv_dtype
    return ("auto", "fp8") if accelerator.fp8_native else ("auto",)
