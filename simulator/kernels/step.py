"""One engine step in full, for every step in which the batch may change: begun at its boundary, settled at its end."""

from simulator.kernels.accounts import add_gap, add_product, note_peak
from simulator.kernels.admit import admit, form_static_batch
from simulator.kernels.compile import inlined, kernel
from simulator.kernels.drafts import keep
from simulator.kernels.finish import finish_chunks, finish_due
from simulator.kernels.lines import arrange
from simulator.kernels.pool import blocks_for, take
from simulator.kernels.preempt import make_room, plan_chunks
from simulator.kernels.running import growth, jump_again, running_count, tokens_in_blocks, tokens_out, walk_for_a_while
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    AREA_HIGH,
    BATCH_LEFT,
    BELOW,
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
    NOW,
    ORDER,
    ORDERED,
    PAIR_PS,
    PLANNED,
    PREFILLED,
    SEAT_HIGH,
    SEATS_PS,
    SEQ_PS,
    SETTLED,
    STATIC,
    STEP_CONTEXT,
    STEP_SEQS,
    STEP_TOKENS,
    STEPS,
    TOKENS_PS,
    WALKS,
    WINDOW_CONTEXT,
    WINDOW_COUNT,
    WINDOW_PS,
    WORST_FALLS,
)
from simulator.kernels.walk import slide_running, walk_running
from simulator.kernels.windows import window_ps
from simulator.steptime import IntArray


@kernel
def _chunk_sums(m: IntArray, rep: int) -> tuple[int, int, int, int, int]:
    """Of the prompts in the step: how many, tokens, tokens computed before them, and pairs as in `StepTime`.

    Last: tokens of the prompts that run, but have to wait in this step.
    """
    prompts = tokens = context = pairs = idle = 0
    chunks = m[rep + CHUNKS]
    for place in range(chunks, chunks + m[rep + CHUNK_COUNT]):
        row = m[place]
        before, chunk = m[row + COMPUTED], m[row + CHUNK]
        if chunk == 0:
            idle += before
            continue
        prompts += 1
        tokens += chunk
        context += before
        pairs += chunk * before + (chunk * (chunk + 1) >> 1)
    return prompts, tokens, context, pairs, idle


@inlined
def _step_ps(m: IntArray, rep: int, prompts: int, prefill: int, context: int, pairs: int) -> int:
    """Time of the step made of the decoding sequences and the prompts with these sums."""
    decoding, verified, computed = m[rep + DECODING], m[rep + DECODING], m[rep + CONTEXT]
    if m[rep + WALKS] > 0:
        decoding, verified, computed = m[rep + STEP_SEQS], m[rep + STEP_TOKENS], m[rep + STEP_CONTEXT]
    duration_ps = (
        m[m[rep + TOKENS_PS] + verified + prefill]
        + m[m[rep + SEATS_PS] + decoding]
        + m[m[rep + CONTEXT_PS] + decoding] * (computed + context)
        + m[rep + PAIR_PS] * pairs
        + m[rep + SEQ_PS] * prompts
    )
    if m[rep + WINDOW_PS] > 0:
        duration_ps += window_ps(m, rep, decoding)
    return int(max(1, duration_ps))


@kernel
def _continue_prompts(m: IntArray, w: Int32Array, rep: int) -> int:
    """The planned chunks of the prompts that are partly computed; returns their tokens."""
    tokens = 0
    chunks = m[rep + CHUNKS]
    for place in range(chunks, chunks + m[rep + CHUNK_COUNT]):
        row = m[place]
        computed = m[row + COMPUTED]
        take(m, w, rep, blocks_for(m, rep, computed + m[row + CHUNK]) - blocks_for(m, rep, computed))
        tokens += m[row + CHUNK]
    return int(tokens)


@kernel
def _walk_if_short(m: IntArray, rep: int) -> None:
    """Where the worst falls, those behind it may be left out of the step: then it is a step to walk."""
    if m[rep + WALKS] == 2:
        jump_again(m, rep)
    if m[rep + WORST_FALLS] > 0 and m[rep + WALKS] == 0 and growth(m, rep) + plan_chunks(m, rep) > m[rep + FREE]:
        walk_for_a_while(m, rep)


@kernel
def _only_preempted(m: IntArray, rep: int) -> bool:
    """Nobody computes anything in the scheduled step: who stood first in the running list was the worst, and fell."""
    tokens = m[rep + STEP_TOKENS]
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        tokens += m[m[place] + CHUNK]
    return bool(m[rep + WALKS] > 0 and tokens == 0)


@kernel
def schedule_step(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> int:
    """Running requests first, then waiting ones, none in a step that preempted; returns how many run."""
    while True:
        if m[rep + ORDERED] > 0:
            arrange(m, w, times, counts, rep)
            _walk_if_short(m, rep)
        if m[rep + WALKS] > 0:
            fell, budget = walk_running(m, w, times, counts, rep)
        elif m[rep + WINDOW_COUNT] > 0:
            fell, budget = slide_running(m, w, times, counts, rep)
        else:
            fell = make_room(m, w, times, counts, rep)
            take(m, w, rep, growth(m, rep))
            budget = m[rep + BUDGET] - m[rep + DECODING] - _continue_prompts(m, w, rep)
        running = running_count(m, rep)
        if m[rep + STATIC] > 0 and m[rep + BATCH_LEFT] == 0 and running == 0:
            form_static_batch(m, times, counts, rep)
        if not fell:
            return int(admit(m, w, times, counts, rep, running, budget))
        if m[rep + WORST_FALLS] == 0 or not _only_preempted(m, rep):
            return int(running)


@kernel
def begin_step(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """Schedule and start a step of an engine alone."""
    start_step(m, rep, schedule_step(m, w, times, counts, rep), 0)


@kernel
def planned_ps(m: IntArray, rep: int) -> int:
    """How long the scheduled step takes an engine alone."""
    prompts, prefill, context, pairs, _ = _chunk_sums(m, rep)
    return _step_ps(m, rep, prompts, prefill, context, pairs)


@kernel
def tokens_held(m: IntArray, rep: int) -> int:
    """Tokens computed of those who run, between steps; shared ones count once."""
    computed = m[rep + CONTEXT]
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        computed += m[m[place] + COMPUTED]
    return tokens_in_blocks(m, rep, computed)


@kernel
def start_step(m: IntArray, rep: int, running: int, duration_ps: int) -> None:
    """The scheduled step begins; `duration_ps`: how long it takes in a gang, 0: an engine alone."""
    prompts, prefill, context, pairs, idle = _chunk_sums(m, rep)
    if duration_ps == 0:
        duration_ps = _step_ps(m, rep, prompts, prefill, context, pairs)
    decoding, emitted = m[rep + DECODING], tokens_out(m, rep)
    tokens = tokens_in_blocks(m, rep, m[rep + CONTEXT] + emitted + context + prefill + idle)
    m[rep + PLANNED] = 0
    m[rep + END] = m[rep + NOW] + duration_ps
    m[rep + BUSY] += duration_ps
    m[rep + PREFILLED] += prefill
    m[rep + DECODED] += emitted
    add_product(m, rep + SEAT_HIGH, running, duration_ps)
    add_product(m, rep + AREA_HIGH, m[rep + BLOCKS] - m[rep + FREE], duration_ps)
    add_product(m, rep + KV_TOKENS_HIGH, tokens, duration_ps)
    note_peak(m, rep, tokens)
    if decoding > 0 and m[rep + WALKS] == 0:
        add_gap(m, rep, m[rep + END] - m[rep + SETTLED], decoding)


@inlined
def settle_step(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """The step under way has ended: tokens come out, sequences finish."""
    m[rep + STEPS] += 1
    m[rep + CONTEXT] += m[rep + DECODING]
    m[rep + WINDOW_CONTEXT] += m[rep + BELOW]
    if m[rep + WALKS] > 0:
        keep(m, rep)
    finish_chunks(m, w, times, counts, rep)
    finish_due(m, w, times, counts, rep, m[rep + ORDER])
