from datetime import date

import pytest

from planner import planning
from planner.planning.presets import Preset, preset_get, presets

USE_CASES = ["chat", "rag", "coding-agent", "voice", "summarisation", "batch"]
each = pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.id)


def test_every_use_case_has_a_preset() -> None:
    assert [preset.id for preset in presets()] == USE_CASES


@each
def test_a_preset_is_a_scenario_that_some_fleet_serves(preset: Preset) -> None:
    scenario = planning.parse_scenario(preset.document())
    assert scenario.name == preset.title
    assert planning.estimate_cells(scenario)["feasible"]


@each
def test_its_hosted_models_are_the_served_one(preset: Preset) -> None:
    rows = planning.estimate_scenario(planning.parse_scenario(preset.document()))["api"]
    assert rows
    assert all(row["available"] for row in rows)


@each
def test_it_says_where_its_figures_come_from(preset: Preset) -> None:
    assert len(preset.sources) >= 2
    assert all(source.url.startswith("https://") and source.says for source in preset.sources)
    assert all(date(2023, 1, 1) <= source.as_of <= date(2026, 11, 30) for source in preset.sources)
    assert preset.basis


def test_documents_are_copies() -> None:
    preset_get("chat").document()["slo"]["ttft_p95_ms"] = 1
    assert preset_get("chat").document()["slo"]["ttft_p95_ms"] > 1


def test_an_unknown_preset_is_none() -> None:
    with pytest.raises(KeyError):
        preset_get("poetry")
