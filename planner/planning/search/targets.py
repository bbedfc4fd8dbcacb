"""The targets of a scenario, and how a run is judged against them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from planner.planning.schema.slo import PERCENTILE_FIELDS, Slo
from planner.planning.schema.traffic import TrafficClass
from planner.planning.search.classed import classes_of
from simulator import EventLog
from simulator.metrics import e2e_ms, tpot_ms, ttft_ms
from simulator.records import FINISHED, ITL_SLICES
from simulator.statistics import SAMPLES_NEEDED, nearest_rank, weighted_nearest_rank

FloatArray = npt.NDArray[np.float64]
MS_PER_PS = 1e-9
WARM_UP_RATIO = 0.10
COOL_DOWN_RATIO = 0.05


@dataclass(frozen=True, slots=True)
class Target:
    """One target: at most `limit` ms at a percentile; for goodput (percentile None) at least `limit` of requests.
    traffic_class: its place where it is of one class of requests, whose name is class_name."""

    metric: str
    percentile: int | None
    limit: float
    traffic_class: int | None = None
    class_name: str = ""

    @property
    def unit(self) -> str:
        return "ratio" if self.metric == "goodput" else "ms"

    @property
    def label(self) -> str:
        label = "goodput" if self.percentile is None else f"{self.metric.upper()} p{self.percentile}"
        return f"{label} of {self.class_name}" if self.class_name else label

    def met_by(self, value: float) -> bool:
        return value >= self.limit if self.metric == "goodput" else value <= self.limit

    def show(self, value: float) -> str:
        if self.metric == "goodput":
            return f"{value:.1%}"
        return f"{value:,.0f} ms" if value >= 100 else f"{value:.3g} ms"


@dataclass(frozen=True, slots=True)
class Targets:
    """All targets, and the thresholds (ms) that a request must meet at once to count for goodput; class_limits_ms:
    those of each class of requests."""

    all: tuple[Target, ...]
    goodput_limits_ms: dict[str, float]
    class_limits_ms: tuple[dict[str, float], ...] = ()

    def limits_of(self, target: Target) -> dict[str, float]:
        """Thresholds of a goodput target."""
        return self.goodput_limits_ms if target.traffic_class is None else self.class_limits_ms[target.traffic_class]

    def tightest_ms(self, metric: str) -> tuple[float, int] | None:
        """The lowest limit of a metric and its percentile; None without a target."""
        found = [(t.limit, t.percentile) for t in self.all if t.metric == metric and t.percentile is not None]
        return min(found) if found else None

    @property
    def step_limit_ms(self) -> float | None:
        """What a mean step may last: the tightest TPOT target, without one the tightest ITL target."""
        tightest = self.tightest_ms("tpot") or self.tightest_ms("itl")
        return tightest[0] if tightest else None

    @property
    def top_percentile(self) -> int:
        percentiles = [t.percentile for t in self.all if t.percentile is not None]
        return max(percentiles, default=95)


def all_targets(slo: Slo, classes: Sequence[TrafficClass]) -> Targets:
    """Those of all requests, then those of each class."""
    whole = slo_targets(slo)
    if not classes:
        return whole
    own = [Targets((), {}) if each.slo is None else slo_targets(each.slo) for each in classes]
    named = [
        replace(target, traffic_class=place, class_name=classes[place].name)
        for place, targets in enumerate(own)
        for target in targets.all
    ]
    return Targets((*whole.all, *named), whole.goodput_limits_ms, tuple(each.goodput_limits_ms for each in own))


def slo_targets(slo: Slo) -> Targets:
    """Targets in the order of the report. Goodput of goodput_min_ratio takes each metric's highest percentile target
    as its threshold (gaps between tokens have none: a request has many)."""
    found = [
        Target(metric, percentile, value)
        for field, metric, percentile in PERCENTILE_FIELDS
        if (value := getattr(slo, field)) is not None
    ]
    limits: dict[str, float] = {}
    if slo.goodput is not None:
        named = {"ttft": slo.goodput.ttft_ms, "tpot": slo.goodput.tpot_ms, "e2e": slo.goodput.e2e_ms}
        limits = {metric: value for metric, value in named.items() if value is not None}
        found.append(Target("goodput", None, slo.goodput.min_ratio))
    elif slo.goodput_min_ratio is not None:
        limits = {t.metric: t.limit for t in found if t.metric != "itl"}  # percentiles rise: the highest stays
        found.append(Target("goodput", None, slo.goodput_min_ratio))
    return Targets(tuple(found), limits)


@dataclass(frozen=True, slots=True, eq=False)
class Latencies:
    """Pooled latencies of some replicas, ms, one per request; infinite for one that never ended, tpot NaN for one
    token. itl_ms and itl_count: gaps between tokens and how often each occurred. class_of: the place of each request's
    class where there are several."""

    ttft_ms: FloatArray
    tpot_ms: FloatArray
    e2e_ms: FloatArray
    itl_ms: FloatArray
    itl_count: npt.NDArray[np.int64]
    class_of: npt.NDArray[np.int64] | None = None

    def of(self, metric: str) -> FloatArray:
        return {"ttft": self.ttft_ms, "tpot": self.tpot_ms, "e2e": self.e2e_ms}[metric]

    def only(self, inside: npt.NDArray[np.bool_]) -> Latencies:
        """Some of the requests; gaps between tokens are not known by request and stay out."""
        none = np.zeros(0)
        of = None if self.class_of is None else self.class_of[inside]
        return Latencies(
            self.ttft_ms[inside], self.tpot_ms[inside], self.e2e_ms[inside], none, none.astype(np.int64), of
        )

    def asked_by(self, target: Target) -> Latencies:
        """Those of the requests that a target is about."""
        if target.traffic_class is None:
            return self
        assert self.class_of is not None
        return self.only(self.class_of == target.traffic_class)


def latencies(logs: Sequence[EventLog], *, steady: bool) -> Latencies:
    """Pool the requests of several replicas. steady: leave out the first tenth and the last twentieth of each run, in
    which the queue fills and drains; a finite trace is judged whole."""
    ttft, tpot, e2e, itl, counts, classes = [], [], [], [], [], []
    for log in logs:
        keep = judged_requests(len(log), steady)
        done = log.outcome[keep] == FINISHED
        ttft.append(np.where(done, ttft_ms(log)[keep], np.inf))
        e2e.append(np.where(done, e2e_ms(log)[keep], np.inf))
        tpot.append(np.where(done, tpot_ms(log)[keep], np.inf))
        wanted = log.itl_slice >= (round(WARM_UP_RATIO * ITL_SLICES) if steady else 0)
        if (of := classes_of(log)) is not None:
            classes.append(of[keep])
        itl.append(log.itl_upper_ps[wanted] * MS_PER_PS)
        counts.append(log.itl_count[wanted])
    return Latencies(
        ttft_ms=np.concatenate(ttft),
        tpot_ms=np.concatenate(tpot),
        e2e_ms=np.concatenate(e2e),
        itl_ms=np.concatenate(itl),
        itl_count=np.concatenate(counts),
        class_of=np.concatenate(classes) if classes else None,
    )


def judged_requests(requests: int, steady: bool) -> slice:
    """Which requests of a run are judged; see `latencies`."""
    if not steady:
        return slice(0, requests)
    return slice(math.floor(requests * WARM_UP_RATIO), math.ceil(requests * (1 - COOL_DOWN_RATIO)))


@dataclass(frozen=True, slots=True)
class Judged:
    """One target judged: predicted is None where the sample is too small for the percentile."""

    target: Target
    predicted: float | None
    samples: int

    @property
    def shown(self) -> str:
        """In words; infinite is what some requests never reach."""
        if self.predicted is None:
            return "unknown"
        return "never reached" if math.isinf(self.predicted) else self.target.show(self.predicted)

    @property
    def met(self) -> bool:
        return self.predicted is not None and self.target.met_by(self.predicted)


def judge(targets: Targets, pooled: Latencies) -> tuple[Judged, ...]:
    """Every target against pooled latencies."""
    return tuple(_judge(target, targets, pooled.asked_by(target)) for target in targets.all)


def _judge(target: Target, targets: Targets, pooled: Latencies) -> Judged:
    if target.percentile is None:
        good = np.ones(len(pooled.ttft_ms), dtype=bool)
        for metric, limit in targets.limits_of(target).items():
            good &= ~(pooled.of(metric) > limit)
        return Judged(target, float(good.mean()) if len(good) else None, len(good))
    if target.metric == "itl":
        value = weighted_percentile(pooled.itl_ms, pooled.itl_count, target.percentile)
        return Judged(target, value, int(pooled.itl_count.sum()))
    values = pooled.of(target.metric)
    return Judged(target, percentile(values, target.percentile), int(np.count_nonzero(~np.isnan(values))))


def percentile(values: FloatArray, percent: int) -> float | None:
    """Nearest-rank percentile of the values that are defined; None where they are too few for it."""
    defined = values[~np.isnan(values)]
    return nearest_rank(np.sort(defined), percent) if defined.size >= SAMPLES_NEEDED[percent] else None


def weighted_percentile(values: FloatArray, weights: npt.NDArray[np.int64], percent: int) -> float | None:
    """Nearest-rank percentile of values that occur `weights` times."""
    if int(weights.sum()) < SAMPLES_NEEDED[percent]:
        return None
    order = np.argsort(values, kind="stable")
    return weighted_nearest_rank(values[order], weights[order], percent)
