"""What changes a fleet while it runs: an autoscaler, and replicas that are lost."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from simulator.checks import check_fields, checked
from simulator.errors import SimulatorError, require_int, require_number
from simulator.steptime import HORIZON_PS

MOST_OUTAGES = 1_000_000
ScalingMetric = Literal["queue", "concurrency", "kv", "ttft", "tpot"]
MAX_PHASES = 16
MAX_SCHEDULE = 24 * 7 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Autoscaling:
    """How many of a pool's replicas are on, decided every `interval_ps`, between `minimum` and all of them.

    metric, target   what one replica should have, a whole number:
                       queue        waiting requests per replica (those at the gate included)
                       concurrency  requests outstanding per replica (the gate included)
                       kv           blocks held, parts per million of the pool's
                       ttft, tpot   picoseconds, the mean of the requests that had their first (last) token since
                                    the tick before; without any, nothing is changed
                     With n replicas on or starting and the metric's mean m over those on, ceil(n * m / target) are
                     wanted; for queue and concurrency that is the fleet's sum over the target. For kv, ttft and tpot a
                     quotient within `tolerance_ppm` of 1 changes nothing.
    up_window_ps, down_window_ps   stabilisation: up to the least, down to the most that was wanted within the window
    cold_start_ps    what a replica needs before it serves, by phase (machine, image, weights, compilation, ...)
    initial          replicas on at the start
    scheduled_minimum, schedule_step_ps   capacity by the clock: the minimum in each step of this length, repeated

    With no replica on or starting, an arrival starts one at once, and waits at the gate until it is ready. What is
    switched off takes no more requests, finishes those it has, and is gone; when more are wanted, it comes back first.
    """

    metric: ScalingMetric
    target: int
    interval_ps: int
    cold_start_ps: tuple[int, ...]
    initial: int = 1
    minimum: int = 1
    up_window_ps: int = 0
    down_window_ps: int = 0
    tolerance_ppm: int = 100_000
    scheduled_minimum: tuple[int, ...] = ()
    schedule_step_ps: int = 3600 * 10**12

    def __post_init__(self) -> None:
        check_fields(self)
        if self.metric not in get_args(ScalingMetric):
            raise SimulatorError(
                "unknown_metric", "metric", f"must be one of {', '.join(get_args(ScalingMetric))}, got {self.metric!r}"
            )
        require_int("target", self.target, 1, 2**40)
        require_int("interval_ps", self.interval_ps, 10**9, HORIZON_PS)
        for field in ("up_window_ps", "down_window_ps"):
            require_int(field, getattr(self, field), 0, 1000 * self.interval_ps)
        for field in ("initial", "minimum"):
            require_int(field, getattr(self, field), 0)
        require_int("tolerance_ppm", self.tolerance_ppm, 0, 10**6)
        for field in ("cold_start_ps", "scheduled_minimum"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if not 1 <= len(self.cold_start_ps) <= MAX_PHASES:
            raise SimulatorError("out_of_range", "cold_start_ps", f"needs 1 to {MAX_PHASES} phases")
        for phase_ps in self.cold_start_ps:
            require_int("cold_start_ps", phase_ps, 0, HORIZON_PS // MAX_PHASES)
        if len(self.scheduled_minimum) > MAX_SCHEDULE:
            raise SimulatorError("too_large", "scheduled_minimum", f"at most {MAX_SCHEDULE} steps")
        for replicas in self.scheduled_minimum:
            require_int("scheduled_minimum", replicas, 0)
        require_int("schedule_step_ps", self.schedule_step_ps, 10**9, HORIZON_PS)

    @property
    def ready_after_ps(self) -> int:
        """All phases of a cold start together."""
        return sum(self.cold_start_ps)

    def least(self, at_ps: int) -> int:
        """The minimum at this time."""
        if not self.scheduled_minimum:
            return self.minimum
        step = at_ps // self.schedule_step_ps % len(self.scheduled_minimum)
        return max(self.minimum, self.scheduled_minimum[step])

    def wanted(self, measured: int, replicas: int) -> int:
        """Replicas wanted before limits: `measured` is a sum for queue and concurrency, else a mean over those on."""
        if self.metric in ("queue", "concurrency"):
            return -(-measured // self.target)
        if abs(measured - self.target) * 10**6 <= self.tolerance_ppm * self.target:
            return replicas
        return -(-replicas * measured // self.target)


@dataclass(frozen=True, slots=True)
class Outage:
    """Replica number `replica` is lost at `at_ps` and serves again `reload_ps` later (a failure, a spot interruption).

    Its requests lose their KV; the router sends them, in order of arrival, to others (or holds them at the gate), where
    prompt and tokens so far are computed again. The step under way gives no tokens. A replica that is off is not hit.
    notice_ps: how long before the router stops sending it new requests.
    """

    at_ps: int
    replica: int
    reload_ps: int
    notice_ps: int = 0

    def __post_init__(self) -> None:
        for field in ("at_ps", "replica", "reload_ps", "notice_ps"):
            require_int(field, getattr(self, field), 0, HORIZON_PS)


@checked
def draw_outages(
    replicas: int,
    *,
    mean_between_s: float,
    reload_s: float,
    until_s: float,
    rng: np.random.Generator,
    notice_s: float = 0,
) -> tuple[Outage, ...]:
    """Outages of each of `replicas` with exponential times between them, up to `until_s`; a lost replica is not lost
    again before it is back."""
    mean = require_number("mean_between_s", mean_between_s, 0.0, exclusive=True)
    reload = require_number("reload_s", reload_s, 0.0)
    end = require_number("until_s", until_s, 0.0, HORIZON_PS / 1e12)
    notice = require_number("notice_s", notice_s, 0.0)
    count = require_int("replicas", replicas, 1)
    if count * end / (mean + reload) > MOST_OUTAGES:
        raise SimulatorError("too_large", "mean_between_s", f"more than {MOST_OUTAGES:,} outages")
    outages = []
    for replica in range(count):
        at = float(rng.exponential(mean))
        while at < end:
            outages.append(Outage(round(at * 1e12), replica, round(reload * 1e12), round(notice * 1e12)))
            at += reload + float(rng.exponential(mean))
    return tuple(sorted(outages, key=lambda outage: (outage.at_ps, outage.replica)))
