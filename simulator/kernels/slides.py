"""Blocks freed behind windows during a stretch, where prefixes are cached: one by one, in the reference's order.

They join the free queue step by step, within a step in the order of the running list. Blocks that the stretch begins
are no more than stand in the queue before it: so these can be taken from its front beforehand.

At SLIDES stand lists of rows by the step, mod block size, in which they free blocks, as counted from the stretch's
beginning: the first and the last node of each, then the nodes, of two words: a row and the next node.
"""

from typing import Final

from simulator.kernels.accounts import add_product
from simulator.kernels.compile import kernel
from simulator.kernels.residue import residue
from simulator.kernels.running import tokens_in_blocks
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    AREA_HIGH,
    BASE,
    BLOCK_SIZE,
    BLOCKS,
    CONTEXT,
    DECODING,
    FIRST_PS,
    FREE,
    GONE,
    HEAD,
    HIST,
    KV_TOKENS_HIGH,
    LATE,
    NEXT,
    NOBODY,
    PASSED,
    PEAK,
    PEAK_TOKENS,
    RISE_PS,
    ROUND_FREES,
    ROW_GONE_AT,
    SHARED,
    SLIDES,
    STEPS,
    WINDOWS,
)
from simulator.kernels.tables import slide_tables
from simulator.kernels.windows import TABLES, TOKENS, WINDOW_SIZE
from simulator.steptime import IntArray

NODE_WORDS: Final = 2
NO_NODE: Final = 0


def slide_words(block_size: int, rows: int, windows: int) -> int:
    """Words of the lists: a row stands in one for each window, and in the first if it has just begun to decode."""
    return 2 * block_size + NODE_WORDS * rows * (windows + 1)


@kernel
def _append(m: IntArray, rep: int, place: int, row: int, node: int) -> int:
    """Put the row into the list of `place`, as `node`; returns the next node."""
    first, last = m[rep + SLIDES] + place, m[rep + SLIDES] + m[rep + BLOCK_SIZE] + place
    if m[first] == NO_NODE:
        m[first] = node
    else:
        m[m[last] + 1] = node
    m[last] = node
    m[node], m[node + 1] = row, NO_NODE
    return node + NODE_WORDS


@kernel
def _list_rows(m: IntArray, rep: int) -> None:
    for place in range(m[rep + SLIDES], m[rep + SLIDES] + m[rep + BLOCK_SIZE]):
        m[place] = NO_NODE
    node, row = m[rep + SLIDES] + 2 * m[rep + BLOCK_SIZE], m[rep + HEAD]
    while row != NOBODY:
        if m[row + ROW_GONE_AT] == m[rep + STEPS]:
            node = _append(m, rep, 0, row, node)
        for window in range(m[rep + WINDOWS], m[rep + WINDOWS] + m[row + PASSED] * WINDOW_SIZE, WINDOW_SIZE):
            if m[window + TABLES] > 0:
                at = m[window + TOKENS] - 1 - m[row + BASE] - m[rep + STEPS]
                node = _append(m, rep, residue(m, rep, at), row, node)
        row = m[row + NEXT]


@kernel
def _slide_rows(m: IntArray, w: Int32Array, rep: int, node: int, step: int, left_ps: int) -> None:
    """Free what the rows of a list have behind them in a step; `left_ps`: from its beginning to the stretch's end."""
    free, missing = m[rep + FREE], m[rep + GONE] + m[rep + SHARED]
    while node != NO_NODE:
        row = m[node]
        slide_tables(m, w, rep, row, m[row + BASE] + m[rep + STEPS] + step)
        node = m[node + 1]
    add_product(m, rep + AREA_HIGH, free - m[rep + FREE], left_ps)
    missing -= m[rep + GONE] + m[rep + SHARED]
    add_product(m, rep + KV_TOKENS_HIGH, missing * m[rep + BLOCK_SIZE], left_ps)


@kernel
def slide_over_stretch(m: IntArray, w: Int32Array, rep: int, steps: int, begun: int, total_ps: int) -> None:
    """Free what lies behind windows in a stretch, whose `begun` blocks have been taken; notes its peaks."""
    if m[rep + ROUND_FREES] == 0 and m[rep + LATE] == 0:
        return
    _list_rows(m, rep)
    size, computed, step_ps, left_ps = m[rep + BLOCK_SIZE], m[rep + CONTEXT], m[rep + FIRST_PS], total_ps
    rows, place = 0, residue(m, rep, m[rep + STEPS])
    for step in range(steps):
        node = m[m[rep + SLIDES] + rows]
        if node != NO_NODE:
            _slide_rows(m, w, rep, node, step, left_ps)
        begun -= m[m[rep + HIST] + place]
        computed += m[rep + DECODING]
        m[rep + PEAK] = max(m[rep + PEAK], m[rep + BLOCKS] - m[rep + FREE] - begun)
        m[rep + PEAK_TOKENS] = max(m[rep + PEAK_TOKENS], tokens_in_blocks(m, rep, computed))
        left_ps -= step_ps
        step_ps += m[rep + RISE_PS]
        rows = rows + 1 if rows + 1 < size else 0
        place = place + 1 if place + 1 < size else 0
    m[rep + LATE] = 0
