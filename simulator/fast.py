"""The fast engine: prepares the kernels' arrays, runs them in slices, and reads the event log off them.

Importing this module does not import numba; running it does.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.admission import NO_LIMITS
from simulator.config import EngineConfig
from simulator.errors import SimulationCancelled, SimulatorError, beyond_horizon
from simulator.fleet import ANY_LENGTH, Fleet, Pool
from simulator.records import (
    FINISHED,
    ITL_BINS,
    ITL_SLICES,
    NEVER,
    TOO_LONG_FOR_CONTEXT,
    TOO_LONG_FOR_POOL,
    UNFINISHED,
    UNSERVABLE,
    EventLog,
    ReplicaTotals,
    Series,
    pack_itl,
)
from simulator.steptime import IntArray, StepTime
from simulator.workload import Workload

EVENTS_PER_CALL = 200_000
NO_END_PS = 2**62


def simulate_fast(
    fleet: Fleet,
    workload: Workload,
    draws: IntArray,
    word: int = 0,
    until_ps: int | None = None,
    on_progress: Callable[[float], bool] | None = None,
) -> EventLog:
    """As `simulate_reference`, bit for bit."""
    from simulator.kernels import loop, state

    _refuse_unsupported(fleet, workload)
    config, step_time = fleet.pools[0].config, fleet.pools[0].step_time
    run = _Arrays(config, step_time, workload, until_ps)
    answer = state.MORE
    while answer == state.MORE:
        answer = loop.advance(*run.arguments(EVENTS_PER_CALL))
        if answer == state.BEYOND_HORIZON:
            raise beyond_horizon()
        if answer == state.MORE and on_progress is not None and not on_progress(run.ended_ratio()):
            raise SimulationCancelled
    return run.log()


def _refuse_unsupported(fleet: Fleet, workload: Workload) -> None:
    """What only the reference engine knows so far."""
    if fleet.outages or any(pool.autoscaling is not None for pool in fleet.pools):
        raise SimulatorError("not_yet", "autoscaling", "the fast engine knows no autoscaler and no outages")
    if len(fleet) > 1:
        raise SimulatorError("not_yet", "pools", "the fast engine knows one replica only")
    if fleet.pools[0].min_prompt_tokens > 1 or fleet.pools[0].max_prompt_tokens < ANY_LENGTH:
        raise SimulatorError("not_yet", "min_prompt_tokens", "the fast engine sends every prompt everywhere")
    for pool in fleet.pools:
        if pool.config.windows != (None,) or pool.step_time.window_tokens:
            raise SimulatorError("not_yet", "kv_groups", "the fast engine knows one group of full attention only")
        if pool.config.speculation is not None:
            raise SimulatorError("not_yet", "speculation", "the fast engine does not know drafts")
        if pool.config.partial_block_hits or pool.config.isolate_tenants:
            raise SimulatorError("not_yet", "partial_block_hits", "the fast engine finds whole blocks of all tenants")
        if pool.config.order != "fcfs" or pool.config.long_prefill_token_threshold:
            raise SimulatorError("not_yet", "order", "the fast engine knows neither orders nor the cap on long prompts")
    if fleet.admission != NO_LIMITS:
        raise SimulatorError("not_yet", "admission", "the fast engine knows no admission control")
    if workload.front_tokens is not None:
        raise SimulatorError("not_yet", "front_tokens", "the fast engine does not know tokens in front")
    if workload.think_ps is not None:
        raise SimulatorError("not_yet", "think_ps", "the fast engine knows no think time")


def warm_up() -> None:
    """Compile the kernels, or load them from numba's cache, so that the first run does not wait for it."""
    config = EngineConfig(max_num_seqs=2, max_num_batched_tokens=8, num_blocks=8, max_model_len=16, block_size=4)
    tables = np.ones(9, np.int64)
    ones = np.ones(2, np.int64)
    simulate_fast(
        Fleet((Pool(config, StepTime(tables, tables, tables)),)), Workload(ones, ones, ones), np.zeros((0, 2), np.int64)
    )


def unservable_reasons(config: EngineConfig, workload: Workload) -> npt.NDArray[np.int8]:
    """`requests.unservable_reason` of every request at once."""
    total = workload.prompt_tokens + workload.output_tokens
    blocks = -(-(total - 1) // config.block_size)
    if config.kv_allocation == "contiguous":
        blocks = np.full(len(workload), config.blocks_for(config.max_model_len), np.int64)
    reason = np.where(blocks > config.num_blocks, TOO_LONG_FOR_POOL, 0)
    return np.where(total > config.max_model_len, TOO_LONG_FOR_CONTEXT, reason).astype(np.int8)


class _Arrays:
    """The arrays of one run; see `simulator.kernels.state`."""

    def __init__(self, config: EngineConfig, step_time: StepTime, workload: Workload, until_ps: int | None) -> None:
        from simulator.kernels import state
        from simulator.kernels.names import make_cache

        self.config, self.step_time, self.workload = config, step_time, workload
        seats = config.max_num_seqs
        self.inp = np.stack((workload.arrival_ps, workload.prompt_tokens, workload.output_tokens))
        self.reason = unservable_reasons(config, workload)
        self.out = np.zeros((state.OUT_ROWS, len(workload)), np.int64)
        self.out[[state.ADMITTED, state.FIRST_TOKEN, state.FINISH]] = NEVER
        self.seat = np.zeros((seats, state.SEAT_COLUMNS), np.int64)
        self.spare = np.arange(seats, dtype=np.int64)[::-1].copy()
        self.stack, self.fresh, self.heap = (np.zeros(seats, np.int64) for _ in range(3))
        self.hist = np.zeros(config.block_size, np.int64)
        self.itl = np.zeros((ITL_SLICES, ITL_BINS), np.int64)
        self.cache = make_cache(config, workload, self.reason)
        # Copies: read-only tables would be another type to numba, and be compiled for again.
        self.tables = tuple(table.copy() for table in (step_time.tokens_ps, step_time.seats_ps, step_time.context_ps))
        self.st = self._scalars(until_ps)

    def _scalars(self, until_ps: int | None) -> IntArray:
        from simulator.kernels import state as s

        config, step_time = self.config, self.step_time
        st = np.zeros(s.ST_SIZE, np.int64)
        st[s.REQUESTS], st[s.MAX_SEQS], st[s.BUDGET] = (
            len(self.workload),
            config.max_num_seqs,
            config.max_num_batched_tokens,
        )
        st[s.BLOCKS] = st[s.FREE] = config.num_blocks
        st[s.BLOCK_SIZE] = config.block_size
        st[s.CHUNKED] = config.enable_chunked_prefill
        st[s.RESERVE_WHOLE] = config.reserve_full_isl and config.scheduler == "vllm_v1"
        st[s.WATERMARK] = config.watermark_blocks if config.scheduler == "vllm_v1" else 0
        st[s.CONTIGUOUS] = config.blocks_for(config.max_model_len) if config.kv_allocation == "contiguous" else 0
        st[s.STATIC] = config.scheduler == "static"
        st[s.CACHING] = config.enable_prefix_caching
        st[s.CONCURRENCY] = self.workload.concurrency or 0
        st[s.HAS_UNSERVABLE] = bool(self.reason.any())
        st[s.UNTIL] = NO_END_PS if until_ps is None else until_ps
        st[s.MAX_JUMP] = max(1, min(4096, math.isqrt(2**60 // max(1, step_time.longest_step_ps(config)))))
        st[s.PAIR_PS], st[s.SEQ_PS] = step_time.prefill_pair_ps, step_time.prefill_seq_ps
        st[s.TAIL] = st[s.PARTIAL] = s.NOBODY
        st[s.SPARE] = config.max_num_seqs
        return st

    def arguments(self, events: int) -> tuple[Any, ...]:
        """The arguments of `advance`, in order."""
        return (
            self.st,
            self.inp,
            self.out,
            self.reason,
            self.seat,
            self.spare,
            self.stack,
            self.fresh,
            self.heap,
            self.hist,
            self.itl,
            *self.tables,
            self.cache,
            events,
        )

    def ended_ratio(self) -> float:
        from simulator.kernels import state

        return float(self.st[state.ENDED]) / len(self.workload)

    def log(self) -> EventLog:
        from simulator.kernels import state as s

        self._settle_unfinished()
        st, out = self.st, self.out
        finished = (self.reason == 0) & (out[s.FINISH] != NEVER)
        refused = (self.reason != 0) & (out[s.FINISH] != NEVER)
        outcome = np.full(len(self.workload), UNFINISHED, np.int8)
        outcome[finished], outcome[refused] = FINISHED, UNSERVABLE
        itl_slice, itl_upper_ps, itl_count = pack_itl(self.itl)
        return EventLog(
            arrival_ps=self.inp[s.ARRIVAL],
            admitted_ps=out[s.ADMITTED],
            first_token_ps=out[s.FIRST_TOKEN],
            finish_ps=out[s.FINISH],
            prompt_tokens=self.workload.prompt_tokens,
            output_tokens=self.workload.output_tokens,
            generated_tokens=out[s.GENERATED],
            cached_tokens=out[s.CACHED],
            preemptions=out[s.PREEMPTIONS],
            preempted_ps=out[s.PREEMPTED_PS],
            failovers=np.zeros(len(self.workload), np.int64),
            replica=np.where(np.arange(len(self.workload)) < st[s.RECEIVED], np.where(refused, NEVER, 0), NEVER),
            outcome=outcome,
            reason=np.where(refused, self.reason, 0).astype(np.int8),
            end_ps=int(st[s.NOW]),
            request_ps=self.step_time.request_ps,
            waiting_ps=self._waiting_ps(),
            replicas=(
                ReplicaTotals(
                    pool=0,
                    steps=int(st[s.STEPS]),
                    busy_ps=int(st[s.BUSY]),
                    seat_ps=self._seat_ps(),
                    kv_block_ps=(int(st[s.AREA_HIGH]) << 31) + int(st[s.AREA_LOW]),
                    kv_token_ps=0,
                    kv_peak_blocks=int(st[s.PEAK]),
                    kv_peak_tokens=0,
                    prefill_tokens=int(st[s.PREFILL_TOKENS]),
                    num_blocks=self.config.num_blocks,
                    block_size=self.config.block_size,
                    max_num_seqs=self.config.max_num_seqs,
                    paid_ps=int(st[s.NOW]),
                ),
            ),
            starts=(),
            series=Series(1, *(np.zeros(0, np.int64),) * 4, np.zeros(0), np.zeros(0)),
            itl_slice=itl_slice,
            itl_upper_ps=itl_upper_ps,
            itl_count=itl_count,
        )

    def _settle_unfinished(self) -> None:
        """Rows still seated when the run was stopped: tokens made so far, time preempted so far."""
        from simulator.kernels import state as s

        st, seat = self.st, self.seat
        for row in self.heap[: st[s.HEAPED]]:
            request = seat[row, s.REQUEST]
            self.out[s.GENERATED, request] = self.inp[s.OUTPUT, request] - (seat[row, s.DUE] - st[s.STEPS])
        stopped = self.stack[: st[s.PREEMPTED]]
        for row in stopped:
            self.out[s.PREEMPTED_PS, seat[row, s.REQUEST]] += st[s.NOW] - seat[row, s.STOPPED_AT]
        for row in [*stopped, st[s.PARTIAL]]:
            if row != s.NOBODY:
                self.out[s.GENERATED, seat[row, s.REQUEST]] = seat[row, s.MADE]

    def _seat_ps(self) -> int:
        """Every admitted request's time from first admission to its end, without the time it was preempted."""
        from simulator.kernels import state as s

        admitted = self.out[s.ADMITTED] != NEVER
        end = np.where(self.out[s.FINISH] != NEVER, self.out[s.FINISH], self.st[s.NOW])
        return exact_sum((end - self.out[s.ADMITTED] - self.out[s.PREEMPTED_PS])[admitted])

    def _waiting_ps(self) -> int:
        from simulator.kernels import state as s

        here = (self.reason == 0) & (np.arange(len(self.workload)) < self.st[s.RECEIVED])
        entered = np.where(self.out[s.ADMITTED] != NEVER, self.out[s.ADMITTED], self.st[s.NOW])
        return exact_sum((entered - self.inp[s.ARRIVAL] + self.out[s.PREEMPTED_PS])[here])


def exact_sum(values: IntArray) -> int:
    """Sum of non-negative 64-bit integers that may exceed 64 bits."""
    return (int((values >> 31).sum()) << 31) + int((values & (2**31 - 1)).sum())
