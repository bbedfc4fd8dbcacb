"""What the simulator says of a measured run, with its interval, and with any factors on the constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from costmodel import Deployment, StepFactors, memory_plan
from costmodel.deployment.calibration import Calibration
from costmodel.steptime.coverage import Coverage, coverage
from planner.planning.calibration.matching import calibrated
from planner.planning.calibration.runs import Figure, MeasuredRun, NotKnown, measured_run, run_name
from planner.planning.measurements import Measurement
from planner.planning.schema.calibration import Calibration as Stated
from planner.planning.validation.runs import Prediction
from planner.planning.validation.unusable import Unusable

MOST_RUNS = 60
"""Of one file: more points of a sweep say little more."""
UNIT = {"ttft": "ms", "tpot": "ms", "e2e": "ms", "throughput": "tokens/s"}


@dataclass(frozen=True, slots=True)
class Predicted:
    """One figure of a run beside its prediction; low and high: the 80 % interval, None where none is known."""

    figure: Figure
    predicted: float
    low: float | None
    high: float | None

    @property
    def inside(self) -> bool | None:
        """Whether the measured figure lies in the interval; of one known by its bucket alone, whether it may."""
        if self.low is None or self.high is None:
            return None
        least, most = (self.figure.measured if each is None else each for each in (self.figure.low, self.figure.high))
        return self.low <= most and least <= self.high

    def as_dict(self) -> dict[str, Any]:
        figure = self.figure
        off = 100.0 * (self.predicted / figure.measured - 1.0)
        return {
            "metric": figure.metric,
            "statistic": figure.statistic,
            "unit": UNIT[figure.metric],
            "measured": figure.measured,
            "measured_low": figure.low,
            "measured_high": figure.high,
            "predicted": self.predicted,
            "low": self.low,
            "high": self.high,
            "inside": self.inside,
            "error_pct": max(-1e6, min(1e6, off)),
        }


def compare_measurement(
    measurement: Measurement, deployment: Deployment, stated: Iterable[Stated] = (), replicas: int = 1
) -> dict[str, Any]:
    """Every run of a file beside its prediction, as plain JSON. Never raises for what a file holds.

    stated: calibrations that may match. replicas: of the deployment, which the file counts together.

    runs: [{place, label, load, figures, reason}], reason where nothing can be predicted; engine: what the engine said
    of itself beside the memory plan; outside: how many figures lie outside their interval.
    """
    deployment = calibrated(deployment, stated)
    rows: list[dict[str, Any]] = []
    for place, run in enumerate(measurement.runs[:MOST_RUNS], 1):
        label = run_name(run, place)
        row: dict[str, Any] = {"place": place, "label": label, "load": None, "figures": [], "reason": ""}
        try:
            known = measured_run(run, measurement.format, deployment, label, replicas)
            row["load"] = load_words(known, replicas)
            row["figures"] = [each.as_dict() for each in predicted_figures(known)]
        except (NotKnown, Unusable) as problem:
            row["reason"] = _sentence(problem)
        rows.append(row)
    figures = [figure for row in rows for figure in row["figures"]]
    covered = coverage(deployment)
    return {
        "runs": rows,
        "left_out": max(0, len(measurement.runs) - MOST_RUNS),
        "replicas": replicas,
        "engine": engine_figures(measurement.server, deployment),
        "coverage": {"state": covered.state, "sentence": covered.sentence, "basis": covered.basis},
        "figures": len(figures),
        "outside": sum(figure["inside"] is False for figure in figures),
    }


def load_words(run: MeasuredRun, replicas: int = 1) -> str:
    """How the run's requests were sent."""
    load = run.setup.load
    lengths = f"{load.prompt_tokens:.0f} tokens in, {load.output_tokens:.0f} out"
    if load.cached_prompt_ratio >= 0.005:
        lengths += f", {100 * load.cached_prompt_ratio:.0f} % of prompts cached"
    if replicas > 1:
        lengths += f", over {replicas} replicas"
    if load.kind == "closed":
        return f"{load.in_flight} in flight, {lengths}"
    if load.kind == "burst":
        return f"{load.requests} at once, {lengths}"
    if load.steps:
        low, high = (pick(rps for _, rps in load.steps) for pick in (min, max))
        return f"{load.rate_rps:.4g} requests/s, moving between {low:.3g} and {high:.3g}, {lengths}"
    return f"{load.rate_rps:.4g} requests/s, {lengths}"


def predicted_figures(run: MeasuredRun) -> list[Predicted]:
    """The figures of a run with predictions and intervals by the deployment's own coverage. Raises Unusable."""
    middle = run.predict()
    covered = coverage(run.deployment)
    corners: tuple[Prediction, ...] = ()
    if run.is_open:  # queues stretch what steps do
        ratios = (covered.step_time_p10_ratio, covered.step_time_p90_ratio)
        corners = tuple(run.predict(ratio) for ratio in ratios)
    found = []
    for figure in run.figures:
        value = value_of(middle, figure)
        if value:
            low, high = interval_ratios(covered, figure, is_open=run.is_open)
            reached = [there for corner in corners if (there := value_of(corner, figure))]
            found.append(Predicted(figure, value, min([value * low, *reached]), max([value * high, *reached])))
    return found


def value_of(prediction: Prediction, figure: Figure) -> float | None:
    """The predicted figure of the same statistic; the mean stands for a median of E2E."""
    if not figure.is_middle:
        return prediction.percentiles_ms.get((figure.metric, figure.statistic))
    median = figure.statistic == "median"
    if figure.metric == "throughput":
        return prediction.throughput_tok_s
    if figure.metric == "e2e":
        return 1e3 * prediction.e2e_s
    if figure.metric == "tpot":
        return prediction.tpot_median_ms if median else prediction.tpot_ms
    return prediction.ttft_median_ms if median else prediction.ttft_ms


def interval_ratios(covered: Coverage, figure: Figure, *, is_open: bool) -> tuple[float, float]:
    """Measured over predicted, tenth and ninetieth percentile."""
    if figure.metric == "ttft":
        if is_open:
            return covered.ttft_p10_ratio, covered.ttft_p90_ratio
        return covered.closed_ttft_p10_ratio, covered.closed_ttft_p90_ratio
    low, high = covered.step_time_p10_ratio, covered.step_time_p90_ratio
    return (1 / high, 1 / low) if figure.metric == "throughput" else (low, high)


def with_factors(run: MeasuredRun, factors: StepFactors) -> MeasuredRun:
    """The run on a deployment with these factors; intervals mean nothing then."""
    own = Calibration(factors, (1.0, 1.0), (1.0, 1.0), (1.0, 1.0), 1, "")
    return run.on(replace(run.deployment, calibration=own))


def engine_figures(server: Mapping[str, object], deployment: Deployment) -> list[dict[str, Any]]:
    """What an engine said of its memory beside the memory plan of the deployment."""
    said, plan = server.get("kv_cache_tokens"), memory_plan(deployment)
    if not isinstance(said, int | float) or said <= 0 or not plan.fits:
        return []
    off = max(-1e6, min(1e6, 100.0 * (plan.kv_tokens / said - 1.0)))
    return [{"metric": "kv_cache_tokens", "measured": float(said), "predicted": plan.kv_tokens, "error_pct": off}]


def _sentence(problem: Exception) -> str:
    text = str(problem)
    return text if text.endswith(".") else f"Not predicted: {text}."
