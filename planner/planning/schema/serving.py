"""How the fleet is built from replicas."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.planning.schema.fields import Part, Range


class Serving(Part):
    """How replicas share the work."""

    disaggregation: Literal["off", "on", "auto"] = Field(
        "off",
        description="Prompts and outputs on engines of their own (prefill and decode pools), with vLLM. off: every "
        "engine does both; on: only such fleets; auto: such a fleet where it costs less.",
    )
    kv_link_gb_per_s: Annotated[float, Range(0.1, 2_000, "GB/s")] = Field(
        50.0,
        description="Between the pools, of each GPU, in 10^9 bytes per second. The default, a network port of "
        "400 Gb/s for each GPU, is an assumption.",
    )
    kv_latency_ms: Annotated[float, Range(0, 10_000, "ms")] = Field(
        2.0, description="From the last byte of a prompt's KV sent until it can be used; an assumption."
    )
