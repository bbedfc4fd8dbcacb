"""How many replicas the peak hour needs: found from one replica's capacity, confirmed by simulating the fleet."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.planning.search.capacity import Capacity, Run, judged_run, lane_logs, run_at, stream_count
from planner.planning.search.replica import Replica, estimate
from planner.planning.search.stopping import undecided
from planner.planning.search.targets import Targets
from planner.planning.traffic.load import Load
from simulator import EventLog

SAMPLED_REPLICAS = 3
SAMPLED_MOST = 12
"""Lanes of a drawn load: simulated at first, and at most where a target lies within the noise of what was seen."""
WHOLE_MOST = 3
"""The same of whole fleets, where replicas depend on each other."""
MAX_REPLICAS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """The fewest serving replicas that meet all targets in the peak hour. one_less: the run with one replica fewer,
    which fails; None for a single replica. in_turn: what it takes when requests are dealt in turn, where a router was
    chosen. sure_ratio: the probability for which replicas were added; one fewer then meets the targets, but less
    likely."""

    serving: int
    run: Run
    one_less: Run | None
    in_turn: int | None = None
    sure_ratio: float | None = None


def fleet_run(replica: Replica, load: Load, targets: Targets, replicas: int, count: int, rate_rps: float) -> Run:
    """The fleet at a rate, requests dealt round robin. All lanes of a trace; a sample of those of a drawn load, as they
    do not differ but by chance."""
    lanes = replicas * replica.lanes
    sampled = lanes if load.is_trace else min(lanes, SAMPLED_REPLICAS)
    if replica.together:
        sampled = 1
    return run_at(replica, load, targets, rate_rps, count, replicas=replicas, sampled=sampled)


def settled_run(replica: Replica, load: Load, targets: Targets, replicas: int, count: int, rate_rps: float) -> Run:
    """`fleet_run` with more lanes until every target is told from what is predicted, or SAMPLED_MOST (WHOLE_MOST) were
    simulated."""
    if load.is_trace:
        return fleet_run(replica, load, targets, replicas, count, rate_rps)
    logs: list[EventLog] = []
    first = min(replicas * replica.lanes, SAMPLED_REPLICAS) if not replica.together else 1
    more, most = first, SAMPLED_MOST if not replica.together else WHOLE_MOST
    while True:
        lanes = range(len(logs), len(logs) + more)
        logs += lane_logs(replica, load, rate_rps, count, replicas=replicas, lanes=lanes)
        run = judged_run(replica, load, targets, rate_rps, logs, replicas=replicas)
        if not run.stable or not undecided(targets, logs):
            return run
        more = min(first if replica.together else SAMPLED_REPLICAS, most - len(logs))
        if more <= 0:
            return replace(run, settled=False)


def find_fleet(replica: Replica, load: Load, targets: Targets, capacity: Capacity) -> Fleet | None:
    """The smallest fleet for the peak hour; None beyond MAX_REPLICAS, or the requests of the trace.

    A replica that meets the targets alone at no rate (bursts hit it however rare they are) may do so in a fleet, over
    which bursts are dealt; the search then starts from the closed form.
    """
    count = stream_count(targets, capacity.estimate)
    most = (
        MAX_REPLICAS
        if load.trace_arrival_ps is None
        else min(MAX_REPLICAS, len(load.trace_arrival_ps) // replica.lanes)
    )
    runs: dict[int, Run] = {}

    def ok(replicas: int) -> bool:
        if replicas not in runs:
            runs[replicas] = settled_run(replica, load, targets, replicas, count, load.peak_rps)
        return runs[replicas].ok

    enough = min(most, max(1, math.ceil(load.peak_rps / (capacity.rps or capacity.estimate.start_rps))))
    stride, too_few = max(1, enough // 20), 0
    while enough <= most and not ok(enough):
        too_few, enough = enough, enough + stride
        stride *= 2
    if enough > most:
        return None
    stride = max(1, enough // 20)
    while enough - too_few > 1:
        candidate = max(too_few + 1, enough - stride)
        if ok(candidate):
            enough = candidate
            stride *= 2
        else:
            too_few = candidate
            stride = max(1, (enough - too_few) // 2)
    return Fleet(enough, runs[enough], runs.get(enough - 1))


def one_more(replica: Replica, load: Load, targets: Targets, fleet: Fleet, failed: Run) -> Fleet:
    """The fleet with a replica more, since it failed in a run of the whole."""
    count = stream_count(targets, estimate(replica, load.mix, targets.step_limit_ms))
    run = settled_run(replica, load, targets, fleet.serving + 1, count, load.peak_rps)
    return Fleet(fleet.serving + 1, run, failed, fleet.in_turn, fleet.sure_ratio)
