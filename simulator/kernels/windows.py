"""Sliding windows: blocks that no further token attends to are freed, and step time counts no more context than that.

A table with a window of w tokens has freed (c - w + 1) // block size blocks when a step begins with c tokens computed.
So a decoding sequence that has *passed* the window (c >= w) frees a block at every step number that is w - 1 - BASE mod
block size. These stand in a second histogram behind HIST, and what is counted here are steps, not sequences:

  GONE        blocks behind windows that running sequences have freed
  LATE        such that sequences free in their first decode step beyond what the histogram says: their last chunk began
              earlier than a step before. They are the rows with ROW_GONE_AT = STEPS
  NEXT_PASS   no decoding sequence passes a window before this step; one that has left may have been the next
  WINDOWS     WINDOW_COUNT records, by rising TOKENS. That of the step time may have no tables

Engines that walk keep ROW_GONE for every row, and use neither the histogram nor LATE. With prefix caching, blocks are
freed one by one: see `slides.py`.
"""

from typing import Final

from simulator.kernels.compile import kernel
from simulator.kernels.residue import residue
from simulator.kernels.state import (
    BASE,
    BELOW,
    BLOCK_SIZE,
    BLOCK_TABLES,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    COMPUTED,
    FAR_PS,
    FREE,
    GONE,
    HEAD,
    HIST,
    LATE,
    LATE_COUNT,
    LATE_ROWS,
    NEXT,
    NEXT_PASS,
    NOBODY,
    PASSED,
    ROUND_FREES,
    ROW_GONE,
    ROW_GONE_AT,
    STEP_WINDOW,
    STEPS,
    VAIN,
    WALKS,
    WINDOW_CONTEXT,
    WINDOW_COUNT,
    WINDOW_PS,
    WINDOWS,
)
from simulator.steptime import IntArray

TOKENS: Final = 0
TABLES: Final = 1  # block tables that have this window
MOST: Final = 2  # blocks that one of them ever holds
TIMED: Final = 3  # 1: it is the step time's
WINDOW_SIZE: Final = 4


@kernel
def frees_at(m: IntArray, rep: int, number: int) -> int:
    """Where the histogram of freed blocks has step `number`."""
    return int(m[rep + HIST] + m[rep + BLOCK_SIZE] + residue(m, rep, number))


@kernel
def gone_at(m: IntArray, rep: int, computed: int) -> int:
    """Blocks behind the windows of a sequence that has computed so many tokens, when a step begins."""
    gone = 0
    for window in range(m[rep + WINDOWS], m[rep + WINDOWS] + m[rep + WINDOW_COUNT] * WINDOW_SIZE, WINDOW_SIZE):
        behind = computed - m[window + TOKENS] + 1
        if behind <= 0:
            break
        gone += behind // m[rep + BLOCK_SIZE] * m[window + TABLES]
    return int(gone)


@kernel
def lacking_blocks(m: IntArray, rep: int, whole: int, hits: int) -> int:
    """Most blocks that a sequence of `whole` blocks in each table has at a time, beyond a hit of `hits` blocks."""
    blocks = (whole - hits) * m[rep + BLOCK_TABLES]
    for window in range(m[rep + WINDOWS], m[rep + WINDOWS] + m[rep + WINDOW_COUNT] * WINDOW_SIZE, WINDOW_SIZE):
        blocks -= (whole - max(hits, min(whole, m[window + MOST]))) * m[window + TABLES]
    return int(blocks)


@kernel
def _pass(m: IntArray, rep: int, row: int) -> None:
    """Note which windows a decoding row has passed, and when it passes the next."""
    window = m[rep + WINDOWS] + m[row + PASSED] * WINDOW_SIZE
    while m[row + PASSED] < m[rep + WINDOW_COUNT]:
        at = m[window + TOKENS] - m[row + BASE]
        if at > m[rep + STEPS]:
            m[rep + NEXT_PASS] = min(m[rep + NEXT_PASS], at)
            break
        m[frees_at(m, rep, at - 1)] += m[window + TABLES]
        m[rep + ROUND_FREES] += m[window + TABLES]
        m[rep + BELOW] -= m[window + TIMED]
        m[row + PASSED] += 1
        window += WINDOW_SIZE


@kernel
def pass_windows(m: IntArray, rep: int) -> None:
    """Before a step: note who has passed a window."""
    if m[rep + STEPS] < m[rep + NEXT_PASS]:
        return
    m[rep + NEXT_PASS] = FAR_PS
    row = m[rep + HEAD]
    while row != NOBODY:
        _pass(m, rep, row)
        row = m[row + NEXT]


@kernel
def begin_windows(m: IntArray, rep: int, row: int) -> None:
    """The row begins to decode; what it freed before its last chunk is its ROW_GONE."""
    if m[rep + WALKS] > 0:
        return
    computed = m[row + BASE] + m[rep + STEPS]
    m[rep + LATE] += gone_at(m, rep, computed - 1) - m[row + ROW_GONE]
    m[row + ROW_GONE_AT] = m[rep + STEPS]
    m[row + PASSED] = 0
    if m[rep + WINDOW_PS] > 0:
        m[rep + BELOW] += 1
        m[rep + WINDOW_CONTEXT] += min(computed, m[rep + STEP_WINDOW])
    _pass(m, rep, row)


@kernel
def gone_of(m: IntArray, rep: int, row: int, computed: int) -> int:
    """Blocks that a decoding row has freed; LATE no longer counts it."""
    if m[rep + WALKS] > 0:
        return int(m[row + ROW_GONE])
    gone = gone_at(m, rep, computed - 1)
    if m[row + ROW_GONE_AT] == m[rep + STEPS]:
        m[rep + LATE] -= max(0, gone - m[row + ROW_GONE])
        gone = m[row + ROW_GONE]
    return int(gone)


@kernel
def end_windows(m: IntArray, rep: int, row: int) -> None:
    """The row no longer decodes; sets its ROW_GONE."""
    computed = m[row + BASE] + m[rep + STEPS]
    m[row + ROW_GONE] = gone_of(m, rep, row, computed)
    if m[rep + WALKS] > 0:
        return
    timed = m[rep + WINDOW_PS] > 0
    for window in range(m[rep + WINDOWS], m[rep + WINDOWS] + m[row + PASSED] * WINDOW_SIZE, WINDOW_SIZE):
        m[frees_at(m, rep, m[window + TOKENS] - 1 - m[row + BASE])] -= m[window + TABLES]
        m[rep + ROUND_FREES] -= m[window + TABLES]
        m[rep + BELOW] += m[window + TIMED]
    if timed:
        m[rep + BELOW] -= 1
        m[rep + WINDOW_CONTEXT] -= min(computed, m[rep + STEP_WINDOW])


@kernel
def _free(m: IntArray, rep: int, blocks: int) -> None:
    m[rep + FREE] += blocks
    m[rep + GONE] += blocks


@kernel
def make_ready(m: IntArray, rep: int, row: int, computed: int, decoding: bool) -> None:
    """Free what lies behind the row's windows before a step."""
    before = gone_of(m, rep, row, computed) if decoding else m[row + ROW_GONE]
    m[row + ROW_GONE] = gone_at(m, rep, computed)
    m[row + ROW_GONE_AT] = m[rep + STEPS]
    _free(m, rep, m[row + ROW_GONE] - before)


@kernel
def free_behind_decoding(m: IntArray, rep: int) -> None:
    """Free what lies behind the windows of the decoding sequences before a step."""
    _free(m, rep, m[frees_at(m, rep, m[rep + STEPS])] + m[rep + LATE])
    m[rep + LATE] = 0


@kernel
def free_behind(m: IntArray, rep: int) -> None:
    """Free what lies behind all windows before a step whose chunks are planned."""
    free_behind_decoding(m, rep)
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        if m[m[place] + CHUNK] > 0:
            make_ready(m, rep, m[place], m[m[place] + COMPUTED], False)


@kernel
def window_ps(m: IntArray, rep: int, decoding: int) -> int:
    """What the context within the step time's window adds to a full step, in which `decoding` sequences decode."""
    longest, tokens = m[rep + STEP_WINDOW], m[rep + WINDOW_CONTEXT] if decoding > 0 else 0
    if m[rep + WALKS] > 0 and decoding > 0:
        row = m[rep + HEAD]
        while row != NOBODY:
            if m[row + CHUNK] > 0:
                tokens += min(m[row + BASE] + m[rep + STEPS], longest)
            row = m[row + NEXT]
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        if m[m[place] + CHUNK] > 0:
            tokens += min(m[m[place] + COMPUTED], longest)
    if m[rep + VAIN] > 0:
        for place in range(m[rep + LATE_ROWS], m[rep + LATE_ROWS] + m[rep + LATE_COUNT]):
            if m[m[place] + CHUNK] > 0:
                tokens += min(m[m[place] + COMPUTED], longest)
    return int(m[m[rep + WINDOW_PS] + decoding] * tokens)
