"""One engine step in full, for every step in which the batch may change: begun at its boundary, settled at its end."""

from simulator.kernels.accounts import add_gap, add_product, note_peak
from simulator.kernels.admit import admit, form_static_batch
from simulator.kernels.compile import kernel
from simulator.kernels.finish import finish_chunks, finish_due
from simulator.kernels.pool import take_for_chunk, take_for_decode
from simulator.kernels.preempt import make_room, partial_chunk
from simulator.kernels.prefix import Int32Array
from simulator.kernels.running import growth
from simulator.kernels.state import (
    AREA_HIGH,
    BATCH_LEFT,
    BLOCK_SIZE,
    BLOCKS,
    BUDGET,
    BUSY,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    COMPUTED,
    CONTEXT,
    CONTEXT_PS,
    DECODED,
    DECODING,
    END,
    FREE,
    KV_TOKENS_HIGH,
    NOBODY,
    NOW,
    PAIR_PS,
    PARTIAL,
    PLANNED,
    PREFILLED,
    SEAT_HIGH,
    SEATS_PS,
    SEQ_PS,
    SHARED,
    STATIC,
    STEPS,
    TOKENS_PS,
)
from simulator.steptime import IntArray


@kernel
def _chunk_sums(m: IntArray, rep: int) -> tuple[int, int, int]:
    """Of the chunks in the step: tokens, tokens computed before them, and pairs as in `StepTime`."""
    tokens = context = pairs = 0
    chunks = m[rep + CHUNKS]
    for place in range(chunks, chunks + m[rep + CHUNK_COUNT]):
        row = m[place]
        before, chunk = m[row + COMPUTED], m[row + CHUNK]
        tokens += chunk
        context += before
        pairs += chunk * before + (chunk * (chunk + 1) >> 1)
    return tokens, context, pairs


@kernel
def _step_ps(m: IntArray, rep: int, prefill: int, context: int, pairs: int) -> int:
    """Time of the step made of the decoding sequences and the chunks with these sums."""
    decoding = m[rep + DECODING]
    duration_ps = (
        m[m[rep + TOKENS_PS] + decoding + prefill]
        + m[m[rep + SEATS_PS] + decoding]
        + m[m[rep + CONTEXT_PS] + decoding] * (m[rep + CONTEXT] + context)
        + m[rep + PAIR_PS] * pairs
        + m[rep + SEQ_PS] * m[rep + CHUNK_COUNT]
    )
    return int(max(1, duration_ps))


@kernel
def _continue_partial(m: IntArray, w: Int32Array, rep: int) -> int:
    """The partly computed prompt's next chunk; returns its tokens."""
    tokens = partial_chunk(m, rep)
    if tokens > 0:
        row = m[rep + PARTIAL]
        take_for_chunk(m, w, rep, row, m[row + COMPUTED], tokens)
        m[row + CHUNK] = tokens
        m[m[rep + CHUNKS]] = row
        m[rep + CHUNK_COUNT] = 1
    return tokens


@kernel
def begin_step(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """Schedule as the engine does: running requests first, then waiting ones, none in a step that preempted."""
    fell = make_room(m, w, counts, rep)
    take_for_decode(m, w, rep, growth(m, rep))
    budget = m[rep + BUDGET] - m[rep + DECODING] - _continue_partial(m, w, rep)
    running = m[rep + DECODING]
    if m[rep + PARTIAL] != NOBODY:
        running += 1
    if m[rep + STATIC] > 0 and m[rep + BATCH_LEFT] == 0 and running == 0:
        form_static_batch(m, counts, rep)
    if not fell:
        running = admit(m, w, times, counts, rep, running, budget)
    _account(m, rep, running)


@kernel
def _account(m: IntArray, rep: int, running: int) -> None:
    """The step is made up: when it ends, and what it adds to the sums."""
    prefill, context, pairs = _chunk_sums(m, rep)
    duration_ps = _step_ps(m, rep, prefill, context, pairs)
    decoding = m[rep + DECODING]
    tokens = m[rep + CONTEXT] + decoding + context + prefill - m[rep + SHARED] * m[rep + BLOCK_SIZE]
    if m[rep + PARTIAL] != NOBODY and m[m[rep + CHUNKS]] != m[rep + PARTIAL]:
        tokens += m[m[rep + PARTIAL] + COMPUTED]
    m[rep + PLANNED] = 0
    m[rep + END] = m[rep + NOW] + duration_ps
    m[rep + BUSY] += duration_ps
    m[rep + PREFILLED] += prefill
    m[rep + DECODED] += decoding
    add_product(m, rep + SEAT_HIGH, running, duration_ps)
    add_product(m, rep + AREA_HIGH, m[rep + BLOCKS] - m[rep + FREE], duration_ps)
    add_product(m, rep + KV_TOKENS_HIGH, tokens, duration_ps)
    note_peak(m, rep, tokens)
    if decoding > 0:
        add_gap(m, rep, duration_ps, decoding)


@kernel
def settle_step(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """The step under way has ended: tokens come out, sequences finish."""
    m[rep + STEPS] += 1
    m[rep + CONTEXT] += m[rep + DECODING]
    finish_due(m, w, times, counts, rep)
    finish_chunks(m, w, times, counts, rep)
