"""The files that a fit writes: constants, constants of the folds, residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.planning.fitting.observations import Observations
from planner.planning.fitting.priors import free_constants

Floats = NDArray[np.float64]

CONSTANTS_HEAD = """\
# Constants of the step-time model (`costmodel/steptime/`), as effective values of the formulas there.
#
# Written by `manage.py fit --write`; data: rows.csv, SHA-256 {digest}.
# basis: fitted on published measurements (sources and error tables: docs/validation.md) unless a line says "assumed".
# Shares are of the accelerator's dense peak or bandwidth; a share above 1 stands for traffic that the count overstates.
# Read them as effective values of these formulas, not as properties of the hardware alone.
"""
FOLDS_HEAD = """\
# Step-time constants fitted again without a part of the model and accelerator pairs at a time, for errors on pairs
# that the constants have not seen (`validate --cross-validated`). Never used for planning. Written by `manage.py fit`.
"""
RESIDUALS_HEAD = """\
# Measured over predicted, tenth and ninetieth percentile of rows held out of the fit (docs/validation.md). Written by
# `manage.py fit`. measured: rows of the held-out pair itself; fitted: whole models held out; extrapolated: whole
# accelerators held out, and widened by half again in the logarithm, as no held-out row is that far off.
# By engine, and there apart for dense and MoE models, where enough rows were held out.
"""
ASSUMED = {
    ("common", "roofline_power"): "knee of the roofline between FLOP time and byte time; assumed",
    ("common", "decode_attention_efficiency"): "absorbed MLA decode, share of the 16-bit peak; assumed",
    (
        "engine",
        "graph_tokens",
    ): "tokens of a step that CUDA graphs cover, prefill too; 0: decode steps only; documented",
    ("gemm_efficiency", "int8"): "as fp8; assumed",
    ("moe_efficiency", "int8"): "as fp8 by block; assumed",
}
ASSUMED_TABLES = {
    "link.network": "assumed, no measured rows",
    "engine.default": "of an engine without entry: as vLLM",
    "generation.default": "hardware without entry; assumed",
}
FEW_ROWS = 60
WIDENED = 1.5


def constants_text(document: Mapping[str, Any], digest: str) -> str:
    """`step_time_constants.toml`."""
    meanings = {(*free.section, free.name): free.meaning for free in free_constants()}
    said: set[tuple[str, str]] = set()
    lines = [CONSTANTS_HEAD.format(digest=digest)]

    def comment(path: tuple[str, ...]) -> str:
        meaning = ASSUMED.get((path[0], path[-1]), meanings.get(path, ""))
        if (path[0], meaning) in said:
            return ""
        said.add((path[0], meaning))
        return meaning

    for name, table in _tables(document):
        note = ASSUMED_TABLES.get(name)
        lines.append(f"[{name}]" + (f"  # {note}" if note else ""))
        lines += _entries(table, {key: comment((*name.split("."), key)) for key in table})
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def folds_text(folds: Mapping[str, int], documents: Sequence[Mapping[str, Any]]) -> str:
    """`step_time_folds.toml`."""
    lines = [FOLDS_HEAD, "[pair]"]
    lines += [f'"{pair}" = "{number}"' for pair, number in sorted(folds.items())]
    for number, document in enumerate(documents):
        for name, table in _tables(document):
            lines += ["", f"[fold.{number}.{name}]", *_entries(table, {})]
    return "\n".join(lines) + "\n"


def residuals_text(found: Observations, errors: Mapping[str, Floats]) -> str:
    """`step_time_residuals.toml`. errors: log predicted over measured by held-out `pair`, `model` and `accelerator`."""
    states = (
        ("measured", "pair", "held-out residuals of published measurements, by model and accelerator pair", 1.0),
        ("fitted", "model", "held-out residuals of published measurements, by model", 1.0),
        (
            "extrapolated",
            "accelerator",
            "held-out residuals of published measurements, by accelerator, widened by half: an assumption",
            WIDENED,
        ),
    )
    deployments = [found.setups[row].deployment for row in found.row]
    engines = np.array([deployment.profile.name for deployment in deployments])
    kinds = np.array(["moe" if deployment.model.is_moe else "dense" for deployment in deployments])
    lines = [RESIDUALS_HEAD]
    for state, held_out, basis, widened in states:
        lines += [f"[{state}]", f'basis = "{basis}"', "", f"[{state}.all]"]
        everything = np.ones(len(engines), bool)
        lines += _quantiles(found, errors[held_out], everything, widened, least=0)
        for engine, kind in sorted(set(zip(engines.tolist(), kinds.tolist(), strict=True))):
            chosen = (engines == engine) & (kinds == kind)
            own = _quantiles(found, errors[held_out], chosen, widened, least=FEW_ROWS)
            if own:
                lines += ["", f"[{state}.engine.{engine}.{kind}]", *own]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _quantiles(
    found: Observations, errors: Floats, chosen: NDArray[np.bool_], widened: float, *, least: int
) -> list[str]:
    is_ttft, is_open = np.char.startswith(found.metric, "ttft"), found.metric == "ttft_open"
    lines = []
    for name, part in (("step_time", ~is_ttft), ("ttft_closed", is_ttft & ~is_open), ("ttft_open", is_open)):
        rows = chosen & part
        if rows.sum() < max(least, 1):
            continue
        # A longer step is a lower throughput: its error is turned over.
        measured = np.where(found.metric == "throughput", errors, -errors)[rows]
        low, high = np.exp(np.quantile(measured, (0.1, 0.9)) * widened)
        lines.append(f"{name} = [{low:.3f}, {high:.3f}]  # {int(rows.sum())} rows")
    return lines


def _tables(document: Mapping[str, Any], name: str = "") -> list[tuple[str, dict[str, float]]]:
    """(dotted name, its own entries) of every table that has any."""
    own = {key: value for key, value in document.items() if not isinstance(value, Mapping)}
    found = [(name, own)] if own else []
    for key, value in document.items():
        if isinstance(value, Mapping):
            found += _tables(value, f"{name}.{key}" if name else key)
    return found


def _entries(table: Mapping[str, float], comments: Mapping[str, str]) -> list[str]:
    return [
        f"{key} = {_number(value)}" + (f"  # {comments[key]}" if comments.get(key) else "")
        for key, value in table.items()
    ]


def _number(value: float) -> str:
    """Four significant digits, always with a point."""
    text = f"{value:.4g}"
    return text if any(mark in text for mark in ".e") else f"{text}.0"
