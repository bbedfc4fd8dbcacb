"""What is paid beside GPU hours and list prices. Everything is zero until it is given: nothing is added unseen."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from planner.planning.schema.fields import Part, Range

Monthly = Annotated[float, Range(0, 1e9, "USD/month")]
_USUAL = "Seen in public: {}."


class OwnHardware(Part):
    """GPUs bought instead of rented."""

    usd_per_gpu: Annotated[float, Range(1, 1e7, "USD")] = Field(
        description="Price of a GPU with its share of host and network."
    )
    months: Annotated[int, Range(1, 120, "months")] = Field(36, description="Depreciated over, in equal parts.")
    residual_ratio: Annotated[float, Range(0, 1, "(a ratio)")] = Field(
        0.0, description="Share of the price at its end."
    )
    maintenance_per_year_ratio: Annotated[float, Range(0, 1, "(a ratio)")] = Field(
        0.05, description="Maintenance a year as a share of the price; an assumption."
    )
    kw_per_gpu: Annotated[float, Range(0, 20, "kW")] = Field(
        1.3, description="Power at the wall of a GPU with its share of host and network, all hours; an assumption."
    )
    pue: Annotated[float, Range(1, 3, "")] = Field(1.3, description="Power of the site over power of its machines.")
    usd_per_kwh: Annotated[float, Range(0, 5, "USD/kWh")] = Field(0.12, description="Price of power; an assumption.")
    colocation_usd_per_gpu_month: Annotated[float, Range(0, 1e5, "USD/month")] = Field(
        0.0, description="Rack space and remote hands for a GPU."
    )


class Costs(Part):
    """Lines beside GPUs and list prices, growth and the value of later money."""

    staff_usd_per_month: Monthly = Field(0.0, description=_USUAL.format("1.0 to 1.5 engineers"))
    on_call_usd_per_month: Monthly = Field(0.0, description=_USUAL.format("a line of its own beside the build"))
    network_storage_usd_per_month: Monthly = Field(
        0.0,
        description="Egress, storage, registry, load balancer. "
        + _USUAL.format("with monitoring, 30 to 50 % of the GPU bill"),
    )
    monitoring_usd_per_month: Monthly = Field(0.0, description=_USUAL.format("$500 to $2,000 a month"))
    one_off_usd: Annotated[float, Range(0, 1e10, "USD")] = Field(
        0.0, description="Paid once to set self-hosting up, at the start of the horizon."
    )
    api_staff_usd_per_month: Monthly = Field(
        0.0, description="People's time on the API side. " + _USUAL.format("0.05 engineers")
    )
    api_retry_ratio: Annotated[float, Range(0, 1, "(a ratio)")] = Field(
        0.0, description="Share of the requests that the API is sent, and bills, once more."
    )
    api_token_ratio: Annotated[float, Range(0.3, 3, "")] = Field(
        1.0, description="Tokens that the API counts for each of the model's own; tokenizers differ by some 10 %."
    )
    growth_per_month_ratio: Annotated[float, Range(-0.5, 1, "(a ratio)")] = Field(
        0.0, description="Growth of the load from month to month."
    )
    discount_per_year_ratio: Annotated[float, Range(0, 1, "(a ratio)")] = Field(
        0.0, description="What money a year later is worth less; 0 adds months up as they are."
    )
    own_hardware: OwnHardware | None = Field(None, description="To see GPUs of your own beside rented ones.")
