"""The event log of a run, read off the fast engine's memory."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.fleet import Fleet, Pool
from simulator.kernels import state as s
from simulator.kernels.endings import IN_TIME, OUTCOME_UNIT
from simulator.kernels.layout import Memory, longest_tokens
from simulator.kernels.power_layout import Start, paid_ps
from simulator.kernels.runs import Int32Array
from simulator.kernels.transfer_layout import close_transfers, on_their_way
from simulator.records import (
    FINISHED,
    ITL_BINS,
    ITL_SLICES,
    NEVER,
    NO_POOL,
    SERIES_BINS,
    TOO_LONG_FOR_CONTEXT,
    TOO_LONG_FOR_POOL,
    UNFINISHED,
    UNSERVABLE,
    EventLog,
    ReplicaTotals,
    Series,
    pack_itl,
)
from simulator.steptime import IntArray
from simulator.workload import Workload

Int8Array = npt.NDArray[np.int8]


def read_log(fleet: Fleet, workload: Workload, memory: Memory, starts: Sequence[Start]) -> EventLog:
    """The log; its columns are views of `memory` where they can be."""
    m, times, counts = memory.m, memory.times, memory.counts
    gaps = int(m[s.GAPS])
    itl_slice, itl_upper_ps, itl_count = pack_itl(m[gaps : gaps + ITL_SLICES * ITL_BINS].reshape(ITL_SLICES, ITL_BINS))
    waiting_ps = _close_waiting(memory)
    if workload.concurrency is not None:  # nobody knows when those who are left would have been sent
        unsent = times[s.ARRIVAL, int(m[s.RECEIVED]) :]
        np.maximum(unsent, m[s.CLOCK] + 1, out=unsent)
    transfer_wait_ps = close_transfers(m, times, counts) if fleet.disaggregated else 0
    ends = _ends(fleet, workload, memory)
    return EventLog(
        arrival_ps=times[s.ARRIVAL],
        admitted_ps=times[s.ADMITTED],
        first_token_ps=times[s.FIRST_TOKEN],
        finish_ps=times[s.FINISH],
        prompt_tokens=workload.prompt_tokens,
        output_tokens=workload.output_tokens,
        generated_tokens=ends.generated,
        cached_tokens=_widened(counts[s.CACHED]),
        preemptions=_widened(counts[s.PREEMPTIONS]),
        preempted_ps=times[s.PREEMPTED_PS],
        failovers=_widened(counts[s.FAILOVERS]) if fleet.controlled else np.zeros(len(workload), np.int64),
        transfer_ps=times[s.SENT_PS] if fleet.disaggregated else np.zeros(len(workload), np.int64),
        replica=_replicas(counts[s.REPLICA]),
        prefill_replica=(
            counts[s.PREFILLED_BY].copy() if fleet.disaggregated else np.broadcast_to(np.int32(NEVER), len(workload))
        ),
        outcome=ends.outcome,
        reason=ends.reason,
        end_ps=int(m[s.CLOCK]),
        request_ps=fleet.pools[0].step_time.request_ps,
        request_token_ps=fleet.pools[0].step_time.request_token_ps,
        waiting_ps=waiting_ps,
        transfer_wait_ps=transfer_wait_ps,
        replicas=tuple(
            _totals(m, rep, place) for rep, place in zip(memory.replicas(), fleet.pool_of_replica, strict=True)
        ),
        starts=tuple(starts),
        series=_series(m),
        itl_slice=itl_slice,
        itl_upper_ps=itl_upper_ps,
        itl_count=itl_count,
    )


def _widened(column: Int32Array) -> IntArray:
    """As int64; zeros are not written, so that they take no memory."""
    return column.astype(np.int64) if column.any() else np.zeros(column.size, np.int64)


def _replicas(column: Int32Array) -> Int32Array:
    """Numbers; of a request that waits for another replica, that of the lost one."""
    numbers = column.copy()  # a view would keep all columns in memory
    lost = column < s.NONE
    numbers[lost] = -2 - numbers[lost]
    return numbers


class _Ends(NamedTuple):
    """Columns that say how each request ended."""

    generated: IntArray
    outcome: Int8Array
    reason: Int8Array


def _ends(fleet: Fleet, workload: Workload, memory: Memory) -> _Ends:
    times, counts = memory.times, memory.counts
    reason = np.zeros(times.shape[1], np.int8)
    outcome = np.full(times.shape[1], FINISHED, np.int8)
    generated = workload.output_tokens
    if (counts[s.REPLICA] < 0).any() or memory.m[s.ENDED] < times.shape[1]:
        outcome[times[s.FINISH] == NEVER] = UNFINISHED
        refused = (times[s.FINISH] != NEVER) & (counts[s.REPLICA] < 0)
        if memory.m[s.LIMITED]:
            refused &= counts[s.ENDING] == IN_TIME
        refused = np.flatnonzero(refused)
        outcome[refused] = UNSERVABLE
        reason[refused] = _reasons(fleet, counts[s.PROMPT, refused], counts[s.OUTPUT, refused])
        generated = np.where(outcome == FINISHED, generated, 0)
        _count_seated(memory, generated)
    if memory.m[s.LIMITED] and counts[s.ENDING].any():
        others = np.flatnonzero(counts[s.ENDING] != IN_TIME)
        outcome[others], reason[others] = divmod(counts[s.ENDING, others], OUTCOME_UNIT)
        generated = generated.copy()
        generated[others] = counts[s.GOT, others]
    return _Ends(generated, outcome, reason)


def _reasons(fleet: Fleet, prompt: Int32Array, output: Int32Array) -> Int8Array:
    """Why these were refused; where prompts and outputs are computed apart: for the prompt, else for the output."""
    if not fleet.disaggregated:
        return _refusals(fleet.pools, prompt, output)
    prefill, decode = ([pool for pool in fleet.pools if pool.role == role] for role in ("prefill", "decode"))
    served = np.zeros(prompt.size, np.bool_)
    for pool in prefill:
        takes = (pool.min_prompt_tokens <= prompt) & (prompt <= pool.max_prompt_tokens)
        served |= takes & (prompt + 1 <= longest_tokens(pool.config.member))
    return np.where(served, _refusals(decode, prompt, output), _refusals(prefill, prompt, np.ones_like(prompt)))


def _refusals(pools: Sequence[Pool], prompt: Int32Array, output: Int32Array) -> Int8Array:
    """By the first pool that takes prompts of their length, if one does."""
    reason = np.full(prompt.size, NO_POOL, np.int8)
    for pool in reversed(pools):
        takes = (pool.min_prompt_tokens <= prompt) & (prompt <= pool.max_prompt_tokens)
        too_long = prompt + output > pool.config.max_model_len
        reason[takes] = np.where(too_long, TOO_LONG_FOR_CONTEXT, TOO_LONG_FOR_POOL)[takes]
    return reason


def _count_seated(memory: Memory, generated: IntArray) -> None:
    """Tokens made so far by those who still had a seat when the run was stopped."""
    m, counts = memory.m, memory.counts
    if m[s.TRANSFER]:
        sent = on_their_way(counts)
        generated[sent] = memory.times[s.FIRST_TOKEN, sent] != NEVER
    if m[s.CARRIES]:
        lost = memory.times[s.STRANDED_AT] != NEVER
        generated[lost] = counts[s.CARRIED, lost]
    rows = [int(row) for row in counts[s.SEAT][counts[s.SEAT] != s.NOBODY]]
    for rep in memory.replicas():
        chunks = int(m[rep + s.CHUNKS])
        rows += m[chunks : chunks + int(m[rep + s.CHUNK_COUNT])].tolist()
    for row in rows:
        generated[m[row + s.REQUEST]] = m[row + s.MADE]
    for rep in memory.replicas():
        for place in range(int(m[rep + s.DECODING])):
            row = m[m[rep + s.HEAP] + 2 * place + 1]
            generated[m[row + s.REQUEST]] = m[row + s.LENGTH] - (m[row + s.DUE] - m[rep + s.STEPS])


def _close_waiting(memory: Memory) -> int:
    """Time in waiting lines, up to the end of the run for those who still stand there; notes theirs as preempted."""
    m, times, counts = memory.m, memory.times, memory.counts
    waiting_ps = _two_words(m, s.WAITED_HIGH)
    if m[s.ENDED] == times.shape[1]:
        return waiting_ps
    end_ps = int(m[s.CLOCK])
    here = (np.arange(times.shape[1]) < m[s.RECEIVED]) & (times[s.FINISH] == NEVER)
    for request in np.flatnonzero(here & (times[s.ADMITTED] == NEVER)):
        waiting_ps += end_ps - int(times[s.ARRIVAL, request])
    for request in np.flatnonzero(counts[s.SEAT] != s.NOBODY):
        stopped_ps = end_ps - int(m[counts[s.SEAT, request] + s.STOPPED_AT])
        times[s.PREEMPTED_PS, request] += stopped_ps
        waiting_ps += stopped_ps
    if m[s.CARRIES]:
        for request in np.flatnonzero(here & (times[s.STRANDED_AT] != NEVER)):
            lost_ps = end_ps - int(times[s.STRANDED_AT, request])
            times[s.PREEMPTED_PS, request] += lost_ps
            waiting_ps += lost_ps
    return waiting_ps


def _two_words(m: IntArray, high: int) -> int:
    return (int(m[high]) << 31) + int(m[high + 1])


def _totals(m: IntArray, rep: int, pool: int) -> ReplicaTotals:
    return ReplicaTotals(
        pool=pool,
        steps=int(m[rep + s.STEPS] + m[rep + s.STALLS]),
        busy_ps=int(m[rep + s.BUSY]),
        seat_ps=_two_words(m, rep + s.SEAT_HIGH),
        kv_block_ps=_two_words(m, rep + s.AREA_HIGH),
        kv_token_ps=_two_words(m, rep + s.KV_TOKENS_HIGH),
        kv_peak_blocks=int(m[rep + s.PEAK]),
        kv_peak_tokens=int(m[rep + s.PEAK_TOKENS]),
        prefill_tokens=int(m[rep + s.PREFILLED]),
        num_blocks=int(m[rep + s.BLOCKS]),
        block_size=int(m[rep + s.BLOCK_SIZE]),
        max_num_seqs=int(m[rep + s.MAX_SEQS]),
        paid_ps=paid_ps(m, int(m[rep + s.GANG_NUMBER])),
    )


def _series(m: IntArray) -> Series:
    first = int(m[s.SERIES])
    bins = m[first : first + SERIES_BINS * s.SUMS].reshape(SERIES_BINS, s.SUMS)
    used = np.flatnonzero(bins.any(axis=1))
    bins = bins[: used[-1] + 1 if used.size else 0].copy()

    def wide(high: int) -> npt.NDArray[np.float64]:
        return np.array([_two_words(row, high - s.STEPS) for row in bins], np.float64)

    return Series(
        bin_ps=1 << int(m[s.SHIFT]),
        steps=bins[:, 0],
        busy_ps=bins[:, s.BUSY - s.STEPS],
        prefill_tokens=bins[:, s.PREFILLED - s.STEPS],
        decode_tokens=bins[:, s.DECODED - s.STEPS],
        seat_ps=wide(s.SEAT_HIGH),
        kv_block_ps=wide(s.AREA_HIGH),
    )
