"""What a run leaves behind: one row per request, sums over time, and the gaps between tokens."""

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from simulator.steptime import IntArray

FINISHED, UNSERVABLE, UNFINISHED = 0, 1, 2
NO_REASON, TOO_LONG_FOR_CONTEXT, TOO_LONG_FOR_POOL = 0, 1, 2
UNSERVABLE_REASONS = (
    "",
    "prompt and output together exceed max_model_len",
    "the request alone needs more KV blocks than the pool has",
)
NEVER = -1

# Gaps between tokens are counted in bins: exact below 2**8 ps, then 2**8 bins per doubling (0.4 % wide), apart for each
# of ITL_SLICES equal shares of the requests in order of first admission, so that a warm-up can be cut.
ITL_SUB_BITS = 8
ITL_BINS = (63 - ITL_SUB_BITS) * 2**ITL_SUB_BITS + 2 ** (ITL_SUB_BITS + 1)
ITL_SLICES = 20


@dataclass(frozen=True, slots=True)
class EventLog:
    """Columns by request (int64 unless said otherwise) and totals of the run. Times are picoseconds from the start.

    arrival_ps        sent (in a closed loop: when it really was)
    admitted_ps       first scheduled; -1 if never
    first_token_ps    end of the step that completed the prompt; -1 if never
    finish_ps         last token; an unservable request ends at its arrival; -1 if unfinished
    prompt_tokens, output_tokens   as asked for
    generated_tokens  as produced
    cached_tokens     prompt tokens found in the prefix cache at first admission (not those found again when resumed)
    preemptions       how often it was preempted
    preempted_ps      time it spent preempted, waiting to be resumed
    outcome           int8: FINISHED, UNSERVABLE, UNFINISHED;  reason: int8, index into UNSERVABLE_REASONS

    end_ps            end of the run; steps: engine steps; busy_ps: their time; request_ps: for metrics to add
    seat_ps, waiting_ps, kv_block_ps   integrals over time of running requests, of waiting ones (preempted ones
                      included), and of blocks held, as Python ints
    kv_peak_blocks    most blocks held;  num_blocks, max_num_seqs: the configuration's
    prefill_tokens    prompt tokens computed, recomputation included
    itl_slice, itl_upper_ps, itl_count   gaps between a request's tokens, in bins: share of the run (see ITL_SLICES),
                      greatest gap of the bin, gaps counted
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
    outcome: npt.NDArray[np.int8]
    reason: npt.NDArray[np.int8]
    end_ps: int
    steps: int
    busy_ps: int
    request_ps: int
    seat_ps: int
    waiting_ps: int
    kv_block_ps: int
    kv_peak_blocks: int
    num_blocks: int
    max_num_seqs: int
    prefill_tokens: int
    itl_slice: IntArray
    itl_upper_ps: IntArray
    itl_count: IntArray

    def __len__(self) -> int:
        return int(self.arrival_ps.size)

    def reason_of(self, request: int) -> str:
        """Why request number `request` was unservable ("" if it was not)."""
        return UNSERVABLE_REASONS[int(self.reason[request])]

    def differences(self, other: "EventLog") -> list[str]:
        """Names of the fields in which two logs differ, bit for bit: empty when the runs were the same."""
        return [f.name for f in fields(self) if not np.array_equal(getattr(self, f.name), getattr(other, f.name))]


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


def itl_slice_of(admissions: int, requests: int) -> int:
    """Slice that gaps are counted in after `admissions` of `requests` have been admitted for the first time."""
    return min(ITL_SLICES - 1, admissions * ITL_SLICES // requests)


def pack_itl(counts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """(slice, upper_ps, count) of the bins in use, from counts[ITL_SLICES, ITL_BINS]."""
    slices, bins = np.nonzero(counts)
    return slices.astype(np.int64), itl_upper_ps(bins.astype(np.int64)), counts[slices, bins]
