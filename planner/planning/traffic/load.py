"""The load of a scenario: its rates, its week, the mix of its requests, and streams of requests at any rate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from costmodel import token_time_mean_context
from planner.planning.schema import Scenario
from planner.planning.schema.lengths import Lengths
from planner.planning.schema.traffic import Batch, Constant, Gamma, Prefix, SharedPrefix, Traffic, TrafficClass
from planner.planning.schema.traffic import Trace as TraceField
from planner.planning.traffic.block_cache import cached_ratio
from planner.planning.traffic.lengths import IntArray, ordered_lengths
from planner.planning.traffic.replay import replayed
from planner.planning.traffic.trace_source import load_trace
from planner.planning.traffic.traces import Trace
from simulator import Workload, cut_to_context, shareable_tokens, weekly_shape
from simulator.steptime import PS_PER_S

MIX_SAMPLES = 20_000
MAX_STREAM_S = 2_000_000
LEAST_STREAM = 500
"""Requests drawn at least, also where they take longer than MAX_STREAM_S; enough for a p99 without its ends."""
USUAL_PEAK_TO_MEAN = {"constant": 1.0, "diurnal": 2.0, "business_hours": 3.0, "working_week": 2.4}


@dataclass(frozen=True, slots=True)
class MixClass:
    """Kind of requests. first_group: of its prefixes among those of all classes."""

    name: str
    share_ratio: float
    priority: int
    prefix_tokens: int
    prefix_groups: int
    first_group: int


@dataclass(frozen=True, eq=False)
class Mix:
    """A sample of the requests: lengths after the cut at max_model_len and max_tokens, in pairs. Means are kept.

    prefix_tokens: length of the shared prefix, 0 without; prefix_groups: how many different ones. recorded: a trace's
    requests with the content that it tells, in place of a shared prefix. classes: kinds of requests with prefixes of
    their own in place of that; class_of: the place in it of each request.
    """

    prompt_tokens: IntArray
    output_tokens: IntArray
    prefix_tokens: int
    prefix_groups: int
    cut_ratio: float
    recorded: Workload | None = None
    classes: tuple[MixClass, ...] = ()
    class_of: IntArray | None = None

    @cached_property
    def reused_tokens(self) -> IntArray:
        """Tokens of each prompt that an earlier request had too: its shared prefix, or its recorded beginning."""
        if self.class_of is not None:
            return np.array([each.prefix_tokens for each in self.classes], dtype=np.int64)[self.class_of]
        if self.recorded is None:
            return np.full(len(self.prompt_tokens), self.prefix_tokens, dtype=np.int64)
        reused: IntArray = np.minimum(shareable_tokens(self.recorded), self.prompt_tokens)
        return reused

    @property
    def shares_prefixes(self) -> bool:
        """Whether prompts have beginnings in common."""
        if self.class_of is not None:
            return any(each.prefix_tokens for each in self.classes)
        return bool(self.prefix_tokens) if self.recorded is None else bool(self.reused_tokens.any())

    @property
    def shared_tokens(self) -> int:
        """Tokens of all different prefixes together."""
        if self.classes:
            return sum(each.prefix_tokens * each.prefix_groups for each in self.classes)
        return self.prefix_groups * self.prefix_tokens

    @property
    def by_priority(self) -> bool:
        """Whether some requests are let in before others."""
        return len({each.priority for each in self.classes}) > 1

    @property
    def groups(self) -> int:
        """Different prefixes."""
        return sum(each.prefix_groups for each in self.classes) if self.classes else self.prefix_groups

    def of_class(self, place: int) -> Mix:
        """The requests of one class, as a mix of their own."""
        assert self.class_of is not None
        inside, own = self.class_of == place, self.classes[place]
        return Mix(
            self.prompt_tokens[inside], self.output_tokens[inside], own.prefix_tokens, own.prefix_groups, self.cut_ratio
        )

    def cached_tokens_mean(self, pool_tokens: int) -> float:
        """Tokens of a prompt, on average, that are found in a prefix cache of so many tokens."""
        if self.class_of is not None:
            return float(self.reused_tokens.mean())
        if self.recorded is None:
            return float(self.prefix_tokens)
        return self._found_in(1 << max(1, pool_tokens).bit_length() - 1)

    @cached_property
    def _found(self) -> dict[int, float]:
        return {}

    def _found_in(self, pool_tokens: int) -> float:
        """Of the trace's first blocks, counted out once for each power of two of the pool's size."""
        if pool_tokens not in self._found:
            assert self.recorded is not None
            found = cached_ratio(self.recorded, pool_tokens)
            self._found[pool_tokens] = found * float(self.prompt_tokens.mean())
        return self._found[pool_tokens]

    @cached_property
    def prompt_tokens_mean(self) -> float:
        return float(self.prompt_tokens.mean())

    @cached_property
    def output_tokens_mean(self) -> float:
        return float(self.output_tokens.mean())

    @cached_property
    def context_tokens_mean(self) -> float:
        """Context held by a running sequence, mean over time."""
        return token_time_mean_context(self.prompt_tokens, self.output_tokens)

    def stretched(self, *, output_ratio: float, prompt_ratio: float = 1.0) -> Mix:
        """Every request longer or shorter; a shared prefix keeps its length where prompts stay longer than it."""
        output = np.rint(self.output_tokens * output_ratio).astype(self.output_tokens.dtype)
        prompt = self.prompt_tokens
        if prompt_ratio != 1:
            prompt = np.rint(prompt * prompt_ratio).astype(prompt.dtype)
            least = self.prefix_tokens if self.class_of is None else self.reused_tokens
            prompt = np.maximum(prompt, least + 1)
        return replace(self, prompt_tokens=prompt, output_tokens=np.maximum(output, 1))

    @cached_property
    def decode_context_tokens(self) -> npt.NDArray[np.float64]:
        """Mean context of each request while it decodes, p + n/2, rising; those of one token never do."""
        several = self.output_tokens > 1
        return np.sort(self.prompt_tokens[several] + self.output_tokens[several] / 2)


@dataclass(frozen=True, slots=True)
class ChainStep:
    """One step from what was entered to requests per second."""

    what: str
    value: str
    basis: str


@dataclass(frozen=True, slots=True, eq=False)
class BatchLoad:
    """Requests with a deadline: how many arrive in each hour of the week, and a sample of them."""

    week_requests: npt.NDArray[np.float64]
    mix: Mix
    deadline_hours: int

    @property
    def requests_per_week(self) -> float:
        return float(self.week_requests.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """Rates in requests per second: mean over the week, busiest hour, and every hour of the week from Monday 0:00.

    gap_shape: gamma shape of the gaps between arrivals (1 is Poisson, infinite is even spacing); with a trace its own
    arrivals are replayed instead, with what its prompts share (mix.recorded). error_ratio: share of the trace's
    requests that failed and are not replayed.
    """

    mean_rps: float
    peak_rps: float
    week_rps: npt.NDArray[np.float64]
    mix: Mix
    gap_shape: float
    trace_arrival_ps: IntArray | None
    trace: Trace | None
    error_ratio: float
    seed: int
    chain: tuple[ChainStep, ...]
    batch: BatchLoad | None = None

    @property
    def is_trace(self) -> bool:
        return self.trace_arrival_ps is not None

    def scaled(self, ratio: float) -> Load:
        """The same week at so many times its rates."""
        return replace(
            self,
            mean_rps=self.mean_rps * ratio,
            peak_rps=self.peak_rps * ratio,
            week_rps=self.week_rps * ratio,
            batch=self.batch and replace(self.batch, week_requests=self.batch.week_requests * ratio),
        )


def scenario_load(scenario: Scenario, max_model_len: int) -> Load:
    """The load of a scenario, its requests cut at `max_model_len` and the engine's max_tokens."""
    traffic = scenario.traffic
    peak_to_mean = traffic.shape.peak_to_mean or USUAL_PEAK_TO_MEAN[traffic.shape.kind]
    week = weekly_shape(traffic.shape.kind, peak_to_mean)
    trace = load_trace(traffic.trace) if traffic.trace else None
    limits = (max_model_len, scenario.engine.max_tokens)
    played: Workload | None = None
    if trace is not None:
        assert traffic.trace is not None
        played = replayed(trace, traffic.trace, scenario.seed)
        peak_rps = _rate_rps(played)
        mean_rps = peak_rps / peak_to_mean
        chain: tuple[ChainStep, ...] = _trace_chain(trace, traffic.trace, peak_rps, mean_rps, peak_to_mean)
        mix = _trace_mix(played, *limits)
    else:
        mean_rps, chain = _mean_rate(traffic)
        peak_rps = mean_rps * peak_to_mean
        mix = _mix_of(traffic, scenario.seed, *limits)
    return Load(
        mean_rps=mean_rps,
        peak_rps=peak_rps,
        week_rps=week * mean_rps,
        mix=mix,
        gap_shape=_gap_shape(traffic),
        trace_arrival_ps=None if played is None else played.arrival_ps,
        trace=trace,
        error_ratio=0.0 if trace is None else trace.error_ratio,
        seed=scenario.seed,
        chain=chain,
        batch=None if traffic.batch is None else _batch_load(traffic.batch, mix, max_model_len),
    )


def _batch_load(batch: Batch, mix: Mix, max_model_len: int) -> BatchLoad:
    """The mix of the other requests stretched to the means of these; nothing of their prompts is shared."""
    stretched = replace(mix, prefix_tokens=0, prefix_groups=0, recorded=None, classes=(), class_of=None).stretched(
        prompt_ratio=(batch.prompt_tokens_mean or mix.prompt_tokens_mean) / mix.prompt_tokens_mean,
        output_ratio=(batch.output_tokens_mean or mix.output_tokens_mean) / mix.output_tokens_mean,
    )
    prompt = np.minimum(stretched.prompt_tokens, max_model_len - 1)
    output = np.minimum(stretched.output_tokens, max_model_len - prompt)
    day = np.full(24, batch.requests_per_day / 24)
    if batch.submitted_at_hour is not None:
        day = np.where(np.arange(24) == batch.submitted_at_hour, batch.requests_per_day, 0.0)
    return BatchLoad(np.tile(day, 7), Mix(prompt, output, 0, 0, 0.0), batch.deadline_hours)


def replica_stream(load: Load, rate_rps: float, count: int, *, replicas: int = 1, replica: int = 0) -> Workload:
    """The requests that one of `replicas` gets when `rate_rps` arrive at the fleet and are dealt round robin.

    A trace is scaled in time to the rate, with its lengths and bursts, and every `replicas`-th request is taken; it is
    never repeated. Otherwise `count` requests are drawn: dealing round robin makes the gaps of one replica sums of
    `replicas` gaps, which for gamma gaps are gamma again. The same seed gives the same draws at every rate, so that
    two rates can be compared; they are stretched so that the run has the rate asked for and not by chance 1 % (bursts:
    several %) more or less. A stream lasts at most 23 days: rates so low that they need longer are raised to that,
    where requests hardly ever meet anyway.
    """
    if load.trace_arrival_ps is not None:
        own = slice(replica, None, replicas)
        scale = min(load.peak_rps / rate_rps, MAX_STREAM_S * PS_PER_S / float(load.trace_arrival_ps[-1]))
        arrival_ps = np.rint(load.trace_arrival_ps[own] * scale).astype(np.int64)
        return _replayed_part(load, own, arrival_ps)
    count = min(count, max(LEAST_STREAM, int(MAX_STREAM_S * rate_rps / replicas)))
    rng = np.random.default_rng([load.seed, 1, replica])
    unit_times = np.cumsum(_unit_gaps(load.gap_shape * replicas, count, rng))
    unit_times *= count / unit_times[-1]
    gap_s = min(replicas / rate_rps, MAX_STREAM_S / count)
    arrival_ps = np.rint(unit_times * gap_s * PS_PER_S).astype(np.int64)
    order = _balanced_order(len(load.mix.prompt_tokens), count, rng)
    return _workload(load, arrival_ps, order, replica)


def _replayed_part(load: Load, own: slice | IntArray, arrival_ps: IntArray) -> Workload:
    """Some requests of a trace with what they share; the last may be cut, and their told content with them."""
    mix, recorded = load.mix, load.mix.recorded
    prompt, output = mix.prompt_tokens[own], mix.output_tokens[own]
    if recorded is None or recorded.block_hashes is None:
        return Workload(arrival_ps=arrival_ps, prompt_tokens=prompt, output_tokens=output)
    told = recorded.recorded_tokens
    return Workload(
        arrival_ps=arrival_ps,
        prompt_tokens=prompt,
        output_tokens=output,
        block_hashes=recorded.block_hashes.take(np.arange(len(mix.prompt_tokens))[own]),
        recorded_tokens=None if told is None else np.minimum(told[own], prompt + output),
    )


def day_stream(load: Load, rates_rps: npt.NDArray[np.float64], hour_s: float, seed: int) -> Workload:
    """Requests of hours that follow on each other, each `hour_s` long and at its own rate.

    Of a trace each hour is its beginning, scaled in time to the hour's rate; otherwise gaps and lengths are drawn, the
    gaps as of a steady load in a time that runs faster where the rate is higher.
    """
    if load.trace_arrival_ps is not None:
        times, own = _replayed_hours(load, rates_rps, hour_s)
        part = _replayed_part(load, own, np.rint(times * PS_PER_S).astype(np.int64))
        return _apart(part, (times / hour_s).astype(np.int64))
    rng = np.random.default_rng([load.seed, 3, seed])
    passed = np.concatenate(([0.0], np.cumsum(rates_rps * hour_s)))
    enough = int(passed[-1] + 6 * np.sqrt(passed[-1] / load.gap_shape)) + 1_000
    due = np.cumsum(_unit_gaps(load.gap_shape, enough, rng))
    due = due[due < passed[-1]]
    arrival_ps = np.rint(np.interp(due, passed, np.arange(len(passed)) * hour_s) * PS_PER_S).astype(np.int64)
    order = rng.integers(0, len(load.mix.prompt_tokens), len(due))
    return _workload(load, arrival_ps, order, seed)


def _apart(stream: Workload, hours: IntArray) -> Workload:
    """The same requests come again in every hour, but nobody asks the same twice: each hour's content is its own."""
    told = stream.block_hashes
    if told is None or not len(told.ids):
        return stream
    each = np.repeat(hours, np.diff(told.offsets))
    ids = np.unique(told.ids, return_inverse=True)[1] + each * len(told.ids)
    return replace(stream, block_hashes=replace(told, ids=ids))


def _replayed_hours(
    load: Load, rates_rps: npt.NDArray[np.float64], hour_s: float
) -> tuple[npt.NDArray[np.float64], IntArray]:
    """Times in seconds and places in the trace."""
    assert load.trace_arrival_ps is not None
    own_s = load.trace_arrival_ps / PS_PER_S
    times, places = [np.zeros(0)], [np.zeros(0, np.int64)]
    for hour, rate in enumerate(rates_rps.tolist()):
        if rate <= 0:
            continue
        scaled_s = own_s * (load.peak_rps / rate)
        inside = np.flatnonzero(scaled_s < hour_s)
        times.append(scaled_s[inside] + hour * hour_s)
        places.append(inside)
    return np.concatenate(times), np.concatenate(places)


def _workload(load: Load, arrival_ps: IntArray, order: IntArray, replica: int) -> Workload:
    """Requests at these places of the mix."""
    mix = load.mix
    prompt, output = mix.prompt_tokens[order], mix.output_tokens[order]
    if mix.class_of is not None:
        return classed_workload(mix, arrival_ps, order, np.random.default_rng([load.seed, 2, replica]))
    if not mix.prefix_tokens:
        return Workload(arrival_ps=arrival_ps, prompt_tokens=prompt, output_tokens=output)
    rng = np.random.default_rng([load.seed, 2, replica])
    return Workload(
        arrival_ps=arrival_ps,
        prompt_tokens=prompt,
        output_tokens=output,
        prefix_group=rng.integers(0, mix.prefix_groups, len(arrival_ps)),
        prefix_tokens=np.minimum(mix.prefix_tokens, prompt),
    )


def classed_workload(mix: Mix, arrival_ps: IntArray, order: IntArray, rng: np.random.Generator | None) -> Workload:
    """Requests of classes: each with its class, priority and one of the prefixes of its class (without a generator the
    first)."""
    assert mix.class_of is not None
    of = mix.class_of[order]

    def by_class(name: str) -> IntArray:
        return np.array([getattr(each, name) for each in mix.classes], dtype=np.int64)[of]

    drawn = np.zeros(len(of)) if rng is None else rng.random(len(of))
    group = by_class("first_group") + (drawn * by_class("prefix_groups")).astype(np.int64)
    prompt, shares = mix.prompt_tokens[order], mix.shares_prefixes
    return Workload(
        arrival_ps=arrival_ps,
        prompt_tokens=prompt,
        output_tokens=mix.output_tokens[order],
        prefix_group=group if shares else None,
        prefix_tokens=np.minimum(by_class("prefix_tokens"), prompt) if shares else None,
        priority=by_class("priority"),
        traffic_class=of,
    )


def _unit_gaps(shape: float, count: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    if np.isinf(shape):
        return np.ones(count)
    return np.asarray(rng.standard_gamma(shape, count) / shape)


def _balanced_order(size: int, count: int, rng: np.random.Generator) -> IntArray:
    """`count` places in a sample of `size` that cover it evenly, in random order."""
    places = ((np.arange(count) + 0.5) * size / count).astype(np.int64)
    return np.asarray(rng.permutation(places))


def _gap_shape(traffic: Traffic) -> float:
    if isinstance(traffic.arrival, Gamma):
        return 1.0 / traffic.arrival.cv**2
    return float("inf") if isinstance(traffic.arrival, Constant) else 1.0


def _rate_rps(played: Workload) -> float:
    """Served requests per second of a trace: (n − 1) / span of their arrivals."""
    return (len(played) - 1) / (float(played.arrival_ps[-1]) / PS_PER_S)


def _mix_of(traffic: Traffic, seed: int, max_model_len: int, max_tokens: int | None) -> Mix:
    if traffic.classes:
        return _classes_mix(traffic.classes, seed, max_model_len, max_tokens)
    assert traffic.prompt_tokens is not None
    assert traffic.output_tokens is not None
    shared = _shared_prefix(traffic.prefix)
    return _drawn_mix(traffic.prompt_tokens, traffic.output_tokens, shared, seed, max_model_len, max_tokens)


@lru_cache(maxsize=16)
def _drawn_mix(
    prompt: Lengths, output: Lengths, shared: SharedPrefix | None, seed: int, max_model_len: int, max_tokens: int | None
) -> Mix:
    """Prompt and output lengths are taken as independent: each ordered sample is shuffled by itself. Kept, since the
    cells of a sheet ask about one traffic at many rates."""
    rng = np.random.default_rng([seed, 0])
    prompts = rng.permutation(ordered_lengths(prompt, MIX_SAMPLES, shared.tokens if shared else 0))
    outputs = rng.permutation(ordered_lengths(output, MIX_SAMPLES))
    return _cut(prompts, outputs, shared, max_model_len, max_tokens)


def _classes_mix(classes: tuple[TrafficClass, ...], seed: int, max_model_len: int, max_tokens: int | None) -> Mix:
    """The samples of the classes together, each as large as its share of the whole, in random order."""
    counts = np.diff(np.rint(np.cumsum([0.0, *(each.share_ratio for each in classes)]) * MIX_SAMPLES)).astype(int)
    parts, kinds, first = [], [], 0
    for place, (each, count) in enumerate(zip(classes, counts.tolist(), strict=True)):
        shared = _shared_prefix(each.prefix)
        part = _drawn_mix(each.prompt_tokens, each.output_tokens, shared, seed + place, max_model_len, max_tokens)
        parts.append((part, _balanced_order(MIX_SAMPLES, max(1, count), np.random.default_rng([seed, 8, place]))))
        groups = part.prefix_groups or 1
        kinds.append(MixClass(each.name, each.share_ratio, each.priority, part.prefix_tokens, groups, first))
        first += groups
    of = np.repeat(np.arange(len(parts)), [len(order) for _, order in parts])
    mixed = np.random.default_rng([seed, 9]).permutation(len(of))
    return Mix(
        prompt_tokens=np.concatenate([part.prompt_tokens[order] for part, order in parts])[mixed],
        output_tokens=np.concatenate([part.output_tokens[order] for part, order in parts])[mixed],
        prefix_tokens=0,
        prefix_groups=0,
        cut_ratio=float(np.dot([part.cut_ratio for part, _ in parts], [kind.share_ratio for kind in kinds])),
        classes=tuple(kinds),
        class_of=of[mixed],
    )


def _shared_prefix(prefix: Prefix) -> SharedPrefix | None:
    return prefix if isinstance(prefix, SharedPrefix) else None


def _trace_mix(played: Workload, max_model_len: int, max_tokens: int | None) -> Mix:
    mix = _cut(played.prompt_tokens, played.output_tokens, None, max_model_len, max_tokens)
    return mix if played.block_hashes is None else replace(mix, recorded=played)


def _cut(
    prompt: IntArray, output: IntArray, shared: SharedPrefix | None, max_model_len: int, max_tokens: int | None
) -> Mix:
    """Prompts leave room for one output token; outputs end at max_tokens and where the context is full."""
    kept_prompt, kept_output, _ = cut_to_context(prompt, output, max_model_len)
    if max_tokens is not None:
        kept_output = np.minimum(kept_output, max_tokens)
    cut = (kept_prompt < prompt) | (kept_output < output)
    return Mix(
        prompt_tokens=kept_prompt,
        output_tokens=kept_output,
        prefix_tokens=shared.tokens if shared else 0,
        prefix_groups=shared.groups if shared else 0,
        cut_ratio=float(cut.mean()),
    )


def _mean_rate(traffic: Traffic) -> tuple[float, tuple[ChainStep, ...]]:
    if traffic.arrival is not None:
        return traffic.arrival.mean_rps, ()
    users = traffic.users
    assert users is not None
    steps: list[ChainStep] = []
    active = users.active_users
    if active is None:
        assert users.total_users is not None
        assert users.active_ratio is not None
        active = users.total_users * users.active_ratio
        basis = f"{users.total_users:.12g} users × {users.active_ratio:g} active"
        steps.append(ChainStep("Active users, mean over the week", f"{active:.6g}", basis))
    mean_rps = active * users.requests_per_user_hour / 3600
    basis = f"{active:.6g} active users × {users.requests_per_user_hour:g} requests per hour / 3600"
    steps.append(ChainStep("Requests per second, mean over the week", f"{mean_rps:.6g}", basis))
    return mean_rps, tuple(steps)


def _trace_chain(
    trace: Trace, field: TraceField, peak_rps: float, mean_rps: float, peak_to_mean: float
) -> tuple[ChainStep, ...]:
    steps = []
    if field.copies not in (None, 1):
        steps.append(ChainStep("Requests of the trace", f"× {field.copies:g}", "as asked: in the same time"))
    if field.speed not in (None, 1):
        steps.append(ChainStep("Speed of the trace", f"× {field.speed:g}", "as asked: gaps and bursts shorter"))
    steps += [
        ChainStep(
            "Peak hour",
            f"{peak_rps:.4g} requests/s",
            f"{trace.rows:,} requests of {trace.name} in {trace.span_s:,.0f} s, taken as the peak hour at its own rate",
        ),
        ChainStep(
            "Mean over the week", f"{mean_rps:.4g} requests/s", f"peak hour / {peak_to_mean:g} (shape of the week)"
        ),
    ]
    if trace.failed_requests:
        basis = "requests without output: counted as arrivals, not replayed"
        steps.append(ChainStep("Failed requests in the trace", f"{trace.error_ratio:.2%}", basis))
    if trace.out_of_order_rows:
        basis = f"sorted; the clock goes back by at most {trace.max_backstep_s:.3g} s"
        steps.append(ChainStep("Rows out of order in the trace", str(trace.out_of_order_rows), basis))
    return tuple(steps)
