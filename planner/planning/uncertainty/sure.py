"""The smallest fleet that meets its targets with the probability asked for, errors of the model included."""

from __future__ import annotations

from dataclasses import replace

from planner.planning.report.names import likely
from planner.planning.search.candidates import Candidate, Job
from planner.planning.search.capacity import stream_count
from planner.planning.search.feasibility import Reason
from planner.planning.search.fleet import Fleet, settled_run
from planner.planning.search.intervals import sized
from planner.planning.uncertainty.slo_probability import simulated_probability

MOST_RATIO = 4
"""Fleets of so many times the replicas that the usual step time takes are looked at."""


def sure_candidate(job: Job, candidate: Candidate, ratio: float) -> Candidate:
    """The candidate with as many serving replicas as the probability asks for, or out where more replicas do not help:
    an error of TTFT or TPOT that an idle replica has, too."""
    fleet = candidate.fleet
    assert fleet is not None

    def likely(serving: int) -> float:
        return simulated_probability(job, sized(job, _with(job, candidate, serving, ratio)), serving)

    start, most = fleet.serving, MOST_RATIO * fleet.serving + 1
    if likely(start) >= ratio:
        return replace(candidate, fleet=replace(fleet, sure_ratio=ratio))
    too_few, enough = start, start + max(1, start // 4)
    while (reached := likely(enough)) < ratio:
        if enough >= most:
            return replace(candidate, reason=_reason(reached, enough, ratio))
        too_few, enough = enough, min(most, 2 * enough - start + 1)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if likely(middle) >= ratio:
            enough = middle
        else:
            too_few = middle
    return _with(job, candidate, enough, ratio)


def _with(job: Job, candidate: Candidate, serving: int, ratio: float) -> Candidate:
    """The candidate with another number of serving replicas, simulated at the usual step time."""
    replica, fleet, capacity = candidate.replica, candidate.fleet, candidate.capacity
    assert replica is not None
    assert fleet is not None
    assert capacity is not None
    if serving == fleet.serving:
        return candidate
    count = stream_count(job.targets, capacity.estimate)
    run = settled_run(replica, job.load, job.targets, serving, count, job.load.peak_rps)
    return replace(candidate, fleet=Fleet(serving, run, None, fleet.in_turn, ratio))


def _reason(reached: float, serving: int, ratio: float) -> Reason:
    detail = (
        f"Even with {serving:,} serving replicas the targets hold with a probability of {likely(reached)}, errors of "
        f"the model included; {100 * ratio:.4g}% is asked for. More replicas hardly change that."
    )
    change = "Looser targets, a faster replica, a lower confidence, or a load test, which narrows the errors."
    return Reason("confidence", detail, change)
