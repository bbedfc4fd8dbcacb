"""Latencies of a replica without a simulation: alone, and at a steady rate.

Alone is exact: what one request takes on an idle replica. Under load two things are put together.
- All running sequences share steps. How many run follows from Little's law; around that mean N the number varies like
  a birth-death process with departure rate μ(N), with variance λ / μ'(N): Poisson's N while steps do not grow, more
  near saturation. A request also loses the steps that the prompts of others fill, a Poisson number of them, which hits
  short answers most. Both spread TPOT.
- Prompts wait for the token budget of a step as in an M/G/1 queue whose service is a prompt's share of steps: no wait,
  or an exponential one, with the mean of Pollaczek and Khinchine. This spreads TTFT.

Bursts widen all of it by (1 + cv²) / 2. Preemption, routers and caches that are too small are left to the simulation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from planner.planning.search.replica import (
    LONE_REQUESTS,
    SEATS_TRIED,
    FloatArray,
    Replica,
    mean_step_ps,
    most_sequences,
)
from planner.planning.search.room import cached_tokens
from planner.planning.search.targets import Judged, Latencies, Targets, judge
from planner.planning.traffic.lengths import normal_quantiles
from planner.planning.traffic.load import Load

MS_PER_PS = 1e-9
PRECISION = 1.005
LEAST_RATE_RATIO = 1e-3
SURGE_WINDOW_S = 30.0
SURGE_WINDOWS = 20
SEATS_RATIOS = np.geomspace(1e-4, 1, SEATS_TRIED)
"""Running sequences at which a form is tabulated, over the most that fit."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Means over a sample, from which means at any load follow without going through it again."""

    prompt: float
    gaps: float
    computed: float
    longest_computed: float
    pairs: float
    computed_squared: float
    pairs_squared: float
    computed_pairs: float


@dataclass(frozen=True, eq=False)
class Sample:
    """Requests of the mix, spread evenly over it: prompt, tokens of it found in the prefix cache, output; the class of
    each where there are several."""

    prompt: FloatArray
    cached: FloatArray
    output: FloatArray
    class_of: npt.NDArray[np.int64] | None = None

    @cached_property
    def computed(self) -> FloatArray:
        return self.prompt - self.cached

    @cached_property
    def pairs(self) -> FloatArray:
        """Query-key pairs of the prefill: Σ of the contexts of the computed tokens, each with itself."""
        return np.asarray((self.prompt * (self.prompt + 1) - self.cached * (self.cached + 1)) / 2)

    @cached_property
    def moments(self) -> Moments:
        return Moments(
            prompt=float(self.prompt.mean()),
            gaps=float((self.output - 1).mean()),
            computed=float(self.computed.mean()),
            longest_computed=float(self.computed.max()),
            pairs=float(self.pairs.mean()),
            computed_squared=float((self.computed**2).mean()),
            pairs_squared=float((self.pairs**2).mean()),
            computed_pairs=float((self.computed * self.pairs).mean()),
        )


def sample_of(replica: Replica, load: Load, count: int = LONE_REQUESTS) -> Sample:
    """`count` requests at even places of the mix; a prefix is cached in whole blocks and leaves a token to compute."""
    places = ((np.arange(count) + 0.5) * len(load.mix.prompt_tokens) / count).astype(np.int64)
    prompt = load.mix.prompt_tokens[places].astype(np.float64)
    block = replica.config.block_size
    of = load.mix.class_of
    shared: float | FloatArray = cached_tokens(replica.config, load.mix)
    if of is not None and shared:
        shared = load.mix.reused_tokens[places].astype(np.float64)
    cached = np.minimum(shared // block, np.maximum(prompt - 1, 0) // block) * block
    output = load.mix.output_tokens[places].astype(np.float64)
    return Sample(prompt, cached, output, None if of is None else of[places])


def lone_latencies(replica: Replica, sample: Sample) -> Latencies:
    """Requests that never meet another.

    A prompt takes whole chunks of the token budget C, each a step of tokens_ps[C] + prefill_seq_ps + prefill_step_ps +
    context_ps[0] · (tokens before it), and a last one of what is left; its pairs cost prefill_pair_ps each. Token j
    after the first takes tokens_ps[1] + seats_ps[1] + context_ps[1] · (prompt + j − 1).
    """
    config, step = replica.config, replica.step_time
    budget = config.max_num_batched_tokens
    whole, rest = np.divmod(sample.computed, budget)
    whole, rest = np.where(rest == 0, whole - 1, whole), np.where(rest == 0, budget, rest)
    before = whole * sample.cached + budget * whole * (whole - 1) / 2 + sample.cached + whole * budget
    ttft_ps = (
        step.request_ps
        + step.request_token_ps * sample.prompt
        + whole * float(step.tokens_ps[budget])
        + step.tokens_ps[rest.astype(np.int64)]
        + (whole + 1) * float(step.prefill_seq_ps + step.prefill_step_ps + step.seats_ps[0])
        + before * float(step.context_ps[0])
        + sample.pairs * float(step.prefill_pair_ps)
    )
    gaps = sample.output - 1
    decode_ps = gaps * float(step.tokens_ps[1] + step.seats_ps[1])
    decode_ps += float(step.context_ps[1]) * (gaps * sample.prompt + gaps * (gaps - 1) / 2)
    return _latencies(ttft_ps * MS_PER_PS, decode_ps * MS_PER_PS, gaps, sample.class_of)


def _latencies(
    ttft_ms: FloatArray, decode_ms: FloatArray, gaps: FloatArray, class_of: npt.NDArray[np.int64] | None
) -> Latencies:
    """Gaps between tokens count with the mean of their request."""
    several = gaps > 0
    tpot_ms = np.where(several, decode_ms / np.maximum(gaps, 1), np.nan)
    return Latencies(
        ttft_ms=ttft_ms,
        tpot_ms=tpot_ms,
        e2e_ms=ttft_ms + decode_ms,
        itl_ms=tpot_ms[several],
        itl_count=gaps[several].astype(np.int64),
        class_of=class_of,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Steady:
    """A replica at a steady rate below saturation.

    concurrency: running sequences on average. step_ms: the mean step. wait_ms: mean wait of a prompt for others.
    """

    rate_rps: float
    concurrency: float
    step_ms: float
    wait_ms: float
    latencies: Latencies


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Each request's place in what spreads TTFT and TPOT, each in an order of its own, so that they are independent:
    standard normal values of how many it meets and of the steps stolen from it, the share of others that wait less, and
    the share of a step that has passed when it arrives."""

    met: FloatArray
    stolen: FloatArray
    waits_less: FloatArray
    arrived: FloatArray


@lru_cache(maxsize=8)
def _draws(seed: int, count: int) -> Draws:
    rng = np.random.default_rng([seed, 7])
    met, stolen, waits, arrive = (rng.permutation(count) for _ in range(4))
    normal = normal_quantiles(count)
    return Draws(normal[met], normal[stolen], (waits + 0.5) / count, (arrive + 0.5) / count)


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """The closed form of one replica under one load, tabulated once and asked at many rates.

    seats, step_ps, rates_rps: mean step and served rate by running sequences, the rate made to rise; slopes: how much
    faster requests leave with one more running, per second. draws: see Draws; the same at every rate. gap_cv2,
    surge_ratio: see the functions of these names.
    """

    replica: Replica
    load: Load
    sample: Sample
    seats: FloatArray
    step_ps: FloatArray
    rates_rps: FloatArray
    slopes: FloatArray
    draws: Draws
    gap_cv2: float
    surge_ratio: float

    @property
    def saturation_rps(self) -> float:
        return float(self.rates_rps[-1])


def closed_form(replica: Replica, load: Load) -> Form:
    """The closed form of a replica under a load."""
    fits = most_sequences(replica, load.mix)
    seats = fits * SEATS_RATIOS
    step_ps = mean_step_ps(replica, load.mix, seats)
    rates = np.maximum.accumulate(seats / load.mix.output_tokens_mean / (step_ps * 1e-12))
    sample = sample_of(replica, load)
    draws = _draws(load.seed, len(sample.prompt))
    slopes = np.maximum(1e-9, np.gradient(rates, seats))
    return Form(replica, load, sample, seats, step_ps, rates, slopes, draws, gap_cv2(load), surge_ratio(load))


def steady_at(form: Form, rate_rps: float) -> Steady | None:
    """The replica at a rate; None where the queue would grow."""
    if rate_rps >= form.saturation_rps:
        return None
    concurrency = float(np.interp(rate_rps, form.rates_rps, form.seats))
    spread = (1 + form.gap_cv2) / 2
    draws = form.draws
    budget = _budget(form, rate_rps, concurrency)
    if budget.busy_ratio >= 1:
        return None
    own_ps = budget.own_ps(form.sample)
    slope = float(np.interp(concurrency, form.seats, form.slopes))
    met = concurrency + math.sqrt(rate_rps / slope * spread) * draws.met
    step_ps = np.interp(met, form.seats, form.step_ps)
    gaps = form.sample.output - 1
    stolen = np.sqrt(rate_rps * 1e-12 * step_ps * float((own_ps**2).mean()) * spread / np.maximum(gaps, 1))
    decode_step_ps = np.maximum(step_ps / 2, step_ps + stolen * draws.stolen)
    wait_ps = budget.wait_ps * spread
    waits_ps = _waits_ps(draws.waits_less, budget.busy_ratio, wait_ps)
    arrive_ps = draws.arrived * step_ps
    seen_ps = _seen_late_ratio(form, concurrency) * step_ps
    outside_ps = _outside_ps(form)
    ttft_ps = outside_ps + arrive_ps + seen_ps + waits_ps + budget.steps_ps(form.sample)
    latencies = _latencies(ttft_ps * MS_PER_PS, gaps * decode_step_ps * MS_PER_PS, gaps, form.sample.class_of)
    step_ms = float(np.interp(concurrency, form.seats, form.step_ps)) * MS_PER_PS
    return Steady(rate_rps, concurrency, step_ms, wait_ps * MS_PER_PS, latencies)


@dataclass(frozen=True, slots=True)
class MeanTimes:
    """Means of a request while so many run: step_ms of a decode step; the others from its arrival."""

    step_ms: float
    ttft_ms: float
    e2e_s: float


def mean_times(form: Form, rate_rps: float, concurrency: float) -> MeanTimes | None:
    """What requests take on average with `concurrency` running; None when prompts come faster than they are computed.

    TTFT = per-request overhead + half a step, and a whole one more where steps are scheduled ahead + wait for the token
    budget + the prompt's steps;
    E2E = TTFT + (output − 1) · step.
    """
    step, moments = form.replica.step_time, form.sample.moments
    budget = _budget(form, rate_rps, concurrency)
    if budget.busy_ratio >= 1:
        return None
    step_ps = float(np.interp(concurrency, form.seats, form.step_ps))
    wait_ps = budget.wait_ps * (1 + form.gap_cv2) / 2
    arrive_ps = (0.5 + _seen_late_ratio(form, concurrency)) * step_ps
    one_step = moments.longest_computed <= budget.free
    steps = 1.0 if one_step else float(np.ceil(form.sample.computed / budget.free).mean())
    outside_ps = step.request_ps + step.request_token_ps * moments.prompt
    ttft_ps = outside_ps + arrive_ps + wait_ps + budget.own_ps(moments) + budget.decode_ps * steps
    e2e_ps = ttft_ps + moments.gaps * step_ps
    return MeanTimes(step_ps * MS_PER_PS, ttft_ps * MS_PER_PS, e2e_ps * 1e-12)


def _seen_late_ratio(form: Form, concurrency: float) -> float:
    """Steps that a request waits because the next one is scheduled already: one, where any is under way."""
    return -math.expm1(-concurrency) if form.replica.config.overlap_scheduling else 0.0


def _outside_ps(form: Form) -> FloatArray:
    """Time of each request of the sample outside the engine."""
    step = form.replica.step_time
    return np.asarray(step.request_ps + step.request_token_ps * form.sample.prompt, np.float64)


@dataclass(frozen=True, slots=True)
class Budget:
    """Prompts in the token budget while so many sequences run.

    free: tokens of a step that are left for them. busy_ratio: the share of these that they fill; wait_ps: the mean wait
    for it. A prompt adds token_ps for each computed token, pair_ps for each pair and each_ps to the steps it is in, and
    one of these lasts decode_ps without it.
    """

    free: float
    busy_ratio: float
    wait_ps: float
    token_ps: float
    pair_ps: float
    each_ps: float
    decode_ps: float

    def own_ps(self, of: Moments | Sample) -> Any:
        """What a prompt adds: on average, or of each request of a sample."""
        return of.computed * self.token_ps + of.pairs * self.pair_ps + self.each_ps

    def steps_ps(self, sample: Sample) -> FloatArray:
        """How long the steps last that a prompt is in."""
        return np.asarray(self.own_ps(sample) + self.decode_ps * np.ceil(sample.computed / self.free))


def _budget(form: Form, rate_rps: float, concurrency: float) -> Budget:
    step, budget = form.replica.step_time, form.replica.config.max_num_batched_tokens
    free = max(1.0, budget - concurrency)
    tokens_ps = _between(step.tokens_ps, max(1.0, concurrency))
    context_ps = float(step.context_ps[0]) * concurrency * form.load.mix.context_tokens_mean
    decode_ps = tokens_ps + _between(step.seats_ps, concurrency) + context_ps
    slope_ps = max(0.0, (float(step.tokens_ps[budget]) - tokens_ps) / free)
    pair_ps, each_ps = float(step.prefill_pair_ps), float(step.prefill_seq_ps + step.prefill_step_ps)
    mean_ps, mean_square = _share(form.sample.moments, slope_ps + decode_ps / free, pair_ps, each_ps)
    busy_ratio = rate_rps * mean_ps * 1e-12
    wait_ps = rate_rps * 1e-12 * mean_square / (2 * max(1e-9, 1 - busy_ratio))
    return Budget(free, busy_ratio, wait_ps, slope_ps, pair_ps, each_ps, decode_ps)


def _share(of: Moments, token_ps: float, pair_ps: float, each_ps: float) -> tuple[float, float]:
    """Mean and mean square of a prompt's share of steps: token_ps · computed + pair_ps · pairs + each_ps."""
    linear_ps = token_ps * of.computed + pair_ps * of.pairs
    squares = token_ps**2 * of.computed_squared + pair_ps**2 * of.pairs_squared
    squares += 2 * token_ps * pair_ps * of.computed_pairs
    return linear_ps + each_ps, squares + 2 * each_ps * linear_ps + each_ps**2


def _between(table: npt.NDArray[np.int64], place: float) -> float:
    """A table's value at a place between two of its rows, its last one beyond."""
    low = min(int(place), len(table) - 1)
    high = min(low + 1, len(table) - 1)
    return float(table[low]) + (place - low) * float(table[high] - table[low])


def _waits_ps(waits_less: FloatArray, busy_ratio: float, mean_ps: float) -> FloatArray:
    """Zero for a share 1 − ρ, else exponential; of the mean given."""
    if busy_ratio <= 0 or mean_ps <= 0:
        return np.zeros(len(waits_less))
    return np.asarray(np.maximum(0.0, -np.log((1 - waits_less) / busy_ratio)) * mean_ps / busy_ratio)


def gap_cv2(load: Load) -> float:
    """Squared coefficient of variation of the gaps between arrivals; 1 for Poisson."""
    if load.trace_arrival_ps is None:
        return 0.0 if math.isinf(load.gap_shape) else 1.0 / load.gap_shape
    gaps = np.diff(load.trace_arrival_ps).astype(np.float64)
    return float(gaps.var() / gaps.mean() ** 2) if len(gaps) and gaps.mean() else 1.0


def surge_ratio(load: Load) -> float:
    """How much faster than on average requests come when most of those that decide a target come: of a trace the 95th
    percentile, counted by requests, of the rate within half a minute (in short traces a twentieth) over the mean. 1 for
    drawn arrivals, which are steady."""
    if load.trace_arrival_ps is None:
        return 1.0
    span_ps = float(load.trace_arrival_ps[-1])
    window_ps = min(SURGE_WINDOW_S * 1e12, span_ps / SURGE_WINDOWS)
    if window_ps <= 0:
        return 1.0
    counts = np.sort(np.bincount((load.trace_arrival_ps / window_ps).astype(np.int64)))
    deciding = counts[np.searchsorted(np.cumsum(counts), 0.95 * counts.sum())]
    return max(1.0, float(deciding) / (float(counts.sum()) * window_ps / span_ps))


def judged_at(form: Form, targets: Targets, rate_rps: float) -> tuple[Judged, ...] | None:
    """Every target at a mean rate, as the requests of its surges see it; None where the queue would grow."""
    steady = steady_at(form, rate_rps * form.surge_ratio)
    return None if steady is None else judge(targets, steady.latencies)


def first_missed(form: Form, targets: Targets, rate_rps: float) -> Judged | Literal["unstable"] | None:
    """What goes wrong first at a rate; None when nothing does."""
    judged = judged_at(form, targets, rate_rps)
    if judged is None:
        return "unstable"
    return next((item for item in judged if not item.met), None)


def capacity_rps(form: Form, targets: Targets) -> float:
    """The highest rate at which the closed form meets every target, to half a per cent; 0 where it meets them at no
    rate above a thousandth of saturation."""

    def ok(rate_rps: float) -> bool:
        return first_missed(form, targets, rate_rps) is None

    least, high = form.saturation_rps * LEAST_RATE_RATIO, form.saturation_rps
    low = high / 2
    while not ok(low):  # most are found in the upper half
        if low <= least:
            return 0.0
        low, high = max(least, low / 4), low
    while high / low > PRECISION:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if ok(middle) else (low, middle)
    return low
