"""A few factors on the shipped constants, fitted to measured runs and held to those (docs/calibration.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from costmodel import StepFactors
from planner.planning.calibration.predicting import value_of, with_factors
from planner.planning.calibration.runs import Figure, MeasuredRun

Floats = NDArray[np.float64]

FACTORS = tuple(field.name for field in fields(StepFactors))
PRIOR_LOG_WIDTH = {"compute": 0.15, "bandwidth": 0.10, "host": 0.25, "communication": 0.25, "request": 0.50}
"""Standard deviation of a factor's logarithm before any run: with all at their widths a step is off by about as much as
published rows of held-out pairs were (docs/validation.md); of what is outside the engine least is known. Assumed."""
LOG_SCALE = {"throughput": 0.10, "tpot": 0.10, "e2e": 0.10, "ttft": 0.25}
"""Error of a good prediction, by metric, as in the fit of the shipped constants."""
OUTLIER_SCALES = 3.0
"""Errors beyond this many scales lose weight (Cauchy's loss): an absurd row does not pull."""
REACH_WIDTHS = 2.0
"""A factor goes no further than so many of its widths, whatever the rows say."""
MOST_ELASTIC = 3.0
"""A figure that changes more than so many times as much as step times is of a server too near to saturation: what is
straight about the constants of the moment says nothing about others. It is predicted, but not fitted."""
PROBE_LOG = 0.02
ROUNDS = 3
SOLVER_ROUNDS = 60
SETTLED_LOG = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Figures that are fitted, and what the simulator says of them about some factors.

    run         int64 [n], the run of each figure
    measured    float64 [n], logarithms
    predicted   float64 [n], logarithms about `about`
    slopes      float64 [n, factors], of these logarithms
    about       float64 [factors], logarithms of the factors
    """

    run: NDArray[np.int64]
    figures: tuple[Figure, ...]
    measured: Floats
    predicted: Floats
    slopes: Floats
    about: Floats

    def predicted_at(self, logs: Floats) -> Floats:
        """Logarithms of the predictions with other factors, straight about `about`."""
        there: Floats = self.predicted + self.slopes @ (logs - self.about)
        return there


def fitted_figures(run: MeasuredRun) -> tuple[Figure, ...]:
    """Of a run: TPOT and TTFT; E2E or throughput where neither is known, as these follow from them."""
    middles = [figure for figure in run.figures if figure.is_middle]
    parts = tuple(figure for figure in middles if figure.metric in ("tpot", "ttft"))
    return parts or tuple(figure for figure in middles if figure.metric in ("e2e", "throughput"))[:1]


def fit_factors(runs: Sequence[MeasuredRun]) -> tuple[Floats, Evidence]:
    """(logarithms of the factors, evidence about them): the most probable ones given the rows and the prior.

    The least of sum(c²·log(1 + (e/c)²)) + sum((log factor / width)²), e the errors in LOG_SCALE, c OUTLIER_SCALES; the
    simulator is taken as straight about the factors so far, ROUNDS times. No runs: no change. Raises Unusable.
    """
    logs = np.zeros(len(FACTORS))
    evidence = evidence_about(runs, logs)
    for _ in range(ROUNDS if runs else 0):
        moved = most_probable(evidence, start=logs)
        settled = float(np.abs(moved - logs).max()) < 1e-3
        logs, evidence = moved, evidence_about(runs, moved)
        if settled:
            break
    return logs, evidence


def evidence_about(runs: Sequence[MeasuredRun], logs: Floats) -> Evidence:
    """Every fitted figure simulated with these factors, and with each a little larger. Raises Unusable."""
    numbers, figures, predicted, slopes = [], [], [], []
    for number, run in enumerate(runs):
        middle = with_factors(run, factors_of(logs)).predict()
        probes = [with_factors(run, factors_of(logs + probe)).predict() for probe in np.eye(len(FACTORS)) * PROBE_LOG]
        for figure in fitted_figures(run):
            here = value_of(middle, figure)
            moved = [value_of(probe, figure) for probe in probes]
            if not here or not all(moved):
                continue
            slope = [math.log(there / here) / PROBE_LOG for there in moved if there]
            if sum(map(abs, slope)) > MOST_ELASTIC:
                continue
            numbers.append(number)
            figures.append(figure)
            predicted.append(math.log(here))
            slopes.append(slope)
    return Evidence(
        run=np.array(numbers, np.int64),
        figures=tuple(figures),
        measured=np.log(np.array([figure.measured for figure in figures])),
        predicted=np.array(predicted),
        slopes=np.array(slopes).reshape(len(figures), len(FACTORS)),
        about=logs,
    )


def most_probable(evidence: Evidence, *, without_run: int | None = None, start: Floats | None = None) -> Floats:
    """Logarithms of the factors that the figures make most probable, all of them or without one run's."""
    width = np.array([PRIOR_LOG_WIDTH[name] for name in FACTORS])
    used = np.ones(len(evidence.run), bool) if without_run is None else evidence.run != without_run
    scale = np.array([LOG_SCALE[figure.metric] for figure in evidence.figures])[used]
    slopes = evidence.slopes[used] / scale[:, None] if used.any() else np.zeros((0, len(FACTORS)))
    logs = np.zeros(len(FACTORS)) if start is None else start.copy()
    for _ in range(SOLVER_ROUNDS):
        error = ((evidence.predicted_at(logs) - evidence.measured)[used]) / scale
        pull = 1.0 / (1.0 + (error / OUTLIER_SCALES) ** 2)
        curvature = slopes.T @ (slopes * pull[:, None]) + np.diag(width**-2)
        # Weighted least squares from where the errors stand: what they would be at the shipped constants, refitted.
        wanted = slopes @ logs - error
        moved = np.linalg.solve(curvature, slopes.T @ (pull * wanted))
        moved = np.clip(moved, -REACH_WIDTHS * width, REACH_WIDTHS * width)
        change = float(np.abs(moved - logs).max()) if len(logs) else 0.0
        logs = moved
        if change < SETTLED_LOG:
            break
    return logs


def held_out_predictions(evidence: Evidence) -> Floats:
    """float64 [n], logarithm of the prediction of each figure by factors fitted without its run."""
    out = np.empty(len(evidence.run))
    for number in np.unique(evidence.run):
        own = evidence.run == number
        out[own] = evidence.predicted_at(most_probable(evidence, without_run=int(number)))[own]
    return out


def factors_of(logs: Floats) -> StepFactors:
    """Factors from their logarithms."""
    return StepFactors(**{name: float(math.exp(value)) for name, value in zip(FACTORS, logs, strict=True)})
