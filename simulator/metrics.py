"""From an event log to the figures people ask for: latencies, goodput, throughput, utilisation."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simulator.checks import check_fields, checked
from simulator.errors import SimulatorError, require_number
from simulator.records import (
    FINISHED,
    ITL_SLICES,
    REJECTED,
    REJECTED_REASONS,
    TIMED_OUT,
    UNFINISHED,
    UNSERVABLE,
    EventLog,
)
from simulator.stability import Stability, judge_stability
from simulator.statistics import (
    PERCENTILES,
    SAMPLES_NEEDED,
    FloatArray,
    Interval,
    figures_of,
    weighted_nearest_rank,
)
from simulator.steptime import PS_PER_MS, PS_PER_S, IntArray
from simulator.workload import ROWS_AT_A_TIME, whole_numbers

BoolArray = npt.NDArray[np.bool_]
Rows = BoolArray | slice
"""Which requests: a bool for each, or, without copies, a slice of all."""


@dataclass(frozen=True, slots=True)
class GoodputSlo:
    """Thresholds a request must meet all at once; None: not asked for. At least one is needed."""

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    e2e_ms: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        given = [("ttft_ms", self.ttft_ms), ("tpot_ms", self.tpot_ms), ("e2e_ms", self.e2e_ms)]
        if all(value is None for _, value in given):
            raise SimulatorError("empty", "slo", "needs at least one threshold")
        for field, value in given:
            if value is not None:
                require_number(field, value, 0.0, exclusive=True)


@dataclass(frozen=True, slots=True)
class Latency:
    """One latency in milliseconds: nearest-rank percentiles, None where `withheld` says why.

    intervals: 95 % batch-means intervals of `mean` and of the percentiles that have one.
    """

    samples: int
    mean_ms: float | None
    p50_ms: float | None
    p90_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    intervals: Mapping[str, Interval]
    withheld: Mapping[str, str]

    def percentile_ms(self, percentile: int) -> float | None:
        """p50, p90, p95 or p99 by number; SimulatorError for another."""
        if percentile not in PERCENTILES:
            raise SimulatorError("unknown_percentile", "percentile", f"must be 50, 90, 95 or 99, got {percentile!r}")
        return {50: self.p50_ms, 90: self.p90_ms, 95: self.p95_ms, 99: self.p99_ms}[percentile]


@dataclass(frozen=True, slots=True)
class Latencies:
    """Latencies of some requests.

    ttft            arrival to first token, plus the time outside;  ttft_admitted: first admission to first token
    tpot            (last - first token) / (output - 1), one value per request, undefined for one token
    e2e             arrival to last token, plus the time outside;  normalised: the same over output tokens
    queue           arrival to first admission
    transfer        end of prefill to KV on the decode replica, of the requests that were sent there
    """

    ttft: Latency
    ttft_admitted: Latency
    tpot: Latency
    e2e: Latency
    normalised: Latency
    queue: Latency
    transfer: Latency


@dataclass(frozen=True, slots=True)
class Goodput:
    """Requests that met every threshold of `slo`: as a share of all that were sent, and per second of the run."""

    slo: GoodputSlo
    ratio: float
    rps: float


@dataclass(frozen=True, slots=True)
class LittlesLaw:
    """L = lambda * W over the whole run, as bookkeeping: `product` and `measured` agree when the columns are sound."""

    arrival_rps: float
    mean_time_s: float
    product: float
    measured: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of one run. Latencies and goodput leave out the warm-up; rates and means over time are of the whole run.

    rejected, timed_out   turned away or dropped, apart by reason (see Admission), and given up by their clients: they
                  have no latency of their own end, miss goodput, and their tokens are in no throughput
    basis         `stationary`: percentiles stand for the load (withheld when unstable); `run`: they are of this run
    ttft, ttft_admitted, tpot, e2e, normalised, queue, transfer   see Latencies
    itl           gaps between tokens, one value per gap, upper edge of bins 0.4 % wide
    served_rps    finished requests over the time from first arrival to last finish; sustained_rps without ramp-up:
                  (n - 1) / (last finish - first finish)
    prompt_tokens_per_s, output_tokens_per_s, total_tokens_per_s   asked-for prompt tokens of finished requests, tokens
                  produced, and both;  prefill_tokens_per_s: prompt tokens computed (without cached, with recomputed)
    cache_hit_ratio   cached over asked-for prompt tokens at first admission;  preemption_ratio: preempted requests'
                  share of the admitted ones
    seats_mean, waiting_mean, transferring_mean, kv_mean_ratio   means over the whole run, idle time included;
                  transferring: between prefill and decode;  concurrency_mean: all three together
    batch_mean    running requests of a mean step, by time
    kv_cliff_load_ratio   pool over the most blocks that any replica held: how far the peak could grow until
                  preemptions begin (1: it was full). More load also means longer stays, so the cliff comes sooner
    """

    basis: Literal["stationary", "run"]
    requests: int
    finished: int
    unservable: int
    unfinished: int
    rejected: int
    rejected_by_reason: Mapping[str, int]
    timed_out: int
    ttft: Latency
    ttft_admitted: Latency
    tpot: Latency
    itl: Latency
    e2e: Latency
    normalised: Latency
    queue: Latency
    transfer: Latency
    goodput: tuple[Goodput, ...]
    duration_s: float
    offered_rps: float
    served_rps: float
    sustained_rps: float | None
    prompt_tokens_per_s: float
    output_tokens_per_s: float
    total_tokens_per_s: float
    prefill_tokens_per_s: float
    busy_ratio: float
    seats_mean: float
    seats_ratio: float
    waiting_mean: float
    transferring_mean: float
    concurrency_mean: float
    kv_mean_ratio: float
    kv_peak_ratio: float
    kv_cliff_load_ratio: float
    batch_mean: float
    cache_hit_ratio: float
    preemptions: int
    preemption_ratio: float
    steps: int
    littles_law: LittlesLaw
    stability: Stability | None


@checked
def summarise(
    log: EventLog,
    *,
    slo: Sequence[GoodputSlo] = (),
    warmup_ratio: float = 0.0,
    stationary: bool = False,
) -> Summary:
    """Summarise a run. `warmup_ratio`: the first share of requests, by arrival, left out of latencies and goodput.

    `stationary=True` says that the load has one constant rate, so that percentiles would be those of a steady state:
    they are withheld when the run was unstable. Otherwise they are those of this run (a trace, a burst, a batch).
    """
    warmup_ratio = require_warmup(warmup_ratio)
    counted = np.arange(len(log)) >= int(len(log) * warmup_ratio)
    stability = judge_stability(log, warmup_ratio) if stationary else None
    withheld = (
        "the queue grows without bound: there is no steady state"
        if stability and stability.verdict == "unstable"
        else ""
    )
    latencies = latencies_of(log, counted, withheld)
    outcomes = np.bincount(log.outcome, minlength=TIMED_OUT + 1)
    reasons = np.bincount(log.reason, minlength=max(REJECTED_REASONS) + 1)
    return Summary(
        basis="stationary" if stationary else "run",
        requests=len(log),
        finished=int(outcomes[FINISHED]),
        unservable=int(outcomes[UNSERVABLE]),
        unfinished=int(outcomes[UNFINISHED]),
        rejected=int(outcomes[REJECTED]),
        rejected_by_reason={
            name: count for reason, name in REJECTED_REASONS.items() if (count := int(reasons[reason]))
        },
        timed_out=int(outcomes[TIMED_OUT]),
        itl=_itl(log, warmup_ratio, withheld),
        **{field.name: getattr(latencies, field.name) for field in fields(latencies)},
        goodput=tuple(goodput_of(log, target, counted) for target in slo),
        stability=stability,
        **_rates(log),
    )


def require_warmup(warmup_ratio: float) -> float:
    """The share of requests to leave out: a number from 0 to 0.9, or SimulatorError."""
    return require_number("warmup_ratio", warmup_ratio, 0.0, 0.9)


def latencies_of(log: EventLog, rows: BoolArray, withheld: str = "") -> Latencies:
    """Latencies of the chosen requests (bool per request); `withheld`: why no figure is given, if so."""
    done = rows & (log.outcome == FINISHED)
    several, sent = _rows(done & (log.output_tokens > 1)), _rows(done & (log.transfer_ps > 0))
    started, admitted = _rows(rows & (log.first_token_ps >= 0)), _rows(rows & (log.admitted_ps >= 0))
    done = _rows(done)
    return Latencies(
        ttft=_latency(_seen_ms(log, log.first_token_ps, started), withheld),
        ttft_admitted=_latency(_spans(log.admitted_ps, log.first_token_ps, started, PS_PER_MS), withheld),
        tpot=_latency(_tpot_ms(log, several), withheld),
        e2e=_latency(_seen_ms(log, log.finish_ps, done), withheld),
        normalised=_latency(_normalised_ms(log, done), withheld),
        queue=_latency(_spans(log.arrival_ps, log.admitted_ps, admitted, PS_PER_MS), withheld),
        transfer=_latency(log.transfer_ps[sent] / PS_PER_MS, withheld),
    )


def _rows(chosen: BoolArray) -> Rows:
    """The same rows, as a slice where these are all: a log may have millions, so few copies are made."""
    return slice(None) if chosen.all() else chosen


def _parts(column: IntArray, rows: Rows) -> Iterator[IntArray]:
    """The chosen rows of a column, some at a time."""
    for first in range(0, column.size, ROWS_AT_A_TIME):
        part = slice(first, first + ROWS_AT_A_TIME)
        yield column[part] if isinstance(rows, slice) else column[part][rows[part]]


def _spans(begin_ps: IntArray, end_ps: IntArray, rows: Rows, unit_ps: int, extra_ps: int = 0) -> FloatArray:
    """Time between two columns of the chosen requests, in units of `unit_ps`."""
    spans = np.empty(begin_ps.size if isinstance(rows, slice) else np.count_nonzero(rows))
    filled = 0
    for begin, end in zip(_parts(begin_ps, rows), _parts(end_ps, rows), strict=True):
        np.divide(end - begin + extra_ps, unit_ps, out=spans[filled : filled + end.size])
        filled += end.size
    return spans


def _seen_ms(log: EventLog, end_ps: IntArray, rows: Rows) -> FloatArray:
    """Arrival of the chosen requests to `end_ps` as a client sees it: the time outside the engine is in it."""
    spans = _spans(log.arrival_ps, end_ps, rows, PS_PER_MS, log.request_ps)
    filled = 0
    for prompts in _parts(log.prompt_tokens, rows) if log.request_token_ps else ():
        spans[filled : filled + prompts.size] += prompts * (log.request_token_ps / PS_PER_MS)
        filled += prompts.size
    return spans


def _divide(values: FloatArray, tokens: IntArray, rows: Rows, less: int = 0) -> FloatArray:
    """Divide the values of the chosen rows by these tokens, `less` fewer; the array is used up."""
    filled = 0
    for part in _parts(tokens, rows):
        values[filled : filled + part.size] /= part - less
        filled += part.size
    return values


def ttft_ms(log: EventLog) -> FloatArray:
    """Time to first token of every request; meaningless where first_token_ps is -1."""
    return _seen_ms(log, log.first_token_ps, slice(None))


def e2e_ms(log: EventLog) -> FloatArray:
    """Arrival to last token of every request; meaningless where it did not finish."""
    return _seen_ms(log, log.finish_ps, slice(None))


def tpot_ms(log: EventLog) -> FloatArray:
    """Time per output token without the first; NaN for one token, where it is undefined."""
    values = np.full(len(log), np.nan)
    several = log.output_tokens > 1
    values[several] = _tpot_ms(log, several)
    return values


def _tpot_ms(log: EventLog, rows: Rows) -> FloatArray:
    values = _divide(_spans(log.first_token_ps, log.finish_ps, rows, 1), log.output_tokens, rows, 1)
    values /= PS_PER_MS
    return values


def _normalised_ms(log: EventLog, rows: Rows) -> FloatArray:
    return _divide(_seen_ms(log, log.finish_ps, rows), log.output_tokens, rows)


@checked
def sustained_rps(finish_ps: IntArray) -> float | None:
    """(n - 1) / (last - first finish): the rate of a busy server without the bias of its ramp-up. None below two."""
    finish_ps = whole_numbers("finish_ps", finish_ps, 0, 2**63 - 1)
    if finish_ps.size < 2 or finish_ps.max() == finish_ps.min():
        return None
    return (int(finish_ps.size) - 1) / (int(finish_ps.max() - finish_ps.min()) / PS_PER_S)


def _latency(values: FloatArray, withheld: str) -> Latency:
    figures, intervals = figures_of(values)
    return _latency_of(figures, intervals, int(values.size), withheld)


def _itl(log: EventLog, warmup_ratio: float, withheld: str) -> Latency:
    chosen = log.itl_slice >= int(ITL_SLICES * warmup_ratio)
    upper, count = log.itl_upper_ps[chosen], log.itl_count[chosen]
    order = np.argsort(upper, kind="stable")
    values, weights = upper[order] / PS_PER_MS, count[order]
    samples = int(weights.sum())
    figures: dict[str, float | None] = {"mean": float((values * weights).sum() / samples) if samples else None}
    for percentile in PERCENTILES:
        enough = samples >= SAMPLES_NEEDED[percentile]
        figures[f"p{percentile}"] = weighted_nearest_rank(values, weights, percentile) if enough else None
    return _latency_of(figures, {}, samples, withheld)


def _latency_of(
    figures: Mapping[str, float | None], intervals: Mapping[str, Interval], samples: int, withheld: str
) -> Latency:
    if withheld:
        return Latency(samples, None, None, None, None, None, {}, dict.fromkeys(figures, withheld))
    missing = {
        name: f"{samples} samples, needs {SAMPLES_NEEDED[int(name[1:])] if name != 'mean' else 1}"
        for name, value in figures.items()
        if value is None
    }
    return Latency(
        samples, figures["mean"], figures["p50"], figures["p90"], figures["p95"], figures["p99"], intervals, missing
    )


def goodput_of(log: EventLog, slo: GoodputSlo, counted: BoolArray) -> Goodput:
    """Goodput among those of the chosen requests (bool per request) that were sent before the run ended."""
    sent = counted & (log.arrival_ps <= log.end_ps)
    good = sent & meets(log, slo)
    seconds = _span_s(log, sent) if sent.any() else 0.0
    return Goodput(slo, float(good.sum() / max(1, sent.sum())), float(good.sum() / seconds) if seconds else 0.0)


def meets(log: EventLog, slo: GoodputSlo) -> BoolArray:
    """Which requests met every threshold: those that did not finish met none, one token cannot miss a TPOT."""
    good: BoolArray = log.outcome == FINISHED
    if slo.ttft_ms is not None:
        good &= ttft_ms(log) <= slo.ttft_ms
    if slo.tpot_ms is not None:
        good &= ~(tpot_ms(log) > slo.tpot_ms)
    if slo.e2e_ms is not None:
        good &= e2e_ms(log) <= slo.e2e_ms
    return good


def _span_s(log: EventLog, rows: Rows) -> float:
    """From the first arrival of these rows to the end of the last of them, or of the run where one did not end."""
    finish = log.finish_ps[rows]
    last = log.end_ps if (finish < 0).any() else int(finish.max())
    return max(0, last - int(log.arrival_ps[rows][0])) / PS_PER_S


def _rates(log: EventLog) -> dict[str, Any]:
    finished, entered = log.outcome == FINISHED, log.admitted_ps >= 0
    done, admitted = _rows(finished), _rows(entered)
    end_s, span_s = log.end_ps / PS_PER_S, _span_s(log, slice(None))
    arrived = int((log.arrival_ps <= log.end_ps).sum())
    gap_s = (int(log.arrival_ps[arrived - 1]) - int(log.arrival_ps[0])) / PS_PER_S if arrived else 0.0
    end = max(1, log.end_ps)
    asked, prompts = int(log.prompt_tokens[admitted].sum()), int(log.prompt_tokens[done].sum())
    made = int(log.generated_tokens[_rows(log.outcome != TIMED_OUT)].sum())
    return {
        "duration_s": end_s,
        "offered_rps": (arrived - 1) / gap_s if gap_s else 0.0,
        "served_rps": _over(int(finished.sum()), span_s),
        "sustained_rps": sustained_rps(log.finish_ps[done]),
        "prompt_tokens_per_s": _over(prompts, span_s),
        "output_tokens_per_s": _over(made, span_s),
        "total_tokens_per_s": _over(prompts + made, span_s),
        "prefill_tokens_per_s": _over(log.prefill_tokens, span_s),
        "busy_ratio": log.busy_ps / end / len(log.replicas),
        "seats_mean": log.seat_ps / end,
        "seats_ratio": log.seat_ps / end / log.max_num_seqs,
        "waiting_mean": log.waiting_ps / end,
        "transferring_mean": log.transfer_wait_ps / end,
        "concurrency_mean": log.in_system_ps / end,
        "kv_mean_ratio": log.kv_block_ps / end / log.num_blocks,
        "kv_peak_ratio": log.kv_peak_ratio,
        "kv_cliff_load_ratio": 1.0 / log.kv_peak_ratio if log.kv_peak_ratio else math.inf,
        "batch_mean": log.seat_ps / max(1, log.busy_ps),
        "cache_hit_ratio": int(log.cached_tokens[admitted].sum()) / asked if asked else 0.0,
        "preemptions": int(log.preemptions.sum()),
        "preemption_ratio": int((log.preemptions > 0).sum()) / max(1, int(entered.sum())),
        "steps": log.steps,
        "littles_law": _littles_law(log),
    }


def _littles_law(log: EventLog) -> LittlesLaw:
    """Time in the system ends at the finish or at the end of the run; unservable requests never enter."""
    inside = (log.outcome != UNSERVABLE) & (log.arrival_ps <= log.end_ps)
    count = int(inside.sum())
    left_ps = log.finish_ps if (log.finish_ps >= 0).all() else np.where(log.finish_ps >= 0, log.finish_ps, log.end_ps)
    times_s = _spans(log.arrival_ps, left_ps, _rows(inside), PS_PER_S)
    end_s = max(1, log.end_ps) / PS_PER_S
    rate = count / end_s
    mean_s = float(times_s.mean()) if times_s.size else 0.0
    return LittlesLaw(rate, mean_s, rate * mean_s, log.in_system_ps / max(1, log.end_ps))


def _over(amount: int, seconds: float) -> float:
    return amount / seconds if seconds > 0 else 0.0
