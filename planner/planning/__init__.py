"""Planning: from a scenario to a sizing report. Pure: no Django, no clock, no network.

>>> scenario = parse_scenario(sample_scenario())
>>> scenario.model.id, scenario.billing.hours_per_month
('meta-llama/Llama-3.3-70B-Instruct', 730.0)
"""

from costmodel import SHIPPED_PRICES, PriceBook
from costmodel import using as using_prices
from planner.planning.calibration.deployment import MeasuredDeployment, catalog_model_id, read_deployment
from planner.planning.calibration.matching import with_calibrations
from planner.planning.errors import FieldError, PlanCancelled, ScenarioInvalid
from planner.planning.estimate import estimate_cells, estimate_preview, estimate_scenario, not_estimated
from planner.planning.listing import KINDS as CATALOG_KINDS
from planner.planning.listing import catalog_listing, gpu_price_days, model_facts
from planner.planning.own_catalog import Kind as OwnKind
from planner.planning.own_catalog import OwnCatalog, OwnEntry
from planner.planning.own_checks import own_defaults, own_entry
from planner.planning.plan import plan
from planner.planning.presets import Preset, preset_get, presets
from planner.planning.price_feeds import (
    Feed,
    FeedInvalid,
    api_changes,
    approved_api,
    approved_gpu,
    book_of,
    change_as_dict,
    gpu_changes,
    parse_feed,
    read_offers,
)
from planner.planning.progress import Progress
from planner.planning.report.estimate_cells import ESTIMATE_COLUMNS
from planner.planning.report.plain import report_bytes
from planner.planning.report.price_moves import price_moves
from planner.planning.report.request_log import REQUEST_COLUMNS, RequestLog, request_columns
from planner.planning.sample import sample_scenario
from planner.planning.schema import (
    SCHEMA_VERSION,
    Scenario,
    canonical_json,
    form_to_scenario,
    parse_scenario,
    scenario_digest,
)
from planner.planning.version import ENGINE_VERSION, approved_digest, result_version, warm_up

__all__ = [
    "CATALOG_KINDS",
    "ENGINE_VERSION",
    "ESTIMATE_COLUMNS",
    "REQUEST_COLUMNS",
    "SCHEMA_VERSION",
    "SHIPPED_PRICES",
    "Feed",
    "FeedInvalid",
    "FieldError",
    "MeasuredDeployment",
    "OwnCatalog",
    "OwnEntry",
    "OwnKind",
    "PlanCancelled",
    "Preset",
    "PriceBook",
    "Progress",
    "RequestLog",
    "Scenario",
    "ScenarioInvalid",
    "api_changes",
    "approved_api",
    "approved_digest",
    "approved_gpu",
    "book_of",
    "canonical_json",
    "catalog_listing",
    "catalog_model_id",
    "change_as_dict",
    "estimate_cells",
    "estimate_preview",
    "estimate_scenario",
    "form_to_scenario",
    "gpu_changes",
    "gpu_price_days",
    "model_facts",
    "not_estimated",
    "own_defaults",
    "own_entry",
    "parse_feed",
    "parse_scenario",
    "plan",
    "preset_get",
    "presets",
    "price_moves",
    "read_deployment",
    "read_offers",
    "report_bytes",
    "request_columns",
    "result_version",
    "sample_scenario",
    "scenario_digest",
    "using_prices",
    "warm_up",
    "with_calibrations",
]
