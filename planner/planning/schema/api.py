"""Hosted models to compare with, and what was agreed with their providers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.planning.schema.fields import Loose, Part, Range, ShortText, Sourced

Price = Annotated[float, Range(0, 100_000, "USD per million tokens")]


class ApiPriceOverride(Sourced):
    """A price of your own for one hosted model, in US dollars per million tokens."""

    input_usd_per_mtok: Price = Field(description="Per million input tokens.")
    output_usd_per_mtok: Price = Field(description="Per million output tokens.")
    cached_read_usd_per_mtok: Price | None = Field(
        None, description="Per million input tokens read from the provider's cache; left out: as other input."
    )
    cached_write_usd_per_mtok: Price | None = Field(
        None, description="Per million input tokens written to the provider's cache; left out: as other input."
    )
    cached_write_1h_usd_per_mtok: Price | None = Field(
        None, description="The same where they are kept for an hour; left out: not sold."
    )
    batch_input_usd_per_mtok: Price | None = Field(
        None, description="Per million input tokens of requests with a deadline; left out: no batch price."
    )
    batch_output_usd_per_mtok: Price | None = Field(
        None, description="Per million output tokens of requests with a deadline; left out: no batch price."
    )
    usd_per_1k_requests: Annotated[float, Range(0, 100_000, "USD per thousand requests")] = Field(
        0.0, description="Charged for each thousand requests beside their tokens."
    )


class ApiAlternative(Part):
    """One hosted model to compare with."""

    provider: ShortText = Field(description="Provider of the API, such as groq or aws.")
    model: ShortText = Field(description="The provider's id of the model.")
    price: ApiPriceOverride | None = Field(
        None, description="Your own price; names that the catalog lacks need one. Left out: the list price."
    )
    service_tier: Literal["standard", "flex", "priority"] = Field(
        "standard", description="Tier of service; flex and priority where the provider lists a price for them."
    )
    caching: Literal["cheapest", "default", "1h", "off"] = Field(
        "cheapest",
        description="How shared prefixes use the provider's cache. default: kept its usual time; 1h: for an hour, "
        "where sold; off: not at all; cheapest: of these the one with the lowest bill.",
    )
    discount_ratio: Annotated[float, Range(0, 0.95, "(a ratio)")] = Field(
        0.0, description="Taken off every list price, as agreed for a commitment."
    )
    min_usd_per_month: Annotated[float, Range(0, 1e9, "USD/month")] = Field(
        0.0, description="A month costs at least so much, as agreed; what is missing to it is billed."
    )


class Api(Part):
    """Hosted models that could serve the same tokens."""

    alternatives: Annotated[tuple[ApiAlternative, ...], Field(max_length=8), Loose] = Field(
        (), description="Compared on the same tokens, at the list prices of priced_at."
    )
    utc_offset_hours: Annotated[float, Range(-12, 14, "h")] = Field(
        0.0, description="Hours by which the clock of the traffic's week is ahead of UTC, for prices by time of day."
    )
