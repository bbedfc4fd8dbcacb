"""Preemption by recompute: when the pool cannot hold the next step, the tail of the running list gives way."""

from simulator.kernels.compile import kernel
from simulator.kernels.pool import blocks_for, give_back
from simulator.kernels.prefix import Cache
from simulator.kernels.running import growth, leave_decoding
from simulator.kernels.state import (
    BASE,
    BLOCK_SIZE,
    BUDGET,
    COMPUTED,
    DECODING,
    DUE,
    FREE,
    LAST_TOKEN,
    MADE,
    NOBODY,
    NOW,
    OUTPUT,
    PARTIAL,
    PREEMPTED,
    PREEMPTIONS,
    PROMPT,
    REQUEST,
    STEPS,
    STOPPED_AT,
    TAIL,
    TARGET,
)
from simulator.steptime import IntArray


@kernel
def _stop(
    st: IntArray, inp: IntArray, out: IntArray, seat: IntArray, stack: IntArray, cache: Cache, row: int, computed: int
) -> None:
    request = seat[row, REQUEST]
    give_back(st, seat, cache, request, row, computed, True)
    seat[row, TARGET] = inp[PROMPT, request] + seat[row, MADE]
    seat[row, STOPPED_AT] = st[NOW]
    out[PREEMPTIONS, request] += 1
    stack[st[PREEMPTED]] = row
    st[PREEMPTED] += 1


@kernel
def _stop_partial(st: IntArray, inp: IntArray, out: IntArray, seat: IntArray, stack: IntArray, cache: Cache) -> None:
    row = st[PARTIAL]
    st[PARTIAL] = NOBODY
    _stop(st, inp, out, seat, stack, cache, row, seat[row, COMPUTED])


@kernel
def _stop_tail(
    st: IntArray,
    inp: IntArray,
    out: IntArray,
    seat: IntArray,
    stack: IntArray,
    heap: IntArray,
    hist: IntArray,
    cache: Cache,
) -> None:
    row = st[TAIL]
    seat[row, MADE] = inp[OUTPUT, seat[row, REQUEST]] - (seat[row, DUE] - st[STEPS])
    seat[row, LAST_TOKEN] = st[NOW]
    computed = leave_decoding(st, seat, heap, hist, row)
    _stop(st, inp, out, seat, stack, cache, row, computed)


@kernel
def partial_chunk(st: IntArray, seat: IntArray) -> int:
    """Tokens the partly computed prompt gets in this step, 0 where there is none or the budget is spent."""
    row = st[PARTIAL]
    if row == NOBODY:
        return 0
    return int(min(seat[row, TARGET] - seat[row, COMPUTED], st[BUDGET] - st[DECODING]))


@kernel
def make_room(
    st: IntArray,
    inp: IntArray,
    out: IntArray,
    seat: IntArray,
    stack: IntArray,
    heap: IntArray,
    hist: IntArray,
    cache: Cache,
) -> bool:
    """Preempt from the tail until what is left of the running list has its blocks; says whether anyone fell.

    The scheduler walks the list from its head and preempts the tail whenever a sequence finds no block. What falls in
    the end is the shortest tail without which the rest fits: that is what is looked for here.
    """
    needed = growth(st, hist, st[STEPS])
    fell = False
    if st[PARTIAL] != NOBODY:
        row = st[PARTIAL]
        computed = seat[row, COMPUTED]
        extra = blocks_for(st, computed + partial_chunk(st, seat)) - blocks_for(st, computed)
        if needed + extra > st[FREE]:
            _stop_partial(st, inp, out, seat, stack, cache)
            fell = True
    while needed > st[FREE]:
        if (seat[st[TAIL], BASE] + st[STEPS]) % st[BLOCK_SIZE] == 0:
            needed -= 1
        _stop_tail(st, inp, out, seat, stack, heap, hist, cache)
        fell = True
    return fell
