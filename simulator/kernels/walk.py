"""Running requests scheduled one by one in order, as the reference does it: for engines whose steps all are full ones.

In an engine that walks, a decoding sequence need not get a token in every step, and what it holds need not follow from
what it has computed. So each row tells its tokens in the step under way (CHUNK), what comes out (EMITS) and its blocks
(ROW_HELD). In the heap by which sequences end, all stand as FAR_PS until their last step.
"""

from simulator.kernels.compile import kernel
from simulator.kernels.drafts import draw
from simulator.kernels.pool import blocks_for, take
from simulator.kernels.preempt import chunk_tokens, plan_chunks, stop_last
from simulator.kernels.running import growth
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BASE,
    BUDGET,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    COMPUTED,
    DECODING,
    DRAFT_TOKENS,
    FREE,
    HEAD,
    LONGEST_CHUNK,
    LOOKAHEAD,
    MAX_LEN,
    NEXT,
    NOBODY,
    PREEMPTED,
    RANK,
    ROW_HELD,
    STEPS,
    TARGET,
    WALKS,
    WINDOW_COUNT,
)
from simulator.kernels.windows import free_behind, make_ready, pass_windows
from simulator.steptime import IntArray


@kernel
def _schedule(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, row: int, computed: int, tokens: int) -> bool:
    """Let the row compute `tokens` more, with the blocks for them; False: it has fallen."""
    m[row + CHUNK] = tokens
    if tokens == 0:
        return True
    held = m[row + ROW_HELD]
    blocks = max(held, blocks_for(m, rep, min(computed + tokens + m[rep + LOOKAHEAD], m[rep + MAX_LEN])))
    while blocks - held > m[rep + FREE]:
        if stop_last(m, w, counts, rep) == row:
            return False
    take(m, w, rep, blocks - held)
    m[row + ROW_HELD] = blocks
    return True


@kernel
def _make_ready(m: IntArray, rep: int, row: int, computed: int, decoding: bool) -> None:
    make_ready(m, rep, row, computed, decoding)
    if m[rep + WALKS] == 0:
        m[row + ROW_HELD] = blocks_for(m, rep, computed)


@kernel
def _schedule_running(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> int:
    """Tokens and blocks for those who run, in order of admission; returns the tokens left."""
    budget, decoded, place = m[rep + BUDGET], NOBODY, m[rep + CHUNKS]
    while True:
        row = m[decoded + NEXT] if decoded != NOBODY else m[rep + HEAD]
        prompt = m[place] if place < m[rep + CHUNKS] + m[rep + CHUNK_COUNT] else NOBODY
        most = min(budget, m[rep + LONGEST_CHUNK])
        if prompt != NOBODY and (row == NOBODY or m[prompt + RANK] < m[row + RANK]):
            row, place, computed = prompt, place + 1, m[prompt + COMPUTED]
            tokens = min(m[row + TARGET] - computed, most)
        elif row != NOBODY:
            decoded, computed = row, m[row + BASE] + m[rep + STEPS]
            tokens = min(1 + m[rep + DRAFT_TOKENS], m[rep + MAX_LEN] - 1 - computed, most)
        else:
            return int(budget)
        if m[rep + WINDOW_COUNT] > 0 and tokens > 0:
            _make_ready(m, rep, row, computed, row == decoded)
        if not _schedule(m, w, counts, rep, row, computed, tokens):
            return int(budget)
        budget -= tokens


@kernel
def walk_running(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """Let running requests take tokens and blocks; answers (whether anyone was preempted, tokens left)."""
    preempted = m[rep + PREEMPTED]
    budget = _schedule_running(m, w, counts, rep)
    if m[rep + WALKS] > 0:
        draw(m, rep)
    return bool(m[rep + PREEMPTED] > preempted), budget


@kernel
def slide_running(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """As `walk_running`, for an engine with windows that does not walk: where blocks for all are free, order is all the
    same. Else blocks that one frees behind its window are there for those behind it in the list."""
    pass_windows(m, rep)
    needed = growth(m, rep) + plan_chunks(m, rep)
    if needed > m[rep + FREE]:
        return walk_running(m, w, counts, rep)
    free_behind(m, rep)
    take(m, w, rep, needed)
    return False, int(m[rep + BUDGET] - m[rep + DECODING] - chunk_tokens(m, rep))
