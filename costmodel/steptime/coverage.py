"""How well a deployment's step time is backed by measurements, and how far predictions were off elsewhere.

The index of measured deployments is `data/measured_deployments.csv`, the residuals `data/step_time_residuals.toml`;
both come from the comparison told in `docs/validation.md`.
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from costmodel.catalog.display_names import counted, engine_name, gpu_name, model_name
from costmodel.catalog.hardware import Accelerator
from costmodel.deployment.deployment import Deployment
from costmodel.models.spec import ModelSpec
from costmodel.steptime.constants import silicon_key

State = Literal["measured", "fitted", "extrapolated"]
STATES: tuple[State, ...] = ("measured", "fitted", "extrapolated")


@dataclass(frozen=True, slots=True)
class Coverage:
    """What stands behind a prediction.

    `state`: `measured` where this model ran on this GPU with this engine in the data; `fitted` where model family,
    hardware generation and engine are in the data, but not together; `extrapolated` beyond that. `model`, `gpu` and
    `engine` say the same of each alone. Ratios are measured over predicted, exceeded by nine and by one of ten
    held-out rows: for step time, for TTFT where a client sends when it has an answer, and for TTFT where requests
    arrive by themselves, which few rows measure and which is therefore as wide as either (`open_ttft`: of those
    rows alone). A calibrated deployment has the ratios of its calibration. `rows` counts published rows of this
    deployment.
    """

    state: State
    sentence: str
    model: State
    gpu: State
    engine: State
    step_time_p10_ratio: float
    step_time_p90_ratio: float
    ttft_p10_ratio: float
    ttft_p90_ratio: float
    closed_ttft_p10_ratio: float
    closed_ttft_p90_ratio: float
    open_ttft_p10_ratio: float
    open_ttft_p90_ratio: float
    basis: str
    rows: int
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MeasuredDeployment:
    """Rows of one model on one accelerator with one engine. The shape numbers find renamed and tuned twins."""

    model_id: str
    shape: tuple[int, int, int]
    kind: str
    accelerator_id: str
    silicon: str
    engine: str
    rows: int
    sources: tuple[str, ...]


def coverage(deployment: Deployment) -> Coverage:
    """State, interval ratios and a plain sentence for a deployment; never raises."""
    model, accelerator, engine = deployment.model, deployment.accelerator, deployment.profile.name
    alone = (_model_state(model), _gpu_state(accelerator), _engine_state(engine))
    found = [
        entry
        for entry in measured_deployments()
        if _same_model(entry, model) and entry.accelerator_id == accelerator.id and entry.engine == engine
    ]
    state: State = "measured" if found else max(("fitted", *alone), key=STATES.index)
    residuals = _residuals(state, engine, "moe" if model.is_moe else "dense")
    own = deployment.calibration
    if own is not None:
        ratios = {"step_time": own.step_time_ratios, "ttft_closed": own.closed_ttft_ratios}
        residuals = {**residuals, **ratios, "ttft_open": own.open_ttft_ratios, "basis": own.basis}
    ttft = (*residuals["ttft_closed"], *residuals["ttft_open"])
    return Coverage(
        state=state,
        sentence=_sentence(deployment, state, found, alone) + _own_sentence(deployment),
        model=alone[0],
        gpu=alone[1],
        engine=alone[2],
        step_time_p10_ratio=residuals["step_time"][0],
        step_time_p90_ratio=residuals["step_time"][1],
        ttft_p10_ratio=min(ttft),
        ttft_p90_ratio=max(ttft),
        closed_ttft_p10_ratio=residuals["ttft_closed"][0],
        closed_ttft_p90_ratio=residuals["ttft_closed"][1],
        open_ttft_p10_ratio=residuals["ttft_open"][0],
        open_ttft_p90_ratio=residuals["ttft_open"][1],
        basis=residuals["basis"],
        rows=sum(entry.rows for entry in found),
        sources=tuple(sorted({source for entry in found for source in entry.sources})),
    )


def model_shape(model: ModelSpec) -> tuple[int, int, int]:
    """Numbers that two names of one architecture share: hidden size, layers, parameters in millions."""
    return model.hidden, model.layers, round(model.params_total / 1e6)


def model_kind(model: ModelSpec) -> str:
    """Family of cost: dense or MoE, and how it attends."""
    attention = "latent" if model.is_mla else "plain"
    if any(group.is_recurrent for group in model.attention):
        attention = "recurrent"
    elif any(group.window_tokens for group in model.attention):
        attention = "windowed"
    return f"{'moe' if model.is_moe else 'dense'} {attention}"


@cache
def measured_deployments() -> tuple[MeasuredDeployment, ...]:
    """The index of what was measured."""
    text = (files("costmodel") / "data" / "measured_deployments.csv").read_text(encoding="utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    return tuple(
        MeasuredDeployment(
            model_id=row["model_id"],
            shape=(int(row["hidden"]), int(row["layers"]), int(row["params_m"])),
            kind=row["kind"],
            accelerator_id=row["accelerator_id"],
            silicon=row["silicon"],
            engine=row["engine"],
            rows=int(row["rows"]),
            sources=tuple(row["sources"].split(";")),
        )
        for row in csv.DictReader(lines)
    )


def _same_model(entry: MeasuredDeployment, model: ModelSpec) -> bool:
    return entry.model_id == model.id or entry.shape == model_shape(model)


def _model_state(model: ModelSpec) -> State:
    entries = measured_deployments()
    if any(_same_model(entry, model) for entry in entries):
        return "measured"
    return "fitted" if any(entry.kind == model_kind(model) for entry in entries) else "extrapolated"


def _gpu_state(accelerator: Accelerator) -> State:
    entries = measured_deployments()
    if any(entry.accelerator_id == accelerator.id for entry in entries):
        return "measured"
    return "fitted" if any(entry.silicon == silicon_key(accelerator) for entry in entries) else "extrapolated"


def _engine_state(engine: str) -> State:
    return "measured" if any(entry.engine == engine for entry in measured_deployments()) else "extrapolated"


def _sentence(deployment: Deployment, state: State, found: list[MeasuredDeployment], alone: tuple[State, ...]) -> str:
    model, gpu = model_name(deployment.model.id), gpu_name(deployment.accelerator.id)
    engine = engine_name(deployment.profile.name)
    if state == "measured":
        rows = sum(entry.rows for entry in found)
        return f"{model} on {gpu} with {engine} was measured: {counted(rows, 'published figure')}."
    names = (model, gpu, engine)
    unseen = [name for name, known in zip(names, alone, strict=True) if known != "measured"]
    if not unseen:
        return f"No measurement of {model} on {gpu} with {engine} is known; each was measured in other combinations."
    return f"No measurement of {model} on {gpu} with {engine} is known, nor of {' or '.join(unseen)} at all."


def _own_sentence(deployment: Deployment) -> str:
    own = deployment.calibration
    return "" if own is None else f" Calibrated on {counted(own.runs, 'run')} of your own."


@cache
def _document() -> dict[str, Any]:
    text = (files("costmodel") / "data" / "step_time_residuals.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def _residuals(state: State, engine: str, kind: str) -> dict[str, Any]:
    """Quantiles of a state; of the engine's own with this kind of model where it has enough held-out rows."""
    table = _document()[state]
    own: dict[str, Any] = table.get("engine", {}).get(engine, {}).get(kind, {})
    return {"basis": table["basis"], **table["all"], **own}
