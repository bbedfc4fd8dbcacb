"""The fast engine's memory at the start of a run: see `state.py` and `prefix.py` for what stands where."""

import math
from bisect import bisect_right
from collections import Counter
from typing import NamedTuple

import numpy as np

from simulator.config import EngineConfig
from simulator.errors import SimulatorError
from simulator.fleet import Fleet, Pool
from simulator.hashing import mixed
from simulator.kernels import state as s
from simulator.kernels.begun import BEGINNING_WORDS
from simulator.kernels.fleet_layout import FleetLayout
from simulator.kernels.gate_layout import GateLayout
from simulator.kernels.names import Names, name_blocks
from simulator.kernels.order_layout import OrderLayout
from simulator.kernels.power_layout import PowerLayout
from simulator.kernels.prefix import TABLE_AT, TABLE_SIZE
from simulator.kernels.runs import AFTER, BEFORE, HI, RUN_WORDS, Int32Array
from simulator.kernels.slides import slide_words
from simulator.kernels.transfer_layout import ROLES, TransferLayout, held_rows, role_fields
from simulator.kernels.tree import tree_words
from simulator.kernels.waiting import FIRST, LAST
from simulator.kernels.windows import WINDOW_SIZE
from simulator.kernels.words import Words
from simulator.records import ITL_BINS, ITL_SLICES, NEVER, SERIES_BINS, SERIES_SHIFT
from simulator.reference.schedulers.sglang import CLIP_TOKENS, ratios
from simulator.steptime import IntArray, StepTime
from simulator.transfer import Role
from simulator.workload import Workload

NO_END_PS = 2**62
LONGEST_JUMP = 4096


class Memory(NamedTuple):
    """The arguments of `advance`, in order."""

    m: IntArray
    w: Int32Array
    times: IntArray
    counts: Int32Array
    draws: IntArray

    def replicas(self) -> list[int]:
        """Offsets of the replicas' records, in order."""
        first = int(self.m[s.RECORDS])
        replicas: list[int] = self.m[first : first + int(self.m[s.REPLICAS])].tolist()
        return replicas


def lay_out(fleet: Fleet, workload: Workload, draws: IntArray, word: int, until_ps: int | None) -> Memory:
    """Everything empty, idle and free; `draws` for the router, `word` for drafts."""
    words, cache_words = Words(s.FLEET_SIZE), Words(RUN_WORDS)
    header = _fleet_header(fleet, workload, words, until_ps)
    pools = [_PoolLayout(fleet, pool, workload, words, cache_words) for pool in fleet.pools]
    router = FleetLayout(fleet, workload, words, cache_words)
    gate = GateLayout(fleet, workload, words)
    order = OrderLayout(fleet, workload, cache_words)
    header |= router.header | gate.header | order.header
    transfer = TransferLayout(fleet, words) if fleet.disaggregated else None
    replicas, caches = [], []
    for number, place in enumerate(fleet.pool_of_replica):
        cache_at = cache_words.end
        replicas.append(pools[place].replica(number, words, cache_words) | order.fields(place, words))
        caches.append((cache_at, cache_words.end))
    control = PowerLayout(fleet, words.end) if fleet.controlled else None
    words.end = words.end if control is None else control.end
    if cache_words.end >= 2**31 or words.end >= 2**31:
        raise SimulatorError("too_large", "max_num_seqs", "seats, blocks and names of the fleet exceed 2**31 words")
    try:
        m, w = np.zeros(words.end, np.int64), np.zeros(cache_words.end, np.int32)
    except MemoryError as error:
        raise SimulatorError("too_large", "max_num_seqs", "seats, blocks and names exceed the memory") from error
    for field, value in header.items():
        m[field] = value
    m[s.WORD] = mixed(word)
    _plant(m, int(m[s.EVENTS]), len(fleet), s.FAR_PS)
    _plant(m, int(m[s.LOADS]), len(fleet.gangs), 0)
    first_gang = 0
    for place, pool in enumerate(pools):
        first_engine = fleet.pool_of_replica.index(place)
        pool.write(m, w, int(m[s.POOLS]) + place * s.POOL_SIZE, first_gang, first_engine)
        first_gang += pool.pool.replicas
    for number, fields in enumerate(replicas):
        rep = fields[s.NUMBER]
        m[m[s.RECORDS] + number] = rep
        for field, value in fields.items():
            m[rep + field] = value
        m[rep + s.NUMBER] = number
        m[rep + s.GAP_SLICE] = m[s.GAPS]
        if fields[s.CACHING]:
            end, run = fields[s.QUEUE], fields[s.UNUSED_RUN] - RUN_WORDS
            w[end + BEFORE] = w[end + AFTER] = run
            w[run + BEFORE] = w[run + AFTER] = end
            w[run + HI] = fields[s.BLOCKS]
            width, rows = fields[s.WIDTH] + 1, pools[fleet.pool_of_replica[number]].rows
            tables = rows * fields[s.BLOCK_TABLES]
            place = fields[s.TABLES] + TABLE_AT
            m[place : place + tables * TABLE_SIZE : TABLE_SIZE] = fields[s.SCRATCH] + width * np.arange(1, tables + 1)
    router.write(m, w)
    gate.write(m)
    order.write(m)
    if gate.header.get(s.HELD_TREE):
        _plant(m, int(m[s.HELD_TREE]), gate.tenants.size, s.FAR_PS)
    if control is not None:
        control.write(m, caches)
    if transfer is not None:
        transfer.write(m)
    times, counts = _columns(fleet, workload, router.kept(workload), gate, order)
    return Memory(m, w, times, counts, np.ascontiguousarray(draws, np.int64))


def _fleet_header(fleet: Fleet, workload: Workload, words: Words, until_ps: int | None) -> dict[int, int]:
    pools = words.take(s.POOL_SIZE * len(fleet.pools))
    return {
        s.REQUESTS: len(workload),
        s.CONCURRENCY: workload.concurrency or 0,
        s.THINKING: workload.think_ps is not None,
        s.UNTIL: NO_END_PS if until_ps is None else until_ps,
        s.READY: words.take(min(len(workload), workload.concurrency or 0) + 1),
        s.REPLICAS: len(fleet),
        s.RECORDS: words.take(len(fleet)),
        s.POOLS: pools,
        s.POOLS_END: pools + s.POOL_SIZE * len(fleet.pools),
        s.EVENTS: words.take(tree_words(len(fleet))),
        s.REACHED: words.take(len(fleet)),
        s.GAPS: words.take(ITL_SLICES * ITL_BINS),
        s.SERIES: words.take(SERIES_BINS * s.SUMS),
        s.SHIFT: SERIES_SHIFT,
        s.NEXT_SENT: s.FAR_PS,
        s.CHOOSY: s.BY_POWER if fleet.controlled else 0,
    }


def _plant(m: IntArray, tree: int, numbers: int, key: int) -> None:
    """A tree in which all have the same key."""
    leaves = (tree_words(numbers) - 1) // 3
    m[tree] = leaves
    winners, keys = tree + 1, tree + 1 + 2 * leaves
    for level in range(leaves.bit_length()):
        first = 1 << level
        m[winners + first : winners + 2 * first] = np.arange(first) * (leaves // first)
    m[keys : keys + leaves] = s.FAR_PS
    m[keys : keys + numbers] = key


class _PoolLayout:
    """What the replicas of a pool share: their configuration's words, the step-time tables, the names of content."""

    def __init__(self, fleet: Fleet, pool: Pool, workload: Workload, words: Words, cache_words: Words) -> None:
        self.fleet, self.pool, self.config = fleet, pool, pool.config.member
        self.rows = self.config.max_num_seqs + held_rows(pool, workload)
        config = self.config
        self.tables: list[IntArray] = [
            pool.step_time.tokens_ps[: config.max_num_batched_tokens + 1],
            _seats_ps(config, pool.step_time),
            pool.step_time.context_ps[: config.max_num_seqs + 1],
            np.array(() if config.speculation is None else config.speculation.thresholds, np.int64),
            _windows(config, pool.step_time.window_tokens),
        ]
        self.tables_at = [words.take(len(table)) for table in self.tables]
        self.longest = longest_tokens(config)
        self.longest_prompt = min(pool.max_prompt_tokens, longest_prompt_tokens(config))
        self.names: Names | None = None
        most = config.max_new_tokens or int(workload.output_tokens.max(initial=0))
        self.fields = _config_fields(config, pool.step_time, pool.role) | dict(
            zip((s.TOKENS_PS, s.SEATS_PS, s.CONTEXT_PS, s.THRESHOLDS, s.WINDOWS), self.tables_at, strict=True)
        )
        self.fields[s.CLIPS] = most > CLIP_TOKENS
        self.fields[s.WINDOW_COUNT] = len(self.tables[-1]) // WINDOW_SIZE
        if pool.step_time.window_context_ps is not None:
            self._add_table(s.WINDOW_PS, pool.step_time.window_context_ps[: config.max_num_seqs + 1], words)
        if config.enable_prefix_caching:
            self.names = name_blocks(config, workload)
            self.entries_at = cache_words.take(self.names.entries.size)
            self.spans_at = cache_words.take(2 * len(workload))
            self.fields[s.WIDTH] = 1 + int(self.names.tokens.max()) // config.block_size
            self.fields[s.PARTS], self.fields[s.SPANS] = self.names.parts, self.spans_at
            self.fields[s.NAMES] = self.names.count
            if (self.names.tokens > workload.prompt_tokens).any():
                self.fields[s.ANSWERS], self.fields[s.MAX_JUMP] = 1, 0
            if set(config.windows) != {None}:
                self._add_table(s.TABLE_WINDOWS, np.array([window or 0 for window in config.windows]), words)

    def _add_table(self, field: int, table: IntArray, words: Words) -> None:
        self.tables.append(table)
        self.tables_at.append(words.take(len(table)))
        self.fields[field] = self.tables_at[-1]

    def replica(self, number: int, words: Words, cache_words: Words) -> dict[int, int]:
        """The fields of one replica that do not begin as 0; NUMBER holds where its record stands."""
        config = self.config
        fields = self.fields | {
            s.NUMBER: words.take(s.REPLICA_SIZE),
            s.HIST: words.take(2 * config.block_size),
            s.NEXT_PASS: s.FAR_PS,
            s.HEAP: words.take(2 * config.max_num_seqs),
            s.CHUNKS: words.take(config.max_num_seqs),
            s.UNUSED_ROW: words.take(s.ROW_SIZE * self.rows),
            s.END: s.FAR_PS,
            s.LINE + FIRST: s.NONE,
            s.LINE + LAST: s.NONE,
            s.INBOX + FIRST: s.NONE,
            s.INBOX + LAST: s.NONE,
            s.LATE_ROWS: words.take(config.max_num_seqs if config.overlap_scheduling else 0),
            s.FREE: config.num_blocks,
            s.GAP_SHIFT: 0,
            s.BIN_END: 1 << SERIES_SHIFT,
        }
        fields |= role_fields(self.fleet, self.pool, words)
        if self.names is not None:
            fields[s.QUEUE] = cache_words.take(RUN_WORDS)
            # The first run is all blocks; name_run and split may need one more than there are blocks for a moment.
            fields[s.UNUSED_RUN] = cache_words.take(RUN_WORDS * (config.num_blocks + 2)) + RUN_WORDS
            tables = len(config.windows)
            # Scratch room, and behind it the runs of each table of each row.
            fields[s.SCRATCH] = cache_words.take((fields[s.WIDTH] + 1) * (1 + tables * self.rows))
            fields[s.TABLES] = words.take(TABLE_SIZE * tables * self.rows)
            fields[s.HEADS] = cache_words.take(self.names.count * tables)
            if s.TABLE_WINDOWS in fields:
                fields[s.SLIDES] = words.take(
                    slide_words(config.block_size, config.max_num_seqs, fields[s.WINDOW_COUNT])
                )
            if config.partial_block_hits:
                fields[s.BEGINNINGS] = cache_words.take(self.names.count * tables)
                fields[s.UNUSED_BEGINNING] = cache_words.take(BEGINNING_WORDS * (config.num_blocks + 1))
        return fields

    def write(self, m: IntArray, w: Int32Array, record: int, first_gang: int, first_engine: int) -> None:
        """The shared parts, and the pool's record."""
        m[record + s.POOL_FIRST], m[record + s.POOL_FIRST_ENGINE] = first_gang, first_engine
        m[record + s.POOL_REPLICAS], m[record + s.POOL_MEMBERS] = self.pool.replicas, self.pool.config.gang
        m[record + s.POOL_LONGEST], m[record + s.POOL_ROLE] = self.longest, ROLES[self.pool.role]
        m[record + s.POOL_LOW], m[record + s.POOL_HIGH] = self.pool.min_prompt_tokens, self.longest_prompt
        for offset, table in zip(self.tables_at, self.tables, strict=True):
            m[offset : offset + len(table)] = table
        if self.names is not None:
            w[self.entries_at : self.entries_at + self.names.entries.size] = self.names.entries
            spans = self.names.spans(self.entries_at).ravel()
            w[self.spans_at : self.spans_at + spans.size] = spans


def _seats_ps(config: EngineConfig, step_time: StepTime) -> IntArray:
    """Time by decoding sequences in the step, drafting for them included."""
    seats_ps = step_time.seats_ps[: config.max_num_seqs + 1]
    if config.speculation is None or step_time.draft_ps is None:
        return seats_ps
    return seats_ps + step_time.draft_ps[: config.max_num_seqs + 1]


def _windows(config: EngineConfig, timed_tokens: int) -> IntArray:
    """Records of the windows, of block tables and of the step time, by rising size."""
    tables = Counter(window for window in config.windows if window is not None and config.kv_allocation == "paged")
    rows = [
        (window, tables[window], config.table_blocks(config.max_model_len, window), window == timed_tokens)
        for window in sorted({*tables, timed_tokens} - {0})
    ]
    return np.array(rows, np.int64).ravel()


def _config_fields(config: EngineConfig, step_time: StepTime, role: Role) -> dict[int, int]:
    size, scheduler = config.block_size, config.scheduler
    profile = _profile(config)
    # Who joins from elsewhere takes of the budget: of several partly computed prompts not only the last may go without.
    walks = config.speculation is not None or (role == "decode" and config.long_prefill_token_threshold > 0)
    return {
        s.MAX_SEQS: config.max_num_seqs,
        s.BUDGET: config.max_num_batched_tokens,
        s.LONGEST_CHUNK: config.longest_chunk,
        s.BLOCKS: config.num_blocks,
        s.BLOCK_SIZE: size,
        s.BLOCK_TABLES: len(config.windows),
        s.BLOCK_BITS: size.bit_length() - 1 if size & (size - 1) == 0 else -1,
        s.CHUNKED: config.enable_chunked_prefill,
        s.RESERVE_WHOLE: config.reserve_full_isl if scheduler == "vllm_v1" else scheduler != "static",
        s.WATERMARK: config.watermark_blocks if scheduler in ("vllm_v1", "vllm_v0") else 0,
        s.CONTIGUOUS: config.blocks_for(config.max_model_len) if config.kv_allocation == "contiguous" else 0,
        s.STATIC: scheduler == "static",
        s.CACHING: config.enable_prefix_caching,
        s.MAX_LEN: config.max_model_len,
        s.STEP_WINDOW: step_time.window_tokens,
        s.WALKS: walks,
        s.DRAFT_TOKENS: config.decode_tokens - 1,
        s.LOOKAHEAD: config.lookahead_tokens,
        s.MAX_JUMP: longest_jump(config, step_time),
        s.PAIR_PS: step_time.prefill_pair_ps,
        s.SEQ_PS: step_time.prefill_seq_ps,
        s.PROMPTS_PS: step_time.prefill_step_ps,
        s.PROFILE: profile,
        s.WHOLE: scheduler in ("vllm_v0", "tensorrt_llm"),
        s.MAX_NEW: config.max_new_tokens or 0,
        s.MAX_ALL: config.longest_asked,
        s.SUMMED: config.speculation is not None or profile != s.STEPS_AS_V1 or config.overlap_scheduling,
        s.OVERLAPS: config.overlap_scheduling,
        s.ASKS: s.GREATEST if guarantees(config) else s.PRESENT_NEED,
    } | (_estimate_fields(config) if profile == s.SGLANG else {})


def _estimate_fields(config: EngineConfig) -> dict[int, int]:
    start, least, decay = ratios(config)
    return {
        s.ASKS: s.ESTIMATE,
        s.RATIO: start,
        s.START_RATIO: start,
        s.LEAST_RATIO: least,
        s.DECAY: decay,
        s.MIXED: config.mixed_chunk,
        s.LONGEST: config.table_blocks(config.max_model_len, None) * config.block_size,
    }


def _profile(config: EngineConfig) -> int:
    """Who is asked first in a step."""
    if config.scheduler == "sglang":
        return s.SGLANG
    if config.scheduler == "vllm_v0" and not config.enable_chunked_prefill:
        return s.PROMPTS_FIRST
    return s.STEPS_AS_V1


def guarantees(config: EngineConfig) -> bool:
    """Admission asks for room for all greatest outputs."""
    return config.scheduler == "tensorrt_llm" and config.capacity_policy == "guaranteed_no_evict"


def longest_tokens(config: EngineConfig) -> int:
    """Prompt and output together of the longest request that a replica can serve; 0: none."""
    longest = _longest_held(config)
    return min(longest, config.longest_asked) if config.scheduler == "sglang" else longest


def _longest_held(config: EngineConfig) -> int:
    if config.blocks_for(config.max_model_len) <= config.num_blocks:
        return config.max_model_len
    if config.kv_allocation == "contiguous":
        return 0
    places = bisect_right(range(config.max_model_len), config.num_blocks, key=config.blocks_for) - 1
    return max(0, places + 2 - config.decode_tokens - config.lookahead_tokens - guarantees(config))


def longest_prompt_tokens(config: EngineConfig) -> int:
    """The longest prompt that a replica can serve, where its greatest output must fit and is not its own."""
    if not guarantees(config) or config.max_new_tokens is None:
        return config.max_model_len
    if config.kv_allocation == "contiguous" or config.blocks_for(config.max_model_len) <= config.num_blocks:
        return config.max_model_len
    return longest_tokens(config) - config.max_new_tokens


def longest_jump(config: EngineConfig, step_time: StepTime) -> int:
    """Steps in one closed form, so that time and its products with the blocks begun stay within 64 bits; 0: none do."""
    longest_ps = max(1, step_time.longest_step_ps(config))
    most = min(LONGEST_JUMP, math.isqrt(2**60 // longest_ps))
    tables = config.max_num_seqs * len(config.windows)
    while most > 0 and tables * (most // config.block_size + 2) * most * longest_ps > 2**61:
        most = most * 3 // 4
    return most


def _columns(
    fleet: Fleet, workload: Workload, kept: IntArray | None, gate: GateLayout, order: OrderLayout
) -> tuple[IntArray, Int32Array]:
    requests = len(workload)
    rows = s.TIMES if workload.think_ps is None else s.THINK + 1
    rows = max(rows, gate.times, order.times, s.SENT_PS + 1 if fleet.disaggregated else 0)
    times = np.zeros((rows, requests), np.int64)
    if fleet.disaggregated:
        times[s.HANDED_AT] = NEVER
    times[s.ARRIVAL] = workload.arrival_ps
    times[s.ADMITTED : s.FINISH + 1] = NEVER
    if workload.think_ps is not None:
        times[s.THINK] = workload.think_ps
    rows = s.COUNTS if kept is None else s.KEPT + 1
    rows = max(rows, s.FAILOVERS + 1 if fleet.controlled else 0, gate.counts, order.counts)
    rows = max(rows, s.HELD_ROW + 1 if fleet.disaggregated else 0)
    counts = np.zeros((rows, requests), np.int32)
    if fleet.disaggregated:
        counts[s.PREFILLED_BY] = s.NONE
    if kept is not None:
        counts[s.KEPT] = kept
    counts[s.PROMPT], counts[s.OUTPUT] = workload.prompt_tokens, workload.output_tokens
    counts[s.REPLICA] = s.NONE
    for layout in (gate, order):
        layout.write_columns(times, counts)
    return times, counts
