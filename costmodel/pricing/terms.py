"""A fleet's month under the terms on which it is paid: always on, by a schedule, to zero, committed, interruptible.

Hours are equally long and repeat as a week; formulas are those of `operation`. All sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, get_args

from costmodel.pricing.batch import BatchRun, BatchWork, free_hours, least_replicas, run_batch
from costmodel.pricing.breakeven import replicas_for_peak
from costmodel.pricing.money import Number, exact
from costmodel.pricing.operation import (
    SECONDS_PER_HOUR,
    Commitment,
    cheapest_commitment,
    interrupted_replicas,
    scale_to_zero,
    scheduled_hours,
)

BillingMode = Literal[
    "always_on",
    "scheduled",
    "autoscaled",
    "scale_to_zero",
    "business_hours",
    "committed_1y",
    "committed_3y",
    "spot",
]
BILLING_MODES: tuple[BillingMode, ...] = get_args(BillingMode)
OPEN_HOURS = tuple(24 * day + hour for day in range(5) for hour in range(8, 18))
"""Of the week from Monday 0:00: Monday to Friday, 8:00 to 18:00."""
Rounding = Literal["exact", "float"]


@dataclass(frozen=True, slots=True)
class Terms:
    """How replicas are paid.

    price_ratio: of committed or interruptible hours, to the price by the hour. ready_s: from asking for a replica to
    its first token, paid. idle_s: without a request for so long, the last replica goes off (scale_to_zero).
    """

    mode: BillingMode
    usd_per_replica_hour: Fraction
    hours_per_month: Fraction
    spare_replicas: int = 0
    price_ratio: Fraction = Fraction(1)
    ready_s: float = 0.0
    idle_s: float = 0.0
    interruptions_per_hour: float = 0.0


@dataclass(frozen=True, slots=True)
class PaidLine:
    """A line of the month, exact."""

    label: str
    replica_hours: Fraction
    usd_per_replica_hour: Fraction
    basis: str

    @property
    def usd(self) -> Fraction:
        return self.replica_hours * self.usd_per_replica_hour


@dataclass(frozen=True, slots=True)
class BatchPart:
    """Work with a deadline within the month. bought: replicas beyond those of the busiest hour that it asks for."""

    bought: int
    run: BatchRun


@dataclass(frozen=True, slots=True)
class FleetMonth:
    """What is paid in a month. serving: replicas of the busiest hour that is open; bought: with those that stand in for
    interrupted ones. outside_ratio: share of the requests that come while the fleet is closed; cold_ratio: share that
    waits for a start. unused_ratio: of the committed hours."""

    lines: tuple[PaidLine, ...]
    serving: int
    bought: int = 0
    outside_ratio: float = 0.0
    cold_ratio: float = 0.0
    starts_per_month: float = 0.0
    committed: int = 0
    unused_ratio: float = 0.0
    batch: BatchPart | None = None

    @property
    def usd(self) -> Fraction:
        return sum((line.usd for line in self.lines), Fraction(0))

    @property
    def late_ratio(self) -> float:
        """Share of the work with a deadline that is not done in time."""
        return self.batch.run.late_ratio if self.batch else 0.0

    @property
    def replica_hours(self) -> Fraction:
        return sum((line.replica_hours for line in self.lines), Fraction(0))


def fleet_month(
    terms: Terms,
    rates_rps: Sequence[float],
    capacity_rps: Number,
    *,
    at_most: int | None = None,
    rounding: Rounding = "exact",
    work: BatchWork | None = None,
) -> FleetMonth:
    """The month of a fleet whose replicas carry `capacity_rps` each, in a week of these hourly rates.

    at_most: replicas that are bought at most, what is beyond them goes elsewhere. rounding: whole replicas from exact
    rates, or from floats (far quicker, for tables). work: done in replicas that an hour does not need, and where those
    do not do by its deadline, in more of them, but at most at_most, and none while closed: what is late goes elsewhere.
    Spares are on while anything serves. Raises ValueError unless the capacity is above zero.
    """
    needed = _needed(rates_rps, capacity_rps, rounding)
    if terms.mode == "autoscaled" or terms.mode == "scale_to_zero":
        needed = _kept_on(terms, rates_rps, needed, capacity_rps, rounding)
    if at_most is not None:
        needed = [min(count, at_most) for count in needed]
    part = None
    if work is not None and any(work.replica_hours):
        needed, part = _with_batch(terms, needed, work, at_most)
    if not any(needed):
        return FleetMonth((), 0, batch=part)
    return replace(_MONTHS[terms.mode](terms, rates_rps, needed), batch=part)


def _with_batch(terms: Terms, needed: list[int], work: BatchWork, at_most: int | None) -> tuple[list[int], BatchPart]:
    """Replicas of each hour with those that the work runs on."""
    open_hours = None
    if terms.mode == "business_hours":
        open_hours = [hour in set(OPEN_HOURS) for hour in range(len(needed))]
        needed = [count if is_open else 0 for count, is_open in zip(needed, open_hours, strict=True)]
    replicas = least_replicas(work, needed, open_hours) if at_most is None else at_most
    if replicas is None:
        replicas = max(needed)
    run = run_batch(work, free_hours(replicas, needed, open_hours))
    busy = [count + math.ceil(used - 1e-9) for count, used in zip(needed, run.used, strict=True)]
    if terms.mode in ("always_on", "spot"):
        busy[0] = max(busy[0], replicas)
    return busy, BatchPart(max(0, replicas - max(needed)), run)


def _needed(rates_rps: Sequence[float], capacity_rps: Number, rounding: Rounding) -> list[int]:
    if rounding == "exact":
        known = {rate: replicas_for_peak(rate, capacity_rps) for rate in set(rates_rps)}
        return [known[rate] for rate in rates_rps]
    capacity = float(exact(capacity_rps))
    return [math.ceil(rate / capacity * (1 - 1e-12)) for rate in rates_rps]


def _kept_on(
    terms: Terms, rates: Sequence[float], needed: Sequence[int], capacity_rps: Number, rounding: Rounding
) -> list[int]:
    """What a rule that sees only the present keeps on: room for the steepest rise of the week during one start, and the
    level of the hour before, since scaling down waits."""
    lead = min(1.0, terms.ready_s / SECONDS_PER_HOUR)
    rises = [after / now - 1 for now, after in zip(rates, [*rates[1:], rates[0]], strict=True) if now > 0]
    room = 1 + max(0.0, *rises) * lead
    wanted = [max(now * room, before) for before, now in zip([rates[-1], *rates[:-1]], rates, strict=True)]
    most = max(needed)
    return [min(most, count) for count in _needed(wanted, capacity_rps, rounding)]


def _spares(terms: Terms, hours_on_ratio: Fraction) -> list[PaidLine]:
    if not terms.spare_replicas:
        return []
    hours = terms.spare_replicas * hours_on_ratio * terms.hours_per_month
    return [PaidLine("Spare GPUs", hours, terms.usd_per_replica_hour, "on while any replica serves")]


def _always_on(terms: Terms, rates: Sequence[float], needed: Sequence[int]) -> FleetMonth:
    serving, price = max(needed), terms.usd_per_replica_hour
    paid = PaidLine("Serving GPUs", serving * terms.hours_per_month, price, "every hour")
    return FleetMonth((paid, *_spares(terms, Fraction(1))), serving, serving)


def _by_the_hour(terms: Terms, rates: Sequence[float], needed: Sequence[int]) -> FleetMonth:
    serving, month, price = max(needed), terms.hours_per_month / len(needed), terms.usd_per_replica_hour
    on, with_starts = Fraction(sum(needed)), scheduled_hours(needed, terms.ready_s)
    lines = [PaidLine("Serving GPUs", on * month, price, f"up to {serving:,}, each hour what it needs")]
    if with_starts > on:
        basis = f"{terms.ready_s:g} s paid before each first token"
        lines.append(PaidLine("Starts", (with_starts - on) * month, price, basis))
    open_ratio = Fraction(sum(1 for count in needed if count), len(needed))
    return FleetMonth((*lines, *_spares(terms, open_ratio)), serving, serving)


def _to_zero(terms: Terms, rates: Sequence[float], needed: Sequence[int]) -> FleetMonth:
    """Hours that one replica carries are paid as far as it is awake; the others as when autoscaled. No spare."""
    serving, month, price = max(needed), terms.hours_per_month / len(needed), terms.usd_per_replica_hour
    lone = [rate for rate, count in zip(rates, needed, strict=True) if count <= 1]
    found = scale_to_zero(
        lone or [0.0], idle_s=terms.idle_s, ready_s=terms.ready_s, hours_per_month=float(month * len(lone))
    )
    lines = []
    if serving > 1:
        more = [max(0, count - 1) for count in needed]  # the last replica stays awake below them
        busy = scheduled_hours(more, terms.ready_s) + sum(count > 1 for count in needed)
        lines.append(PaidLine("Serving GPUs", busy * month, price, "hours beyond one replica, as when autoscaled"))
    basis = f"off after {terms.idle_s:g} s without a request"
    awake = exact(found.on_ratio) * len(lone) * month
    lines.append(PaidLine("Serving GPUs, last replica", awake, price, basis))
    cold = found.cold_ratio * sum(lone) / sum(rates) if sum(rates) else 0.0
    return FleetMonth(tuple(lines), serving, serving, cold_ratio=cold, starts_per_month=found.starts_per_month)


def _business_hours(terms: Terms, rates: Sequence[float], needed: Sequence[int]) -> FleetMonth:
    serving, price = max(needed[hour] for hour in OPEN_HOURS), terms.usd_per_replica_hour
    share = Fraction(len(OPEN_HOURS), len(needed))
    inside = sum(rates[hour] for hour in OPEN_HOURS) / sum(rates)
    paid = PaidLine("Serving GPUs", serving * share * terms.hours_per_month, price, "Monday to Friday, 8 to 18")
    lines = (paid, *_spares(terms, share)) if serving else ()
    return FleetMonth(lines, serving, serving, outside_ratio=1 - inside if inside < 1 - 1e-9 else 0.0)


def _committed(terms: Terms, rates: Sequence[float], needed: Sequence[int]) -> FleetMonth:
    """Spares are replicas like others: the commitment may hold them."""
    serving, price = max(needed), terms.usd_per_replica_hour
    found = commitment(terms, needed)
    lines = []
    if found.committed:
        hours, basis = found.committed * terms.hours_per_month, "the whole term, used or not"
        lines.append(PaidLine("Committed GPUs", hours, price * terms.price_ratio, basis))
    if found.by_hour_usd:
        basis = "what is needed beyond, with starts"
        lines.append(PaidLine("GPUs by the hour", found.by_hour_usd / price, price, basis))
    return FleetMonth(tuple(lines), serving, serving, committed=found.committed, unused_ratio=found.unused_ratio)


def commitment(terms: Terms, needed: Sequence[int]) -> Commitment:
    """How many replicas to commit to, spares included."""
    return cheapest_commitment(
        [count + terms.spare_replicas if count else 0 for count in needed],
        usd_per_hour=terms.usd_per_replica_hour,
        committed_usd_per_hour=terms.usd_per_replica_hour * terms.price_ratio,
        hours_per_month=terms.hours_per_month,
        ready_s=terms.ready_s,
    )


def _spot(terms: Terms, rates: Sequence[float], needed: Sequence[int]) -> FleetMonth:
    serving, rate = max(needed), terms.interruptions_per_hour
    bought = interrupted_replicas(serving, interruptions_per_hour=rate, ready_s=terms.ready_s)
    price, basis = (
        terms.usd_per_replica_hour * terms.price_ratio,
        f"lost {rate:g} times an hour for {terms.ready_s:g} s",
    )
    paid = PaidLine("Interruptible GPUs", bought * terms.hours_per_month, price, basis)
    return FleetMonth((paid, *_spares(terms, Fraction(1))), serving, bought)


_MONTHS = {
    "always_on": _always_on,
    "scheduled": _by_the_hour,
    "autoscaled": _by_the_hour,
    "scale_to_zero": _to_zero,
    "business_hours": _business_hours,
    "committed_1y": _committed,
    "committed_3y": _committed,
    "spot": _spot,
}
