"""Measured rows predicted with the measured source beside our own model."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from costmodel import Deployment, step_time_tables
from costmodel.steptime.silicon import SiliconMissingError
from costmodel.steptime.silicon_names import SiliconRefusedError
from planner.planning.validation import silicon
from planner.planning.validation.command import ValidationInput, run_side_by_side, run_validation, unreadable_input

HEADER = "id,model,gpu,n_gpus,tp,engine,weight_dtype,isl_mean,osl_mean,load_type,load_value,tpot_mean_ms,trust\n"
COVERED = "s-1,Llama-3.1-8B,H100-SXM-80GB,1,1,vLLM,bf16,256,32,concurrency,2,7,gold\n"
REFUSED = "s-2,Llama-3.1-8B,H200-SXM-141GB,1,1,vLLM,bf16,256,32,concurrency,2,5,gold\n"


@pytest.fixture
def doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that takes twice our decode step on H100, and knows no other GPU."""

    def tables(deployment: Deployment, cache_folder: Path | None) -> SimpleNamespace:
        if deployment.accelerator.id != "H100-SXM5-80GB":
            raise SiliconRefusedError("accelerator not in the package", deployment.accelerator.id)
        own = step_time_tables(deployment)
        twice = replace(own, tokens_ps=2 * own.tokens_ps, seats_ps=2 * own.seats_ps, context_ps=2 * own.context_ps)
        return SimpleNamespace(tables=twice)

    monkeypatch.setattr(silicon, "silicon_step_time_tables", tables)


@pytest.fixture
def serving(tmp_path: Path) -> Path:
    path = tmp_path / "serving.csv"
    path.write_text(HEADER + COVERED + REFUSED)
    return path


@pytest.mark.usefixtures("doubled")
def test_both_are_compared_on_the_rows_that_both_predict(serving: Path) -> None:
    reports = run_side_by_side(ValidationInput(serving=serving, step_times="both"))
    ours, theirs = reports["model"]["tpot"], reports["silicon"]["tpot"]
    for part in (ours, theirs):
        assert (part["rows"], part["predicted"]) == (2, 1)
        assert part["skipped"] == {"measured source: accelerator not in the package": 1}
    assert 100 + theirs["bias_pct"] == pytest.approx(2 * (100 + ours["bias_pct"]), rel=0.05)
    assert ours["interval_coverage_pct"] is not None
    assert theirs["interval_coverage_pct"] is None


@pytest.mark.usefixtures("doubled")
def test_the_source_alone_predicts_what_it_covers(serving: Path) -> None:
    alone = run_validation(ValidationInput(serving=serving, step_times="silicon"))
    beside = run_side_by_side(ValidationInput(serving=serving, step_times="both"))["silicon"]
    assert alone == beside


def test_a_missing_package_and_options_of_our_model_are_said_before_anything_runs(
    serving: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent() -> str:
        raise SiliconMissingError("it comes with the extra `silicon`")

    monkeypatch.setattr(silicon, "silicon_version", absent)
    given = ValidationInput(serving=serving, step_times="both")
    assert "extra `silicon`" in str(unreadable_input(given))
    assert unreadable_input(replace(given, step_times="model")) is None
    monkeypatch.setattr(silicon, "silicon_version", lambda: "1")
    assert unreadable_input(given) is None
    held_out = replace(given, step_times="silicon", cross_validated=True)
    assert "--step-times model or both" in str(unreadable_input(held_out))
