"""What things cost in bytes, milliseconds and money: accelerators, models, engines, memory."""

from costmodel.api_bill import ApiBill, ApiTraffic, api_bill, api_traffic
from costmodel.api_pricing import api_price, api_price_listing
from costmodel.api_rates import ApiPrice, RateCard, RateTier, TokenRates
from costmodel.api_usage import Usage, anthropic_usage, inclusive_usage, openai_usage, usage_cost_usd
from costmodel.breakeven import (
    BreakEven,
    Crossing,
    CurvePoint,
    Staircase,
    break_even,
    break_even_curve,
    flip_gpu_price,
    replicas_for_peak,
    staircase,
)
from costmodel.deployment import Deployment, Parallelism, make_deployment
from costmodel.engines import EngineProfile, engine_names, engine_profile
from costmodel.gpu_listings import GpuListing, gpu_listings
from costmodel.gpu_pricing import GpuPrice, gpu_price, price_drift
from costmodel.hardware import Accelerator
from costmodel.models import AttentionGroup, MlpGroup, ModelSpec
from costmodel.money import PriceUnknownError, split_to_cents, to_cents
from costmodel.problems import DeploymentError, ModelConfigError, Problem, UnknownIdError
from costmodel.selfhost_cost import (
    CostIdentity,
    CostLine,
    SelfHostCost,
    cost_identity,
    paid_hours_per_month,
    self_host_cost,
    split_usd_per_mtok,
    usd_per_mtok_at,
)

__all__ = [
    "Accelerator",
    "ApiBill",
    "ApiPrice",
    "ApiTraffic",
    "AttentionGroup",
    "BreakEven",
    "CostIdentity",
    "CostLine",
    "Crossing",
    "CurvePoint",
    "Deployment",
    "DeploymentError",
    "EngineProfile",
    "GpuListing",
    "GpuPrice",
    "MlpGroup",
    "ModelConfigError",
    "ModelSpec",
    "Parallelism",
    "PriceUnknownError",
    "Problem",
    "RateCard",
    "RateTier",
    "SelfHostCost",
    "Staircase",
    "TokenRates",
    "UnknownIdError",
    "Usage",
    "anthropic_usage",
    "api_bill",
    "api_price",
    "api_price_listing",
    "api_traffic",
    "break_even",
    "break_even_curve",
    "cost_identity",
    "engine_names",
    "engine_profile",
    "flip_gpu_price",
    "gpu_listings",
    "gpu_price",
    "inclusive_usage",
    "make_deployment",
    "openai_usage",
    "paid_hours_per_month",
    "price_drift",
    "replicas_for_peak",
    "self_host_cost",
    "split_to_cents",
    "split_usd_per_mtok",
    "staircase",
    "to_cents",
    "usage_cost_usd",
    "usd_per_mtok_at",
]
