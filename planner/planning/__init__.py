"""Planning: from a scenario to a sizing report. Pure: no Django, no clock, no network."""

from planner.planning.errors import FieldError, PlanCancelled, ScenarioInvalid
from planner.planning.schema import (
    SCHEMA_VERSION,
    Scenario,
    canonical_json,
    form_to_scenario,
    parse_scenario,
    scenario_digest,
)

__all__ = [
    "SCHEMA_VERSION",
    "FieldError",
    "PlanCancelled",
    "Scenario",
    "ScenarioInvalid",
    "canonical_json",
    "form_to_scenario",
    "parse_scenario",
    "scenario_digest",
]
