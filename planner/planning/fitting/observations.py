"""Measured rows as arrays: what was measured, and what any constants predict for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from costmodel.steptime import StepConstants, StepShape, constant_keys, resolve_constants, step_shape
from costmodel.steptime.physics import (
    CONTEXT_PARTS,
    PAIR_PARTS,
    PREFILL_PARTS,
    PREFILL_STEP_PARTS,
    SEAT_PARTS,
    TOKEN_PARTS,
    Load,
    total_s,
)
from planner.planning.fitting.priors import values_of
from planner.planning.fitting.responses import TIMES, OpenResponse, Response
from planner.planning.validation.compare import Metric, measured_figures
from planner.planning.validation.setups import RowSetup
from planner.planning.validation.troubled import metric_trouble

Floats = NDArray[np.float64]
TIME_OF: dict[str, str] = {
    "throughput": "makespan",
    "tpot": "tpot",
    "ttft_low": "ttft",
    "ttft_closed": "ttft",
    "ttft_open": "ttft",
}
MOST_ELASTIC = 3.0
"""An open loop whose figure would change more than so many times as much as step times is too near to saturation: what
is straight about the constants of the moment says nothing about others. It is predicted, but not fitted."""


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """Rows and their counted figures.

    setups      one per row
    row         int64 [n], the row of each figure
    metric      [n], its name
    measured    float64 [n], tokens/s or ms; those of closed loops and bursts first, then those of open loops
    The rest are the rows' responses and shapes, laid end to end by `observations`.
    """

    setups: tuple[RowSetup, ...]
    row: NDArray[np.int64]
    metric: NDArray[np.str_]
    measured: Floats
    _knot_row: NDArray[np.int64]
    _knots: Floats
    _per_knot: Floats
    _per_part: Floats
    _first_knot: NDArray[np.int64]
    _tokens: Floats
    _served: NDArray[np.bool_]
    _time: NDArray[np.int64]
    _ratio: Floats
    _prompt_tokens: Floats
    _shape: StepShape
    _shape_at_knots: StepShape
    _keys: tuple[Any, ...]
    _key_of_row: NDArray[np.int64]
    _open_log_ms: Floats
    _open_slopes: Floats
    _about: Floats

    def predicted(self, document: dict[str, Any]) -> Floats:
        """float64 [n], what the constants of a document give, in the units of `measured`."""
        closed = len(self._time)
        constants = self._constants(document)
        times = self._times_s(constants)
        latency_ms = times * 1e3
        outside_s = constants.request_s + constants.request_token_s * self._prompt_tokens
        latency_ms[:, TIMES.index("ttft")] += np.where(self._served, np.asarray(outside_s) * 1e3, 0.0)
        rows = self.row[:closed]
        throughput = self._tokens[rows] / times[rows, TIMES.index("makespan")]
        found = np.where(self.metric[:closed] == "throughput", throughput, latency_ms[rows, self._time]) * self._ratio
        moved = self._open_slopes @ np.log(values_of(document) / self._about)
        both: Floats = np.concatenate([found, np.exp(self._open_log_ms + moved)])
        return both

    def log_errors(self, document: dict[str, Any]) -> Floats:
        """float64 [n], logarithm of predicted over measured."""
        found: Floats = np.log(self.predicted(document) / self.measured)
        return found

    def groups(self, of: str) -> NDArray[np.str_]:
        """[n], the group of each figure: `pair` (model and accelerator), `model`, `accelerator` or `setting`."""
        names = [_group(self.setups[row], of) for row in self.row]
        return np.array(names)

    def _constants(self, document: dict[str, Any]) -> StepConstants:
        resolved = [resolve_constants(key, document) for key in self._keys]
        columns = {
            field.name: np.array([getattr(one, field.name) for one in resolved])[self._key_of_row]
            for field in fields(StepConstants)
        }
        return StepConstants(**columns)

    def _times_s(self, constants: StepConstants) -> Floats:
        """float64 [rows, 3], each of TIMES."""
        at_knots = _taken(constants, self._knot_row)
        step_s = total_s(TOKEN_PARTS, self._shape_at_knots, at_knots, Load(tokens=self._knots))
        nothing = np.zeros(len(self._tokens))
        loads = (
            (SEAT_PARTS, Load(tokens=nothing, seats=1.0)),
            (CONTEXT_PARTS, Load(tokens=nothing, context=1.0)),
            (PAIR_PARTS, Load(tokens=nothing, pairs=1.0)),
            (PREFILL_PARTS, Load(tokens=nothing, prefills=1.0)),
            (PREFILL_STEP_PARTS, Load(tokens=nothing, prefill_steps=1.0)),
        )
        part_s = np.stack([total_s(parts, self._shape, constants, load) for parts, load in loads], axis=1)
        by_knots = np.add.reduceat(self._per_knot * np.asarray(step_s)[:, None], self._first_knot, axis=0)
        times: Floats = by_knots + np.einsum("rp,rpt->rt", part_s, self._per_part)
        return times


def observations(rows: Iterable[tuple[RowSetup, Response | OpenResponse]]) -> Observations:
    """Arrays of rows with a response. Figures that the rules of `troubled.py` leave out are not among them."""
    known = list(rows)
    closed = [(setup, one) for setup, one in known if isinstance(one, Response)]
    opened = [(setup, one) for setup, one in known if isinstance(one, OpenResponse)]
    setups = [setup for setup, _ in closed] + [setup for setup, _ in opened]
    responses = [one for _, one in closed]
    figures = [figure for number, setup in enumerate(setups) for figure in _figures(number, setup)]
    figures = [
        figure for figure in figures if figure[0] < len(closed) or _is_straight(opened[figure[0] - len(closed)][1])
    ]
    row = np.array([figure[0] for figure in figures])
    is_open = row >= len(closed)
    time = np.array([TIMES.index(TIME_OF[figure[1]]) for figure in figures])[~is_open]
    is_median = np.array([figure[3] for figure in figures])[~is_open]
    ratio = np.stack([response.median_ratio for response in responses])[row[~is_open], time]
    counts = np.array([len(response.knots) for response in responses])
    knot_row = np.repeat(np.arange(len(closed)), counts)
    shape = _stacked([step_shape(setup.deployment) for setup, _ in closed])
    keys = [constant_keys(setup.deployment) for setup, _ in closed]
    distinct = tuple(dict.fromkeys(keys))
    open_figures = [(opened[figure[0] - len(closed)][1], figure[1]) for figure in figures if figure[0] >= len(closed)]
    return Observations(
        setups=tuple(setups),
        row=row,
        metric=np.array([figure[1] for figure in figures]),
        measured=np.array([figure[2] for figure in figures]),
        _knot_row=knot_row,
        _knots=np.concatenate([response.knots for response in responses]).astype(np.float64),
        _per_knot=np.concatenate([response.per_knot for response in responses]),
        _per_part=np.stack([response.per_part for response in responses]),
        _first_knot=np.concatenate([[0], np.cumsum(counts)[:-1]]),
        _tokens=np.array([float(response.tokens) for response in responses]),
        _served=np.array([setup.load.served for setup, _ in closed]),
        _time=time,
        _ratio=np.where(is_median, ratio, 1.0),
        _prompt_tokens=np.array([response.prompt_tokens for response in responses]),
        _shape=shape,
        _shape_at_knots=_taken(shape, knot_row),  # the same for every document: taking it anew is half of a prediction
        _keys=distinct,
        _key_of_row=np.array([distinct.index(key) for key in keys]),
        _open_log_ms=np.log([one.tpot_ms if metric == "tpot" else one.ttft_ms for one, metric in open_figures]),
        _open_slopes=np.stack([one.slopes[int(metric == "tpot")] for one, metric in open_figures]),
        _about=opened[0][1].about,
    )


def _is_straight(found: OpenResponse) -> bool:
    """Whether an open loop is far enough from saturation to be fitted."""
    return float(np.abs(found.slopes.sum(axis=1)).max()) <= MOST_ELASTIC


def _figures(number: int, setup: RowSetup) -> list[tuple[int, Metric, float, bool]]:
    """(row, metric, measured, whether it is a median) of the figures that are fitted."""
    row, found = setup.row, []
    for metric, measured in measured_figures(row).items():
        defined = metric != "tpot" or setup.load.output_tokens > 1
        if metric in TIME_OF and defined and not metric_trouble(row, metric):
            is_median = row.tpot_is_median if metric == "tpot" else metric != "throughput" and row.ttft_is_median
            found.append((number, metric, measured, is_median))
    return found


def _group(setup: RowSetup, of: str) -> str:
    deployment = setup.deployment
    model, accelerator = deployment.model.id, deployment.accelerator.id
    if of == "setting":
        return f"{model} | {accelerator} | {deployment.profile.name}"
    return {"pair": f"{model} | {accelerator}", "model": model, "accelerator": accelerator}[of]


def balanced_weights(found: Observations, power: float) -> Floats:
    """float64 [n], mean 1: a setting's figures of one metric together weigh as their number to the power of
    1 - `power`."""
    names = [f"{metric} | {setting}" for metric, setting in zip(found.metric, found.groups("setting"), strict=True)]
    counts = Counter(names)
    weights = np.array([counts[name] ** -power for name in names])
    balanced: Floats = weights / weights.mean()
    return balanced


def _stacked(shapes: Sequence[StepShape]) -> StepShape:
    return StepShape(
        **{field.name: np.array([float(getattr(one, field.name)) for one in shapes]) for field in fields(StepShape)}
    )


def _taken(columns: Any, rows: NDArray[np.int64]) -> Any:
    """The same dataclass of columns, at those rows."""
    return type(columns)(**{field.name: getattr(columns, field.name)[rows] for field in fields(columns)})
