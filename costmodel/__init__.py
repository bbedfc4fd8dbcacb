"""What things cost in bytes, milliseconds and money: accelerators, models, engines, memory, prices.

>>> from costmodel import Parallelism, engine_profile, load_catalog, make_deployment, memory_plan
>>> catalog = load_catalog()
>>> deployment = make_deployment(
...     catalog.model("Llama-3.1-8B"),
...     catalog.accelerator("h100 sxm"),
...     engine_profile("vllm", "0.11.0"),
...     Parallelism(tp=1),
...     max_model_len=16000,
... )
>>> plan = memory_plan(deployment)
>>> f"{plan.weights_gib:.1f} GiB of weights leave {plan.kv_pool_gib:.0f} GiB for {plan.kv_tokens // 1000}k tokens"
'15.0 GiB of weights leave 51 GiB for 421k tokens'
"""

from costmodel.catalog.catalog import Catalog, load_catalog
from costmodel.catalog.engines import EngineProfile, engine_names, engine_profile
from costmodel.catalog.hardware import Accelerator
from costmodel.catalog.hardware_rows import custom_accelerator
from costmodel.deployment.calibration import Calibration, StepFactors
from costmodel.deployment.deployment import Deployment, Parallelism, make_deployment
from costmodel.deployment.feasibility import Fix, minimum_gpus, minimum_tp, ranked_fixes
from costmodel.deployment.parallelism import divisibility_problems, valid_tp
from costmodel.deployment.problems import DeploymentError, ModelConfigError, Problem, UnknownIdError
from costmodel.memory.context import token_time_mean_context, token_time_mean_context_from_moments
from costmodel.memory.plan import MemoryPlan, memory_plan
from costmodel.memory.stage import MeasuredMemory, MemoryLine
from costmodel.memory.weights import checkpoint_bytes
from costmodel.models.hf_config import model_from_hf_config
from costmodel.models.sizes import model_from_params, model_from_sizes
from costmodel.models.spec import AttentionGroup, MlpGroup, ModelSpec
from costmodel.pricing.api_bill import ApiBill, ApiTraffic, api_bill, api_traffic
from costmodel.pricing.api_pricing import api_price, api_price_listing, own_api_price
from costmodel.pricing.api_rates import ApiPrice, RateCard, RateTier, TokenRates
from costmodel.pricing.api_usage import Usage, anthropic_usage, inclusive_usage, openai_usage, usage_cost_usd
from costmodel.pricing.breakeven import (
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
from costmodel.pricing.gpu_listings import GpuListing
from costmodel.pricing.gpu_pricing import GpuPrice, gpu_price, price_drift
from costmodel.pricing.money import PriceUnknownError, split_to_cents, to_cents
from costmodel.pricing.price_book import (
    SHIPPED_PRICES,
    ApprovedApiPrices,
    ApprovedGpuPrices,
    PriceBook,
    catalog_version,
    gpu_listings,
    offer_key,
    prices_in_force,
    using,
)
from costmodel.pricing.selfhost_cost import (
    CostIdentity,
    CostLine,
    SelfHostCost,
    cost_identity,
    paid_hours_per_month,
    self_host_cost,
    split_usd_per_mtok,
    usd_per_mtok_at,
)
from costmodel.pricing.terms import BillingMode
from costmodel.steptime import StepTimeTables, decode_floor_s, prefill_floor_s, step_time_parts, step_time_tables
from costmodel.steptime.coverage import Coverage, coverage

__all__ = [
    "SHIPPED_PRICES",
    "Accelerator",
    "ApiBill",
    "ApiPrice",
    "ApiTraffic",
    "ApprovedApiPrices",
    "ApprovedGpuPrices",
    "AttentionGroup",
    "BillingMode",
    "BreakEven",
    "Calibration",
    "Catalog",
    "CostIdentity",
    "CostLine",
    "Coverage",
    "Crossing",
    "CurvePoint",
    "Deployment",
    "DeploymentError",
    "EngineProfile",
    "Fix",
    "GpuListing",
    "GpuPrice",
    "MeasuredMemory",
    "MemoryLine",
    "MemoryPlan",
    "MlpGroup",
    "ModelConfigError",
    "ModelSpec",
    "Parallelism",
    "PriceBook",
    "PriceUnknownError",
    "Problem",
    "RateCard",
    "RateTier",
    "SelfHostCost",
    "Staircase",
    "StepFactors",
    "StepTimeTables",
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
    "catalog_version",
    "checkpoint_bytes",
    "cost_identity",
    "coverage",
    "custom_accelerator",
    "decode_floor_s",
    "divisibility_problems",
    "engine_names",
    "engine_profile",
    "flip_gpu_price",
    "gpu_listings",
    "gpu_price",
    "inclusive_usage",
    "load_catalog",
    "make_deployment",
    "memory_plan",
    "minimum_gpus",
    "minimum_tp",
    "model_from_hf_config",
    "model_from_params",
    "model_from_sizes",
    "offer_key",
    "openai_usage",
    "own_api_price",
    "paid_hours_per_month",
    "prefill_floor_s",
    "price_drift",
    "prices_in_force",
    "ranked_fixes",
    "replicas_for_peak",
    "self_host_cost",
    "split_to_cents",
    "split_usd_per_mtok",
    "staircase",
    "step_time_parts",
    "step_time_tables",
    "to_cents",
    "token_time_mean_context",
    "token_time_mean_context_from_moments",
    "usage_cost_usd",
    "usd_per_mtok_at",
    "using",
    "valid_tp",
]
