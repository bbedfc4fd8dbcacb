"""Predictions beside measurements: one comparison per row and metric, or the reason that there is none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from costmodel import Deployment
from costmodel.steptime import held_out_constants
from costmodel.steptime.coverage import coverage
from planner.planning.validation.rows import MeasuredRow
from planner.planning.validation.runs import Prediction, predict
from planner.planning.validation.setups import OPEN_LOADS, RowSetup, row_setup
from planner.planning.validation.silicon import MeasuredSteps
from planner.planning.validation.troubled import metric_trouble, row_trouble
from planner.planning.validation.unusable import Unusable

Metric = Literal["throughput", "tpot", "ttft_low", "ttft_closed", "ttft_open", "e2e", "kvcache", "requests"]
METRICS: tuple[Metric, ...] = (
    "throughput",
    "tpot",
    "ttft_low",
    "ttft_closed",
    "ttft_open",
    "e2e",
    "kvcache",
    "requests",
)
DIMENSIONS = ("gpu", "model", "engine", "dtype", "parallelism", "load", "source")
FEW_IN_FLIGHT = 4
MISSED_SHARE = 0.2
"""Of the measurements, those that the intervals are meant to miss."""
FULL_LOADS = frozenset({"offline-max", "batch_all_at_once", "static_batch"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """Predicted over measured for one metric of one row; `interval`: both ends of the 80 % interval over measured."""

    metric: Metric
    row_id: str
    ratio: float
    interval: tuple[float, float] | None
    groups: dict[str, str]

    @property
    def covered(self) -> bool | None:
        """Whether the measurement lay within the interval."""
        return None if self.interval is None else self.interval[0] <= 1.0 <= self.interval[1]

    @property
    def interval_score(self) -> float | None:
        """Width of the interval in logarithms, and ten times (2 / 0.2) what the measurement lies beyond it: smaller is
        better, and wide intervals do not win (Gneiting and Raftery, 2007, doi 10.1198/016214506000001437)."""
        if self.interval is None:
            return None
        low, high = (math.log(end) for end in self.interval)
        return high - low + 2.0 / MISSED_SHARE * (max(low, 0.0) + max(-high, 0.0))


@dataclass(frozen=True, slots=True)
class Missing:
    """A measured figure without a counted prediction."""

    metric: Metric
    row_id: str
    reason: str


RowResult = list[Comparison | Missing]


def compare_throughput_row(
    row: MeasuredRow, *, cross_validated: bool = False, silicon: MeasuredSteps | None = None
) -> RowResult:
    """A row of a throughput table."""
    if not row.throughput_tok_s:
        return [Missing("throughput", row.id, "throughput not stated")]
    return _compare(row, {"throughput": row.throughput_tok_s}, cross_validated, silicon)


def compare_serving_row(
    row: MeasuredRow, *, cross_validated: bool = False, silicon: MeasuredSteps | None = None
) -> RowResult:
    """A row of a serving table: TPOT, TTFT by kind of load, and end-to-end time, as far as given."""
    measured = serving_figures(row)
    if not measured:
        return [Missing("tpot", row.id, "no latency stated")]
    return _compare(row, measured, cross_validated, silicon)


def measured_figures(row: MeasuredRow) -> dict[Metric, float]:
    """What a row of any table gives: tokens/s of a server at its most, else latencies."""
    if row.load_type in FULL_LOADS:
        return {"throughput": row.throughput_tok_s} if row.throughput_tok_s else {}
    return serving_figures(row)


def serving_figures(row: MeasuredRow) -> dict[Metric, float]:
    """The latencies that a row states: TPOT and TTFT in ms, E2E in s."""
    measured: dict[Metric, float] = {}
    if row.tpot_ms:
        measured["tpot"] = row.tpot_ms
    if row.ttft_ms:
        measured[_ttft_metric(row)] = row.ttft_ms
    if row.e2e_s:
        measured["e2e"] = row.e2e_s
    return measured


def _ttft_metric(row: MeasuredRow) -> Metric:
    if row.load_type == "request_rate":
        return "ttft_open"
    return "ttft_low" if row.load_value is not None and row.load_value <= FEW_IN_FLIGHT else "ttft_closed"


def _compare(
    row: MeasuredRow, measured: dict[Metric, float], cross_validated: bool, silicon: MeasuredSteps | None
) -> RowResult:
    """Never raises: what cannot be read, is not counted or does not run comes back as Missing with its reason.

    Intervals are those of our own model; the measured source has none.
    """
    reason = not_counted(row)
    if reason:
        return [Missing(metric, row.id, reason) for metric in measured]
    try:
        setup = row_setup(row)
        constants = held_out_constants(setup.deployment) if cross_validated else None
        prediction = predict(setup, constants, silicon=silicon)
        corners = () if silicon else _corners(setup, constants)
    except Unusable as problem:
        return [Missing(metric, row.id, str(problem)) for metric in measured]
    except Exception as problem:  # one odd row must not end a run over thousands
        return [Missing(metric, row.id, f"failed: {type(problem).__name__}") for metric in measured]
    found = [_one(setup, metric, value, prediction, corners) for metric, value in measured.items()]
    return [replace(item, interval=None) if silicon and isinstance(item, Comparison) else item for item in found]


def _corners(setup: RowSetup, constants: dict[str, Any] | None) -> tuple[Prediction, ...]:
    """An open loop again with steps as fast and as slow as the residuals allow: queues stretch what steps do."""
    if setup.load.kind not in OPEN_LOADS:
        return ()
    known = coverage(setup.deployment)
    ratios = (known.step_time_p10_ratio, known.step_time_p90_ratio)
    return tuple(predict(setup, constants, step_ratio=ratio) for ratio in ratios)


def not_counted(row: MeasuredRow) -> str | None:
    """Why no figure of the row is counted, or None."""
    return "trust bronze" if row.trust == "bronze" else row_trouble(row)


def _one(
    setup: RowSetup, metric: Metric, measured: float, prediction: Prediction, corners: tuple[Prediction, ...]
) -> Comparison | Missing:
    row = setup.row
    reason = metric_trouble(row, metric)
    if reason:
        return Missing(metric, row.id, reason)
    predicted = _predicted(row, metric, prediction)
    if not predicted:
        return Missing(metric, row.id, "one output token: TPOT undefined")
    low, high = _interval(setup, metric, predicted, [_predicted(row, metric, corner) for corner in corners])
    return Comparison(
        metric=metric,
        row_id=row.id,
        ratio=predicted / measured,
        interval=(low / measured, high / measured),
        groups=row_groups(setup),
    )


def _predicted(row: MeasuredRow, metric: Metric, prediction: Prediction) -> float | None:
    """The predicted figure of the same statistic as the measured one."""
    if metric == "throughput":
        return prediction.throughput_tok_s
    if metric == "e2e":
        return prediction.e2e_s
    if metric == "tpot":
        return prediction.tpot_median_ms if row.tpot_is_median else prediction.tpot_ms
    return prediction.ttft_median_ms if row.ttft_is_median else prediction.ttft_ms


def _interval(
    setup: RowSetup, metric: Metric, predicted: float, corners: Sequence[float | None]
) -> tuple[float, float]:
    """The 80 % interval: the prediction times the residuals' quantiles, and as wide as the corners of an open loop."""
    known = coverage(setup.deployment)
    low, high = known.step_time_p10_ratio, known.step_time_p90_ratio
    if metric == "throughput":
        low, high = 1 / high, 1 / low
    elif metric == "ttft_open":
        low, high = known.ttft_p10_ratio, known.ttft_p90_ratio
    elif metric.startswith("ttft"):
        low, high = known.closed_ttft_p10_ratio, known.closed_ttft_p90_ratio
    reached = [corner for corner in corners if corner]
    return min([predicted * low, *reached]), max([predicted * high, *reached])


def row_groups(setup: RowSetup) -> dict[str, str]:
    """The row's place in every breakdown."""
    return {**deployment_groups(setup.deployment), "load": _load_group(setup), "source": setup.row.source}


def deployment_groups(deployment: Deployment) -> dict[str, str]:
    """The groups that follow from the deployment alone."""
    spread = deployment.parallelism
    axes = (("tp", spread.tp), ("pp", spread.pp), ("dp", spread.dp), ("ep", spread.ep))
    shape = "x".join(f"{name}{size}" for name, size in axes if size > 1)
    return {
        "gpu": deployment.accelerator.id,
        "model": deployment.model.id,
        "engine": deployment.profile.name,
        "dtype": deployment.weight_dtype,
        "parallelism": shape or "single",
    }


def _load_group(setup: RowSetup) -> str:
    load = setup.load
    if load.kind != "closed":
        return {"burst": "all at once", "static": "static batch"}.get(load.kind, "open loop")
    for limit in (FEW_IN_FLIGHT, 16, 64, 256):
        if load.in_flight <= limit:
            return f"up to {limit} in flight"
    return "above 256 in flight"
