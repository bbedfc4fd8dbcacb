"""The chosen fleet simulated whole behind its router: the peak hour, and the busiest day of the week."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from planner.planning.search.capacity import MAX_BACKLOG_RATIO, OVERTIME_PS, TOGETHER, Run, backlog_rps
from planner.planning.search.replica import Replica
from planner.planning.search.targets import Targets, judge, latencies
from planner.planning.traffic.load import Load, day_stream, replica_stream
from simulator import EventLog, Workload
from simulator.fleet import Router
from simulator.stability import judge_stability

HOUR_LEAST, HOUR_MOST = 4_000, 150_000
DAY_MOST = 120_000
"""Requests that are simulated at most; of a larger fleet a share of its replicas with their share of the load."""
REPLICAS_MOST = 256
HOURS = 24
OWN_DRAWS = 1_000_000
"""Lane whose draws no sizing has used."""


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A fleet behind one router. replicas: of `serving` those that were simulated, with their share of the load."""

    router: Router
    serving: int
    replicas: int
    run: Run

    @property
    def log(self) -> EventLog:
        return self.run.logs[0]


@dataclass(frozen=True, slots=True, eq=False)
class Day:
    """The busiest day. hour_ratio: share of each of its hours that was simulated; first_hour: of the week."""

    whole: Whole
    first_hour: int
    hour_ratio: float
    rates_rps: tuple[float, ...]


def confirmed_hour(replica: Replica, load: Load, targets: Targets, serving: int, router: Router) -> Whole:
    """The peak hour, of a drawn load with draws of its own. A trace is replayed whole; what is rare comes for longer
    than an hour until it is enough to be judged."""
    asked = load.peak_rps * 3600
    replicas = serving if load.is_trace else _share(replica, serving, asked)
    rate_rps = load.peak_rps * replicas / serving
    count = int(min(HOUR_MOST, max(HOUR_LEAST, rate_rps * 3600)))
    part = _part(load, serving, replicas)
    stream = replica_stream(part, rate_rps, count, replica=0 if load.is_trace else OWN_DRAWS)
    return _whole(replica, load, targets, stream, router, serving, replicas, rate_rps, steady=not load.is_trace)


def confirmed_day(replica: Replica, load: Load, targets: Targets, serving: int, router: Router) -> Day | None:
    """The day of the week with the most requests, from an empty fleet at midnight; None for too few to be judged."""
    week = load.week_rps.reshape(-1, HOURS)
    day = int(np.argmax(week.sum(axis=1)))
    asked = float(week[day].sum()) * 3600
    if asked < HOUR_LEAST:
        return None
    replicas = _share(replica, serving, asked * HOUR_MOST / DAY_MOST)
    rates = week[day] * replicas / serving
    ratio = min(1.0, DAY_MOST / float(rates.sum() * 3600))
    stream = day_stream(_part(load, serving, replicas), rates, 3600 * ratio, OWN_DRAWS)
    whole = _whole(replica, load, targets, stream, router, serving, replicas, float(rates.max()), steady=False)
    return Day(whole, day * HOURS, ratio, tuple(rates.tolist()))


def _share(replica: Replica, serving: int, requests: float) -> int:
    """Replicas to simulate so that HOUR_MOST requests are not exceeded, but TOGETHER where replicas depend on each
    other, as fewer would be another fleet."""
    least = TOGETHER if replica.together else 1
    return int(min(serving, REPLICAS_MOST, max(least, serving * HOUR_MOST // max(1.0, requests))))


def _part(load: Load, serving: int, replicas: int) -> Load:
    """The load that some of the replicas get when requests are dealt in turn: sums of gamma gaps are gamma gaps."""
    return replace(load, gap_shape=load.gap_shape * serving / replicas)


def _whole(
    replica: Replica, load: Load, targets: Targets, stream: Workload, router: Router, serving: int, replicas: int,
    rate_rps: float, *, steady: bool,
) -> Whole:  # fmt: skip
    log = replica.run_fleet(stream, replicas, router=router, until_ps=int(stream.arrival_ps[-1]) + OVERTIME_PS)
    if steady:
        verdict = judge_stability(log, 0.1)
        stable, growth_rps = verdict.verdict != "unstable", verdict.queue_growth_rps
    else:
        growth_rps = backlog_rps(log)
        stable = growth_rps <= MAX_BACKLOG_RATIO * rate_rps
    run = Run(rate_rps, judge(targets, latencies([log], steady=steady)), stable, growth_rps, (log,))
    return Whole(router, serving, replicas, run)
