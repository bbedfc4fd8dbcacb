"""The scenario: the one contract of form, API, command and database."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field

from costmodel import BillingMode
from planner.planning.schema.api import Api
from planner.planning.schema.calibration import Calibration
from planner.planning.schema.costs import Costs
from planner.planning.schema.fields import IsoDate, Loose, Part, Range, Ratio, ShortText
from planner.planning.schema.model import Hardware, Model
from planner.planning.schema.serving import Serving
from planner.planning.schema.slo import Slo
from planner.planning.schema.traffic import Traffic

SCHEMA_VERSION = 1


class Engine(Part):
    """The serving engine; what is left out takes the default of its version."""

    name: Literal["vllm", "sglang", "tensorrt-llm"] = Field("vllm", description="Serving engine.")
    version: ShortText | None = Field(None, description="Engine version; left out: the newest profile.")
    max_model_len: Annotated[int, Range(16, 100_000_000, "tokens")] | None = Field(
        None, description="Longest prompt plus output; left out: what the model was made for."
    )
    max_tokens: Annotated[int, Range(1, 10_000_000, "tokens")] | None = Field(
        None, description="Output is cut at this length."
    )
    max_num_seqs: Annotated[int, Range(1, 8_192, "sequences")] | None = Field(
        None, description="Most sequences in one step."
    )
    max_num_batched_tokens: Annotated[int, Range(16, 131_072, "tokens")] | None = Field(
        None, description="Most tokens in one step."
    )
    gpu_memory_utilization: Ratio | None = Field(None, description="Share of the device memory the engine may use.")
    block_size: Literal[1, 8, 16, 32, 64, 128] | None = Field(None, description="Tokens in one KV block.")
    enable_prefix_caching: bool | None = Field(None, description="Reuse KV blocks of equal prefixes.")
    enable_chunked_prefill: bool | None = Field(None, description="Split long prompts over steps.")


class Billing(Part):
    """How the fleet is paid."""

    mode: Literal[BillingMode, "cheapest"] = Field(
        "always_on",
        description="What the plan is billed by. always_on: every replica, every hour; scheduled: what each hour "
        "of the week needs; autoscaled: the same by a rule that sees only the present; scale_to_zero: and the last "
        "replica off when idle; business_hours: Monday to Friday, 8 to 18, the API outside; committed_1y, "
        "committed_3y: a part for the term, the rest by schedule; spot: interruptible; cheapest: of allowed_modes "
        "that keep the targets.",
    )
    allowed_modes: Annotated[tuple[BillingMode, ...], Field(min_length=1, max_length=8), Loose] = Field(
        ("always_on", "scheduled", "autoscaled", "scale_to_zero"),
        description="Modes among which cheapest chooses; commitments, spot and business hours only if named.",
    )
    hours_per_month: Annotated[float, Range(1, 744, "h")] = Field(
        730.0, description="Hours in a month (365 × 24 / 12 = 730)."
    )
    ready_s: Annotated[float, Range(0, 7_200, "s")] = Field(
        300.0, description="From asking for a replica to its first token; 40 s to 1,020 s were measured elsewhere."
    )
    idle_s: Annotated[float, Range(0, 86_400, "s")] = Field(
        900.0, description="Without a request for so long, a replica that scales to zero is switched off."
    )
    spot_interruptions_per_hour: Annotated[float, Range(0, 60, "per hour")] = Field(
        0.05, description="How often an interruptible replica is taken away; an assumption."
    )
    spot_price_ratio: Annotated[float, Range(0.01, 1, "(a ratio)")] | None = Field(
        None,
        description="Price of an interruptible hour over that on demand; left out: the median of the renters who list "
        "both.",
    )
    reserved_1y_discount_ratio: Annotated[float, Range(0, 0.95, "(a ratio)")] = Field(
        0.35, description="Off the hourly price for a year's commitment; 30 to 40 % is usual, prices are hardly listed."
    )
    reserved_3y_discount_ratio: Annotated[float, Range(0, 0.95, "(a ratio)")] = Field(
        0.55, description="Off the hourly price for a commitment of three years; 50 to 60 % is usual."
    )
    max_usd_per_month: Annotated[float, Range(1, 1e12, "USD")] | None = Field(
        None, description="Budget: most that the fleet may cost a month."
    )
    spare_replicas: Annotated[int, Range(0, 1_000, "replicas")] = Field(
        1,
        description="Replicas beyond those that serve; paid, not counted on for the SLOs. With prefill and decode "
        "pools so many in each.",
    )


Factor = Annotated[float, Range(1, 10, "")]
_WITHIN = "{} lies between this many times less and more than planned, with a probability of 80 %; 1: known."


class Uncertainty(Part):
    """How well the inputs are known. Each factor f: between 1 / f and f times the planned value, eight times of ten."""

    load_factor: Factor = Field(1.25, description=_WITHIN.format("The rate of requests"))
    prompt_tokens_factor: Factor = Field(1.15, description=_WITHIN.format("The mean length of prompts"))
    output_tokens_factor: Factor = Field(1.2, description=_WITHIN.format("The mean length of outputs"))
    token_ratio_factor: Factor = Field(
        1.1, description=_WITHIN.format("The API's count of the same text, by its own tokenizer,")
    )
    gpu_price_factor: Factor | None = Field(
        None,
        description="As above, of the GPU price; left out: the quartiles of the listings, none for your own price.",
    )
    api_price_factor: Factor = Field(1.1, description=_WITHIN.format("The API's price over the horizon"))
    horizon_months: Annotated[int, Range(1, 60, "months")] = Field(
        12, description="Months over which a decision pays, against which a load test is weighed."
    )


class Scenario(Part):
    """Model, hardware, traffic, targets and prices of one question."""

    schema_version: Literal[1] = Field(1, description="Version of this format.")
    name: ShortText = Field("Untitled scenario", description="Shown on the report.")
    model: Model = Field(description="Which model is served.")
    hardware: Hardware = Field(Hardware(), description="Which accelerators to try.")
    traffic: Traffic = Field(description="What arrives.")
    slo: Slo = Field(description="Latency targets; at least one.")
    api: Api = Field(Api(), description="Hosted models to compare with.")
    engine: Engine = Field(Engine(), description="The serving engine and its settings.")
    serving: Serving = Field(Serving(), description="How the fleet is built from replicas.")
    billing: Billing = Field(Billing(), description="Hours paid and replicas in reserve.")
    costs: Costs = Field(Costs(), description="What is paid beside GPU hours and list prices.")
    calibrations: Annotated[tuple[Calibration, ...], Field(max_length=50), Loose] | None = Field(
        None,
        description="What runs of your own say about step times, by deployment. Left out: the team's calibrations that "
        "are in use; empty: the shipped constants.",
    )
    uncertainty: Uncertainty = Field(Uncertainty(), description="How well the inputs are known.")
    priced_at: IsoDate = Field(
        description="Date of all prices. Left out, it is the day the scenario is read, and is kept."
    )
    seed: Annotated[int, Range(0, 2**53 - 1, "")] = Field(1, description="Seed of the random draws.")


def with_date(data: dict[str, object], today: date) -> dict[str, object]:
    """The document with `priced_at` written in where it is absent."""
    return data if "priced_at" in data else {**data, "priced_at": today.isoformat()}
