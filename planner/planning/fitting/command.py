"""What the `fit` command does: fit, hold out, compare with what is shipped, and write the files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from costmodel.steptime import shipped_constants
from planner.planning.fitting.documents import constants_text, folds_text, residuals_text
from planner.planning.fitting.fit import Fit, cross_validated_errors, fit_constants
from planner.planning.fitting.observations import TIME_OF, Observations, observations
from planner.planning.fitting.priors import Document, free_constants, values_of, with_values
from planner.planning.fitting.rows import rows_digest
from planner.planning.fitting.store import Pairs, packed, simulated_responses

Floats = NDArray[np.float64]

TOLERANCE_RATIO = 0.01
"""How far a fit may be from the shipped constants: they have four digits, and arithmetic differs by machine."""
FOLDS = {"pair": 5, "model": 5, "accelerator": 5}
ROOT = Path(__file__).parents[3]
STEP_TIME_DATA = ROOT / "costmodel" / "data"
OWN_DATA = ROOT / "planner" / "planning" / "fitting" / "data"


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fit on all rows, and the log errors of each figure: in sample, and by what was held out."""

    found: Observations
    fit: Fit
    errors: dict[str, Floats]
    fold_values: list[Floats]
    folds: dict[str, int]


def simulate_again() -> None:
    """Make the responses anew and store them."""
    (OWN_DATA / "responses.npz").write_bytes(packed(simulated_responses()))


def fit_all(pairs: Pairs) -> Fitted:
    """Fit on every row, then again without each fold of pairs, models and accelerators."""
    found, document = observations(pairs), shipped_constants()
    fit = fit_constants(found, document)
    errors = {"nothing": found.log_errors(with_values(document, fit.values))}
    fold_values: list[Floats] = []
    folds: dict[str, int] = {}
    for of, count in FOLDS.items():
        errors[of], values, numbers = cross_validated_errors(found, document, fit, of, count)
        if of == "pair":
            fold_values, folds = values, numbers
    return Fitted(found, fit, errors, fold_values, folds)


def write(fitted: Fitted) -> Iterator[Path]:
    """Write constants, folds and residuals where they are shipped; yields each path."""
    folds = [_shipped_as(values) for values in fitted.fold_values]
    texts = {
        "step_time_constants.toml": constants_text(_shipped_as(fitted.fit.values), rows_digest()),
        "step_time_folds.toml": folds_text(fitted.folds, folds),
        "step_time_residuals.toml": residuals_text(fitted.found, fitted.errors),
    }
    for name, text in texts.items():
        (STEP_TIME_DATA / name).write_text(text, encoding="utf-8")
        yield STEP_TIME_DATA / name


def _shipped_as(values: Floats) -> Document:
    """The shipped document with these free constants; an engine without entry is taken as vLLM."""
    document = with_values(shipped_constants(), values)
    document["engine"]["default"] = dict(document["engine"]["vllm"])
    return document


def differences(fit: Fit) -> list[str]:
    """A line for each free constant that the fit gives otherwise than it is shipped, beyond TOLERANCE_RATIO."""
    shipped = values_of(shipped_constants())
    return [
        f"{free.label}: {value:.4g} fitted, {known:.4g} shipped"
        for free, value, known in zip(free_constants(), fit.values, shipped, strict=True)
        if abs(value / known - 1.0) > TOLERANCE_RATIO
    ]


def constants_table(fit: Fit) -> str:
    """Each free constant with its prior, and how many widths of it the fit went."""
    lines = [f"{'constant':<44}{'prior':>10}{'fitted':>10}{'widths':>8}"]
    for free, value in zip(free_constants(), fit.values, strict=True):
        widths = np.log(value / free.prior) / free.log_width
        lines.append(f"{free.label:<44}{free.prior:>10.4g}{value:>10.4g}{widths:>+8.1f}")
    return "\n".join(lines)


def errors_table(fitted: Fitted) -> str:
    """Median, p90 and bias in % of each metric, by what was held out."""
    lines = [f"{'held out':<14}" + "".join(f"{metric:>22}" for metric in TIME_OF)]
    for of, errors in fitted.errors.items():
        cells = [_cell(np.expm1(errors[fitted.found.metric == metric])) for metric in TIME_OF]
        lines.append(f"{of:<14}" + "".join(f"{cell:>22}" for cell in cells))
    counts = [f"{int((fitted.found.metric == metric).sum())}" for metric in TIME_OF]
    lines.append(f"{'figures':<14}" + "".join(f"{count:>22}" for count in counts))
    return "\n".join(lines)


def _cell(errors: Floats) -> str:
    if not errors.size:
        return "-"
    absolute = 100 * np.abs(errors)
    return f"{np.median(absolute):.1f} / {np.quantile(absolute, 0.9):.0f} / {100 * np.median(errors):+.0f}"


def refit(pairs: Pairs) -> Fit:
    """The fit on all rows alone."""
    return fit_constants(observations(pairs), shipped_constants())
