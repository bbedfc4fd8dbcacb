"""Ways to run a fleet over the week, and the replica-hours that each of them pays.

Hours are equally long and repeat as a week. `needed` are the serving replicas of each hour, in whole replicas.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

from costmodel.pricing.money import Number, exact

SECONDS_PER_HOUR = 3600


def scheduled_hours(needed: Sequence[int], ready_s: Number) -> Fraction:
    """Replica-hours of a week when each hour has the replicas that it needs, started and paid from `ready_s` ahead.

    A replica that was switched off an hour before it is needed again pays its start like any other.
    """
    lead = exact(ready_s) / SECONDS_PER_HOUR
    starts = sum(max(0, after - now) for now, after in _neighbours(needed))
    return sum(needed) + starts * lead


def _neighbours(needed: Sequence[int]) -> list[tuple[int, int]]:
    """Each hour with the next one, around the week."""
    return list(zip(needed, [*needed[1:], needed[0]], strict=True))


@dataclass(frozen=True, slots=True)
class ScaleToZero:
    """One replica that is switched off when idle. on_ratio: share of the time that it is paid; cold_ratio: share of the
    requests that wait for a start; starts_per_month; waits_s: what the first of them waits at least."""

    on_ratio: float
    cold_ratio: float
    starts_per_month: float
    waits_s: float


def scale_to_zero(rates_rps: Sequence[float], *, idle_s: float, ready_s: float, hours_per_month: float) -> ScaleToZero:
    """Poisson arrivals at the rate of each hour; the replica goes off after `idle_s` without a request.

    A gap between requests is longer than idle_s with probability e^(-λ·idle_s); such a gap is paid for idle_s only, so
    the expected paid part of a gap is (1 - e^(-λ·idle_s)) / λ. After it comes a start of ready_s, paid, in which
    λ·ready_s more requests arrive and wait. Raises ValueError for negative times.
    """
    if idle_s < 0 or ready_s < 0:
        raise ValueError("times cannot be negative")
    paid_s = cold = starts = total = 0.0
    for rate in rates_rps:
        if rate <= 0:
            continue
        sleeps = math.exp(-rate * idle_s)
        cycle_s = 1 / rate + sleeps * ready_s  # a start delays the clock by itself
        weight = SECONDS_PER_HOUR / cycle_s
        paid_s += weight * ((1 - sleeps) / rate + sleeps * ready_s)
        starts += weight * sleeps
        cold += weight * sleeps * (1 + rate * ready_s)
        total += SECONDS_PER_HOUR * rate
    hours = len(rates_rps)
    return ScaleToZero(
        on_ratio=paid_s / (hours * SECONDS_PER_HOUR),
        cold_ratio=min(1.0, cold / total) if total else 0.0,
        starts_per_month=starts / hours * hours_per_month,
        waits_s=ready_s,
    )


def interrupted_replicas(serving: int, *, interruptions_per_hour: float, ready_s: float) -> int:
    """Interruptible replicas that hold `serving` of them on average: each is away for ready_s after each interruption,
    a share of rate·ready / (1 + rate·ready) of the time."""
    away = interruptions_per_hour * ready_s / SECONDS_PER_HOUR
    return math.ceil(serving * (1 + away) * (1 - 1e-12))


@dataclass(frozen=True, slots=True)
class Commitment:
    """A part of the fleet paid for the whole term whether used or not, the rest by the hour. unused_ratio: share of the
    committed hours in which the replica is not needed."""

    committed: int
    committed_usd: Fraction
    by_hour_usd: Fraction
    unused_ratio: float

    @property
    def usd(self) -> Fraction:
        return self.committed_usd + self.by_hour_usd


def cheapest_commitment(
    needed: Sequence[int],
    *,
    usd_per_hour: Number,
    committed_usd_per_hour: Number,
    hours_per_month: Number,
    ready_s: Number = 0,
) -> Commitment:
    """How many replicas to commit to, the rest by schedule, each start of it paid `ready_s` long.

    The k-th replica is needed in the hours with `needed` >= k and started where that begins; committing to it pays
    where those hours and starts, by the hour, cost more than the whole term. Of equal costs the smaller commitment.
    """
    hourly, fixed = exact(usd_per_hour), exact(committed_usd_per_hour)
    hours, month, lead = len(needed), exact(hours_per_month), exact(ready_s) / SECONDS_PER_HOUR
    levels = [_level(needed, below, upto, hourly, lead) for below, upto in pairwise(sorted({0, *needed}))]
    gains = [Fraction(0), *accumulate(level.replicas * (level.by_hour_usd - fixed * hours) for level in levels)]
    best = gains.index(max(gains))
    committed = sum(level.replicas for level in levels[:best])
    idle = sum(level.replicas * (hours - level.used) for level in levels[:best])
    by_hour = sum((level.replicas * level.by_hour_usd for level in levels[best:]), Fraction(0))
    return Commitment(
        committed=committed,
        committed_usd=committed * fixed * month,
        by_hour_usd=by_hour / hours * month,
        unused_ratio=idle / (committed * hours) if committed else 0.0,
    )


@dataclass(frozen=True, slots=True)
class _Level:
    """Replicas that are needed and started in the same hours. by_hour_usd: of one of them, a week by the hour."""

    replicas: int
    used: int
    by_hour_usd: Fraction


def _level(needed: Sequence[int], below: int, upto: int, hourly: Fraction, lead: Fraction) -> _Level:
    used = sum(count >= upto for count in needed)
    starts = sum(now <= below and after >= upto for now, after in _neighbours(needed))
    return _Level(upto - below, used, hourly * (used + starts * lead))
