"""Work with a deadline beside a load that comes and goes: whether it fits into the troughs, and when it runs.

Hours are equally long and repeat as a week. Work is counted in replica-hours. What arrives within an hour may run from
the next one on, first come first served, and is on time when done `deadline_hours` hours after the one it came in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WEEKS = 3
"""Looked at one after another, so that work carried over the end of a week is met again."""
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class BatchWork:
    """replica_hours: of the work that arrives in each hour."""

    replica_hours: tuple[float, ...]
    deadline_hours: int

    def scaled(self, ratio: float) -> BatchWork:
        """So many times the work."""
        return BatchWork(tuple(hours * ratio for hours in self.replica_hours), self.deadline_hours)


@dataclass(frozen=True, slots=True)
class BatchRun:
    """used: replica-hours run in each hour of a usual week. late_ratio: share of the work that is not done in time, and
    is not done at all. longest_wait_hours: whole hours from the one in which work came to the one in which it ended."""

    used: tuple[float, ...]
    late_ratio: float
    longest_wait_hours: int


def fits(work: BatchWork, free: Sequence[float]) -> bool:
    """Whether all work can be done in time in so many free replicas of each hour.

    What arrives from hour i to hour j must fit into the hours i + 1 to j + deadline, for every i and j; with one
    deadline for all that is enough, first come first served.
    """
    arrived = np.tile(np.asarray(work.replica_hours, dtype=np.float64), WEEKS)
    if arrived.sum() <= 0:
        return True
    if arrived.sum() > np.sum(free) * WEEKS * (1 + TOLERANCE):
        return False
    room = np.cumsum(np.tile(np.asarray(free, dtype=np.float64), WEEKS + 2))
    came = np.cumsum(arrived)
    last = came - room[np.arange(len(came)) + work.deadline_hours]
    first = np.minimum.accumulate(np.append(0.0, came[:-1]) - room[: len(came)])
    return bool(np.max(last - first) <= TOLERANCE * came[-1])


def least_replicas(work: BatchWork, needed: Sequence[int], open_hours: Sequence[bool] | None = None) -> int | None:
    """The fewest replicas, not below the busiest hour's need, in whose troughs the work is done in time; None where no
    number of them does, as they are off from when it comes to its deadline."""
    low = max(needed)
    if fits(work, free_hours(low, needed, open_hours)):
        return low
    high = low + math.ceil(math.fsum(work.replica_hours)) + 1  # all of a week's work within an hour
    if not fits(work, free_hours(high, needed, open_hours)):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(work, free_hours(middle, needed, open_hours)) else (middle, high)
    return high


def free_hours(replicas: int, needed: Sequence[int], open_hours: Sequence[bool] | None = None) -> list[int]:
    """Whole replicas that the load leaves in each hour; none while closed."""
    free = [max(0, replicas - count) for count in needed]
    return free if open_hours is None else [f if is_open else 0 for f, is_open in zip(free, open_hours, strict=True)]


def run_batch(work: BatchWork, free: Sequence[float]) -> BatchRun:
    """First come first served; work that is past its deadline is dropped, as others do it."""
    hours = len(free)
    queue: list[list[float]] = []  # hour of arrival, replica-hours left
    used = [0.0] * hours
    late = longest = 0.0
    for now in range(WEEKS * hours):
        counted = now >= (WEEKS - 1) * hours
        left = float(free[now % hours])
        while queue and (queue[0][0] + work.deadline_hours < now or left > 0):
            came, rest = queue[0]
            if came + work.deadline_hours < now:
                late += rest if counted else 0.0
                queue.pop(0)
                continue
            done = min(left, rest)
            left -= done
            if counted:
                used[now % hours] += done
                longest = max(longest, now - came)
            queue[0][1] -= done
            if queue[0][1] <= TOLERANCE:
                queue.pop(0)
        arriving = work.replica_hours[now % hours]
        if arriving > 0:
            queue.append([now, arriving])
    total = math.fsum(work.replica_hours)
    return BatchRun(tuple(used), min(1.0, late / total) if total else 0.0, int(longest))


def work_of(arrivals: NDArray[np.float64], requests_per_replica_hour: float, deadline_hours: int) -> BatchWork:
    """From requests that arrive in each hour to replica-hours."""
    return BatchWork(tuple((arrivals / requests_per_replica_hour).tolist()), deadline_hours)
