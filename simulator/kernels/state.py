"""The fast engine's arrays and what stands where in them.

All are int64 unless said otherwise. The kernels take only those that they need, under these names:

  st      scalars: the configuration and the engine's state (indices below)
  inp     [3, n]  what was asked for: ARRIVAL (a closed loop writes here), PROMPT, OUTPUT
  reason  [n] int8: why a request is unservable, 0 if it is not
  out     [7, n]  what happened, the columns of EventLog
  seat    [max_num_seqs, 16]  one row per request that was admitted and has not ended; it keeps its row while preempted
          (running and preempted ones are never more than max_num_seqs: nobody new enters while one is preempted)
  spare   [max_num_seqs]  stack of free rows;  stack: [max_num_seqs] preempted rows, the next to be resumed on top
  heap    [max_num_seqs]  rows that decode, the next to finish first
  fresh   [max_num_seqs]  rows that compute a chunk of their prompt in this step, in order
  hist    [block_size]  decoding sequences by (computed tokens - steps) mod block_size: in step s those with residue
          -s mod block_size begin a new block
  itl     [ITL_SLICES, ITL_BINS]  gaps between tokens
  tokens_ps, seats_ps, context_ps  the step-time tables
  and the prefix cache's arrays, described in `prefix.py`

A decoding sequence gains one token in every step, so nothing is stored that changes with it: with `steps` counted since
the start, it has computed BASE + steps tokens and ends with step DUE.
"""

from typing import Final

# --- st: configuration --------------------------------------------------------------------------------------
REQUESTS: Final = 0
MAX_SEQS: Final = 1
BUDGET: Final = 2
BLOCKS: Final = 3
BLOCK_SIZE: Final = 4
CHUNKED: Final = 5  # 1: prompts are split
RESERVE_WHOLE: Final = 6  # 1: admission asks for room for the whole prompt
WATERMARK: Final = 7
CONTIGUOUS: Final = 8  # blocks reserved per sequence; 0: paged
STATIC: Final = 9
CACHING: Final = 10
CONCURRENCY: Final = 11  # 0: open loop
HAS_UNSERVABLE: Final = 12
UNTIL: Final = 13
MAX_JUMP: Final = 14  # steps in one closed form, so that its sums stay within 64 bits
PAIR_PS: Final = 15
SEQ_PS: Final = 16
# --- st: state ----------------------------------------------------------------------------------------------
NOW: Final = 20
STEPS: Final = 21
BUSY: Final = 22
RECEIVED: Final = 23  # requests taken in
HEAD: Final = 24  # next fresh request to admit
ENDED: Final = 25
ADMISSIONS: Final = 26
PREEMPTED: Final = 27  # rows on the stack
DECODING: Final = 28
CONTEXT: Final = 29  # tokens computed of the decoding sequences
TAIL: Final = 30  # decoding row admitted last, -1: none
PARTIAL: Final = 31  # row whose prompt is partly computed, -1: none; it stands behind all decoding ones
FREE: Final = 32  # blocks that nobody holds
PEAK: Final = 33
AREA_HIGH: Final = 34  # blocks x picoseconds = AREA_HIGH * 2**31 + AREA_LOW
AREA_LOW: Final = 35
PREFILL_TOKENS: Final = 36
BATCH_LEFT: Final = 37  # requests that may still join the static batch
SPARE: Final = 38  # rows on the spare stack
HEAPED: Final = 39
ORDER: Final = 40  # counts sequences that began to decode: their order in the running list
ITL_SHIFT: Final = 41  # last shift used for a bin: successive gaps are alike
ITL_ROW: Final = 42
FRESH: Final = 43  # rows in `fresh`
FIRST_HITS: Final = 44  # what the last look-up of the waiting head found: blocks cached
FREE_HITS: Final = 45  # and how many of them nobody holds
ANONYMOUS: Final = 46  # see prefix.py
ST_SIZE: Final = 48

# --- inp, out -----------------------------------------------------------------------------------------------
ARRIVAL: Final = 0
PROMPT: Final = 1
OUTPUT: Final = 2
ADMITTED: Final = 0
FIRST_TOKEN: Final = 1
FINISH: Final = 2
GENERATED: Final = 3
CACHED: Final = 4
PREEMPTIONS: Final = 5
PREEMPTED_PS: Final = 6
OUT_ROWS: Final = 7

# --- seat ---------------------------------------------------------------------------------------------------
REQUEST: Final = 0
DUE: Final = 1  # decoding: the step that ends it
BASE: Final = 2  # decoding: computed tokens minus steps
PREV: Final = 3  # decoding: neighbours in the running list, -1: none
NEXT: Final = 4
RANK: Final = 5  # decoding: place in the running list, rising
HEAP_AT: Final = 6
MADE: Final = 7  # tokens generated, while it does not decode
COMPUTED: Final = 8  # prefilling: tokens computed
TARGET: Final = 9  # prefilling: tokens to compute
CHUNK: Final = 10  # prefilling: tokens in this step
STOPPED_AT: Final = 11  # when it was preempted
LAST_TOKEN: Final = 12  # when its last token came out before it was preempted
TABLED: Final = 13  # blocks with a place in the block table
OFFERED: Final = 14  # shared blocks published
SEAT_COLUMNS: Final = 16

# --- advance's answers --------------------------------------------------------------------------------------
MORE: Final = 0
DONE: Final = 1
BEYOND_HORIZON: Final = 2

NOBODY: Final = -1
