"""Which replica a request goes to: what a router that looks at queues or prefixes saves against dealing in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from planner.planning.search.capacity import Capacity, Run, find_capacity, stream_count
from planner.planning.search.confirmation import confirmed_hour
from planner.planning.search.fleet import Fleet, one_more, settled_run
from planner.planning.search.replica import Replica
from planner.planning.search.targets import Targets
from planner.planning.traffic.load import Load
from simulator.fleet import Router

Asked = Literal["round_robin", "least_requests", "prefix_affine", "kv_aware", "auto"]
BY_PREFIX: tuple[Router, ...] = ("prefix_affine", "kv_aware")


def routers_asked(asked: Asked, load: Load) -> tuple[Router, ...]:
    """Routers beside dealing in turn, the simplest first. `auto` looks at prefixes only where prompts share any."""
    if asked == "auto":
        return ("least_requests", *(BY_PREFIX if load.mix.shares_prefixes else ()))
    return () if asked == "round_robin" else (asked,)


def routed(
    asked: Asked, replica: Replica, load: Load, targets: Targets, capacity: Capacity, fleet: Fleet
) -> tuple[Replica, Capacity, Fleet]:
    """The fleet with the router that was asked for, as small as it then may be; of `auto` the one with the fewest
    replicas, where these are fewer than dealing in turn takes, which is simpler.

    Such fleets are simulated whole, replicas together: downwards from what dealing in turn takes, upwards to twice that
    where a router asked for by name does worse.
    """
    named, most = asked != "auto", fleet.serving
    best: tuple[Replica, Fleet] | None = None
    for router in routers_asked(asked, load) if most > 1 else ():
        other = replace(replica, router=router)
        start = most if named else (best[1].serving if best else most) - 1
        count = stream_count(targets, capacity.estimate)
        found = _smallest(other, load, targets, count, start, 2 * most if named else start)
        if found is not None and not named:
            found = _confirmed(other, load, targets, found, start)
        if found is not None:
            best = other, replace(found, in_turn=most)
    if best is None:
        return replica, capacity, fleet
    other, smaller = best
    measured = find_capacity(other, load, targets, near_rps=load.peak_rps, replicas=smaller.serving)
    return other, measured, smaller


def _confirmed(replica: Replica, load: Load, targets: Targets, fleet: Fleet, most: int) -> Fleet | None:
    """The fleet, or one of a few replicas more, that also meets the targets with the draws that confirm plans: routers
    are compared by what they save in the end."""
    while not (hour := confirmed_hour(replica, load, targets, fleet.serving, replica.router)).run.ok:
        if fleet.serving >= most:
            return None
        fleet = one_more(replica, load, targets, fleet, hour.run)
    return fleet


def _smallest(replica: Replica, load: Load, targets: Targets, count: int, start: int, most: int) -> Fleet | None:
    """The smallest fleet that meets the targets, looked for from `start` replicas; None where `most` do not."""

    def run_of(serving: int) -> Run:
        return settled_run(replica, load, targets, serving, count, load.peak_rps)

    if start < 1:
        return None
    serving, run = start, run_of(start)
    failed: Run | None = None
    while not run.ok:
        if serving >= most:
            return None
        failed, serving = run, serving + 1
        run = run_of(serving)
    while failed is None and serving > 1:
        fewer = run_of(serving - 1)
        if not fewer.ok:
            failed = fewer
            break
        serving, run = serving - 1, fewer
    return Fleet(serving, run, failed)
