"""What one replica serves by the closed form, whatever the rate of the fleet: kept, since the cells of a sheet ask
about one traffic at many rates."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from costmodel import Deployment
from planner.planning.search.candidates import Job
from planner.planning.search.closed_form import Form, capacity_rps, closed_form, lone_latencies
from planner.planning.search.deployments import coverage_of
from planner.planning.search.intervals import rate_ratios
from planner.planning.search.replica import Replica
from planner.planning.search.targets import Judged, Target, judge
from planner.planning.traffic.load import Mix

KEPT = 64
"""One holds the sample of its traffic and the tables of its deployment, less than 0.5 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplicaRates:
    """alone: the targets on an idle replica; where one is missed the others stay 0. capacity_rps: of the replica within
    the targets. slow_ratio, fast_ratio: what becomes of it with slow and with fast steps, see `rate_ratios`."""

    form: Form
    alone: tuple[Judged, ...]
    capacity_rps: float = 0.0
    slow_ratio: float = 0.0
    fast_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class _Question:
    """All that the rates depend on; the replica follows from deployment and mix, the rest of the job has no part."""

    deployment: Deployment
    mix: Mix
    gap_shape: float
    seed: int
    targets: tuple[Target, ...]
    goodput_limits_ms: tuple[tuple[tuple[str, float], ...], ...]
    job: Job = field(compare=False)
    replica: Replica = field(compare=False)


def replica_rates(job: Job, deployment: Deployment, replica: Replica) -> ReplicaRates:
    """The closed form of this replica under the job's traffic and targets."""
    load, targets = job.load, job.targets
    every = (targets.goodput_limits_ms, *targets.class_limits_ms)
    limits = tuple(tuple(sorted(each.items())) for each in every)
    asked = _Question(deployment, load.mix, load.gap_shape, load.seed, targets.all, limits, job, replica)
    return _computed(asked) if load.is_trace else _kept(asked)


def _computed(asked: _Question) -> ReplicaRates:
    job, replica = asked.job, asked.replica
    form = closed_form(replica, job.load)
    alone = judge(job.targets, lone_latencies(replica, form.sample))
    if not all(item.met for item in alone):
        return ReplicaRates(form, alone)
    capacity = capacity_rps(form, job.targets) * replica.lanes
    return ReplicaRates(form, alone, capacity, *rate_ratios(job, replica, coverage_of(asked.deployment)))


_kept = lru_cache(maxsize=KEPT)(_computed)
