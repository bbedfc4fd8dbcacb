"""The fleet over time: what each bin of a run's series says, in the units people read."""

from dataclasses import dataclass

import numpy as np

from simulator.checks import checked
from simulator.records import FINISHED, EventLog
from simulator.statistics import FloatArray
from simulator.steptime import PS_PER_S, IntArray


@dataclass(frozen=True, slots=True)
class Timeline:
    """At most SERIES_BINS equal bins; one entry per bin, float64. Means are over the bin's time, idle time included.

    start_s, bin_s          when a bin begins, and how long all of them are (the last one may be cut by the run's end)
    arrivals_rps, finishes_rps   requests sent and finished, per second
    in_system_mean          requests sent and not ended
    running_mean            requests holding a seat;  waiting_mean: the others in the system (queue depth)
    batch_mean              running requests in a mean step (NaN where no step began)
    busy_ratio              share of the replicas' time in steps
    kv_ratio                share of all blocks held
    prefill_tokens_per_s, decode_tokens_per_s   tokens computed
    cached_tokens_per_s     prompt tokens found in the cache, at admission

    A step counts wholly in the bin in which it begins, so a ratio can exceed 1 by the length of a step.
    """

    start_s: FloatArray
    bin_s: float
    arrivals_rps: FloatArray
    finishes_rps: FloatArray
    in_system_mean: FloatArray
    running_mean: FloatArray
    waiting_mean: FloatArray
    batch_mean: FloatArray
    busy_ratio: FloatArray
    kv_ratio: FloatArray
    prefill_tokens_per_s: FloatArray
    decode_tokens_per_s: FloatArray
    cached_tokens_per_s: FloatArray


@checked
def timeline(log: EventLog) -> Timeline:
    """The run's timeline; empty where no step began."""
    series = log.series
    count = series.steps.size
    edges_ps = np.minimum(np.arange(count + 1) * series.bin_ps, max(log.end_ps, (count - 1) * series.bin_ps + 1))
    width_ps = np.diff(edges_ps).astype(np.float64)
    seconds = width_ps / PS_PER_S
    ended = log.finish_ps >= 0
    admitted = log.admitted_ps >= 0
    in_system = (_time_after(log.arrival_ps, edges_ps) - _time_after(log.finish_ps[ended], edges_ps)) / width_ps
    running = series.seat_ps / width_ps
    return Timeline(
        start_s=edges_ps[:-1] / PS_PER_S,
        bin_s=series.bin_ps / PS_PER_S,
        arrivals_rps=_counts(log.arrival_ps, edges_ps) / seconds,
        finishes_rps=_counts(log.finish_ps[log.outcome == FINISHED], edges_ps) / seconds,
        in_system_mean=in_system,
        running_mean=running,
        waiting_mean=np.maximum(0.0, in_system - running),
        batch_mean=_over(series.seat_ps, series.busy_ps),
        busy_ratio=series.busy_ps / width_ps / len(log.replicas),
        kv_ratio=series.kv_block_ps / width_ps / log.num_blocks,
        prefill_tokens_per_s=series.prefill_tokens / seconds,
        decode_tokens_per_s=series.decode_tokens / seconds,
        cached_tokens_per_s=_counts(log.admitted_ps[admitted], edges_ps, log.cached_tokens[admitted]) / seconds,
    )


def _counts(times_ps: IntArray, edges_ps: IntArray, weights: IntArray | None = None) -> FloatArray:
    """Events in each bin; what lies on the end of the run belongs to the last bin."""
    counts: FloatArray = np.histogram(times_ps, edges_ps, weights=weights)[0].astype(np.float64)
    return counts


def _time_after(times_ps: IntArray, edges_ps: IntArray) -> FloatArray:
    """For each bin, the time in it that lies after each of `times_ps`, summed over them, picoseconds."""
    ordered = np.sort(times_ps)
    passed = np.searchsorted(ordered, edges_ps, "right")
    sums = np.concatenate(([0.0], np.cumsum(ordered.astype(np.float64))))
    after = passed * edges_ps.astype(np.float64) - sums[passed]
    inside: FloatArray = np.diff(after)
    return inside


def _over(value: FloatArray, by: IntArray) -> FloatArray:
    quotient: FloatArray = np.divide(value, by, out=np.full(value.shape, np.nan), where=by > 0)
    return quotient
