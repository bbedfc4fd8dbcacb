"""How far a predicted step time may be off, and on what that rests."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel import Deployment

ASSUMED_P10_RATIO = 0.75
ASSUMED_P90_RATIO = 1.35


@dataclass(frozen=True, slots=True)
class Residuals:
    """state: measured, fitted or extrapolated, also for model, GPU and engine alone. The ratios are true over predicted
    step time, exceeded by nine and by one of ten cases."""

    state: str
    sentence: str
    model: str
    gpu: str
    engine: str
    step_time_p10_ratio: float
    step_time_p90_ratio: float
    basis: str


def residuals_of(deployment: Deployment) -> Residuals:
    """No residuals are published with the step-time constants yet: a wide interval is assumed and said to be."""
    who = f"{deployment.model.id} on {deployment.accelerator.id} with {deployment.profile.name}"
    return Residuals(
        state="extrapolated",
        sentence=f"No measured comparison is published for {who} yet.",
        model="unknown",
        gpu="unknown",
        engine="unknown",
        step_time_p10_ratio=ASSUMED_P10_RATIO,
        step_time_p90_ratio=ASSUMED_P90_RATIO,
        basis="assumed, not measured",
    )
