"""Preemption by recompute: when the pool cannot hold the next step, the tail of the running list gives way."""

from simulator.kernels.compile import kernel
from simulator.kernels.pool import blocks_for, give_back
from simulator.kernels.prefix import Int32Array
from simulator.kernels.running import growth, leave_decoding, residue, tokens_made
from simulator.kernels.state import (
    BASE,
    BUDGET,
    COMPUTED,
    DECODING,
    FREE,
    LAST_TOKEN,
    LINE,
    MADE,
    NOBODY,
    NOW,
    PARTIAL,
    PREEMPTED,
    PREEMPTIONS,
    PROMPT,
    REQUEST,
    SEAT,
    STEPS,
    STOPPED_AT,
    TAIL,
    TARGET,
)
from simulator.kernels.waiting import push_front
from simulator.steptime import IntArray


@kernel
def _stop(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, row: int, computed: int) -> None:
    """The row's blocks are freed and its request waits in front; it keeps the row."""
    request = m[row + REQUEST]
    give_back(m, w, rep, row, computed, True)
    m[row + TARGET] = counts[PROMPT, request] + m[row + MADE]
    m[row + STOPPED_AT] = m[rep + NOW]
    counts[PREEMPTIONS, request] += 1
    counts[SEAT, request] = row
    push_front(m, counts, rep + LINE, request)
    m[rep + PREEMPTED] += 1


@kernel
def _stop_partial(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> None:
    row = m[rep + PARTIAL]
    m[rep + PARTIAL] = NOBODY
    _stop(m, w, counts, rep, row, m[row + COMPUTED])


@kernel
def _stop_tail(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> None:
    row = m[rep + TAIL]
    m[row + MADE] = tokens_made(m, rep, row)
    m[row + LAST_TOKEN] = m[rep + NOW]
    _stop(m, w, counts, rep, row, leave_decoding(m, rep, row))


@kernel
def partial_chunk(m: IntArray, rep: int) -> int:
    """Tokens the partly computed prompt gets in this step, 0 where there is none or the budget is spent."""
    row = m[rep + PARTIAL]
    if row == NOBODY:
        return 0
    return int(min(m[row + TARGET] - m[row + COMPUTED], m[rep + BUDGET] - m[rep + DECODING]))


@kernel
def make_room(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> bool:
    """Preempt from the tail until what is left of the running list has its blocks; says whether anyone fell.

    The scheduler walks the list from its head and preempts the tail whenever a sequence finds no block. What falls in
    the end is the shortest tail without which the rest fits: that is what is looked for here.
    """
    needed = growth(m, rep)
    fell = False
    row = m[rep + PARTIAL]
    if row != NOBODY:
        computed = m[row + COMPUTED]
        extra = blocks_for(m, rep, computed + partial_chunk(m, rep)) - blocks_for(m, rep, computed)
        if needed + extra > m[rep + FREE]:
            _stop_partial(m, w, counts, rep)
            fell = True
    while needed > m[rep + FREE]:
        if residue(m, rep, m[m[rep + TAIL] + BASE] + m[rep + STEPS]) == 0:
            needed -= 1
        _stop_tail(m, w, counts, rep)
        fell = True
    return fell
