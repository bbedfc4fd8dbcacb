"""Robust least squares on the logarithm of measured over predicted figures, held to what physics says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.planning.fitting.observations import Observations, balanced_weights
from planner.planning.fitting.priors import free_constants, with_values

Floats = NDArray[np.float64]

LOG_SCALE = {"throughput": 0.10, "tpot": 0.10, "ttft_low": 0.25, "ttft_closed": 0.25, "ttft_open": 0.15}
"""Error of a good prediction, by metric: what an error is counted in. Plans are made for requests that arrive by
themselves, and of those few rows tell."""
BALANCE = 0.8
"""A setting with n rows weighs as n to the power of 0.2: the same error in 200 rows is little more news than in 20."""
ROWS_PER_FACT = 10.0
"""Rows of one study repeat each other's errors: ten count as one against a prior."""
OUTLIER_SCALES = 1.5
"""Errors beyond this many scales lose weight (Cauchy's loss): wrong rows do not pull."""
PROBE_LOG = 1e-3
MOST_STEP_LOG = 0.5
SETTLED_LOG = 1e-3
MOST_ROUNDS = 40


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """values: the free constants, in their order; rounds: how many it took; settled: whether the last one changed
    nothing."""

    values: Floats
    rounds: int
    settled: bool


def fit_constants(
    found: Observations,
    document: dict[str, Any],
    *,
    held_out: NDArray[np.bool_] | None = None,
    start: Floats | None = None,
) -> Fit:
    """The free constants that fit all figures but those held out; the others are taken from `document`.

    Gauss-Newton on sum(weight·cauchy(error / scale)) / ROWS_PER_FACT + sum((log value - log prior)² / width²), with
    numeric derivatives, from the priors or from `start`; a value at the end of its range stays there.
    """
    free = free_constants()
    prior = np.log([one.prior for one in free])
    width = np.array([one.log_width for one in free])
    low, high = np.log([one.low for one in free]), np.log([one.high for one in free])
    used = np.ones(len(found.measured), bool) if held_out is None else ~held_out
    weight = balanced_weights(found, BALANCE)[used] / ROWS_PER_FACT
    scale = np.array([LOG_SCALE[metric] for metric in found.metric[used]])

    def errors(logs: Floats) -> Floats:
        result: Floats = found.log_errors(with_values(document, np.exp(logs)))[used] / scale
        return result

    at = prior.copy() if start is None else np.log(start)
    for number in range(1, MOST_ROUNDS + 1):
        error = errors(at)
        slopes = np.stack([(errors(at + probe) - error) / PROBE_LOG for probe in np.eye(len(free)) * PROBE_LOG], axis=1)
        pull = weight / (1.0 + (error / OUTLIER_SCALES) ** 2)
        curvature = slopes.T @ (slopes * pull[:, None]) + np.diag(width**-2)
        gradient = slopes.T @ (pull * error) + (at - prior) / width**2
        step = np.clip(-np.linalg.solve(curvature, gradient), -MOST_STEP_LOG, MOST_STEP_LOG)
        moved = np.clip(at + step, low, high)
        change = float(np.abs(moved - at).max())
        at = moved
        if change < SETTLED_LOG:
            return Fit(np.exp(at), number, True)
    return Fit(np.exp(at), MOST_ROUNDS, False)


def fold_numbers(groups: NDArray[np.str_], count: int) -> dict[str, int]:
    """A fold for each group, drawn once and for all so that every fold holds about as many groups."""
    names = sorted(set(groups.tolist()))
    order = np.random.default_rng(0).permutation(len(names))
    return {name: int(place) % count for name, place in zip(names, order, strict=True)}


def cross_validated_errors(
    found: Observations, document: dict[str, Any], full: Fit, of: str, count: int
) -> tuple[Floats, list[Floats], dict[str, int]]:
    """(log error of each figure by constants fitted without its fold, these constants, the fold of each group).

    `of`: what is held out, see `Observations.groups`.
    """
    groups = found.groups(of)
    folds = fold_numbers(groups, count)
    numbers = np.array([folds[name] for name in groups])
    errors = np.empty(len(found.measured))
    values = []
    for number in range(count):
        held_out = numbers == number
        fit = fit_constants(found, document, held_out=held_out, start=full.values)
        values.append(fit.values)
        errors[held_out] = found.log_errors(with_values(document, fit.values))[held_out]
    return errors, values, folds
