"""How far the answer moves when steps are as fast or as slow as the residuals of the step-time model allow."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel import replicas_for_peak
from costmodel.steptime.coverage import Coverage
from planner.planning.money.bills import slo_capacity_rps
from planner.planning.search.candidates import Candidate, Job
from planner.planning.search.capacity import Run, find_capacity, stream_count
from planner.planning.search.deployments import coverage_of
from planner.planning.search.fleet import fleet_run
from planner.planning.search.replica import Estimate, Replica, estimates


@dataclass(frozen=True, slots=True, eq=False)
class Sized:
    """A feasible candidate with its intervals.

    capacity_rps: of one replica, as counted for fleet and break-even; low_rps, high_rps: with slow and fast steps.
    serving_low and serving_high: replicas at high_rps and low_rps; `serving` where low_rps is 0, as no number of slow
    replicas would do. fast_run, slow_run: the fleet with such steps, None where they were not simulated.
    """

    candidate: Candidate
    coverage: Coverage
    capacity_rps: float
    low_rps: float
    high_rps: float
    serving: int
    serving_low: int
    serving_high: int
    fast_run: Run | None = None
    slow_run: Run | None = None


def sized(job: Job, candidate: Candidate) -> Sized:
    """Intervals from the closed form: with steps r times as long the rate falls to 1 / r, and by more under a TPOT
    target, which then leaves room for fewer sequences; to 0 where not even one is left."""
    assert candidate.replica is not None
    assert candidate.capacity is not None
    covered = _coverage(candidate)
    return _sized(job, candidate, covered, *rate_ratios(job, candidate.replica, covered))


def rate_ratios(job: Job, replica: Replica, covered: Coverage) -> tuple[float, float]:
    """What becomes of the rate with slow and with fast steps, as ratios; see `sized`."""
    slow, fast = covered.step_time_p90_ratio, covered.step_time_p10_ratio
    ratios = (1.0, slow, fast)
    now, *then = estimates(replica, job.load.mix, job.targets.step_limit_ms, ratios)
    return _rate_ratio(now, then[0], slow), _rate_ratio(now, then[1], fast)


def rate_ratio(job: Job, replica: Replica, step_ratio: float) -> float:
    """What becomes of the rate, as a ratio, with steps `step_ratio` times as long; see `sized`."""
    now, then = estimates(replica, job.load.mix, job.targets.step_limit_ms, (1.0, step_ratio))
    return _rate_ratio(now, then, step_ratio)


def _rate_ratio(now: Estimate, then: Estimate, step_ratio: float) -> float:
    ratio = then.start_rps / now.start_rps if then.within_limit else 0.0
    return max(ratio, 1 / step_ratio) if step_ratio < 1 else min(ratio, 1 / step_ratio)


def sized_by_simulation(job: Job, candidate: Candidate) -> Sized:
    """Intervals by simulating the replica and the fleet again with slow and with fast steps; by scaling where a replica
    alone meets the targets at no rate."""
    assert candidate.replica is not None
    assert candidate.capacity is not None
    assert candidate.fleet is not None
    if candidate.capacity.rps == 0:
        return sized(job, candidate)
    covered = _coverage(candidate)
    ratios, runs = [], []
    for step_ratio in (covered.step_time_p90_ratio, covered.step_time_p10_ratio):
        replica = candidate.replica.slowed(step_ratio)
        together = candidate.together
        near = candidate.capacity.rps * together / step_ratio
        found = find_capacity(replica, job.load, job.targets, near_rps=near, replicas=together)
        ratios.append(found.rps / candidate.capacity.rps)
        count = stream_count(job.targets, candidate.capacity.estimate)
        runs.append(fleet_run(replica, job.load, job.targets, candidate.fleet.serving, count, job.load.peak_rps))
    return _sized(job, candidate, covered, *ratios, slow_run=runs[0], fast_run=runs[1])


def _sized(
    job: Job, candidate: Candidate, covered: Coverage, slow_ratio: float, fast_ratio: float, *,
    fast_run: Run | None = None, slow_run: Run | None = None,
) -> Sized:  # fmt: skip
    assert candidate.capacity is not None
    assert candidate.fleet is not None
    serving, peak = candidate.fleet.serving, job.load.peak_rps
    mid = slo_capacity_rps(candidate.capacity.rps, peak, serving)
    low, high = mid * min(1.0, slow_ratio), mid * max(1.0, fast_ratio)
    if slow_run is not None:
        low = max(low, peak / serving) if slow_run.ok else min(low, peak / serving * (1 - 1e-6))
    return Sized(
        candidate=candidate,
        coverage=covered,
        capacity_rps=mid,
        low_rps=low,
        high_rps=high,
        serving=serving,
        serving_low=replicas_for_peak(peak, high),
        serving_high=replicas_for_peak(peak, low) if low > 0 else serving,
        fast_run=fast_run,
        slow_run=slow_run,
    )


def _coverage(candidate: Candidate) -> Coverage:
    assert candidate.deployment is not None
    return coverage_of(candidate.deployment)
