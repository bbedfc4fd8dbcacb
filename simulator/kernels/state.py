"""What stands where in the fast engine's memory.

Nearly all of it is one array of int64, the arena `m`, made of records; a record's id is the offset of its first word,
and 0 is none (the fleet's own record stands there, and nobody refers to it). A field is read as `m[record + FIELD]`:

  m[0 ...]       the fleet: clock, counters, and where the other parts begin
  m[pool + ...]  one record per pool: which replicas are in it, and what they can serve
  m[rep + ...]   one record per replica: its configuration, totals, and state
  m[row + ...]   a seat of a replica: one request that was admitted and has not ended; first come first served it
                 keeps its row while preempted (running and preempted ones are never more than max_num_seqs: nobody new
                 enters while one is preempted), else it keeps what it has in columns
  and without fields of their own: the heap, histogram and chunk list of each replica, step-time tables, the gaps
  between tokens, and the trees (`tree.py`) by which the next event and the least loaded replica are found

Beside it:

  times   [TIMES or one more, n] int64   columns by request: ARRIVAL (a closed loop writes here), ADMITTED, ...
  counts  [COUNTS or one more, n] int32  columns by request: PROMPT, OUTPUT, ...
  draws   [n, 2] int64  random numbers for routers that draw
  w       int32              the prefix caches: see `prefix.py`

A decoding sequence gains one token in every step, so nothing is stored that changes with it: with STEPS counted since
the start, it has computed BASE + STEPS tokens and ends with step DUE. Steps in which it has to stand by, as prompts are
computed alone, are STALLS and no STEPS.
"""

from typing import Final

NOBODY: Final = 0  # no row
NONE: Final = -1  # no request, no replica
FAR_PS: Final = 2**63 - 1  # never

# --- the fleet ------------------------------------------------------------------------------------------------
CLOCK: Final = 0  # the instant that is being worked on
REQUESTS: Final = 1
CONCURRENCY: Final = 2  # 0: open loop
UNTIL: Final = 3
RECEIVED: Final = 4  # requests taken in
ENDED: Final = 5
REPLICAS: Final = 6
RECORDS: Final = 7  # table: the replica of each number
POOLS: Final = 8  # first pool's record; they stand one behind the other
POOLS_END: Final = 9
ROUTER: Final = 10  # see `route.py`
CREDITS: Final = 11  # weighted round robin: table of each gang's credit
EVENTS: Final = 12  # tree of the replicas by END
LOADS: Final = 13  # tree of the gangs by load, see `candidates.py`
REACHED: Final = 14  # list: replicas that may begin a step at this instant
REACHED_COUNT: Final = 15
GAPS: Final = 16  # [ITL_SLICES, ITL_BINS] gaps between tokens
SERIES: Final = 17  # [SERIES_BINS, SUMS] sums over time
SHIFT: Final = 18  # a bin of the series is 2**SHIFT ps wide
THINKING: Final = 19  # 1: requests of a closed loop have a think time
WAITED_HIGH: Final = 20  # picoseconds in waiting lines, two words
EVEN: Final = 22  # 1: all pools have the same weight
READY: Final = 23  # closed loop: heap of the times at which users are ready to ask again
READY_COUNT: Final = 24
CONTROL: Final = 25  # see `control.py`; 0: no replica comes or goes
TURN: Final = 26  # round robin among the same candidates: the number whose turn it is
GANG_COUNT: Final = 27
GANGS: Final = 28  # table by gang, see `candidates.py`
MATCH_PERCENT: Final = 29
UNEVEN_REQUESTS: Final = 30
UNEVEN_PERCENT: Final = 31
OVERLAP_PERCENT: Final = 32
SENT_KIND: Final = 33  # what prefix-affine routers remember, see `affinity.py`
SENT_SPANS: Final = 34
SENT: Final = 35
SENT_WORDS: Final = 36
SENT_TOKENS: Final = 37
WORD: Final = 40  # a hash of the run's random bits, for drafts
TRANSFER: Final = 41  # see `handed.py`; 0: prompts are decoded where they are prefilled
NEXT_SENT: Final = 42  # when the next KV transfer ends; FAR_PS: none is under way
SIDE: Final = 43  # which replicas the router chooses among: by their role,
CHOOSY: Final = 44  # and one by one: those that are on, or where the arriving prompt is short; 0: all of that role
LIMITED: Final = 48  # 1: not everybody is let in, or stays, see `gate.py` and `expire.py`
EXPIRES: Final = 49  # 1: requests are dropped when their time has passed
TIMEOUT: Final = 50  # time after arrival, present where LIMITED is
MAX_WAITING: Final = 51
TENANTS: Final = 52  # table of tenants with their caps; 0: none has a cap
HOLDS: Final = 53  # 1: requests beyond a cap are held
CARRIES: Final = 55  # 1: requests may lose their row and keep what they have in columns
HELD_TREE: Final = 54  # tree of tenants by their first held request, those with room
FLEET_SIZE: Final = 60

ANY: Final = 0  # sides, and roles of pools: the fleet is not disaggregated,
PREFILL: Final = 1
DECODE: Final = 2

BY_POWER: Final = 1
BY_FIT: Final = 2

TELLING: Final = 1
SILENT: Final = 2

# --- pool -----------------------------------------------------------------------------------------------------
POOL_FIRST: Final = 0  # number of its first gang
POOL_REPLICAS: Final = 1
POOL_LONGEST: Final = 2  # prompt and output together that a replica can serve
POOL_LOW: Final = 3  # prompts that the router sends there
POOL_HIGH: Final = 4  # and that it can serve
POOL_MEMBERS: Final = 5  # engines of a gang
POOL_FIRST_ENGINE: Final = 6
POOL_ROLE: Final = 7
POOL_SIZE: Final = 8

# --- gang, where it is more than one engine, see `gangs.py` -----------------------------------------------------
KIND: Final = 0
LEADER: Final = 1  # its first engine
MEMBERS: Final = 2
DUMMY_PS: Final = 3  # in step: how long a rank without work takes
GANG_TURN: Final = 4  # pipeline: the lane that may enter first
STAGES: Final = 5  # pipeline: table of when each stage gets free
GANG_SIZE: Final = 6

IN_STEP: Final = 0
PIPELINE: Final = 1

# --- replica: configuration -----------------------------------------------------------------------------------
NUMBER: Final = 0
MAX_SEQS: Final = 1
BUDGET: Final = 2
BLOCKS: Final = 3
BLOCK_SIZE: Final = 4
BLOCK_BITS: Final = 5  # block size = 2**BLOCK_BITS; -1: no power of two
CHUNKED: Final = 6  # 1: prompts are split
RESERVE_WHOLE: Final = 7  # 1: admission asks for room for the whole prompt
WATERMARK: Final = 8
CONTIGUOUS: Final = 9  # blocks reserved per sequence; 0: paged
STATIC: Final = 10
CACHING: Final = 11
MAX_JUMP: Final = 12  # steps in one closed form, so that its sums stay within 64 bits
PAIR_PS: Final = 13
SEQ_PS: Final = 14
PROMPTS_PS: Final = 195  # once in a step that prefills
TOKENS_PS: Final = 15  # step-time tables
SEATS_PS: Final = 16
CONTEXT_PS: Final = 17
HIST: Final = 18  # [2, block_size] blocks that decoding sequences begin, and free, by step number mod block_size
HEAP: Final = 19  # [max_num_seqs, 2] DUE and row of those that decode, the next to finish first
CHUNKS: Final = 20  # [max_num_seqs] rows whose prompt is partly computed, in order of admission
LONGEST_CHUNK: Final = 21  # most tokens of one prompt in a step
# --- replica: the event ahead ---------------------------------------------------------------------------------
END: Final = 24  # when the step or stretch under way ends; FAR_PS: none
NOW: Final = 25  # its beginning
PLANNED: Final = 26  # steps of the stretch; 0: it is a full step
FIRST_PS: Final = 27  # the stretch's steps last FIRST_PS, FIRST_PS + RISE_PS, ...
RISE_PS: Final = 28
OPEN: Final = 29  # 1: the stretch must end if a request comes
LISTED: Final = 30  # 1: it stands in the fleet's list REACHED
SETTLED: Final = 31  # when the last step ended
# --- replica: state -------------------------------------------------------------------------------------------
LINE: Final = 32  # waiting line: three words, see `waiting.py`
PREEMPTED: Final = 35  # how many of the waiting ones were preempted: they have a row
DECODING: Final = 36
CONTEXT: Final = 37  # tokens computed of the decoding sequences
TAIL: Final = 38  # decoding row admitted last
HEAD: Final = 22  # decoding row admitted first
OUTSTANDING: Final = 39  # requests sent there that have not ended
CHUNK_COUNT: Final = 40
FREE: Final = 41  # blocks that nobody holds
BATCH_LEFT: Final = 42  # requests that may still join the static batch
FREE_ROW: Final = 43  # rows given back, linked by NEXT
UNUSED_ROW: Final = 44  # first row never used
ORDER: Final = 45  # counts admissions: their order in the running list
GAP_SHIFT: Final = 46  # last shift used for a gap's bin: successive gaps are alike
GAP_SLICE: Final = 47  # where the bins begin that gaps are counted in
GAP_FROM: Final = 48  # that slice's first request, and the one behind its last
GAP_UPTO: Final = 49
PEAK: Final = 50
HITS: Final = 51  # what the last look-up of the waiting head found: blocks cached
FREE_HITS: Final = 52  # and how many of them nobody holds
# --- replica: prefix cache, offsets in w (see `prefix.py`) ----------------------------------------------------
QUEUE: Final = 53  # end of the free queue
UNUSED_RUN: Final = 54  # two words: first record of a run never used, and the last one given back
SCRATCH: Final = 56
HEADS: Final = 57
SPANS: Final = 58
PARTS: Final = 59
TABLES: Final = 60  # offset in m: block tables of the next unused row, see `prefix.py`
WIDTH: Final = 61
SHARED: Final = 62  # holders of blocks beyond the first of each
PENDING: Final = 63  # uncached prompt tokens, as found when they were routed, of requests without a token
# --- replica: totals, and what of them the series has -----------------------------------------------------------
STEPS: Final = 64  # but for STALLS
BUSY: Final = 65
SEAT_HIGH: Final = 66  # running requests x picoseconds = SEAT_HIGH * 2**31 + SEAT_LOW
SEAT_LOW: Final = 67
AREA_HIGH: Final = 68  # blocks x picoseconds
AREA_LOW: Final = 69
PREFILLED: Final = 70  # tokens
DECODED: Final = 71
SUMS: Final = 8
TOLD: Final = 72  # [SUMS] the totals when they were last added to the series
BIN_PS: Final = 80  # when the bin of the series began that the replica's steps belong to
BIN_END: Final = 81
KV_TOKENS_HIGH: Final = 82  # tokens in held blocks x picoseconds, two words
PEAK_TOKENS: Final = 84
# --- replica: more of its state: hits inside blocks (see `begun.py`) ------------------------------------------------
BEGINNINGS: Final = 85  # 0: hits are whole blocks
UNUSED_BEGINNING: Final = 86  # two words, as UNUSED_RUN
HIT_TOKENS: Final = 88  # what the last look-up of the waiting head found, in tokens
# --- replica: its gang ------------------------------------------------------------------------------------------
GANG: Final = 89  # record of its gang, 0: it is alone
GANG_NUMBER: Final = 90
HELD: Final = 91  # in a pipeline: until when seats and blocks held between steps are counted
PLAN_RUNNING: Final = 92  # requests in the planned step, and how long it would take alone
PLAN_PS: Final = 93
# --- replica: drafts (see `drafts.py`) --------------------------------------------------------------------------
MAX_LEN: Final = 96  # prompt and output together
DRAFT_TOKENS: Final = 97  # proposed to a decoding sequence in a step; 0: the engine does not speculate
LOOKAHEAD: Final = 98  # places taken beyond a step's tokens
THRESHOLDS: Final = 99  # [DRAFT_TOKENS] a draw below the n-th keeps at least n of them
STEP_SEQS: Final = 100  # of the step under way: decoding sequences in it,
STEP_TOKENS: Final = 101  # tokens that are verified for them,
STEP_CONTEXT: Final = 102  # tokens that they have computed before,
STEP_OUT: Final = 103  # and tokens that come out
# --- replica: stepping in full (see `walk.py`) ------------------------------------------------------------------
WALKS: Final = 104  # 1: every step is a full one, for which the running list is walked; 2: for a while
ANSWERS: Final = 105  # 1: with a prefix cache, content of answers too is told
# --- replica: prefill and decode apart (see `handed.py`, `intake.py`) -------------------------------------------
INCOMING: Final = 108  # seats kept for requests whose KV is on its way here, or has come and waits for a step
AWAY_TOKENS: Final = 109  # computed tokens in the blocks of requests on their way, from here or to here
INTAKE: Final = 110  # line of requests that want room for their KV: three words, see `waiting.py`
COME: Final = 113  # first and last row whose KV has come, linked by NEXT
COME_LAST: Final = 114
FRESH: Final = 115  # table of rows that joined with the step under way,
FRESH_COUNT: Final = 116
PREPAID: Final = 117  # blocks that they begin in it and hold already
LINE_BLOCKS: Final = 118  # blocks that the requests in INTAKE will take, hits not counted
HANDS_OVER: Final = 119  # 0: it decodes; else it computes prompts only, and emits the first token, or not (SILENT)
# --- replica: other schedulers than vLLM's V1 (see `profiles.py`) -------------------------------------------------
PROFILE: Final = 120  # who is asked first; STEPS_AS_V1: running requests are
WHOLE: Final = 121  # 1: a prompt takes all its blocks at its admission
ASKS: Final = 122  # what room admission asks for
PROMISED: Final = 123  # GREATEST: blocks of those who run with their greatest outputs
MAX_NEW: Final = 124  # greatest output of a request, as the engine knows it; 0: its own
MAX_ALL: Final = 125  # and prompt and greatest output together
SUMMED: Final = 126  # 1: STEP_SEQS to STEP_OUT tell what decodes in a full step
STALL: Final = 127  # 1: in the step under way prompts are computed alone
STALLS: Final = 128  # such steps so far: STEPS leaves them out
RESTED: Final = 129  # 1: they have come since decoding sequences had a token
LAST_OUT: Final = 130  # when that was
COMING: Final = 131  # ESTIMATE: sum over decoding rows of the step that ends each with its greatest output
RATIO: Final = 132  # ESTIMATE: the share of outputs to come that is expected, in parts of ONE,
START_RATIO: Final = 133  # what it is at first,
LEAST_RATIO: Final = 134
DECAY: Final = 135  # and how much it falls in a step of decodes
RESERVED: Final = 136  # parts of tokens that are kept for outputs
FULL: Final = 137  # 1: nobody is let in until somebody leaves
MIXED: Final = 138  # 1: who decodes runs along with prompts
LONGEST: Final = 139  # most tokens that a table of a request has places for
CLIPS: Final = 140  # 1: greatest outputs may exceed CLIP_TOKENS
TAKEN: Final = 141  # 1: where MIXED, those who decode have their blocks of this step
OVERLAPS: Final = 142  # 1: a step is scheduled before the results of the one before are known
INBOX: Final = 143  # line of requests that have come since a step was scheduled: three words
LATE_ROWS: Final = 146  # [max_num_seqs] rows of those that have finished and keep seat and blocks for one more step
LATE_COUNT: Final = 147
VAIN: Final = 148  # how many of them the step computes
CLOSED: Final = 149  # 1: somebody fell when the step was scheduled
# --- replica: limits (see `gate.py`, `dues.py`) -----------------------------------------------------------------
KV_LIMIT: Final = 150  # blocks held from which on it turns requests away
DUES: Final = 151  # first of the heap of its requests by when their time passes; NONE: empty
# --- replica: its waiting line, where it is not first come first served (see `lines.py`) ---------------------------
ORDERED: Final = 152  # 0: first come first served
OWNERS: Final = 153
OWNER_COUNT: Final = 154
OWNER_COLUMN: Final = 155  # the column of requests that tells whose they are
WAITERS: Final = 156
WAITER_COUNT: Final = 157
LAST_EMPTIED: Final = 158  # the owner whose line was the last to become empty; 0: none
NEXT_OWNER: Final = 159  # whose request is next,
NEXT_BEFORE: Final = 160  # and which stands before it in its line
JOINS: Final = 161  # counts requests that have come
MOST_MATCHED: Final = 162  # requests that may wait for their prefixes to be looked up
MATCHED: Final = 163  # 1: they were
LOOSE: Final = 164  # 1: decoding may change what was found
OWN: Final = 165  # in w: lists of each request's own blocks, by request; 0: its tables have them
IN_ORDER: Final = 167  # steps that can begin before another tenant is next, where that matters; FAR_PS: any number
WORST_FALLS: Final = 166  # 1: the last of the worst class is preempted, see `walk.py`
# --- replica: layer groups ----------------------------------------------------------------------------------------
BLOCK_TABLES: Final = 180  # block tables of a sequence: blocks of the pool that block_size of its tokens take
NAMES: Final = 181  # names of shared content, of each table
WINDOWS: Final = 182  # records of the windows, see `windows.py`
WINDOW_COUNT: Final = 183
GONE: Final = 184  # blocks behind windows that running sequences have freed
LATE: Final = 185  # and that decoding ones have yet to free beyond what the histogram says
NEXT_PASS: Final = 186  # no decoding sequence passes a window before this step
ROUND_FREES: Final = 187  # blocks that decoding sequences free in block_size steps
WINDOW_PS: Final = 188  # step-time table; 0: none
STEP_WINDOW: Final = 189  # the window of the step time, in tokens
WINDOW_CONTEXT: Final = 190  # tokens computed of the decoding sequences, of each so many at most
BELOW: Final = 191  # decoding sequences that have computed less
TABLE_WINDOWS: Final = 193  # the window of each block table, 0: none; 0: no table has one, or nothing is cached
SLIDES: Final = 194  # with TABLE_WINDOWS: room for what `slides.py` looks through
ASKED: Final = 192  # free blocks that the head of the line waits for; FAR_PS: it does not wait for blocks
REPLICA_SIZE: Final = 200

STEPS_AS_V1: Final = 0  # PROFILE
PROMPTS_FIRST: Final = 1
SGLANG: Final = 2

PRESENT_NEED: Final = 0  # ASKS
GREATEST: Final = 1
ESTIMATE: Final = 2

# --- row ------------------------------------------------------------------------------------------------------
REQUEST: Final = 0
DUE: Final = 1  # decoding: the step that ends it
BASE: Final = 2  # decoding: computed tokens minus STEPS
PREV: Final = 3  # decoding: neighbours in the running list
NEXT: Final = 4
RANK: Final = 5  # place in the running list, rising
HEAP_AT: Final = 6  # decoding: offset of its place in the heap
LENGTH: Final = 7  # output tokens it asked for
MADE: Final = 8  # tokens generated, while it does not decode
COMPUTED: Final = 9  # prefilling, or late: tokens computed
TARGET: Final = 10  # prefilling: tokens to compute
CHUNK: Final = 11  # prefilling, or late: tokens in this step, 0 if it has to wait
STOPPED_AT: Final = 12  # when it was preempted
LAST_TOKEN: Final = 13  # when its last token came out, before it was preempted or with drafts
TABLE: Final = 14  # its block tables, see `prefix.py`
OFFERED: Final = 16  # blocks in runs, of each table: leading ones that others can find, or could
ROW_BEGAN: Final = 18  # 1: that block has been offered
ROW_HELD: Final = 19  # with drafts: blocks that it holds; else those that it took at admission
EMITS: Final = 20  # decoding with drafts: tokens that come out of the step under way, of CHUNK in it
ROW_FRESH: Final = 24  # 1: it stands in FRESH, or has no token yet in an engine that walks
PAYER: Final = 36  # whose it is, in an engine that is ORDERED
ROW_PROMISED: Final = 30  # blocks that it takes with its greatest output, where these are guaranteed
BEYOND: Final = 31  # greatest output less the one asked for, where outputs are estimated
ROW_GONE: Final = 40  # blocks behind windows that it has freed, see `windows.py`
ROW_GONE_AT: Final = 41  # decoding: the step number for which ROW_GONE counts
PASSED: Final = 42  # decoding: windows that it has passed
ROW_SIZE: Final = 48

# --- times, counts --------------------------------------------------------------------------------------------
ARRIVAL: Final = 0
ADMITTED: Final = 1
FIRST_TOKEN: Final = 2
FINISH: Final = 3
PREEMPTED_PS: Final = 4
THINK: Final = 5  # present where THINKING is
LAST_AT: Final = 6  # present where CARRIES is: when a request without a row had its last token,
STRANDED_AT: Final = 7  # and since when it is without a seat
DUE_AT: Final = 8  # present where LIMITED is: where the request stands in a heap of `dues.py`,
DEADLINE_PS: Final = 9  # and how long after its arrival it must be admitted
LIMITED_TIMES: Final = 10
HANDED_AT: Final = 10  # present where TRANSFER is: when a request's prompt had been computed,
SENT_PS: Final = 11  # and from then to its KV being where it is decoded
TIMES: Final = 5

PROMPT: Final = 0
OUTPUT: Final = 1
REPLICA: Final = 2  # -2 - number: lost with that one, and sent to no other yet
CACHED: Final = 3
PREEMPTIONS: Final = 4
BEHIND: Final = 5  # the next request in its waiting line
SEAT: Final = 6  # row of a preempted request
KEPT: Final = 7  # what the router keeps, if it does: the session (NONE: none), prompt tokens not cached when routed
CARRIED: Final = 8  # present where CARRIES is: tokens that a request without a row has made
FAILOVERS: Final = 9
ENDING: Final = 10  # present where LIMITED is: how it ended, see `endings.py`; 0: finished, or cannot be served,
GOT: Final = 11  # tokens that it had then,
DUE_CHILD: Final = 12  # links of `dues.py`,
DUE_NEXT: Final = 13
TENANT: Final = 14  # and a number for whose it is
LIMITED_COUNTS: Final = 15
JOINED: Final = 15  # present where CARRIES is: how many had come to its engine before,
CLASS: Final = 16  # a number for its priority class,
MATCH: Final = 17  # and tokens that the cache held of it
CARRIED_COUNTS: Final = 18
PREFILLED_BY: Final = 18  # present where TRANSFER is: the engine that computed the prompt,
HELD_ROW: Final = 19  # and the row that holds its blocks there; NOBODY again when it runs where it is decoded
COUNTS: Final = 7

# --- advance's answers ----------------------------------------------------------------------------------------
MORE: Final = 0
DONE: Final = 1
BEYOND_HORIZON: Final = 2
