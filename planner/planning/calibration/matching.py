"""Which calibration a deployment takes, and what it takes from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from costmodel import Calibration, Deployment, StepFactors
from planner.planning.schema.calibration import Calibration as Stated
from planner.planning.schema.scenario import Scenario
from planner.planning.search.inventory import resolve_model

Key = tuple[str, str, str, str]
UNNAMED = "custom"
"""What every model without a name is called: two of them need not be the same."""


def deployment_key(deployment: Deployment) -> Key:
    """Model, weight type, accelerator and engine: what a calibration holds for. Version, layout, limits may differ."""
    return deployment.model.id, deployment.weight_dtype, deployment.accelerator.id, deployment.profile.name


def calibrated(deployment: Deployment, stated: Iterable[Stated]) -> Deployment:
    """The deployment with the calibration that matches it; unchanged where none does."""
    key = deployment_key(deployment)
    if deployment.model.id == UNNAMED:
        return deployment
    own = next((each for each in stated if each.key == key), None)
    return deployment if own is None else replace(deployment, calibration=own_calibration(own))


def own_calibration(stated: Stated) -> Calibration:
    """A scenario's calibration as the cost model takes it."""
    return Calibration(
        factors=StepFactors(
            compute=stated.compute_factor,
            bandwidth=stated.bandwidth_factor,
            host=stated.host_factor,
            communication=stated.communication_factor,
            request=stated.request_factor,
        ),
        step_time_ratios=(stated.step_time_p10_ratio, stated.step_time_p90_ratio),
        closed_ttft_ratios=(stated.closed_ttft_p10_ratio, stated.closed_ttft_p90_ratio),
        open_ttft_ratios=(stated.open_ttft_p10_ratio, stated.open_ttft_p90_ratio),
        runs=stated.runs,
        basis=f"calibration {stated.number} on {stated.runs} of your own runs until {stated.measured_until}",
    )


def with_calibrations(scenario: Scenario, stated: tuple[Stated, ...]) -> Scenario:
    """The scenario with those calibrations that its model and GPUs may match, where it says nothing of its own.

    Only these go in, so that a scenario of another model keeps its digest, and the result it had.
    """
    if scenario.calibrations is not None:
        return scenario
    hardware = scenario.hardware
    listed = () if isinstance(hardware.gpus, str) else hardware.gpus
    names = None if hardware.tries_any else {gpu if isinstance(gpu, str) else gpu.id for gpu in listed}
    model = resolve_model(scenario.model).id
    fitting = tuple(
        each
        for each in stated
        if each.model == model and each.engine == scenario.engine.name and (names is None or each.gpu in names)
    )
    return scenario.model_copy(update={"calibrations": fitting}) if fitting else scenario
