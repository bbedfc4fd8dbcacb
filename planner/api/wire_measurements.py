"""What the API says about a team's measurements and calibrations, as pydantic models."""

from datetime import date, datetime
from typing import Any, Self
from uuid import UUID

from pydantic import Field, model_validator

from planner.api.wire import Wire


class PlanNamed(Wire):
    """The plan that a deployment followed: a run, or a version of a saved scenario. Of the same team."""

    run_id: UUID | None = Field(None, description="The run; or else:")
    scenario_id: UUID | None = Field(None, description="The saved scenario, whose newest report counts.")
    number: int | None = Field(None, ge=1, le=2_147_483_647, description="Its version; left out: the newest.")

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.run_id is None) == (self.scenario_id is None) or (self.run_id and self.number):
            raise ValueError("name either run_id, or scenario_id with or without number")
        return self


class DeploymentRequest(Wire):
    """Where a measurement was made, and what plan the deployment followed."""

    deployment: dict[str, Any] = Field(
        description="model, gpu, tensor_parallel, engine and measured_on, as far as the file does not say them "
        "(`asked` of the preview); then pipeline_parallel, engine_version, weight_dtype, kv_dtype, max_model_len, "
        "max_num_seqs, max_num_batched_tokens, gpu_memory_utilization, enable_prefix_caching, enable_chunked_prefill "
        "where they were not the engine's defaults; `replicas` that the file counts together, and `counted_over_s` "
        "for a text of /metrics without times. What a named plan recommends stands for what is left out."
    )
    plan: PlanNamed | None = Field(None, description="The plan that the deployment followed.")


class MeasurementPreview(Wire):
    """What a file says, before it is kept."""

    measurement: dict[str, Any] = Field(description="Runs in one set of definitions, with checks; as `inspect` tells.")
    definitions: list[dict[str, str]] = Field(description="What each metric means here, and its name in the file.")
    says: dict[str, Any] = Field(description="Fields of the deployment that stand in the file.")
    asked: list[str] = Field(description="Fields of the deployment that do not, and must be sent to confirm.")
    known: UUID | None = Field(description="The measurement that the team made of this file already.")


class MeasurementSummary(Wire):
    """A measurement as lists show it."""

    id: UUID
    name: str
    format: str
    model: str
    weight_dtype: str = Field(description="As resolved.")
    gpu: str
    engine: str
    measured_on: date
    runs: int
    digest: str = Field(description="SHA-256 of the file.")
    state: str = Field(description="waiting: not yet beside its prediction; ready; failed.")
    outside: int | None = Field(description="Measured figures outside the predicted interval; null while it waits.")
    created_at: datetime
    link: str = Field(description="Path of the measurement.")


class MeasurementPage(Wire):
    """The team's measurements, newest first."""

    items: list[MeasurementSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class PlanFollowed(Wire):
    """A plan as a measurement names it."""

    run_id: UUID | None = Field(description="The run whose report counts; null while the version has none.")
    scenario_id: UUID | None
    number: int | None = Field(description="Version of the scenario.")
    link: str = Field(description="Path of the run, or of the version.")
    report: str | None = Field(description="Path of the report.")


class MeasurementDetail(MeasurementSummary):
    """A measurement with what was read, and what was predicted."""

    deployment: dict[str, Any]
    measurement: dict[str, Any] = Field(description="Runs in one set of definitions, with checks.")
    definitions: list[dict[str, str]]
    replicas: int = Field(description="Replicas that its figures are of: stated, or of the plan, or one.")
    plan: PlanFollowed | None = Field(description="The plan that the deployment followed.")
    backtest: dict[str, Any] | None = Field(
        description="The plan's own predictions for its peak hour beside what was measured: `fleet`, `traffic`, "
        "`figures` with interval and `inside`, `same_load`, `littles_law`. Null without a plan that has a fleet."
    )
    comparison: dict[str, Any] | None = Field(
        description="Predicted beside measured, each figure with its 80 % interval and whether it lies inside."
    )
    failure: str = Field(description="Why there is no comparison; empty where there is.")


class CalibrationRequest(Wire):
    """Which deployment is to be calibrated."""

    measurement_id: UUID = Field(description="Any measurement of it; all of the deployment are taken.")


class CalibrationSummary(Wire):
    """A calibration as lists show it."""

    id: UUID
    model: str
    weight_dtype: str
    gpu: str
    engine: str
    number: int = Field(description="Counted from 1 for each deployment.")
    state: str = Field(description="waiting, ready or failed.")
    in_use: bool = Field(description="Whether scenarios of the team that match it are planned with it.")
    created_at: datetime
    link: str = Field(description="Path of the calibration.")


class CalibrationPage(Wire):
    """The team's calibrations, newest first."""

    items: list[CalibrationSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class CalibrationDetail(CalibrationSummary):
    """A calibration with its factors, and every figure before and after."""

    sources: list[dict[str, Any]] = Field(description="Measurements that it was made from.")
    calibration: dict[str, Any] | None = Field(description="An entry of `calibrations` of a scenario.")
    told: dict[str, Any] | None = Field(
        description="Factors, figures before and after, held-out errors, what was left."
    )
    failure: str
