"""Fresh rows: they joined the decoding ones with the step under way; their KV had come from elsewhere (`intake.py`)."""

from simulator.kernels.accounts import add_gap
from simulator.kernels.compile import kernel
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    ANSWERS,
    CACHING,
    CLOCK,
    COMPUTED,
    FIRST_TOKEN,
    FRESH,
    FRESH_COUNT,
    LAST_TOKEN,
    MADE,
    PREPAID,
    REQUEST,
    ROW_FRESH,
    ROW_HELD,
    WALKS,
)
from simulator.kernels.tables import offer_shared
from simulator.steptime import IntArray


@kernel
def emit_first(m: IntArray, w: Int32Array, times: IntArray, rep: int, row: int) -> None:
    """The row's first token comes out here: the prompt's last one has been computed again."""
    m[row + ROW_FRESH] = 0
    times[FIRST_TOKEN, m[row + REQUEST]] = m[CLOCK]
    m[row + COMPUTED] += 1
    if m[rep + CACHING] > 0 and m[rep + ANSWERS] == 0:  # else all decoding rows' blocks are offered, in their order
        offer_shared(m, w, rep, row, m[row + COMPUTED])


@kernel
def settle_fresh(m: IntArray, w: Int32Array, times: IntArray, rep: int) -> None:
    """The step has ended: their first token here is out, for some the first of all."""
    for place in range(m[rep + FRESH], m[rep + FRESH] + m[rep + FRESH_COUNT]):
        row = m[place]
        if m[row + MADE] > 0:
            m[row + ROW_FRESH] = 0
            add_gap(m, rep, m[CLOCK] - m[row + LAST_TOKEN], 1)
            continue
        emit_first(m, w, times, rep, row)
    m[rep + FRESH_COUNT] = 0


@kernel
def drop_fresh(m: IntArray, rep: int, row: int, blocks: int) -> None:
    """The last fresh row falls before its first token here; `blocks`: for the tokens that it has computed."""
    m[row + ROW_FRESH] = 0
    if m[rep + WALKS] > 0:
        return
    m[rep + FRESH_COUNT] -= 1
    m[rep + PREPAID] -= m[row + ROW_HELD] - blocks
