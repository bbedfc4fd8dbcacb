"""What the OpenAPI document says about the operations on measurements and calibrations."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from planner.api import openapi_traces as traces
from planner.api import problems
from planner.api.openapi_parts import ALWAYS, LINK, SMALL_BODY, failures, header, json_answer, listed, reading
from planner.api.query import TimedQuery
from planner.api.wire_measurements import (
    CalibrationDetail,
    CalibrationPage,
    CalibrationRequest,
    DeploymentRequest,
    MeasurementDetail,
    MeasurementPage,
    MeasurementPreview,
    PlanNamed,
)

_ID = "0197f0a6-5d3c-7c55-9c3d-2f6c0e6a9b11"
_OTHER = "0197f0a6-5d3c-7c55-9c3d-2f6c0e6a9b12"
_DEPLOYMENT = {
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "gpu": "H100-SXM5-80GB",
    "tensor_parallel": 1,
    "engine": "vllm",
    "engine_version": "0.19.0",
    "measured_on": "2026-11-28",
}
_RESOLVED = {
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "weight_dtype": "bf16",
    "gpu": "H100-SXM5-80GB",
    "engine": "vllm",
}
_SUMMARY = {
    "id": _ID,
    "name": "sweep.json",
    "format": "vllm_bench_serve",
    **_RESOLVED,
    "measured_on": "2026-11-28",
    "runs": 4,
    "digest": "9f" * 32,
    "state": "ready",
    "outside": 0,
    "created_at": "2026-11-30T10:00:05Z",
    "link": f"/api/v1/measurements/{_ID}",
}
_READ = {"format": "vllm_bench_serve", "title": "vLLM bench serve result", "runs": [], "server": {}, "notes": []}
_DETAIL = {
    **_SUMMARY,
    "deployment": _DEPLOYMENT,
    "measurement": _READ,
    "definitions": [{"metric": "ttft", "definition": "From sending a request to its first token; ms.", "in_file": ""}],
    "comparison": {"runs": [], "figures": 0, "outside": 0, "calibration": None},
    "failure": "",
    "replicas": 1,
    "plan": None,
    "backtest": None,
}
_WAITING = {**_DETAIL, "state": "waiting", "outside": None, "comparison": None}
_FOLLOWED = {
    "plan": {
        "run_id": _OTHER,
        "scenario_id": None,
        "number": None,
        "link": f"/api/v1/runs/{_OTHER}",
        "report": f"/api/v1/runs/{_OTHER}/report",
    },
    "replicas": 5,
}
_PREVIEW = {
    "measurement": _READ,
    "definitions": [],
    "says": {"model": "meta-llama/Llama-3.1-8B-Instruct", "engine": "vllm", "measured_on": "2026-11-28"},
    "asked": ["gpu", "tensor_parallel"],
    "known": None,
}
_CALIBRATION = {
    "id": _OTHER,
    **_RESOLVED,
    "number": 1,
    "state": "ready",
    "in_use": True,
    "created_at": "2026-11-30T10:05:00Z",
    "link": f"/api/v1/calibrations/{_OTHER}",
}
_CALIBRATION_DETAIL = {
    **_CALIBRATION,
    "sources": [{"id": _ID, "name": "sweep.json", "digest": "9f" * 32, "measured_on": "2026-11-28"}],
    "calibration": {**_RESOLVED, "number": 1, "runs": 4, "compute_factor": 0.94},
    "told": {"median_error_pct": {"before": 12.1, "after": 3.2, "held_out": 4.5}, "helps": True, "against": []},
    "failure": "",
}


def _renamed(operation: dict[str, Any], summary: str = "") -> dict[str, Any]:
    """An operation on files of traffic as one on files of measurements."""
    changed = {**operation, "operation_id": operation["operation_id"].replace("traces_", "measurements_")}
    return {**changed, "summary": summary} if summary else changed


def _deleting(operation_id: str, summary: str, description: str) -> dict[str, Any]:
    return {
        "operation_id": operation_id,
        "summary": summary,
        "description": description,
        "responses": {204: OpenApiResponse(description="It is gone."), **failures(*ALWAYS, problems.NOT_FOUND)},
    }


def _listing(operation_id: str, summary: str, page: Any, row: dict[str, Any]) -> dict[str, Any]:
    return reading(
        operation_id,
        summary,
        listed(page, f"{summary}.", {"items": [row], "next": None}),
        query=TimedQuery,
        formats=("json", "csv", "xlsx"),
        also=(problems.TOO_MANY_ROWS,),
        headers=(LINK,),
    )


UPLOAD_LIST = _renamed(traces.UPLOAD_LIST, "List files of measurements that were not finished")
UPLOAD_BEGIN = _renamed(traces.UPLOAD_BEGIN, "Begin to send a file of measurements")
UPLOAD_READ = _renamed(traces.UPLOAD_READ, "Read the state of a file of measurements")
UPLOAD_DELETE = _renamed(traces.UPLOAD_DELETE, "Give up a file of measurements")
UPLOAD_PART = _renamed(traces.UPLOAD_PART, "Send the next part of a file of measurements")
UPLOAD_PREVIEW: dict[str, Any] = {
    "operation_id": "measurements_uploads_preview",
    "summary": "See what a file of measurements says",
    "description": "Nothing is stored. What the file does not say of its deployment is asked, never guessed.",
    "request": None,
    "responses": {
        200: json_answer(MeasurementPreview, "What the file says.", preview=_PREVIEW),
        **failures(*ALWAYS, problems.NOT_FOUND, problems.INVALID_BODY),
    },
}
UPLOAD_CONFIRM: dict[str, Any] = {
    "operation_id": "measurements_uploads_confirm",
    "summary": "Keep a file of measurements with where it was made",
    "description": "The upload ends. A file that the team already has is answered with 200. A worker then sets it "
    "beside its prediction.",
    "request": {"application/json": DeploymentRequest},
    "examples": [
        OpenApiExample("deployment", value={"deployment": _DEPLOYMENT}, request_only=True),
        OpenApiExample(
            "of a plan",
            value={"deployment": {"measured_on": "2026-11-28", "replicas": 5}, "plan": {"run_id": _OTHER}},
            request_only=True,
        ),
    ],
    "parameters": [header("Location", "Path of the measurement.", 201)],
    "responses": {
        200: json_answer(MeasurementDetail, "The team had it already.", measurement=_DETAIL),
        201: json_answer(MeasurementDetail, "It is kept.", measurement=_DETAIL),
        **failures(*ALWAYS, *SMALL_BODY, problems.NOT_FOUND),
    },
}
MEASUREMENT_LIST = _listing("measurements_list", "List measurements", MeasurementPage, _SUMMARY)
MEASUREMENT_READ = reading(
    "measurements_read",
    "Read a measurement",
    {200: json_answer(MeasurementDetail, "The measurement, beside its prediction.", measurement=_DETAIL)},
    also=(problems.NOT_FOUND,),
)
MEASUREMENT_DELETE = _deleting("measurements_delete", "Delete a measurement", "Calibrations made from it stay.")
MEASUREMENT_COMPARE: dict[str, Any] = {
    "operation_id": "measurements_compare",
    "summary": "Set a measurement beside its prediction again",
    "description": "A worker computes it anew, with the team's catalog entries and the calibration in use of today. It "
    "does so by itself when an entry that the measurement names is saved or deleted.",
    "request": None,
    "parameters": [header("Location", "Path of the measurement.", 202)],
    "responses": {
        202: json_answer(MeasurementDetail, "It waits for a worker.", measurement=_WAITING),
        **failures(*ALWAYS, problems.NOT_FOUND),
    },
}
MEASUREMENT_PLAN: dict[str, Any] = {
    "operation_id": "measurements_plan",
    "summary": "Say which plan a measured deployment followed",
    "description": "A run, or a version of a saved scenario, whose newest report counts. Its replicas count where "
    "nobody stated any. In place of one that was named before.",
    "request": {"application/json": PlanNamed},
    "examples": [OpenApiExample("run", value={"run_id": _OTHER}, request_only=True)],
    "responses": {
        200: json_answer(MeasurementDetail, "The measurement.", measurement={**_DETAIL, **_FOLLOWED}),
        **failures(*ALWAYS, *SMALL_BODY, problems.NOT_FOUND),
    },
}
MEASUREMENT_PLAN_LEFT: dict[str, Any] = {
    "operation_id": "measurements_plan_left",
    "summary": "Take back which plan a measured deployment followed",
    "description": "The measurement stays, of one replica where none were stated.",
    "request": None,
    "responses": {
        200: json_answer(MeasurementDetail, "The measurement.", measurement=_DETAIL),
        **failures(*ALWAYS, problems.NOT_FOUND),
    },
}
CALIBRATION_LIST = _listing("calibrations_list", "List calibrations", CalibrationPage, _CALIBRATION)
CALIBRATION_START: dict[str, Any] = {
    "operation_id": "calibrations_start",
    "summary": "Calibrate a deployment on the team's measurements of it",
    "description": "A worker fits a few factors on the shipped constants. It is used at once where held-out runs are "
    "nearer with it than before, or where there are too few to say.",
    "request": {"application/json": CalibrationRequest},
    "examples": [OpenApiExample("calibration", value={"measurement_id": _ID}, request_only=True)],
    "parameters": [header("Location", "Path of the calibration.", 202)],
    "responses": {
        202: json_answer(CalibrationDetail, "A worker makes it.", calibration=_CALIBRATION_DETAIL),
        **failures(*ALWAYS, *SMALL_BODY, problems.NOT_FOUND),
    },
}
CALIBRATION_READ = reading(
    "calibrations_read",
    "Read a calibration",
    {200: json_answer(CalibrationDetail, "The calibration.", calibration=_CALIBRATION_DETAIL)},
    also=(problems.NOT_FOUND,),
)
CALIBRATION_USE: dict[str, Any] = {
    "operation_id": "calibrations_use",
    "summary": "Plan matching scenarios with this calibration",
    "description": "In place of another of the same deployment. Reports that were made stay as they are.",
    "request": None,
    "responses": {
        200: json_answer(CalibrationDetail, "It is in use.", calibration=_CALIBRATION_DETAIL),
        **failures(*ALWAYS, problems.NOT_FOUND, problems.INVALID_BODY),
    },
}
CALIBRATION_DROP: dict[str, Any] = {
    "operation_id": "calibrations_drop",
    "summary": "Drop a calibration",
    "description": "Matching scenarios are planned with the shipped constants again; it can be taken again.",
    "request": None,
    "responses": {
        200: json_answer(CalibrationDetail, "It is dropped.", calibration={**_CALIBRATION_DETAIL, "in_use": False}),
        **failures(*ALWAYS, problems.NOT_FOUND, problems.INVALID_BODY),
    },
}
