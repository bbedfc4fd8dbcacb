"""Where a fleet of whole replicas and an API cost the same: a staircase against a line, solved exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import Literal

from costmodel.pricing.money import HOURS_PER_MONTH, Number, checked_hours, exact, to_decimal

Side = Literal["self_host", "api"]
CROSSINGS_SHOWN = 100
STEPS_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Staircase:
    """Self-hosting cost against mean load. Build it with `staircase`; every number is exact.

    `step_mean_rps` is the mean rate that one serving replica carries (its SLO-feasible rate over peak-to-mean).
    Volume is mean rate x seconds of the month x tokens per request, tokens as the caller counts them.
    """

    step_mean_rps: Fraction
    usd_per_replica_month: Fraction
    spare_replicas: int
    seconds_per_month: Fraction
    tokens_per_request: Fraction

    def serving_replicas(self, mean_rps: Number) -> int:
        """Whole replicas that carry the peak: at least one while there is load, none without."""
        return ceil(exact(mean_rps) / self.step_mean_rps)

    def replicas(self, mean_rps: Number) -> int:
        """Serving and spare replicas; none without load."""
        serving = self.serving_replicas(mean_rps)
        return serving + self.spare_replicas if serving else 0

    def usd_per_month(self, mean_rps: Number) -> Fraction:
        """The month's bill at this mean rate."""
        return self.replicas(mean_rps) * self.usd_per_replica_month

    def tokens_per_month(self, mean_rps: Number) -> Fraction:
        """Tokens of a month at this mean rate."""
        return exact(mean_rps) * self.seconds_per_month * self.tokens_per_request


@dataclass(frozen=True, slots=True)
class Crossing:
    """A volume at which the cheaper side changes. `at_step` marks the jump to one replica more; elsewhere both bills
    are equal there."""

    mean_rps: Fraction
    tokens_per_month: Fraction
    cheaper_below: Side
    cheaper_above: Side
    at_step: bool


@dataclass(frozen=True, slots=True)
class BreakEven:
    """All volumes at which the cheaper side changes, in rising order.

    `never`: self-hosting is cheaper at no volume; `always`: at every volume. `crossings` holds the first
    `CROSSINGS_SHOWN - 1` and the last of `crossings_total`; from the last one on self-hosting stays cheaper.
    """

    crossings: tuple[Crossing, ...]
    crossings_total: int
    never: bool
    always: bool
    sentence: str


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One point of the chart. A step edge appears twice, with the replicas below and above it."""

    mean_rps: Fraction
    tokens_per_month: Fraction
    replicas: int
    self_host_usd_per_month: Fraction
    api_usd_per_month: tuple[Fraction, ...]


def staircase(
    *,
    capacity_rps: Number,
    usd_per_replica_hour: Number,
    tokens_per_request: Number,
    peak_to_mean_ratio: Number = 1,
    spare_replicas: int = 0,
    hours_per_month: Number = HOURS_PER_MONTH,
) -> Staircase:
    """The cost of whole replicas against load.

    `capacity_rps` is what one replica serves within the SLOs, `tokens_per_request` the mean at the user's mix.
    Raises ValueError unless capacity, tokens and ratio are above zero and the price is not negative.
    """
    capacity, tokens, ratio = exact(capacity_rps), exact(tokens_per_request), exact(peak_to_mean_ratio)
    hours, price = checked_hours(hours_per_month), exact(usd_per_replica_hour)
    if capacity <= 0 or tokens <= 0 or ratio < 1:
        raise ValueError("capacity and tokens per request must be above zero, peak to mean at least 1")
    if price < 0 or spare_replicas < 0:
        raise ValueError("price and spare replicas cannot be negative")
    return Staircase(
        step_mean_rps=capacity / ratio,
        usd_per_replica_month=price * hours,
        spare_replicas=spare_replicas,
        seconds_per_month=hours * 3600,
        tokens_per_request=tokens,
    )


def replicas_for_peak(peak_rps: Number, capacity_rps: Number) -> int:
    """Whole serving replicas for a peak rate: ceil(peak / capacity), at least one while there is load. Exact, so that
    a peak of 3 x 0.1 needs three replicas of 0.1. Raises ValueError unless capacity is above zero."""
    peak, capacity = exact(peak_rps), exact(capacity_rps)
    if capacity <= 0 or peak < 0:
        raise ValueError("capacity must be above zero and the peak not negative")
    return ceil(peak / capacity)


def break_even(stairs: Staircase, usd_per_request: Number, *, counted: str = "requests") -> BreakEven:
    """Every crossing of the staircase with an API that costs `usd_per_request` on average at the user's mix.

    Let R be a replica's month, s the spares, x the API's bill for one replica's full load. On step n the fleet costs
    (n + s) R. It is the cheaper one at the step's end if n (x - R) > s R: never if x <= R, else from some n on. On
    such a step the API is still cheaper at its beginning while (n - 1) x < (n + s) R: there the bills meet inside the
    step at (n + s) R, and the jump before it handed the lead back to the API. `counted` is what the sentence calls the
    requests: "tokens" where each is one token.
    """
    usd = exact(usd_per_request)
    if usd < 0:
        raise ValueError(f"an API price cannot be negative: {usd_per_request}")
    full_load_usd = usd * stairs.step_mean_rps * stairs.seconds_per_month
    replica_usd, spares = stairs.usd_per_replica_month, stairs.spare_replicas
    gain = full_load_usd - replica_usd
    if gain <= 0:
        return BreakEven((), 0, never=True, always=False, sentence=_never_sentence(full_load_usd, replica_usd))
    if replica_usd == 0:
        return BreakEven((), 0, never=False, always=True, sentence="Self-hosting is cheaper at any volume.")
    first = floor(spares * replica_usd / gain) + 1
    last = ceil((full_load_usd + spares * replica_usd) / gain) - 1
    total = 2 * (last - first) + 1
    places = range(total) if total <= CROSSINGS_SHOWN else [*range(CROSSINGS_SHOWN - 1), total - 1]
    crossings = tuple(_crossing(stairs, usd, first, place) for place in places)
    return BreakEven(
        crossings, total, never=False, always=False, sentence=crossings_sentence(crossings, total, counted)
    )


def break_even_curve(
    stairs: Staircase, usd_per_request: Sequence[Number], *, until_mean_rps: Number, steps_shown: int = STEPS_SHOWN
) -> tuple[CurvePoint, ...]:
    """Points of the chart from no load to `until_mean_rps`: each step edge from both sides, exact.

    Beyond `steps_shown` steps only every k-th edge is kept; those kept are exact. The first point is the limit at
    no load, with one serving replica. `usd_per_request` holds one mean cost per API, in the order of the answer.
    """
    until = exact(until_mean_rps)
    if until <= 0:
        raise ValueError("until_mean_rps must be above zero")
    apis = [exact(usd) for usd in usd_per_request]
    steps = ceil(until / stairs.step_mean_rps)
    stride = max(1, -(-steps // steps_shown))
    points = [_point(stairs, apis, Fraction(0), serving=1)]
    for step in range(stride, steps, stride):
        edge = step * stairs.step_mean_rps
        points += [_point(stairs, apis, edge, serving=step), _point(stairs, apis, edge, serving=step + 1)]
    return (*points, _point(stairs, apis, until, serving=steps))


def flip_gpu_price(
    *, api_usd_per_month: Number, replicas: int, gpus_per_replica: int, hours_per_month: Number = HOURS_PER_MONTH
) -> Decimal | None:
    """USD per GPU-hour at which the paid fleet (spares included) costs what the API does at the present load.

    Self-hosting is cheaper below it, the API above it. None for a fleet without GPUs.
    """
    gpu_hours = replicas * gpus_per_replica * checked_hours(hours_per_month)
    return to_decimal(exact(api_usd_per_month) / gpu_hours) if gpu_hours else None


def _crossing(stairs: Staircase, usd_per_request: Fraction, first_step: int, place: int) -> Crossing:
    """The place-th crossing: even ones lie inside a step, odd ones at the edge after it."""
    step, at_edge = first_step + place // 2, place % 2 == 1
    if at_edge:
        mean_rps = step * stairs.step_mean_rps
    else:
        fleet_usd = (step + stairs.spare_replicas) * stairs.usd_per_replica_month
        mean_rps = fleet_usd / (usd_per_request * stairs.seconds_per_month)
    return Crossing(
        mean_rps=mean_rps,
        tokens_per_month=stairs.tokens_per_month(mean_rps),
        cheaper_below="self_host" if at_edge else "api",
        cheaper_above="api" if at_edge else "self_host",
        at_step=at_edge,
    )


def _point(stairs: Staircase, apis: Sequence[Fraction], mean_rps: Fraction, *, serving: int) -> CurvePoint:
    replicas = serving + stairs.spare_replicas
    return CurvePoint(
        mean_rps=mean_rps,
        tokens_per_month=stairs.tokens_per_month(mean_rps),
        replicas=replicas,
        self_host_usd_per_month=replicas * stairs.usd_per_replica_month,
        api_usd_per_month=tuple(mean_rps * stairs.seconds_per_month * usd for usd in apis),
    )


def crossings_sentence(crossings: Sequence[Crossing], total: int, counted: str = "requests") -> str:
    """From where on self-hosting is cheaper, in words; the last crossing is one above which it stays so."""
    first, last = crossings[0], crossings[-1]
    if total == 1:
        return f"The API is cheaper below {_volume(first, counted)}, self-hosting above."
    changes = "once" if total == 3 else f"{total - 2:,} times"
    return (
        f"Self-hosting is first cheaper above {_volume(first, counted)} and stays cheaper above "
        f"{_volume(last, counted)}; "
        f"between them the lead changes {changes}, as replicas come whole."
    )


def _volume(crossing: Crossing, counted: str) -> str:
    mtok, mean_rps = (_short(value) for value in (crossing.tokens_per_month / 1_000_000, crossing.mean_rps))
    return f"{mtok} M tokens a month ({mean_rps} {counted} per second on average)"


def _short(value: Fraction) -> str:
    return f"{float(value):,.0f}" if value >= 1000 else f"{float(value):.3g}"


def _never_sentence(full_load_usd: Fraction, replica_usd: Fraction) -> str:
    return (
        f"Self-hosting is never cheaper: a replica costs ${float(replica_usd):,.2f} a month, and for all that it can "
        f"serve in that month the API charges ${float(full_load_usd):,.2f}."
    )
