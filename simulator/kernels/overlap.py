"""A step of running requests first, where some of them are late (`late.py`)."""

from simulator.kernels.compile import kernel
from simulator.kernels.late import compute_in_vain, drop_late, vain_blocks, vain_tokens
from simulator.kernels.pool import take
from simulator.kernels.preempt import chunk_blocks, last_chunk, plan_chunks, stop_last
from simulator.kernels.residue import residue
from simulator.kernels.running import growth
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BASE,
    BLOCK_TABLES,
    BUDGET,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    COMPUTED,
    CONTIGUOUS,
    DECODING,
    FREE,
    HEAD,
    LATE_COUNT,
    LATE_ROWS,
    LONGEST_CHUNK,
    NEXT,
    NOBODY,
    RANK,
    STEPS,
    TAIL,
    TARGET,
    VAIN,
    WINDOW_COUNT,
)
from simulator.kernels.windows import pass_windows
from simulator.steptime import IntArray


@kernel
def run_with_late(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """Running requests take tokens and blocks; answers (whether anyone fell, tokens left)."""
    if m[rep + WINDOW_COUNT] > 0:
        pass_windows(m, rep)
    vain = blocks = 0
    for place in range(m[rep + LATE_ROWS], m[rep + LATE_ROWS] + m[rep + LATE_COUNT]):
        if vain_tokens(m, counts, rep, m[place]) > 0:
            vain += 1
            blocks += vain_blocks(m, rep, m[place])
    m[rep + VAIN] = vain
    if growth(m, rep) + plan_chunks(m, rep) + blocks > m[rep + FREE]:
        m[rep + VAIN] = 0
        return _walk(m, w, times, counts, rep)
    m[rep + VAIN] = 0
    for place in range(m[rep + LATE_ROWS], m[rep + LATE_ROWS] + m[rep + LATE_COUNT]):
        compute_in_vain(m, w, counts, rep, m[place])
    take(m, w, rep, growth(m, rep))
    budget = m[rep + BUDGET] - m[rep + DECODING] - vain
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        take(m, w, rep, chunk_blocks(m, rep, m[place]))
        budget -= m[m[place] + CHUNK]
    return False, int(budget)


@kernel
def _earlier(m: IntArray, one: int, other: int) -> int:
    """Of two rows or NOBODY, the one that stands first in the running list."""
    if one == NOBODY or (other != NOBODY and m[other + RANK] < m[one + RANK]):
        return other
    return one


@kernel
def _stop_last(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> int:
    """The last of the running list falls, be it a late one, which does not come back; returns its row."""
    if m[rep + LATE_COUNT] > 0:
        place = m[rep + LATE_ROWS] + m[rep + LATE_COUNT] - 1
        row, tail, chunk = m[place], m[rep + TAIL], last_chunk(m, rep)
        if (tail == NOBODY or m[tail + RANK] < m[row + RANK]) and (chunk == NOBODY or m[chunk + RANK] < m[row + RANK]):
            drop_late(m, w, counts, rep, place)
            return int(row)
    return stop_last(m, w, times, counts, rep)


@kernel
def _walk(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """Blocks lack: go through the running list in order, as a late row takes a block only where one is free."""
    fell, budget, decoded, place, late = False, m[rep + BUDGET], NOBODY, m[rep + CHUNKS], m[rep + LATE_ROWS]
    while True:
        row = m[decoded + NEXT] if decoded != NOBODY else m[rep + HEAD]
        prompt = m[place] if place < m[rep + CHUNKS] + m[rep + CHUNK_COUNT] else NOBODY
        gone = m[late] if late < m[rep + LATE_ROWS] + m[rep + LATE_COUNT] else NOBODY
        first = _earlier(m, _earlier(m, row, prompt), gone)
        if first == NOBODY:
            return fell, int(budget)
        if first == gone:
            compute_in_vain(m, w, counts, rep, gone)
            late += 1
            budget -= m[gone + CHUNK]
            continue
        tokens, blocks = 1, 0
        if first == prompt:
            tokens = min(m[prompt + TARGET] - m[prompt + COMPUTED], m[rep + LONGEST_CHUNK], budget)
            m[prompt + CHUNK] = tokens
            blocks = chunk_blocks(m, rep, prompt)
            place += 1
        else:
            decoded = row
            if m[rep + CONTIGUOUS] == 0 and residue(m, rep, m[row + BASE] + m[rep + STEPS]) == 0:
                blocks = m[rep + BLOCK_TABLES]
        while blocks > m[rep + FREE]:
            fell = True
            if _stop_last(m, w, times, counts, rep) == first:
                return True, int(budget)
        take(m, w, rep, blocks)
        budget -= tokens
