"""The scenario: its fields, and the one way from text to a valid scenario."""

from planner.planning.schema.form import form_to_scenario
from planner.planning.schema.parse import canonical_json, parse_scenario, scenario_digest
from planner.planning.schema.scenario import SCHEMA_VERSION, Scenario

__all__ = ["SCHEMA_VERSION", "Scenario", "canonical_json", "form_to_scenario", "parse_scenario", "scenario_digest"]
