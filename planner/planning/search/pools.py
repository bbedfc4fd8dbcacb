"""How many prefill and how many decode engines the peak hour needs: bracketed by the closed form, simulated whole."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.planning.search.apart import ApartRates, apart_rates
from planner.planning.search.capacity import Capacity, Run, find_capacity, stream_count
from planner.planning.search.fleet import MAX_REPLICAS, Fleet, settled_run
from planner.planning.search.replica import Replica, estimate
from planner.planning.search.targets import Targets
from planner.planning.traffic.load import Load

TRIED_BEYOND = 3.0
"""Fleets of so many times the engines that the closed form asks for are looked at; what needs more is out."""
MOST_TRACED = 2_048


def pool_rates(replica: Replica, load: Load, targets: Targets) -> ApartRates:
    """What one engine of each pool serves at most within the TPOT target."""
    return apart_rates(replica.config, replica.step_time, load.mix, targets.step_limit_ms)


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """What was found. replica: with the share that its pools have; capacity: per engine; tried: the most engines that
    were looked at."""

    replica: Replica
    capacity: Capacity
    fleet: Fleet | None
    tried: int


def find_pools(replica: Replica, load: Load, targets: Targets) -> Pools:
    """The smallest fleet of prefill and decode engines that meets all targets in the peak hour.

    At each size the split is the closed form's; where that fails, those with an engine more in either pool are tried,
    first in the one whose target was missed (TTFT: prompts, else outputs).
    """
    assert replica.apart is not None
    rates = pool_rates(replica, load, targets)
    start = estimate(replica, load.mix, targets.step_limit_ms)
    count = stream_count(targets, start)
    least = max(2, rates.fewest(load.peak_rps))
    most = min(MAX_REPLICAS if not load.is_trace else MOST_TRACED, max(4, round(least * TRIED_BEYOND) + 1))
    seen: dict[tuple[int, int], Run] = {}

    def run_of(engines: int, prefill: int) -> Run:
        if (engines, prefill) not in seen:
            shared = with_prefill(replica, prefill, engines)
            seen[engines, prefill] = settled_run(shared, load, targets, engines, count, load.peak_rps)
        return seen[engines, prefill]

    def best_of(engines: int) -> tuple[int, Run]:
        prefill = rates.best_prefill(engines)
        run = run_of(engines, prefill)
        step = 1 if _short_of_prefill(run) else -1
        for moved in (prefill + step, prefill - step):
            if not run.ok and 1 <= moved < engines and run_of(engines, moved).ok:
                return moved, run_of(engines, moved)
        return prefill, run

    enough, too_few = least, 1
    stride = max(1, least // 20)
    while enough <= most and not best_of(enough)[1].ok:
        too_few, enough = enough, enough + stride
        stride *= 2
    if enough > most:
        failing = best_of(too_few)[1] if too_few > 1 else None
        return Pools(replica, Capacity(0.0, failing, None, start), None, too_few)
    while enough - too_few > 1:
        middle = max(too_few + 1, (too_few + enough) // 2) if too_few >= least else enough - 1
        if best_of(middle)[1].ok:
            enough = middle
        else:
            too_few = middle
    prefill, run = best_of(enough)
    shared = with_prefill(replica, prefill, enough)
    fewer = best_of(enough - 1)[1] if enough > 2 else None
    found = find_capacity(shared, load, targets, near_rps=load.peak_rps, replicas=enough)
    return Pools(shared, found, Fleet(enough, run, fewer), enough)


def with_prefill(replica: Replica, prefill: int, engines: int) -> Replica:
    """The replica in fleets in which so many of so many engines compute prompts."""
    assert replica.apart is not None
    return replace(replica, apart=replace(replica.apart, prefill_ratio=prefill / engines))


def _short_of_prefill(run: Run) -> bool:
    """What is missed first is a time to the first token."""
    missed = next((item for item in run.judged if not item.met), None)
    return missed is not None and missed.target.metric == "ttft"
