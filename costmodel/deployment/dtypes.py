"""Number formats of weights and KV caches, and the bytes that one value takes with its scales."""

from __future__ import annotations

from dataclasses import dataclass

BYTES_PER_PARAM: dict[str, float] = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,  # scales per channel, or one FP32 per 128 x 128 block: below 0.03 %
    "int8": 1.0,
    "w4a16": 0.5 + 2 / 128 + 0.5 / 128,  # groups of 128: one FP16 scale and one 4-bit zero point (AWQ, GPTQ)
    "nvfp4": 0.5 + 1 / 16,  # groups of 16 with one FP8 scale
    "mxfp4": 0.5 + 1 / 32,  # groups of 32 with one 8-bit exponent
}
"""Bytes per weight with its scales. `fp4` of a scenario is NVFP4, or MXFP4 where the checkpoint ships that."""

KV_BYTES_PER_VALUE: dict[str, float] = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp32": 4.0}

WEIGHT_DTYPES = ("native", "bf16", "fp16", "fp8", "int8", "w4a16", "fp4")
KV_DTYPES = ("auto", "bf16", "fp8")

COMPONENTS = (
    "embedding",
    "head",
    "attention",
    "linear_attention",
    "indexer",
    "dense_mlp",
    "experts",
    "shared_experts",
    "router",
    "norms",
    "mtp",
    "vision",
)
"""Parts of a checkpoint that are quantised, sharded or left alone as a whole."""

USUALLY_KEPT = frozenset({"embedding", "head", "router", "norms", "vision", "indexer"})
"""What common recipes (compressed-tensors, ModelOpt, AWQ, GPTQ) leave in 16 bit: a 70B in FP8 is 67.7 GiB, not 65.7."""


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """The number format of every component of a checkpoint. `name` is the format of the bulk of the weights.

    Components in `kept` stand in `kept_dtype` (16 bit), those in `overrides` in a format of their own, all others in
    `quantised_dtype`.
    """

    name: str
    kept_dtype: str
    quantised_dtype: str
    kept: frozenset[str]
    overrides: tuple[tuple[str, str], ...] = ()
    scale_block: int = 0

    def dtype_of(self, component: str) -> str:
        if component in self.kept:
            return self.kept_dtype
        return dict(self.overrides).get(component, self.quantised_dtype)

    def bytes_per_param(self, component: str) -> float:
        return BYTES_PER_PARAM[self.dtype_of(component)]


def uniform_format(dtype: str) -> WeightFormat:
    """A checkpoint in one 16- or 32-bit format throughout."""
    return WeightFormat(name=dtype, kept_dtype=dtype, quantised_dtype=dtype, kept=frozenset())


def quantised_format(dtype: str, *, kept_dtype: str = "bf16", kept: frozenset[str] = USUALLY_KEPT) -> WeightFormat:
    """A quantised checkpoint as the usual recipes make it: `kept` components stay in 16 bit."""
    storage = "nvfp4" if dtype == "fp4" else dtype
    return WeightFormat(name=dtype, kept_dtype=kept_dtype, quantised_dtype=storage, kept=kept)
