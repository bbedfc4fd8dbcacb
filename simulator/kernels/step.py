"""One engine step in full, for every step in which the batch may change: begun at its boundary, settled at its end."""

from typing import Final

from simulator.kernels.accounts import add_gap, add_product, note_peak
from simulator.kernels.admit import admit, anyone_waiting, form_static_batch
from simulator.kernels.compile import inlined, kernel
from simulator.kernels.drafts import keep
from simulator.kernels.finish import finish_chunks, finish_due
from simulator.kernels.fresh import settle_fresh
from simulator.kernels.late import all_known, empty_inbox, late_context, retire
from simulator.kernels.lines import arrange
from simulator.kernels.overlap import run_with_late
from simulator.kernels.plain import rare
from simulator.kernels.pool import take
from simulator.kernels.preempt import chunk_blocks, make_room, plan_chunks
from simulator.kernels.profiles import add_rested_gaps, prompts_first, sum_decoding
from simulator.kernels.running import growth, jump_again, seats_taken, tokens_in_blocks, tokens_out, walk_for_a_while
from simulator.kernels.runs import Int32Array
from simulator.kernels.sglang import compute_late, decode, prefill, start_anew
from simulator.kernels.state import (
    AREA_HIGH,
    AWAY_TOKENS,
    BATCH_LEFT,
    BELOW,
    BLOCKS,
    BUDGET,
    BUSY,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    CLOSED,
    COME,
    COMPUTED,
    CONTEXT,
    CONTEXT_PS,
    DECODED,
    DECODING,
    END,
    FREE,
    FRESH_COUNT,
    KV_TOKENS_HIGH,
    LATE_COUNT,
    NEXT,
    NOBODY,
    NOW,
    ORDER,
    ORDERED,
    OVERLAPS,
    PAIR_PS,
    PLANNED,
    PREFILLED,
    PROFILE,
    PROMPTS_PS,
    RESTED,
    SEAT_HIGH,
    SEATS_PS,
    SEQ_PS,
    SETTLED,
    SGLANG,
    STALL,
    STALLS,
    STATIC,
    STEP_CONTEXT,
    STEP_SEQS,
    STEP_TOKENS,
    STEPS,
    STEPS_AS_V1,
    SUMMED,
    TARGET,
    TOKENS_PS,
    VAIN,
    WALKS,
    WINDOW_CONTEXT,
    WINDOW_COUNT,
    WINDOW_PS,
    WORST_FALLS,
)
from simulator.kernels.walk import slide_running, walk_running
from simulator.kernels.windows import window_ps
from simulator.steptime import IntArray

NO_STEP: Final = -1


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
    if rare(m, rep + SUMMED) > 0 or rare(m, rep + WALKS) > 0:
        decoding, verified, computed = m[rep + STEP_SEQS], m[rep + STEP_TOKENS], m[rep + STEP_CONTEXT]
    duration_ps = (
        m[m[rep + TOKENS_PS] + verified + prefill]
        + m[m[rep + SEATS_PS] + decoding]
        + m[m[rep + CONTEXT_PS] + decoding] * (computed + context)
        + m[rep + PAIR_PS] * pairs
        + m[rep + SEQ_PS] * prompts
        + (m[rep + PROMPTS_PS] if prompts > 0 else 0)
    )
    if rare(m, rep + WINDOW_PS) > 0:
        duration_ps += window_ps(m, rep, decoding)
    return int(max(1, duration_ps))


@kernel
def _continue_prompts(m: IntArray, w: Int32Array, rep: int) -> int:
    """The planned chunks of the prompts that are partly computed; returns their tokens."""
    tokens = 0
    chunks = m[rep + CHUNKS]
    for place in range(chunks, chunks + m[rep + CHUNK_COUNT]):
        take(m, w, rep, chunk_blocks(m, rep, m[place]))
        tokens += m[m[place] + CHUNK]
    return int(tokens)


@inlined
def _schedule_running(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """Running requests take tokens and blocks; answers (whether anyone was preempted, tokens left)."""
    if rare(m, rep + WALKS) > 0:
        return walk_running(m, w, times, counts, rep)
    if rare(m, rep + LATE_COUNT) > 0:
        return run_with_late(m, w, times, counts, rep)
    if rare(m, rep + WINDOW_COUNT) > 0:
        return slide_running(m, w, times, counts, rep)
    fell = make_room(m, w, times, counts, rep)
    take(m, w, rep, growth(m, rep))
    return fell, m[rep + BUDGET] - m[rep + DECODING] - _continue_prompts(m, w, rep)


@kernel
def _prompts_first(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """Whether prompts are computed in this step before anyone decodes, and the tokens that waiting ones may take."""
    if rare(m, rep + PROFILE) == SGLANG:
        return prefill(m, w, counts, rep)
    return prompts_first(m, w, counts, rep)


@kernel
def _walk_if_short(m: IntArray, rep: int) -> None:
    """Where the worst falls, those behind it may be left out of the step: then it is a step to walk."""
    if rare(m, rep + WALKS) == 2:
        jump_again(m, rep)
    if (
        rare(m, rep + WORST_FALLS) > 0
        and rare(m, rep + WALKS) == 0
        and growth(m, rep) + plan_chunks(m, rep) > m[rep + FREE]
    ):
        walk_for_a_while(m, rep)


@kernel
def schedule_step(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> int:
    """Running requests first, then waiting ones, none in a step that preempted; returns how many run.

    Other schedulers than V1's may compute prompts alone, or none while others decode.
    """
    m[rep + CLOSED] = m[rep + VAIN] = 0
    if rare(m, rep + ORDERED) > 0:
        arrange(m, w, times, counts, rep)
        _walk_if_short(m, rep)
    apart = rare(m, rep + PROFILE) != STEPS_AS_V1
    closed, alone, budget = False, False, 0
    if apart:
        alone, budget = _prompts_first(m, w, counts, rep)
        closed = not alone
    if rare(m, rep + PROFILE) == SGLANG:
        if not alone:
            decode(m, w, times, counts, rep)
    elif not alone:
        fell, budget = _schedule_running(m, w, times, counts, rep)
        if fell:
            closed, m[rep + CLOSED] = True, 1
    running = seats_taken(m, rep)
    if rare(m, rep + STATIC) > 0 and rare(m, rep + BATCH_LEFT) == 0 and running == 0:
        form_static_batch(m, times, counts, rep)
    if not closed:
        running = admit(m, w, times, counts, rep, running, budget)
    if rare(m, rep + SUMMED) > 0:
        if rare(m, rep + LATE_COUNT) > 0 and rare(m, rep + PROFILE) == SGLANG and rare(m, rep + STALL) == 0:
            compute_late(m, w, counts, rep)
        sum_decoding(m, rep)
    return int(running - rare(m, rep + LATE_COUNT))


@kernel
def _computes(m: IntArray, rep: int) -> bool:
    """Whether anyone computes anything in the scheduled step."""
    tokens = m[rep + STEP_TOKENS]
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        tokens += m[m[place] + CHUNK]
    return bool(tokens > 0)


@kernel
def _schedule_open(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> int:
    """Schedule a step; again where it only preempted, as the first one of the running list may fall."""
    while True:
        if seats_taken(m, rep) == 0 and not anyone_waiting(m, rep):
            start_anew(m, rep)
        running = schedule_step(m, w, times, counts, rep)
        if m[rep + CLOSED] == 0 or _computes(m, rep):
            return running


@kernel
def _schedule_overlapped(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> int:
    """As `plan_step`. Who has come or finished since the last time is known one step later, or, if nobody else computes
    anything, at once: there is no step to overlap with."""
    running = _schedule_open(m, w, times, counts, rep)
    if not _computes(m, rep) and not all_known(m, rep):
        retire(m, w, counts, rep)
        empty_inbox(m, times, counts, rep)
        running = _schedule_open(m, w, times, counts, rep)
    empty_inbox(m, times, counts, rep)
    return running if _computes(m, rep) else NO_STEP


@kernel
def plan_step(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> int:
    """Schedule a step; returns how many run, NO_STEP where nobody can compute anything."""
    if rare(m, rep + OVERLAPS) > 0:
        return _schedule_overlapped(m, w, times, counts, rep)
    if rare(m, rep + WORST_FALLS) > 0:
        return _schedule_open(m, w, times, counts, rep)
    return schedule_step(m, w, times, counts, rep)


@kernel
def begin_step(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """Schedule and start a step of an engine alone, if anyone can compute anything."""
    running = plan_step(m, w, times, counts, rep)
    if running != NO_STEP:
        start_step(m, rep, running, 0)


@kernel
def planned_ps(m: IntArray, rep: int) -> int:
    """How long the scheduled step takes an engine alone."""
    prompts, prefill, context, pairs, _ = _chunk_sums(m, rep)
    return _step_ps(m, rep, prompts, prefill, context, pairs)


@kernel
def tokens_held(m: IntArray, rep: int) -> int:
    """Tokens in blocks between steps: of those who run, and of those on their way; shared ones count once."""
    computed = m[rep + CONTEXT] + rare(m, rep + AWAY_TOKENS)
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        computed += m[m[place] + COMPUTED]
    if rare(m, rep + LATE_COUNT) > 0:
        computed += late_context(m, rep, False)
    row = rare(m, rep + COME)
    while row != NOBODY:
        computed += m[row + TARGET] - m[row + COMPUTED]
        row = m[row + NEXT]
    return tokens_in_blocks(m, rep, computed)


@kernel
def start_step(m: IntArray, rep: int, running: int, duration_ps: int) -> None:
    """The scheduled step begins; `duration_ps`: how long it takes in a gang, 0: an engine alone."""
    prompts, prefill, context, pairs, idle = _chunk_sums(m, rep)
    if duration_ps == 0:
        duration_ps = _step_ps(m, rep, prompts, prefill, context, pairs)
    emitted = tokens_out(m, rep)
    if rare(m, rep + LATE_COUNT) > 0:
        idle += late_context(m, rep, False)
    computed = m[rep + CONTEXT] + rare(m, rep + AWAY_TOKENS) + emitted + context + prefill + idle
    tokens = tokens_in_blocks(m, rep, computed)
    m[rep + PLANNED] = 0
    m[rep + END] = m[rep + NOW] + duration_ps
    m[rep + BUSY] += duration_ps
    m[rep + PREFILLED] += prefill
    m[rep + DECODED] += emitted
    add_product(m, rep + SEAT_HIGH, running, duration_ps)
    add_product(m, rep + AREA_HIGH, m[rep + BLOCKS] - m[rep + FREE], duration_ps)
    add_product(m, rep + KV_TOKENS_HIGH, tokens, duration_ps)
    note_peak(m, rep, tokens)
    if emitted > rare(m, rep + FRESH_COUNT) and rare(m, rep + WALKS) == 0:
        if rare(m, rep + RESTED) > 0:
            add_rested_gaps(m, rep)
        else:
            add_gap(m, rep, m[rep + END] - m[rep + SETTLED], emitted - rare(m, rep + FRESH_COUNT))


@inlined
def settle_step(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """The step under way has ended: tokens come out, sequences finish."""
    if rare(m, rep + LATE_COUNT) > 0:
        retire(m, w, counts, rep)
    if rare(m, rep + STALL) > 0:
        m[rep + STALLS] += 1
    else:
        m[rep + STEPS] += 1
        m[rep + CONTEXT] += m[rep + DECODING]
        m[rep + WINDOW_CONTEXT] += rare(m, rep + BELOW)
        if rare(m, rep + WALKS) > 0:
            keep(m, w, times, rep)
    if rare(m, rep + FRESH_COUNT) > 0:
        settle_fresh(m, w, times, rep)
    finish_chunks(m, w, times, counts, rep)
    finish_due(m, w, times, counts, rep, m[rep + ORDER])
