"""Running requests scheduled one by one in order, as the reference does it: for engines whose steps all are full ones.

In an engine that walks, a decoding sequence need not get a token in every step, and what it holds need not follow from
what it has computed. So each row tells its tokens in the step under way (CHUNK), what comes out (EMITS) and its blocks
(ROW_HELD). In the heap by which sequences end, all stand as FAR_PS until their last step.
"""

from simulator.kernels.compile import kernel
from simulator.kernels.drafts import draw
from simulator.kernels.pool import blocks_for, take
from simulator.kernels.preempt import chunk_tokens, plan_chunks, stop_chunk, stop_decoding, stop_last
from simulator.kernels.running import growth
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BASE,
    BUDGET,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    CLASS,
    COMPUTED,
    DECODING,
    DRAFT_TOKENS,
    FREE,
    HEAD,
    HEAP,
    JOINED,
    LINE,
    LONGEST_CHUNK,
    LOOKAHEAD,
    MAX_LEN,
    NEXT,
    NOBODY,
    RANK,
    REQUEST,
    ROW_GONE_AT,
    ROW_HELD,
    STEPS,
    TABLE_WINDOWS,
    TARGET,
    WALKS,
    WINDOW_COUNT,
    WORST_FALLS,
)
from simulator.kernels.tables import slide_tables
from simulator.kernels.waiting import LENGTH as LINE_LENGTH
from simulator.kernels.windows import free_behind, gone_of, make_ready, pass_windows
from simulator.steptime import IntArray


@kernel
def _missing(m: IntArray, rep: int, row: int, computed: int, tokens: int) -> int:
    """Blocks that the row lacks to compute `tokens` more."""
    if tokens == 0:
        return 0
    places = min(computed + tokens + m[rep + LOOKAHEAD], m[rep + MAX_LEN])
    return int(max(0, blocks_for(m, rep, places) - m[row + ROW_HELD]))


@kernel
def _schedule(
    m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, row: int, computed: int, tokens: int
) -> bool:
    """Let the row compute `tokens` more, with the blocks for them; False: it has fallen."""
    m[row + CHUNK] = tokens
    blocks = _missing(m, rep, row, computed, tokens)
    while blocks > m[rep + FREE]:
        if stop_last(m, w, times, counts, rep) == row:
            return False
    take(m, w, rep, blocks)
    m[row + ROW_HELD] += blocks
    return True


@kernel
def _make_ready(m: IntArray, w: Int32Array, rep: int, row: int, computed: int, decoding: bool) -> None:
    if m[rep + TABLE_WINDOWS] > 0:
        if decoding:
            gone_of(m, rep, row, computed)
        slide_tables(m, w, rep, row, computed)
        m[row + ROW_GONE_AT] = m[rep + STEPS]
    else:
        make_ready(m, rep, row, computed, decoding)
    if m[rep + WALKS] == 0:
        m[row + ROW_HELD] = blocks_for(m, rep, computed)


@kernel
def _next(m: IntArray, rep: int, ahead: int, place: int, budget: int) -> tuple[int, int, int]:
    """(Row that is scheduled next, tokens that it has computed, and may compute now); NOBODY: all have been.

    `ahead` and `place`: the next of those that decode, and of the prompts; the one admitted first has precedence.
    """
    most = min(budget, m[rep + LONGEST_CHUNK])
    if place < m[rep + CHUNKS] + m[rep + CHUNK_COUNT]:
        prompt = m[place]
        if ahead == NOBODY or m[prompt + RANK] < m[ahead + RANK]:
            return int(prompt), int(m[prompt + COMPUTED]), int(min(m[prompt + TARGET] - m[prompt + COMPUTED], most))
    if ahead == NOBODY:
        return NOBODY, 0, 0
    computed = m[ahead + BASE] + m[rep + STEPS]
    return ahead, int(computed), int(min(1 + m[rep + DRAFT_TOKENS], m[rep + MAX_LEN] - 1 - computed, most))


@kernel
def _schedule_running(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> int:
    """Tokens and blocks for those who run, in order of admission; returns the tokens left."""
    budget, decoded, place = m[rep + BUDGET], NOBODY, m[rep + CHUNKS]
    while True:
        ahead = m[decoded + NEXT] if decoded != NOBODY else m[rep + HEAD]
        row, computed, tokens = _next(m, rep, ahead, place, budget)
        if row == NOBODY:
            return int(budget)
        if row == ahead:
            decoded = row
        else:
            place += 1
        if m[rep + WINDOW_COUNT] > 0 and tokens > 0:
            _make_ready(m, w, rep, row, computed, row == decoded)
        if not _schedule(m, w, times, counts, rep, row, computed, tokens):
            return int(budget)
        budget -= tokens


@kernel
def _worst(m: IntArray, counts: Int32Array, rep: int) -> tuple[int, int]:
    """The row that joined last in the worst class that runs; its place in CHUNKS, NOBODY if it decodes."""
    worst, at, key = NOBODY, NOBODY, -1
    for place in range(m[rep + DECODING]):
        row = m[m[rep + HEAP] + 2 * place + 1]
        request = m[row + REQUEST]
        other = (int(counts[CLASS, request]) << 32) + int(counts[JOINED, request])
        if other > key:
            worst, key = row, other
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        request = m[m[place] + REQUEST]
        other = (int(counts[CLASS, request]) << 32) + int(counts[JOINED, request])
        if other > key:
            worst, at, key = m[place], place, other
    return int(worst), int(at)


@kernel
def _leave_out(m: IntArray, rep: int, ahead: int, place: int) -> None:
    """The step ends here: decoding rows from `ahead` on, and prompts from `place` on, compute nothing in it."""
    while ahead != NOBODY:
        m[ahead + CHUNK] = 0
        ahead = m[ahead + NEXT]
    for later in range(place, m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        m[m[later] + CHUNK] = 0


@kernel
def _schedule_by_class(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> int:
    """As `_schedule_running`, where the last of the worst class falls, even one that has its tokens of this step."""
    budget, ahead, place = m[rep + BUDGET], m[rep + HEAD], m[rep + CHUNKS]
    while True:
        row, computed, tokens = _next(m, rep, ahead, place, budget)
        if row == NOBODY:
            return int(budget)
        if row == ahead:
            ahead = m[row + NEXT]
        else:
            place += 1
        rank, blocks = m[row + RANK], _missing(m, rep, row, computed, tokens)
        while blocks > m[rep + FREE]:
            worst, at = _worst(m, counts, rep)
            if m[worst + RANK] < rank:
                budget += m[worst + CHUNK]
            if worst == ahead:
                ahead = m[worst + NEXT]
            if at == NOBODY:
                stop_decoding(m, w, times, counts, rep, worst)
            else:
                stop_chunk(m, w, times, counts, rep, at)
                if at < place:
                    place -= 1
            if worst == row:
                _leave_out(m, rep, ahead, place)
                return int(budget)
        take(m, w, rep, blocks)
        m[row + ROW_HELD] += blocks
        m[row + CHUNK] = tokens
        budget -= tokens


@kernel
def walk_running(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """Let running requests take tokens and blocks; answers (whether anyone was preempted, tokens left)."""
    waiting = m[rep + LINE + LINE_LENGTH]
    if m[rep + WORST_FALLS] > 0:
        budget = _schedule_by_class(m, w, times, counts, rep)
    else:
        budget = _schedule_running(m, w, times, counts, rep)
    if m[rep + WALKS] > 0:
        draw(m, rep)
    return bool(m[rep + LINE + LINE_LENGTH] > waiting), budget


@kernel
def slide_running(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """As `walk_running`, for an engine with windows that does not walk: where nothing is cached and blocks for all are
    free, order is all the same. Else blocks that one frees behind its window are there for those behind it in the list.
    """
    pass_windows(m, rep)
    needed = growth(m, rep) + plan_chunks(m, rep)
    if needed > m[rep + FREE] or m[rep + TABLE_WINDOWS] > 0:
        return walk_running(m, w, times, counts, rep)
    free_behind(m, rep)
    take(m, w, rep, needed)
    return False, int(m[rep + BUDGET] - m[rep + DECODING] - chunk_tokens(m, rep))
