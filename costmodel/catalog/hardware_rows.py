"""Accelerators from the catalog's rows, and custom ones from a user's figures, checked at this edge."""

from __future__ import annotations

import math
from collections.abc import Mapping

from costmodel.catalog.hardware import Accelerator, LinkKind
from costmodel.deployment.problems import DeploymentError, Problem

LINK_KINDS: dict[str, LinkKind] = {
    "nvswitch": "nvswitch",
    "bridge_pairs": "bridge_pairs",
    "pcie": "pcie",
    "mesh": "mesh",
    "torus": "torus",
    "ethernet": "ethernet",
}


def accelerator_from_row(row: Mapping[str, str]) -> Accelerator:
    """A row of `data/accelerators.csv`. Raises ValueError or KeyError on a damaged file."""
    return Accelerator(
        id=row["id"],
        vendor=row["vendor"],
        generation=row["generation"],
        memory_gb=_above_zero(row["memory_gb"]),
        memory_gib=_above_zero(row["memory_gib"]),
        memory_basis=row["memory_basis"],
        memory_bandwidth_gb_per_s=_above_zero(row["memory_bandwidth_gb_per_s"]),
        bf16_dense_tflops=_optional(row["bf16_dense_tflops"]),
        fp8_dense_tflops=_optional(row["fp8_dense_tflops"]),
        int8_dense_tops=_optional(row["int8_dense_tops"]),
        fp4_dense_tflops=_optional(row["fp4_dense_tflops"]),
        bf16_native=row["bf16_native"] == "1",
        fp8_native=row["fp8_native"] == "1",
        interconnect=row["interconnect"],
        link_kind=LINK_KINDS[row["link_kind"]],
        link_gb_per_s=_optional(row["link_gb_per_s"]),
        link_domain_gpus=int(row["link_domain_gpus"]),
        gpus_per_node=int(row["gpus_per_node"]),
        host_link_gb_per_s=_optional(row["host_link_gb_per_s"]),
        tdp_w=_optional(row["tdp_w"]),
        release_year=int(row["release_year"]),
        note=row["note"],
        source=row["source"],
        as_of=row["as_of"],
        crosschecks=int(row["crosschecks"]),
    )


def custom_accelerator(
    accelerator_id: str,
    *,
    memory_gib: float,
    memory_bandwidth_gb_per_s: float,
    bf16_dense_tflops: float,
    fp8_dense_tflops: float | None = None,
    int8_dense_tops: float | None = None,
    fp4_dense_tflops: float | None = None,
    link_gb_per_s: float | None = None,
    link_kind: LinkKind = "pcie",
    gpus_per_node: int = 8,
    tdp_w: float | None = None,
) -> Accelerator:
    """An accelerator from a user's own figures: dense rates, one-direction links, memory as the engine sees it.

    Raises DeploymentError with every value that is not a number above zero.
    """
    numbers = {
        "memory_gib": memory_gib,
        "memory_bandwidth_gb_per_s": memory_bandwidth_gb_per_s,
        "bf16_dense_tflops": bf16_dense_tflops,
        "fp8_dense_tflops": fp8_dense_tflops,
        "int8_dense_tops": int8_dense_tops,
        "fp4_dense_tflops": fp4_dense_tflops,
        "link_gb_per_s": link_gb_per_s,
        "gpus_per_node": gpus_per_node,
        "tdp_w": tdp_w,
    }
    problems = [
        Problem("not_above_zero", f"{name} is {value!r}; it must be a number above zero", field=name)
        for name, value in numbers.items()
        if value is not None and not _is_above_zero(value)
    ]
    if problems:
        raise DeploymentError(problems)
    return Accelerator(
        id=accelerator_id,
        vendor="custom",
        generation="custom",
        memory_gb=memory_gib,
        memory_gib=memory_gib,
        memory_basis="given by the user",
        memory_bandwidth_gb_per_s=memory_bandwidth_gb_per_s,
        bf16_dense_tflops=bf16_dense_tflops,
        fp8_dense_tflops=fp8_dense_tflops,
        int8_dense_tops=int8_dense_tops,
        fp4_dense_tflops=fp4_dense_tflops,
        bf16_native=True,
        fp8_native=fp8_dense_tflops is not None,
        interconnect=link_kind,
        link_kind=link_kind,
        link_gb_per_s=link_gb_per_s,
        link_domain_gpus=gpus_per_node if link_kind != "pcie" else 1,
        gpus_per_node=gpus_per_node,
        host_link_gb_per_s=None,
        tdp_w=tdp_w,
        release_year=0,
        note="",
        source="given by the user",
        as_of="",
        crosschecks=0,
    )


def _is_above_zero(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and math.isfinite(float(str(value))) and float(str(value)) > 0


def _above_zero(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value <= 0:
        raise ValueError(f"not above zero: {text!r}")
    return value


def _optional(text: str) -> float | None:
    return _above_zero(text) if text.strip() else None
