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
    router: Literal["round_robin", "least_requests", "prefix_affine", "kv_aware", "auto"] = Field(
        "round_robin",
        description="Which replica a request goes to: round_robin, each in turn; least_requests, the one with the "
        "fewest in flight; prefix_affine, the one that was sent the longest part of the prompt before; kv_aware, by "
        "cached prefix and load; auto: the one with which the fewest replicas do, the simplest of equals.",
    )
    kv_link_gb_per_s: Annotated[float, Range(0.1, 2_000, "GB/s")] = Field(
        50.0,
        description="Between the pools, of each GPU, in 10^9 bytes per second. The default, a network port of "
        "400 Gb/s for each GPU, is an assumption.",
    )
    kv_latency_ms: Annotated[float, Range(0, 10_000, "ms")] = Field(
        2.0, description="From the last byte of a prompt's KV sent until it can be used; an assumption."
    )
