"""What an accelerator is: memory, bandwidth, dense rates and links, each value with its source and date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LinkKind = Literal["nvswitch", "bridge_pairs", "pcie", "mesh", "torus", "ethernet"]


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One device as an engine sees it (an MI250X is two devices; here it is the card, as it is sold).

    `memory_gib` is what the engine's log shows as the total that its memory fraction is taken of; `memory_basis` says
    where that came from. Rates are dense (no structured sparsity), at the product's own power limit. Links are per
    device and one direction. `None` means not offered by the hardware, or unknown to us.
    """

    id: str
    vendor: str
    generation: str
    memory_gb: float
    memory_gib: float
    memory_basis: str
    memory_bandwidth_gb_per_s: float
    bf16_dense_tflops: float | None
    fp8_dense_tflops: float | None
    int8_dense_tops: float | None
    fp4_dense_tflops: float | None
    bf16_native: bool
    fp8_native: bool
    interconnect: str
    link_kind: LinkKind
    link_gb_per_s: float | None
    link_domain_gpus: int
    gpus_per_node: int
    host_link_gb_per_s: float | None
    tdp_w: float | None
    release_year: int
    note: str
    source: str
    as_of: str
    crosschecks: int

    def dense_tflops(self, dtype: str) -> float | None:
        """Dense matrix rate in TFLOP/s (TOP/s for int8) for operands of `dtype`, or None where there is no such unit.

        A device without BF16 units (T4, V100) runs 16-bit work in FP16 at the listed rate.
        """
        rates = {
            "bf16": self.bf16_dense_tflops,
            "fp16": self.bf16_dense_tflops,
            "fp8": self.fp8_dense_tflops if self.fp8_native else None,
            "int8": self.int8_dense_tops,
            "fp4": self.fp4_dense_tflops,
        }
        return rates.get(dtype)
