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
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from planner.planning.search.replica import (
    LONE_REQUESTS,
    SEATS_TRIED,
    FloatArray,
    Replica,
    cached_tokens,
    mean_step_ps,
    most_sequences,
)
from planner.planning.search.targets import Judged, Latencies, Targets, judge
from planner.planning.traffic.lengths import normal_quantiles
from planner.planning.traffic.load import Load

MS_PER_PS = 1e-9
PRECISION = 1.005
LEAST_RATE_RATIO = 1e-3
SURGE_WINDOW_S = 30.0
SURGE_WINDOWS = 20


@dataclass(frozen=True, eq=False)
class Sample:
    """Requests of the mix, spread evenly over it: prompt, tokens of it found in the prefix cache, output."""

    prompt: FloatArray
    cached: FloatArray
    output: FloatArray

    @cached_property
    def computed(self) -> FloatArray:
        return self.prompt - self.cached

    @cached_property
    def pairs(self) -> FloatArray:
        """Query-key pairs of the prefill: Σ of the contexts of the computed tokens, each with itself."""
        return np.asarray((self.prompt * (self.prompt + 1) - self.cached * (self.cached + 1)) / 2)


def sample_of(replica: Replica, load: Load, count: int = LONE_REQUESTS) -> Sample:
    """`count` requests at even places of the mix; a prefix is cached in whole blocks and leaves a token to compute."""
    places = ((np.arange(count) + 0.5) * len(load.mix.prompt_tokens) / count).astype(np.int64)
    prompt = load.mix.prompt_tokens[places].astype(np.float64)
    block = replica.config.block_size
    shared = cached_tokens(replica.config, load.mix)
    cached = np.minimum(shared // block, np.maximum(prompt - 1, 0) // block) * block
    return Sample(prompt, cached, load.mix.output_tokens[places].astype(np.float64))


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
    return _latencies(ttft_ps * MS_PER_PS, decode_ps * MS_PER_PS, gaps)


def _latencies(ttft_ms: FloatArray, decode_ms: FloatArray, gaps: FloatArray) -> Latencies:
    """Gaps between tokens count with the mean of their request."""
    several = gaps > 0
    tpot_ms = np.where(several, decode_ms / np.maximum(gaps, 1), np.nan)
    return Latencies(
        ttft_ms=ttft_ms,
        tpot_ms=tpot_ms,
        e2e_ms=ttft_ms + decode_ms,
        itl_ms=tpot_ms[several],
        itl_count=gaps[several].astype(np.int64),
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
class Form:
    """The closed form of one replica under one load, tabulated once and asked at many rates.

    seats, step_ps, rates_rps: mean step and served rate by running sequences, the rate made to rise; slopes: how much
    faster requests leave with one more running, per second. draws: four orders of the sample's places, so that what
    spreads TTFT, TPOT and lengths is independent; they are the same at every rate. gap_cv2, surge_ratio: see the
    functions of these names.
    """

    replica: Replica
    load: Load
    sample: Sample
    seats: FloatArray
    step_ps: FloatArray
    rates_rps: FloatArray
    slopes: FloatArray
    draws: tuple[npt.NDArray[np.int64], ...]
    gap_cv2: float
    surge_ratio: float

    @property
    def saturation_rps(self) -> float:
        return float(self.rates_rps[-1])


def closed_form(replica: Replica, load: Load) -> Form:
    """The closed form of a replica under a load."""
    fits = most_sequences(replica, load.mix)
    seats = np.geomspace(fits * 1e-4, fits, SEATS_TRIED)
    step_ps = mean_step_ps(replica, load.mix, seats)
    rates = np.maximum.accumulate(seats / load.mix.output_tokens_mean / (step_ps * 1e-12))
    sample = sample_of(replica, load)
    rng = np.random.default_rng([load.seed, 7])
    draws = tuple(rng.permutation(len(sample.prompt)) for _ in range(4))
    slopes = np.maximum(1e-9, np.gradient(rates, seats))
    return Form(replica, load, sample, seats, step_ps, rates, slopes, draws, gap_cv2(load), surge_ratio(load))


def steady_at(form: Form, rate_rps: float) -> Steady | None:
    """The replica at a rate; None where the queue would grow."""
    if rate_rps >= form.saturation_rps:
        return None
    concurrency = float(np.interp(rate_rps, form.rates_rps, form.seats))
    spread = (1 + form.gap_cv2) / 2
    count = len(form.sample.prompt)
    met_by, stolen_by, waits_by, arrive_by = form.draws
    prefill = _prefill(form, rate_rps, concurrency)
    if prefill.busy_ratio >= 1:
        return None
    slope = float(np.interp(concurrency, form.seats, form.slopes))
    met = concurrency + math.sqrt(rate_rps / slope * spread) * normal_quantiles(count)[met_by]
    step_ps = np.interp(met, form.seats, form.step_ps)
    gaps = form.sample.output - 1
    stolen = np.sqrt(rate_rps * 1e-12 * step_ps * float((prefill.own_ps**2).mean()) * spread / np.maximum(gaps, 1))
    decode_step_ps = np.maximum(step_ps / 2, step_ps + stolen * normal_quantiles(count)[stolen_by])
    wait_ps = prefill.wait_ps * spread
    waits_ps = _wait_quantiles(count, prefill.busy_ratio, wait_ps)[waits_by]
    arrive_ps = (arrive_by + 0.5) / count * step_ps
    seen_ps = _seen_late_ratio(form, concurrency) * step_ps
    outside_ps = _outside_ps(form)
    ttft_ps = outside_ps + arrive_ps + seen_ps + waits_ps + prefill.steps_ps
    latencies = _latencies(ttft_ps * MS_PER_PS, gaps * decode_step_ps * MS_PER_PS, gaps)
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
    prefill = _prefill(form, rate_rps, concurrency)
    if prefill.busy_ratio >= 1:
        return None
    step_ps = float(np.interp(concurrency, form.seats, form.step_ps))
    wait_ps = prefill.wait_ps * (1 + form.gap_cv2) / 2
    arrive_ps = (0.5 + _seen_late_ratio(form, concurrency)) * step_ps
    ttft_ps = float(_outside_ps(form).mean()) + arrive_ps + wait_ps + float(prefill.steps_ps.mean())
    e2e_ps = ttft_ps + float((form.sample.output - 1).mean()) * step_ps
    return MeanTimes(step_ps * MS_PER_PS, ttft_ps * MS_PER_PS, e2e_ps * 1e-12)


def _seen_late_ratio(form: Form, concurrency: float) -> float:
    """Steps that a request waits because the next one is scheduled already: one, where any is under way."""
    return -math.expm1(-concurrency) if form.replica.config.overlap_scheduling else 0.0


def _outside_ps(form: Form) -> FloatArray:
    """Time of each request of the sample outside the engine."""
    step = form.replica.step_time
    return np.asarray(step.request_ps + step.request_token_ps * form.sample.prompt, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Prefill:
    """Prompts in the token budget: the share of it that they fill, the mean wait for it, what each adds to the steps it
    is in, and how long these steps last, ps."""

    busy_ratio: float
    wait_ps: float
    own_ps: FloatArray
    steps_ps: FloatArray


def _prefill(form: Form, rate_rps: float, concurrency: float) -> Prefill:
    step, budget = form.replica.step_time, form.replica.config.max_num_batched_tokens
    free = max(1.0, budget - concurrency)
    tokens_ps = _between(step.tokens_ps, max(1.0, concurrency))
    context_ps = float(step.context_ps[0]) * concurrency * form.load.mix.context_tokens_mean
    decode_ps = tokens_ps + _between(step.seats_ps, concurrency) + context_ps
    slope_ps = max(0.0, (float(step.tokens_ps[budget]) - tokens_ps) / free)
    own_ps = form.sample.computed * slope_ps + form.sample.pairs * float(step.prefill_pair_ps)
    own_ps = own_ps + float(step.prefill_seq_ps + step.prefill_step_ps)
    share_ps = own_ps + decode_ps * form.sample.computed / free
    busy_ratio = rate_rps * float(share_ps.mean()) * 1e-12
    mean_square = float((share_ps**2).mean())
    wait_ps = rate_rps * 1e-12 * mean_square / (2 * max(1e-9, 1 - busy_ratio))
    return Prefill(busy_ratio, wait_ps, own_ps, own_ps + decode_ps * np.ceil(form.sample.computed / free))


def _between(table: npt.NDArray[np.int64], place: float) -> float:
    """A table's value at a place between two of its rows, its last one beyond."""
    low = min(int(place), len(table) - 1)
    high = min(low + 1, len(table) - 1)
    return float(table[low]) + (place - low) * float(table[high] - table[low])


def _wait_quantiles(count: int, busy_ratio: float, mean_ps: float) -> FloatArray:
    """Zero for a share 1 − ρ, else exponential; of the mean given."""
    if busy_ratio <= 0 or mean_ps <= 0:
        return np.zeros(count)
    beyond = 1 - (np.arange(count) + 0.5) / count
    return np.asarray(np.maximum(0.0, -np.log(beyond / busy_ratio)) * mean_ps / busy_ratio)


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

    low, high = form.saturation_rps * LEAST_RATE_RATIO, form.saturation_rps
    if not ok(low):
        return 0.0
    while high / low > PRECISION:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if ok(middle) else (low, middle)
    return low
