"""What one replica can serve within all targets at once, found by simulation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.planning.search.replica import Estimate, Replica, estimate
from planner.planning.search.targets import Judged, Targets, judge, latencies
from planner.planning.traffic.load import Load, replica_stream
from simulator import EventLog
from simulator.stability import judge_stability

COUNTS = {50: 6_000, 90: 6_000, 95: 8_000, 99: 16_000}
MAX_COUNT = 40_000
PRECISION = 1.02
"""The rate that passes and the one that fails lie at most 2 % apart at the end of a search."""
SATURATION_TOLERANCE = 0.02
GROWTH = 1.25
MAX_DOUBLINGS = 40
MAX_BACKLOG_RATIO = 0.02
"""A finite trace counts as carried when at most this share of it is still waiting at its end."""
TOGETHER = 32
"""So many replicas that depend on each other are simulated at most; of more a part with its share of the load."""
OVERTIME_PS = 900 * 10**12
"""A run may last this much longer than its arrivals; what is not done then counts as missed."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One or more replicas at one rate: what each target came to, and whether the load is carried. settled: False where
    a target was still within the noise when enough had been simulated."""

    rate_rps: float
    judged: tuple[Judged, ...]
    stable: bool
    growth_rps: float
    logs: tuple[EventLog, ...]
    settled: bool = True

    @property
    def ok(self) -> bool:
        return self.stable and all(item.met for item in self.judged)

    def failure(self) -> str:
        """In words, the first thing that is wrong; "" when all is well."""
        if not self.stable:
            return f"the queue grows by {self.growth_rps:.3g} requests/s"
        missed = next((item for item in self.judged if not item.met), None)
        if missed is None:
            return ""
        if missed.predicted is None:
            return f"{missed.target.label} cannot be told from {missed.samples} values"
        return f"{missed.target.label} is {missed.shown} (target {missed.target.show(missed.target.limit)})"


@dataclass(frozen=True, slots=True, eq=False)
class Capacity:
    """Highest rate found that meets all targets (0 when none does), and the lowest found that does not."""

    rps: float
    failing: Run | None
    passing: Run | None
    estimate: Estimate


def first_rate_rps(start: Estimate) -> float:
    """The rate that a search tries first: the closed form's, less what queues and percentiles usually cost."""
    return min(0.8 * start.start_rps, 0.9 * start.saturation_rps)


def stream_count(targets: Targets, start: Estimate) -> int:
    """Requests per run: enough for the highest percentile, and for 20 times the requests in flight."""
    return int(min(MAX_COUNT, max(COUNTS[targets.top_percentile], 20 * start.concurrency)))


def run_at(replica: Replica, load: Load, targets: Targets, rate_rps: float, count: int, *, replicas: int = 1,
           sampled: int = 1) -> Run:  # fmt: skip
    """`sampled` of the lanes of `replicas` replicas while `rate_rps` arrive at all of them together."""
    logs = lane_logs(replica, load, rate_rps, count, replicas=replicas, lanes=range(sampled))
    return judged_run(replica, load, targets, rate_rps, logs, replicas=replicas)


def lane_logs(
    replica: Replica, load: Load, rate_rps: float, count: int, *, replicas: int, lanes: Iterable[int]
) -> list[EventLog]:
    """What these lanes of `replicas` replicas do with their share of the rate. The same lane has the same draws in
    every candidate and at every rate; of a drawn load there are as many lanes as are asked for. Of replicas that
    depend on each other a lane is the whole fleet, or TOGETHER of it with their share of the load."""
    if replica.together:
        return [_fleet_log(replica, load, rate_rps, count, replicas, lane) for lane in lanes]
    logs = []
    for lane in lanes:
        stream = replica_stream(load, rate_rps, count, replicas=replicas * replica.lanes, replica=lane)
        logs.append(replica.run(stream, until_ps=int(stream.arrival_ps[-1]) + OVERTIME_PS))
    return logs


def logged_lanes(replica: Replica, load: Load, replicas: int) -> int:
    """Lanes that one log of such a fleet holds."""
    if not replica.together:
        return 1
    return (replicas if load.is_trace else min(replicas, TOGETHER)) * replica.lanes


def _fleet_log(replica: Replica, load: Load, rate_rps: float, count: int, replicas: int, lane: int) -> EventLog:
    engines = logged_lanes(replica, load, replicas) // replica.lanes
    part = replace(load, gap_shape=load.gap_shape * replicas / engines)
    requests = min(MAX_COUNT, count * engines * replica.lanes // 2)
    own = 0 if load.is_trace else lane
    stream = replica_stream(part, rate_rps * engines / replicas, requests, replica=own)
    return replica.run_fleet(stream, engines, router=replica.router, until_ps=int(stream.arrival_ps[-1]) + OVERTIME_PS)


def judged_run(
    replica: Replica, load: Load, targets: Targets, rate_rps: float, logs: Sequence[EventLog], *, replicas: int
) -> Run:
    """The targets over the pooled requests of a sample of lanes.

    A rate beyond the closed form's saturation is unstable even where the run is too short for the queue to show it.
    """
    lanes = replicas * replica.lanes // logged_lanes(replica, load, replicas)
    pooled = latencies(logs, steady=not load.is_trace)
    if load.is_trace:
        growth_rps = sum(backlog_rps(log) for log in logs) * lanes / len(logs)
        stable = growth_rps <= MAX_BACKLOG_RATIO * rate_rps
    else:
        verdicts = [judge_stability(log, 0.1) for log in logs]
        growth_rps = float(np.mean([v.queue_growth_rps for v in verdicts])) * lanes
        stable = all(v.verdict != "unstable" for v in verdicts)
        beyond_rps = rate_rps - estimate(replica, load.mix, None).saturation_rps * replicas
        if beyond_rps > SATURATION_TOLERANCE * rate_rps:
            stable, growth_rps = False, max(growth_rps, beyond_rps)
    return Run(rate_rps, judge(targets, pooled), stable, growth_rps, tuple(logs))


def backlog_rps(log: EventLog) -> float:
    """Earlier requests still unadmitted when the last one arrives, per second of the run."""
    last = int(log.arrival_ps[-1])
    waiting = np.count_nonzero(((log.admitted_ps < 0) | (log.admitted_ps > last)) & (log.arrival_ps < last))
    return float(waiting / (last / 1e12)) if last else 0.0


def find_capacity(
    replica: Replica, load: Load, targets: Targets, *, near_rps: float | None = None, replicas: int = 1
) -> Capacity:
    """Bracket by growing or shrinking from the closed form (or `near_rps`), then bisect on the rate. replicas: of the
    fleet that is tried, whose rates are then those of all of them together; the capacity is of one.

    All runs use the same draws, so that a higher rate differs from a lower one only by its gaps.
    """
    start = estimate(replica, load.mix, targets.step_limit_ms)
    count = stream_count(targets, start)
    first = near_rps or first_rate_rps(start)
    sampled = replica.lanes if load.is_trace and not replica.together else 1

    def ran(rate_rps: float) -> Run:
        return run_at(replica, load, targets, rate_rps, count, replicas=replicas, sampled=sampled)

    passing: Run | None = None
    failing: Run | None = None
    rate, shrink = first, GROWTH
    for _ in range(MAX_DOUBLINGS):
        run = ran(rate)
        if run.ok:
            passing = run
            if failing is not None:
                break
            rate *= GROWTH
        else:
            failing = run
            if passing is not None:
                break
            rate /= shrink
            shrink = min(2.0, shrink * GROWTH)
            if rate < first / 1_000:
                return Capacity(0.0, failing, None, start)
    if passing is None or failing is None:
        return Capacity(passing.rate_rps / replicas if passing else 0.0, failing, passing, start)
    while failing.rate_rps / passing.rate_rps > PRECISION:
        run = ran((passing.rate_rps * failing.rate_rps) ** 0.5)
        if run.ok:
            passing = run
        else:
            failing = run
    return Capacity(passing.rate_rps / replicas, failing, passing, start)
