"""What a run leaves behind: one row per request, sums over time, and the gaps between tokens."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from simulator.steptime import IntArray

FloatArray = npt.NDArray[np.float64]

FINISHED, UNSERVABLE, UNFINISHED, REJECTED, TIMED_OUT = 0, 1, 2, 3, 4
NO_REASON, TOO_LONG_FOR_CONTEXT, TOO_LONG_FOR_POOL, NO_POOL = 0, 1, 2, 3
QUEUE_FULL, KV_FULL, DEADLINE, TENANT_CAP = 4, 5, 6, 7
REASONS = (
    "",
    "prompt and output together exceed max_model_len",
    "the request alone needs more KV blocks than the pool has",
    "no pool takes prompts of this length",
    "the replica's waiting line was full",
    "the replica's KV blocks were held beyond the limit",
    "it was not admitted by its deadline",
    "its tenant had as many requests as it may have",
)
REJECTED_REASONS = {QUEUE_FULL: "queue_full", KV_FULL: "kv_full", DEADLINE: "deadline", TENANT_CAP: "tenant_cap"}
NEVER = -1

# Gaps between tokens are counted in bins: exact below 2**8 ps, then 2**8 bins per doubling (0.4 % wide), apart for each
# of ITL_SLICES equal shares of the requests by number, so that a warm-up can be cut: a replica counts in the slice of
# the request that it admitted last.
ITL_SUB_BITS = 8
ITL_BINS = (63 - ITL_SUB_BITS) * 2**ITL_SUB_BITS + 2 ** (ITL_SUB_BITS + 1)
ITL_SLICES = 20

# Sums over time are kept in SERIES_BINS bins of equal width, which doubles whenever a step begins beyond the last bin.
SERIES_BINS = 256
SERIES_SHIFT = 30  # the first width is 2**30 ps


@dataclass(frozen=True, slots=True)
class ReplicaTotals:
    """Sums of one engine (a replica, or a rank or lane of one) over the run.

    steps, busy_ps    engine steps and their time, from begin to end: a rank's wait for the slowest and a lane's for
                      its stages are in it, a rank's dummy steps are not
    seat_ps, kv_block_ps   running requests x step time, blocks held x step time, exact; in a pipeline the time between
                      steps is in it
    kv_token_ps       tokens in held blocks at the end of each step x step time, exact. A shared block counts once, and
                      a token once in each layer group: of the slots held, kv_block_ps x block_size, the rest is waste
    kv_peak_blocks, kv_peak_tokens   most blocks held, most tokens in held blocks
    prefill_tokens    prompt tokens computed, recomputation included
    paid_ps           how long it was on, starting or leaving: the whole run where nothing switches replicas off
    pool, num_blocks, block_size, max_num_seqs   where it belongs, and its configuration's limits
    """

    pool: int
    steps: int
    busy_ps: int
    seat_ps: int
    kv_block_ps: int
    kv_token_ps: int
    kv_peak_blocks: int
    kv_peak_tokens: int
    prefill_tokens: int
    num_blocks: int
    block_size: int
    max_num_seqs: int
    paid_ps: int


@dataclass(frozen=True, slots=True)
class Series:
    """The fleet over time, in bins of `bin_ps`; a step belongs to the bin in which it begins. One entry per bin in use.

    steps, busy_ps, prefill_tokens   int64
    decode_tokens   int64, emitted by decoding sequences
    seat_ps, kv_block_ps   as in ReplicaTotals, rounded to float64
    """

    bin_ps: int
    steps: IntArray
    busy_ps: IntArray
    prefill_tokens: IntArray
    decode_tokens: IntArray
    seat_ps: FloatArray
    kv_block_ps: FloatArray


@dataclass(frozen=True, slots=True)
class EventLog:
    """Columns by request (int64 unless said otherwise) and totals of the run. Times are picoseconds from the start.

    arrival_ps        sent (in a closed loop: when it really was); beyond end_ps where the run ended before that
    admitted_ps       first scheduled; -1 if never
    first_token_ps    end of the step that completed the prompt; -1 if never
    finish_ps         last token; arrival of one that was unservable or rejected there; when it was dropped; -1 if
                      unfinished
    prompt_tokens, output_tokens   as asked for
    generated_tokens  as produced
    cached_tokens     prompt tokens found in the prefix cache at first admission (not those found again when resumed)
    preemptions       how often it was preempted
    preempted_ps      time it spent preempted, waiting to be resumed
    failovers         how often its replica was lost; the time until it was admitted elsewhere is in preempted_ps
    transfer_ps       from the end of its prefill to its KV being on the decode replica, waiting for room and for the
                      link included (up to the end of the run if it is not there yet); 0 if it was not sent
    replica           int32: number of the engine it was sent to last (ranks and lanes have their own); -1 if none
    prefill_replica   int32: number of the prefill engine it was sent to; -1 if none
    outcome           int8: FINISHED, UNSERVABLE, UNFINISHED, REJECTED, TIMED_OUT;  reason: int8, index into REASONS

    end_ps            end of the run;  request_ps, request_token_ps: for metrics to add
    waiting_ps        integral over time of waiting requests (preempted ones included), as a Python int
    transfer_wait_ps  integral over time of requests between prefill and decode: from the end of their prefill until
                      they run on the decode replica
    replicas          sums of each engine;  series: sums over time
    starts            (replica, asked_ps, ready_ps) of each replica that was switched on or lost during the run
    itl_slice, itl_upper_ps, itl_count   gaps between a request's emissions (each one token, or those that one step
                      verified), in bins: share of the run (see ITL_SLICES), greatest gap of the bin, gaps counted
    """

    arrival_ps: IntArray
    admitted_ps: IntArray
    first_token_ps: IntArray
    finish_ps: IntArray
    prompt_tokens: IntArray
    output_tokens: IntArray
    generated_tokens: IntArray
    cached_tokens: IntArray
    preemptions: IntArray
    preempted_ps: IntArray
    failovers: IntArray
    transfer_ps: IntArray
    replica: npt.NDArray[np.int32]
    prefill_replica: npt.NDArray[np.int32]
    outcome: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int8]
    end_ps: int
    request_ps: int
    request_token_ps: int
    waiting_ps: int
    transfer_wait_ps: int
    replicas: tuple[ReplicaTotals, ...]
    starts: tuple[tuple[int, int, int], ...]
    series: Series
    itl_slice: IntArray
    itl_upper_ps: IntArray
    itl_count: IntArray

    def __len__(self) -> int:
        return int(self.arrival_ps.size)

    def reason_of(self, request: int) -> str:
        """Why request number `request` was unservable or rejected ("" if it was not)."""
        return REASONS[int(self.reason[request])]

    def differences(self, other: "EventLog") -> list[str]:
        """Names of the fields in which two logs differ, bit for bit: empty when the runs were the same."""
        return [f.name for f in fields(self) if not _same(getattr(self, f.name), getattr(other, f.name))]

    @property
    def steps(self) -> int:
        """Engine steps of all replicas."""
        return sum(replica.steps for replica in self.replicas)

    @property
    def busy_ps(self) -> int:
        """Time of all steps."""
        return sum(replica.busy_ps for replica in self.replicas)

    @property
    def seat_ps(self) -> int:
        """Integral over time of running requests."""
        return sum(replica.seat_ps for replica in self.replicas)

    @property
    def in_system_ps(self) -> int:
        """Integral over time of requests running, waiting, and between prefill and decode."""
        return self.seat_ps + self.waiting_ps + self.transfer_wait_ps

    @property
    def kv_block_ps(self) -> int:
        """Integral over time of blocks held."""
        return sum(replica.kv_block_ps for replica in self.replicas)

    @property
    def kv_token_ps(self) -> int:
        """Integral over time of tokens in held blocks."""
        return sum(replica.kv_token_ps for replica in self.replicas)

    @property
    def kv_waste_ratio(self) -> float:
        """Share of the slots held, over time, in which no token stood: unfilled ends of blocks, reserved room."""
        slot_ps = sum(replica.kv_block_ps * replica.block_size for replica in self.replicas)
        return 1 - self.kv_token_ps / slot_ps if slot_ps else 0.0

    @property
    def kv_peak_ratio(self) -> float:
        """Greatest share of its pool that any replica held."""
        return max(replica.kv_peak_blocks / replica.num_blocks for replica in self.replicas)

    @property
    def num_blocks(self) -> int:
        """Blocks of all replicas."""
        return sum(replica.num_blocks for replica in self.replicas)

    @property
    def max_num_seqs(self) -> int:
        """Seats of all replicas."""
        return sum(replica.max_num_seqs for replica in self.replicas)

    @property
    def prefill_tokens(self) -> int:
        """Prompt tokens computed, recomputation included."""
        return sum(replica.prefill_tokens for replica in self.replicas)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Series):
        return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, tuple):
        return bool(one == other)
    return np.array_equal(one, other)


def itl_bin(gap_ps: int) -> int:
    """Bin of a gap: its leading ITL_SUB_BITS + 1 bits and how far they were shifted."""
    shift = max(0, gap_ps.bit_length() - ITL_SUB_BITS - 1)
    return (shift << ITL_SUB_BITS) + (gap_ps >> shift)


def itl_upper_ps(bins: IntArray) -> IntArray:
    """Greatest gap that falls into each bin, picoseconds."""
    shift = np.maximum(0, (bins >> ITL_SUB_BITS) - 1)
    leading = bins - (shift << ITL_SUB_BITS)
    upper: IntArray = ((leading + 1) << shift) - 1
    return upper


def itl_slice_of(number: int, requests: int) -> int:
    """Slice that a replica counts gaps in after it has admitted request `number` of `requests`."""
    return min(ITL_SLICES - 1, (number + 1) * ITL_SLICES // requests)


def pack_itl(counts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """(slice, upper_ps, count) of the bins in use, from counts[ITL_SLICES, ITL_BINS]."""
    used = np.flatnonzero(counts.ravel() != 0)  # many times as fast as to ask for rows and columns of the numbers
    slices, bins = np.divmod(used, counts.shape[1])
    return slices, itl_upper_ps(bins), counts.ravel()[used]
