"""One engine step in full: for every step in which the batch may change."""

import numpy as np
import numpy.typing as npt

from simulator.kernels.accounts import add_area, add_gap, note_peak
from simulator.kernels.admit import admit, form_static_batch
from simulator.kernels.compile import kernel
from simulator.kernels.finish import finish_chunks, finish_due
from simulator.kernels.pool import take_for_chunk, take_for_decode
from simulator.kernels.preempt import make_room, partial_chunk
from simulator.kernels.prefix import Cache
from simulator.kernels.running import growth
from simulator.kernels.state import (
    BATCH_LEFT,
    BLOCKS,
    BUDGET,
    BUSY,
    CHUNK,
    COMPUTED,
    CONTEXT,
    DECODING,
    FREE,
    FRESH,
    NOBODY,
    NOW,
    PAIR_PS,
    PARTIAL,
    PREFILL_TOKENS,
    SEQ_PS,
    STATIC,
    STEPS,
)
from simulator.steptime import IntArray


@kernel
def _step_ps(
    st: IntArray, seat: IntArray, fresh: IntArray, tokens_ps: IntArray, seats_ps: IntArray, context_ps: IntArray
) -> int:
    """Time of the step made of the decoding sequences and the chunks in `fresh`; counts the prefill tokens."""
    prefill, context, pairs = 0, st[CONTEXT], 0
    for place in range(st[FRESH]):
        before, chunk = seat[fresh[place], COMPUTED], seat[fresh[place], CHUNK]
        prefill += chunk
        context += before
        pairs += chunk * before + (chunk * (chunk + 1) >> 1)
    st[PREFILL_TOKENS] += prefill
    decoding = st[DECODING]
    return int(
        tokens_ps[decoding + prefill]
        + seats_ps[decoding]
        + context_ps[decoding] * context
        + st[PAIR_PS] * pairs
        + st[SEQ_PS] * st[FRESH]
    )


@kernel
def _continue_partial(st: IntArray, seat: IntArray, fresh: IntArray, cache: Cache) -> int:
    """The partly computed prompt's next chunk; returns its tokens."""
    tokens = partial_chunk(st, seat)
    if tokens > 0:
        row = st[PARTIAL]
        take_for_chunk(st, seat, cache, row, seat[row, COMPUTED], tokens)
        seat[row, CHUNK] = tokens
        fresh[0] = row
        st[FRESH] = 1
    return tokens


@kernel
def full_step(
    st: IntArray,
    inp: IntArray,
    out: IntArray,
    reason: npt.NDArray[np.int8],
    seat: IntArray,
    spare: IntArray,
    stack: IntArray,
    fresh: IntArray,
    heap: IntArray,
    hist: IntArray,
    itl: IntArray,
    tokens_ps: IntArray,
    seats_ps: IntArray,
    context_ps: IntArray,
    cache: Cache,
) -> None:
    """Schedule as the engine does (running, then waiting), let the step's time pass, and settle its outcome."""
    fell = make_room(st, inp, out, seat, stack, heap, hist, cache)
    take_for_decode(st, cache, growth(st, hist, st[STEPS]))
    budget = st[BUDGET] - st[DECODING] - _continue_partial(st, seat, fresh, cache)
    if st[STATIC] > 0 and st[BATCH_LEFT] == 0 and st[DECODING] == 0 and st[PARTIAL] == NOBODY:
        form_static_batch(st, inp, reason)
    if not fell:
        admit(st, inp, out, reason, seat, spare, stack, fresh, cache, budget)
    duration_ps = _step_ps(st, seat, fresh, tokens_ps, seats_ps, context_ps)
    add_area(st, st[BLOCKS] - st[FREE], duration_ps)
    note_peak(st)
    if st[DECODING] > 0:
        add_gap(st, itl, duration_ps, st[DECODING])
    st[NOW] += duration_ps
    st[BUSY] += duration_ps
    st[STEPS] += 1
    st[CONTEXT] += st[DECODING]
    finish_due(st, inp, out, seat, spare, heap, hist, cache)
    finish_chunks(st, inp, out, seat, spare, fresh, heap, hist, itl, cache)
