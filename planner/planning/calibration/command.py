"""What the `calibrate` command does: files of measured runs and a scenario that says where they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from costmodel import Deployment
from planner.planning.calibration.calibrate import Calibrated, DatedRun, calibrate
from planner.planning.calibration.deployment import read_deployment
from planner.planning.calibration.predicting import MOST_RUNS
from planner.planning.calibration.replays import replayed_run
from planner.planning.calibration.runs import NotKnown, measured_run, run_name
from planner.planning.errors import FieldError, ScenarioInvalid, show
from planner.planning.importers import ImportRefused, file_source, open_source
from planner.planning.measurements import read_measurement
from planner.planning.schema import Scenario
from planner.planning.validation.request_logs import read_request_log
from planner.planning.validation.unusable import Unusable

MOST_LOG_BYTES = 64 << 20
SETTINGS = (
    "max_model_len", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "enable_prefix_caching",
    "enable_chunked_prefill",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Made:
    """A calibration of files. left_out: runs of the files that could not be used, with their reasons."""

    calibrated: Calibrated
    left_out: tuple[tuple[str, str], ...]


def calibrate_files(paths: Sequence[Path], scenario: Scenario, measured_on: date) -> Made:
    """Fit the factors of the scenario's deployment to every run of the files. A folder with `meta.json` and
    `requests.jsonl` is a log of single requests.

    Raises ScenarioInvalid where the scenario does not say one deployment; ImportRefused for a file that is no
    measurement; NothingToFit.
    """
    deployment = scenario_deployment(scenario, measured_on)
    dated: list[DatedRun] = []
    left_out: list[tuple[str, str]] = []
    for path in paths:
        found, unknown = _runs_of(path, deployment, measured_on)
        dated += found
        left_out += unknown
    return Made(calibrate(dated), tuple(left_out))


def scenario_deployment(scenario: Scenario, measured_on: date) -> Deployment:
    """The one deployment that a scenario names: one GPU, one tensor-parallel size, one weight type. ScenarioInvalid."""
    hardware, model, engine = scenario.hardware, scenario.model, scenario.engine
    errors = []
    gpus = () if isinstance(hardware.gpus, str) else hardware.gpus
    if len(gpus) != 1 or not isinstance(gpus[0], str) or hardware.tries_any:
        errors.append(_not_one("/hardware/gpus", hardware.gpus, "one GPU of the catalog, on which it was measured"))
    if len(hardware.tensor_parallel or ()) != 1:
        errors.append(_not_one("/hardware/tensor_parallel", hardware.tensor_parallel, "the size that was measured"))
    if model.id is None:
        errors.append(_not_one("/model/id", None, "a model of the catalog"))
    for name, value in (("weight_dtype", model.weight_dtype), ("kv_dtype", model.kv_dtype)):
        if value == "any" or not isinstance(value, str):
            errors.append(_not_one(f"/model/{name}", value, "the type that was measured"))
    if errors:
        raise ScenarioInvalid(tuple(errors))
    said: dict[str, Any] = {
        "model": model.id,
        "weight_dtype": model.weight_dtype,
        "kv_dtype": model.kv_dtype,
        "gpu": gpus[0],
        "tensor_parallel": (hardware.tensor_parallel or (1,))[0],
        "pipeline_parallel": (hardware.pipeline_parallel or (1,))[0],
        "engine": engine.name,
        "engine_version": engine.version,
        "measured_on": measured_on.isoformat(),
        **{name: getattr(engine, name) for name in SETTINGS},
    }
    return read_deployment(said)[1]


def _not_one(place: str, given: object, allowed: str) -> FieldError:
    return FieldError("not_one", place, show(given), allowed, f"A calibration needs {allowed}.")


def _runs_of(path: Path, deployment: Deployment, measured_on: date) -> tuple[list[DatedRun], list[tuple[str, str]]]:
    if (path / "requests.jsonl").is_file():
        return _log_of(path, deployment, measured_on)
    read = read_measurement(open_source(file_source(path)))
    if read is None or not read.runs:
        raise ImportRefused("not_a_measurement", f"{path.name} holds no runs of a load test.")
    found, left_out = [], []
    for place, run in enumerate(read.runs[:MOST_RUNS], 1):
        label = f"{path.name}, {run_name(run, place)}"
        try:
            found.append(DatedRun(measured_run(run, read.format, deployment, label), measured_on))
        except NotKnown as reason:
            left_out.append((label, str(reason)))
    return found, left_out


def _log_of(path: Path, deployment: Deployment, measured_on: date) -> tuple[list[DatedRun], list[tuple[str, str]]]:
    try:
        meta, requests = (_bytes(path / name) for name in ("meta.json", "requests.jsonl"))
        run = replayed_run(read_request_log(path.name, meta, requests), deployment=deployment)
    except OSError as error:
        raise ImportRefused("file_unreadable", f"{path.name}: {error.strerror or 'cannot be read'}.") from None
    except Unusable as problem:
        return [], [(path.name, str(problem))]
    return [DatedRun(run, measured_on)], []


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(MOST_LOG_BYTES + 1)
    if len(data) > MOST_LOG_BYTES:
        raise ImportRefused("too_large", f"{path.name} has more than {MOST_LOG_BYTES >> 20} MiB.")
    return data


def calibration_text(made: Made) -> str:
    """The calibration for people: factors, figures before and after, interval."""
    stated, told = made.calibrated.stated, made.calibrated.told
    errors = told["median_error_pct"]
    held_out = "not known, too few runs" if errors["held_out"] is None else f"{errors['held_out']:.1f} %"
    lines = [
        f"{stated.model}, {stated.weight_dtype} weights, on {stated.gpu} with {stated.engine}: {stated.runs} runs",
        f"median error: {errors['before']:.1f} % before, {errors['after']:.1f} % after, held out {held_out}",
        "",
        f"{'factor':<16}{'value':>8}{'widths':>9}",
    ]
    lines += [f"{each['name']:<16}{each['factor']:>8.3f}{each['widths']:>+9.1f}" for each in told["factors"]]
    lines += ["", f"{'run':<44}{'figure':<12}{'measured':>11}{'before':>11}{'after':>11}{'held out':>11}"]
    for each in told["figures"]:
        cells = "".join(_cell(each[name]) for name in ("measured", "before", "after", "held_out"))
        lines.append(f"{each['label'][:43]:<44}{each['metric']:<12}{cells}")
    lines.append("")
    for name in ("step_time", "closed_ttft", "open_ttft"):
        low, high = (getattr(stated, f"{name}_{end}_ratio") for end in ("p10", "p90"))
        before = told["shipped_ratios"][name]
        lines.append(
            f"interval, {name}: {low:.3f} to {high:.3f} of the prediction (shipped {before[0]:g} to {before[1]:g})"
        )
    lines += [f"left out: {label}: {reason}" for label, reason in [*made.left_out, *_left_out(told)]]
    if told["helps"] is False:
        against = "; ".join(told["against"]) or "runs that were held out are no nearer with it"
        lines.append(f"It does not help: {against}.")
    return "\n".join(lines)


def _cell(value: float | None) -> str:
    return f"{'-' if value is None else f'{value:,.4g}':>11}"


def _left_out(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(each["label"], each["reason"]) for each in told["left_out"]]
