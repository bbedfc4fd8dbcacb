"""Where scheduling overlaps: requests that have finished, but whose end was not known when the step was scheduled.

Such a row is *late*. It decodes no more and its request counts nowhere, but it keeps seat and blocks until the step
under way ends. It may be computed in vain: in SGLang always, elsewhere when a greater output was asked for.
"""

from simulator.kernels.compile import kernel
from simulator.kernels.lines import stand_last
from simulator.kernels.plain import rare
from simulator.kernels.pool import blocks_for, give_back, take
from simulator.kernels.promises import greatest_output
from simulator.kernels.rows import give_row_back
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    CACHING,
    CHUNK,
    COMPUTED,
    FREE,
    INBOX,
    LATE_COUNT,
    LATE_ROWS,
    LENGTH,
    LINE,
    MADE,
    MAX_LEN,
    ORDERED,
    PREEMPTIONS,
    PROFILE,
    REQUEST,
    ROW_HELD,
    SGLANG,
    STEPS,
    TABLE_WINDOWS,
    VAIN,
)
from simulator.kernels.tables import forget_own
from simulator.kernels.waiting import LENGTH as LINE_LENGTH
from simulator.kernels.waiting import pop_front, push_back
from simulator.steptime import IntArray


@kernel
def all_known(m: IntArray, rep: int) -> bool:
    """Nobody has come or finished whom the next step does not know."""
    return bool(rare(m, rep + LATE_COUNT) == 0 and m[rep + INBOX + LINE_LENGTH] == 0)


@kernel
def empty_inbox(m: IntArray, times: IntArray, counts: Int32Array, rep: int) -> None:
    """From the next step on, those who have come are known."""
    while m[rep + INBOX + LINE_LENGTH] > 0:
        request = pop_front(m, counts, rep + INBOX)
        if rare(m, rep + ORDERED) > 0:
            stand_last(m, times, counts, rep, request, m[rep + STEPS])
        else:
            push_back(m, counts, rep + LINE, request)


@kernel
def give_up_row(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, row: int) -> None:
    """The request of the row, which holds no blocks any more, has ended."""
    if rare(m, rep + CACHING) > 0 and (counts[PREEMPTIONS, m[row + REQUEST]] > 0 or rare(m, rep + TABLE_WINDOWS) > 0):
        forget_own(m, w, rep, row)
    give_row_back(m, rep, row)


@kernel
def vacate(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, row: int, computed: int) -> None:
    """Blocks and row of a request that has ended, and stands in no list any more."""
    give_back(m, w, rep, row, computed, False)
    give_up_row(m, w, counts, rep, row)


@kernel
def stay_late(m: IntArray, rep: int, row: int, computed: int) -> None:
    """The row's request has finished."""
    m[row + COMPUTED], m[row + MADE], m[row + CHUNK] = computed, m[row + LENGTH], 0
    m[m[rep + LATE_ROWS] + rare(m, rep + LATE_COUNT)] = row
    m[rep + LATE_COUNT] += 1


@kernel
def retire(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> None:
    """Late rows are given up, in the order in which their requests finished."""
    for place in range(m[rep + LATE_ROWS], m[rep + LATE_ROWS] + rare(m, rep + LATE_COUNT)):
        vacate(m, w, counts, rep, m[place], m[m[place] + COMPUTED])
    m[rep + LATE_COUNT] = m[rep + VAIN] = 0


@kernel
def drop_late(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, place: int) -> None:
    """The late row at this place of LATE_ROWS gives up its blocks to others."""
    row = m[place]
    m[rep + LATE_COUNT] -= 1
    for after in range(place, m[rep + LATE_ROWS] + rare(m, rep + LATE_COUNT)):
        m[after] = m[after + 1]
    vacate(m, w, counts, rep, row, m[row + COMPUTED])


@kernel
def vain_tokens(m: IntArray, counts: Int32Array, rep: int, row: int) -> int:
    """Tokens that the engine would compute of a late row, as it does not know that it has ended."""
    if rare(m, rep + PROFILE) != SGLANG and greatest_output(m, counts, rep, m[row + REQUEST]) == m[row + LENGTH]:
        return 0
    return int(m[row + COMPUTED] + 1 < m[rep + MAX_LEN])


@kernel
def vain_blocks(m: IntArray, rep: int, row: int) -> int:
    """Blocks that the next token of a late row begins."""
    held = max(m[row + ROW_HELD], blocks_for(m, rep, m[row + COMPUTED]))
    return int(max(held, blocks_for(m, rep, m[row + COMPUTED] + 1)) - held)


@kernel
def compute_in_vain(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, row: int) -> None:
    """A late row is in the step, unless its block could only come from others."""
    blocks = vain_blocks(m, rep, row)
    m[row + CHUNK] = vain_tokens(m, counts, rep, row) if blocks <= m[rep + FREE] else 0
    if m[row + CHUNK] > 0:
        take(m, w, rep, blocks)
        m[row + ROW_HELD] = blocks_for(m, rep, m[row + COMPUTED] + 1)
        m[rep + VAIN] += 1


@kernel
def late_context(m: IntArray, rep: int, in_step: bool) -> int:
    """Tokens computed of late rows: of all, or of those that the step computes."""
    tokens = 0
    for place in range(m[rep + LATE_ROWS], m[rep + LATE_ROWS] + rare(m, rep + LATE_COUNT)):
        if not in_step or m[m[place] + CHUNK] > 0:
            tokens += m[m[place] + COMPUTED]
    return int(tokens)
