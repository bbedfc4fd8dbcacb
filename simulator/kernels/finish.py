"""The end of a step: prompts completed, sequences finished."""

from simulator.kernels.accounts import add_gap
from simulator.kernels.arrive import end_request
from simulator.kernels.compile import kernel
from simulator.kernels.pool import give_back
from simulator.kernels.prefix import Cache, forget_own, offer_shared
from simulator.kernels.running import join_decoding, leave_decoding
from simulator.kernels.state import (
    CACHING,
    CHUNK,
    COMPUTED,
    DUE,
    FIRST_TOKEN,
    FRESH,
    GENERATED,
    HEAPED,
    LAST_TOKEN,
    MADE,
    NOBODY,
    NOW,
    OUTPUT,
    PARTIAL,
    PREEMPTIONS,
    REQUEST,
    SPARE,
    STEPS,
    TARGET,
)
from simulator.steptime import IntArray


@kernel
def _leave(
    st: IntArray, inp: IntArray, out: IntArray, seat: IntArray, spare: IntArray, cache: Cache, row: int, computed: int
) -> None:
    request = seat[row, REQUEST]
    give_back(st, seat, cache, request, row, computed, False)
    if st[CACHING] > 0 and out[PREEMPTIONS, request] > 0:
        forget_own(st, cache, row, computed)
    out[GENERATED, request] = inp[OUTPUT, request]
    end_request(st, inp, out, request, st[NOW])
    spare[st[SPARE]] = row
    st[SPARE] += 1


@kernel
def finish_due(
    st: IntArray,
    inp: IntArray,
    out: IntArray,
    seat: IntArray,
    spare: IntArray,
    heap: IntArray,
    hist: IntArray,
    cache: Cache,
) -> None:
    """Decoding sequences whose last token came out in the step that has just ended."""
    while st[HEAPED] > 0 and seat[heap[0], DUE] == st[STEPS]:
        row = heap[0]
        computed = leave_decoding(st, seat, heap, hist, row)
        _leave(st, inp, out, seat, spare, cache, row, computed)


@kernel
def _emit(
    st: IntArray,
    inp: IntArray,
    out: IntArray,
    seat: IntArray,
    spare: IntArray,
    heap: IntArray,
    hist: IntArray,
    itl: IntArray,
    cache: Cache,
    row: int,
) -> None:
    """The row's prompt is computed: a token comes out, and it decodes on or has finished."""
    request = seat[row, REQUEST]
    if seat[row, MADE] == 0:
        out[FIRST_TOKEN, request] = st[NOW]
    else:
        add_gap(st, itl, st[NOW] - seat[row, LAST_TOKEN], 1)
    seat[row, MADE] += 1
    left = inp[OUTPUT, request] - seat[row, MADE]
    if left == 0:
        _leave(st, inp, out, seat, spare, cache, row, seat[row, COMPUTED])
    else:
        join_decoding(st, seat, heap, hist, row, left)


@kernel
def finish_chunks(
    st: IntArray,
    inp: IntArray,
    out: IntArray,
    seat: IntArray,
    spare: IntArray,
    fresh: IntArray,
    heap: IntArray,
    hist: IntArray,
    itl: IntArray,
    cache: Cache,
) -> None:
    """The chunks of this step are computed; at most the last of them leaves its prompt partly done."""
    if st[FRESH] > 0:
        st[PARTIAL] = NOBODY
    for place in range(st[FRESH]):
        row = fresh[place]
        seat[row, COMPUTED] += seat[row, CHUNK]
        if st[CACHING] > 0:
            offer_shared(st, seat, cache, seat[row, REQUEST], row, seat[row, COMPUTED])
        if seat[row, COMPUTED] == seat[row, TARGET]:
            _emit(st, inp, out, seat, spare, heap, hist, itl, cache, row)
        else:
            st[PARTIAL] = row
    st[FRESH] = 0
