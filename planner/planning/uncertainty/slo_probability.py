"""How likely a fleet meets its targets, given how far predictions of step time and TTFT were off elsewhere.

Two errors are drawn: all steps last r times as long, and every TTFT is another factor off (what the residual of TTFT
has beyond that of the step). The recommended fleet is simulated at several r; others are judged by the closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from costmodel import Coverage
from planner.planning.search.candidates import Job
from planner.planning.search.capacity import Run, stream_count
from planner.planning.search.fleet import fleet_run
from planner.planning.search.intervals import Sized, rate_ratio
from planner.planning.search.replica import FloatArray
from planner.planning.traffic.lengths import normal_quantiles
from planner.planning.uncertainty.spread import Z90, Spread, beyond, from_p10_p90

PLACES = 2_001
BISECTIONS = 3
NEVER = math.log(10.0)
"""A margin that stands for a queue that grows: ten times the target."""
SLOWEST = 8.0


@dataclass(frozen=True, slots=True)
class Residuals:
    """Errors of the model: of step time, and what TTFT is off beyond that."""

    step: Spread
    ttft_beyond: Spread


def residuals(covered: Coverage) -> Residuals:
    """The spreads behind a coverage."""
    step = from_p10_p90(covered.step_time_p10_ratio, covered.step_time_p90_ratio)
    ttft = from_p10_p90(covered.ttft_p10_ratio, covered.ttft_p90_ratio)
    return Residuals(step, beyond(ttft, step))


@dataclass(frozen=True, slots=True)
class Margins:
    """How far a run is from its targets: logarithm of value over limit, the worst of TTFT and of the others."""

    ttft: float
    others: float


def margins_of(run: Run) -> Margins:
    """Above zero is a miss. A queue that grows, or a value that cannot be told, misses by ten times."""
    found = {"ttft": [-NEVER], "others": [-NEVER]}
    for item in run.judged:
        value, limit = item.predicted, item.target.limit
        if item.target.metric == "goodput":
            miss = NEVER if not value else math.log((1 - value + 1e-9) / (1 - limit))
        else:
            miss = NEVER if value is None or math.isinf(value) else math.log(max(value, 1e-9) / limit)
        found["ttft" if item.target.metric == "ttft" else "others"].append(min(NEVER, max(-NEVER, miss)))
    if not run.stable:
        return Margins(NEVER, NEVER)
    return Margins(max(found["ttft"]), max(found["others"]))


def simulated_probability(job: Job, size: Sized, serving: int) -> float:
    """Probability that `serving` replicas meet every target in the peak hour.

    The fleet is simulated with steps at the 10th, 50th and 90th percentile of the residual and where, between those,
    the targets begin to fail; margins are straight lines in between and beyond. At each step time the other factor of
    TTFT may take what the margin of TTFT leaves.
    """
    run_at = _fleet_at(job, size, serving)
    known = residuals(size.coverage)
    nodes = {z: margins_of(run_at(float(known.step.at(np.array([z]))[0]))) for z in (-Z90, 0.0, Z90)}
    for _ in range(BISECTIONS):
        ordered = sorted(nodes)
        low = max((z for z in ordered if _ok(nodes[z])), default=None)
        high = min((z for z in ordered if not _ok(nodes[z]) and (low is None or z > low)), default=None)
        if low is None or high is None:
            break
        middle = (low + high) / 2
        nodes[middle] = margins_of(run_at(float(known.step.at(np.array([middle]))[0])))
    return _met_ratio(nodes, known)


def _fleet_at(job: Job, size: Sized, serving: int) -> Callable[[float], Run]:
    candidate = size.candidate
    replica, capacity, fleet = candidate.replica, candidate.capacity, candidate.fleet
    assert replica is not None
    assert capacity is not None
    assert fleet is not None
    count = stream_count(job.targets, capacity.estimate)
    known = {1.0: fleet.run if serving == fleet.serving else fleet.one_less if serving == fleet.serving - 1 else None}
    if serving == fleet.serving:
        known |= {size.coverage.step_time_p10_ratio: size.fast_run, size.coverage.step_time_p90_ratio: size.slow_run}

    def run_at(step_ratio: float) -> Run:
        near = next((run for ratio, run in known.items() if run and abs(ratio / step_ratio - 1) < 1e-6), None)
        if near is not None:
            return near
        return fleet_run(replica.slowed(step_ratio), job.load, job.targets, serving, count, job.load.peak_rps)

    return run_at


def _ok(margins: Margins) -> bool:
    return margins.ttft <= 0 and margins.others <= 0


def _met_ratio(nodes: dict[float, Margins], known: Residuals) -> float:
    places = sorted(nodes)
    z = normal_quantiles(PLACES)
    ttft = _lines(z, places, [nodes[place].ttft for place in places])
    others = _lines(z, places, [nodes[place].others for place in places])
    room = np.array([known.ttft_beyond.below(math.exp(-margin)) for margin in ttft])
    return float(np.mean(np.where(others <= 0, room, 0.0)))


def _lines(z: FloatArray, places: list[float], values: list[float]) -> FloatArray:
    """Straight lines through the nodes, the outer ones carried on; a margin never falls with slower steps."""
    rising = np.maximum.accumulate(np.array(values))
    inside = np.interp(z, places, rising)
    first = (rising[1] - rising[0]) / (places[1] - places[0])
    last = (rising[-1] - rising[-2]) / (places[-1] - places[-2])
    left = np.where(z < places[0], first * (z - places[0]), 0.0)
    right = np.where(z > places[-1], last * (z - places[-1]), 0.0)
    return np.asarray(inside + left + right)


def quick_probability(job: Job, size: Sized) -> float:
    """The same by the closed form: the slowest steps at which a replica still carries its share of the peak, times
    the room that the predicted TTFT leaves."""
    replica, capacity = size.candidate.replica, size.candidate.capacity
    assert replica is not None
    assert capacity is not None
    known = residuals(size.coverage)
    needed = job.load.peak_rps / size.serving / size.capacity_rps

    def carries(step_ratio: float) -> bool:
        return rate_ratio(job, replica, step_ratio) >= needed

    low, high = 1.0, SLOWEST
    if not carries(low):
        high = low
    while high / low > 1.005:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if carries(middle) else (low, middle)
    assert size.candidate.fleet is not None
    ttft = margins_of(size.candidate.fleet.run).ttft
    return known.step.below(low) * known.ttft_beyond.below(math.exp(-ttft))
