"""Run to the next change: a stretch in which only the same sequences decode is one closed form.

With n decoding sequences and S tokens of context, step j of the stretch lasts a + d*j, where a is the time of its first
step and d = context_ps[n]*n: every step adds n tokens of context. So k steps last k*a + d*k(k-1)/2.
A planned stretch has changed nothing yet: it may be cut, and is run when it ends.
"""

import math

from simulator.kernels.accounts import add_gaps, add_product, note_peak
from simulator.kernels.admit import anyone_waiting, head_chunk, seat_open, stays_blocked, stays_in_order
from simulator.kernels.compile import inlined, kernel
from simulator.kernels.dues import next_due_ps
from simulator.kernels.finish import finish_due
from simulator.kernels.late import all_known
from simulator.kernels.plain import rare
from simulator.kernels.pool import take
from simulator.kernels.residue import residue
from simulator.kernels.running import tokens_in_blocks
from simulator.kernels.runs import Int32Array
from simulator.kernels.sglang import expect_less, nobody_tried
from simulator.kernels.slides import slide_over_stretch
from simulator.kernels.state import (
    AREA_HIGH,
    ASKED,
    ASKS,
    AWAY_TOKENS,
    BELOW,
    BIN_END,
    BLOCK_BITS,
    BLOCK_SIZE,
    BLOCK_TABLES,
    BLOCKS,
    BUDGET,
    BUSY,
    CHUNK_COUNT,
    CONTEXT,
    CONTEXT_PS,
    CONTIGUOUS,
    DECODED,
    DECODING,
    END,
    ESTIMATE,
    EXPIRES,
    FAR_PS,
    FIRST_PS,
    FREE,
    GONE,
    HEAP,
    HIST,
    IN_ORDER,
    KV_TOKENS_HIGH,
    LATE,
    MAX_JUMP,
    NEXT_PASS,
    NOW,
    OPEN,
    ORDER,
    ORDERED,
    OVERLAPS,
    PEAK,
    PEAK_TOKENS,
    PLANNED,
    PROFILE,
    RESTED,
    RISE_PS,
    ROUND_FREES,
    SEAT_HIGH,
    SEATS_PS,
    SGLANG,
    STEPS,
    STEPS_AS_V1,
    TABLE_WINDOWS,
    TOKENS_PS,
    UNTIL,
    WALKS,
    WINDOW_CONTEXT,
    WINDOW_COUNT,
    WINDOW_PS,
)
from simulator.kernels.windows import pass_windows
from simulator.steptime import IntArray


@kernel
def stretch_ps(first_ps: int, rise_ps: int, steps: int) -> int:
    """Time of `steps` steps: exact, as steps*(steps - 1) is even."""
    return steps * first_ps + rise_ps * ((steps * (steps - 1)) >> 1)


@kernel
def steps_until(first_ps: int, rise_ps: int, gap_ps: int, most: int) -> int:
    """The first step that ends at or after `gap_ps`, at most `most`: a root in floats, put right in integers."""
    if first_ps >= gap_ps:
        return 1
    half = first_ps - 0.5 * rise_ps
    steps = int(2.0 * gap_ps / (half + math.sqrt(half * half + 2.0 * rise_ps * gap_ps)))
    steps = min(max(steps, 1), most)
    while steps < most and stretch_ps(first_ps, rise_ps, steps) < gap_ps:
        steps += 1
    while steps > 1 and stretch_ps(first_ps, rise_ps, steps - 1) >= gap_ps:
        steps -= 1
    return steps


@kernel
def _rounds(m: IntArray, rep: int, steps: int) -> int:
    """Rounds of block_size steps that have begun within `steps` steps: ceil(steps / block size)."""
    if m[rep + BLOCK_BITS] >= 0:
        return int((steps + m[rep + BLOCK_SIZE] - 1) >> m[rep + BLOCK_BITS])
    return int((steps + m[rep + BLOCK_SIZE] - 1) // m[rep + BLOCK_SIZE])


@inlined
def steps_before_exhaustion(m: IntArray, rep: int, most: int) -> int:
    """How many steps (at most `most`) the free blocks last: each round of block_size steps takes one per table."""
    size, free = m[rep + BLOCK_SIZE], m[rep + FREE]
    each_round = m[rep + DECODING] * m[rep + BLOCK_TABLES]
    if each_round * _rounds(m, rep, most) <= free:
        return most
    rounds = free // each_round
    left = free - rounds * each_round
    steps = rounds * size
    hist, place = m[rep + HIST], residue(m, rep, m[rep + STEPS])
    while steps < most:
        left -= m[hist + place]
        if left < 0:
            break
        steps += 1
        place = place + 1 if place + 1 < size else 0
    return int(min(steps, most))


@kernel
def _steps_with_windows(m: IntArray, rep: int, most: int) -> int:
    """How many steps (at most `most`) until a sequence passes a window, the free blocks might not last, or those that
    are freed behind windows let the head of the line in. What a step frees may come too late for it itself.

    With prefix caching, not all that is freed is free: others may hold it. And no hits of a head are told.
    """
    pass_windows(m, rep)
    most = min(most, m[rep + NEXT_PASS] - m[rep + STEPS])
    left, asked, cached = m[rep + FREE], m[rep + ASKED], rare(m, rep + TABLE_WINDOWS) > 0
    if cached and asked < FAR_PS:
        return 0
    if asked == FAR_PS and m[rep + DECODING] * m[rep + BLOCK_TABLES] * _rounds(m, rep, most) <= left:
        return int(most)
    size, place, steps, late = m[rep + BLOCK_SIZE], residue(m, rep, m[rep + STEPS]), 0, m[rep + LATE]
    begun, freed = m[rep + HIST], m[rep + HIST] + size
    while steps < most and m[begun + place] <= left:
        left -= m[begun + place]
        if not cached:
            left += late + m[freed + place]
        late = 0
        if left >= asked:
            break
        steps += 1
        place = place + 1 if place + 1 < size else 0
    return int(steps)


@kernel
def _window_ps(m: IntArray, rep: int, tokens: int) -> int:
    """Time for so many tokens of context within the step time's window."""
    return int(m[rare(m, rep + WINDOW_PS) + m[rep + DECODING]] * tokens) if rare(m, rep + WINDOW_PS) > 0 else 0


@inlined
def _only_decoding(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> bool:
    """Whether only decoding can come next: sets OPEN, whether a request that comes could enter."""
    if rare(m, rep + PROFILE) == SGLANG:
        return nobody_tried(m, rep)
    running, budget = m[rep + DECODING], m[rep + BUDGET]
    if rare(m, rep + PROFILE) == STEPS_AS_V1:
        budget -= running
    m[rep + OPEN] = 0
    if not seat_open(m, rep, running, budget):
        return True
    if anyone_waiting(m, rep):
        if rare(m, rep + ORDERED) > 0:
            m[rep + OPEN] = 1  # who comes may be next
            return stays_in_order(m, w, times, counts, rep, running, budget)
        return bool(head_chunk(m, w, counts, rep, running, budget) == 0 and stays_blocked(m, rep))
    m[rep + OPEN] = 1
    return True


@inlined
def plan_stretch(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> bool:
    """Plan steps until the batch changes: a finish, the pool's end, the end of the series' bin or of the run.

    False: the next step must be a full one.
    """
    decoding = m[rep + DECODING]
    if decoding == 0 or m[rep + CHUNK_COUNT] > 0 or rare(m, rep + WALKS) > 0 or rare(m, rep + RESTED) > 0:
        return False
    if rare(m, rep + OVERLAPS) > 0 and not all_known(m, rep):
        return False
    m[rep + ASKED] = m[rep + IN_ORDER] = FAR_PS
    if not _only_decoding(m, w, times, counts, rep):
        return False
    if rare(m, rep + OVERLAPS) > 0:
        m[rep + OPEN] = 1  # when who comes is seen depends on the step in which he comes
    context_ps = m[m[rep + CONTEXT_PS] + decoding]
    first_ps = m[m[rep + TOKENS_PS] + decoding] + m[m[rep + SEATS_PS] + decoding] + context_ps * m[rep + CONTEXT]
    rise_ps = context_ps * decoding
    steps = min(m[m[rep + HEAP]] - m[rep + STEPS], m[rep + MAX_JUMP])
    if rare(m, rep + ORDERED) > 0:
        steps = min(steps, m[rep + IN_ORDER])
    if rare(m, rep + WINDOW_COUNT) == 0:
        steps = steps_before_exhaustion(m, rep, steps)
    else:
        steps = _steps_with_windows(m, rep, steps)
        first_ps += _window_ps(m, rep, m[rep + WINDOW_CONTEXT])
        rise_ps += _window_ps(m, rep, rare(m, rep + BELOW))
    if steps == 0 or first_ps == 0:
        return False
    m[rep + FIRST_PS] = first_ps
    m[rep + RISE_PS] = rise_ps
    m[rep + PLANNED] = steps
    m[rep + END] = m[rep + NOW] + stretch_ps(first_ps, rise_ps, steps)
    cut_stretch(m, rep, min(m[rep + BIN_END], m[UNTIL]))
    if rare(m, EXPIRES) > 0:
        due_ps = next_due_ps(m, times, counts, rep)
        if due_ps < m[rep + END]:
            cut_stretch(m, rep, due_ps + 1)
    return True


@kernel
def cut_stretch(m: IntArray, rep: int, at_ps: int) -> None:
    """Let the planned stretch end with its first step that ends at or after `at_ps`, a time after its beginning."""
    if m[rep + END] > at_ps:
        first_ps, rise_ps = m[rep + FIRST_PS], m[rep + RISE_PS]
        steps = steps_until(first_ps, rise_ps, at_ps - m[rep + NOW], m[rep + PLANNED])
        m[rep + PLANNED] = steps
        m[rep + END] = m[rep + NOW] + stretch_ps(first_ps, rise_ps, steps)


@kernel
def ended_steps(m: IntArray, rep: int, at_ps: int) -> int:
    """Steps of the stretch under way that have ended by then."""
    if m[rep + END] == FAR_PS or m[rep + PLANNED] == 0:
        return 0
    return steps_until(m[rep + FIRST_PS], m[rep + RISE_PS], at_ps + 1 - m[rep + NOW], m[rep + PLANNED]) - 1


@kernel
def begun_blocks(m: IntArray, rep: int, now_ps: int) -> int:
    """Blocks that the stretch under way has begun before `now_ps`, less those that it has freed."""
    if m[rep + END] == FAR_PS or m[rep + PLANNED] == 0 or rare(m, rep + CONTIGUOUS) > 0:
        return 0
    steps = steps_until(m[rep + FIRST_PS], m[rep + RISE_PS], now_ps - m[rep + NOW], m[rep + PLANNED])
    size = m[rep + BLOCK_SIZE]
    begun = steps // size * (m[rep + DECODING] * m[rep + BLOCK_TABLES] - m[rep + ROUND_FREES]) - m[rep + LATE]
    place = residue(m, rep, m[rep + STEPS])
    for _ in range(steps % size):
        begun += m[m[rep + HIST] + place] - m[m[rep + HIST] + size + place]
        place = place + 1 if place + 1 < size else 0
    return int(begun)


@kernel
def _held(m: IntArray, rep: int, hist: int, first: int, last: int, times: int, total_ps: int) -> tuple[int, int]:
    """(Blocks begun, blocks x time) of tables that begin `times` blocks each, the first in steps first to last - 1.

    One that begins blocks in steps j, j + block_size, ... holds each from the start of its step, which is
    j*a + d*j(j-1)/2 after the stretch's: so sums of 1, j and j(j-1)/2 over the tables are enough. Sums of sums,
    from the last step down, give the sums of 1, j+1-first and so on without a product.
    """
    size = m[rep + BLOCK_SIZE]
    place = residue(m, rep, m[rep + STEPS] + first)
    ones = twice = thrice = 0
    for j in range(last - first - 1, -1, -1):
        at = place + j
        ones += m[hist + (at - size if at >= size else at)]
        twice += ones
        thrice += twice
    sum_j = twice - ones
    pairs = thrice - twice - sum_j
    if first > 0:
        pairs += first * sum_j + (first * (first - 1) >> 1) * ones
        sum_j += first * ones
    if times > 1:
        rounds = times * (times - 1) >> 1
        squares = rounds * (2 * times - 1) // 3
        pairs = times * pairs + size * rounds * sum_j + (size * (size * squares - rounds) >> 1) * ones
        sum_j = times * sum_j + size * rounds * ones
        ones *= times
    return ones, ones * total_ps - m[rep + FIRST_PS] * sum_j - m[rep + RISE_PS] * pairs


@kernel
def _over_stretch(m: IntArray, rep: int, hist: int, steps: int, total_ps: int) -> tuple[int, int]:
    """(Blocks, blocks x time left of the stretch) of what the histogram counts in all steps of the stretch."""
    rounds = _rounds(m, rep, steps)
    last_round = steps - (rounds - 1) * m[rep + BLOCK_SIZE]
    blocks, held_ps = _held(m, rep, hist, 0, last_round, rounds, total_ps)
    if rounds > 1:
        others, others_ps = _held(m, rep, hist, last_round, m[rep + BLOCK_SIZE], rounds - 1, total_ps)
        blocks += others
        held_ps += others_ps
    return blocks, held_ps


@inlined
def _blocks_and_area(m: IntArray, rep: int, steps: int, total_ps: int) -> int:
    """Blocks begun during the stretch; adds blocks x time."""
    add_product(m, rep + AREA_HIGH, m[rep + BLOCKS] - m[rep + FREE], total_ps)
    if rare(m, rep + CONTIGUOUS) > 0:
        return 0
    begun, held_ps = _over_stretch(m, rep, m[rep + HIST], steps, total_ps)
    add_product(m, rep + AREA_HIGH, 1, held_ps)
    return int(begun)


@kernel
def _free_over_stretch(m: IntArray, rep: int, steps: int, total_ps: int) -> int:
    """Blocks freed behind windows during the stretch; takes them off blocks and tokens x time."""
    freed, free_ps = _over_stretch(m, rep, m[rep + HIST] + m[rep + BLOCK_SIZE], steps, total_ps)
    late, size = m[rep + LATE], m[rep + BLOCK_SIZE]
    add_product(m, rep + AREA_HIGH, -1, free_ps)
    add_product(m, rep + AREA_HIGH, -late, total_ps)
    add_product(m, rep + KV_TOKENS_HIGH, -size, free_ps)
    add_product(m, rep + KV_TOKENS_HIGH, -late * size, total_ps)
    freed += late
    m[rep + FREE] += freed
    m[rep + GONE] += freed
    m[rep + LATE] = 0
    return int(freed)


@kernel
def _note_peaks(m: IntArray, rep: int, steps: int, tokens: int) -> None:
    """The peaks of a stretch that has been counted, with `tokens` at its end.

    A round of block_size steps frees no more than it begins, so they lie in the last one. It is walked from its end.
    """
    size, each_step = m[rep + BLOCK_SIZE], m[rep + DECODING] * m[rep + BLOCK_TABLES]
    used = m[rep + BLOCKS] - m[rep + FREE]
    most, most_tokens = used + m[rep + ROUND_FREES], tokens + m[rep + ROUND_FREES] * size
    if most <= m[rep + PEAK] and most_tokens <= m[rep + PEAK_TOKENS]:
        return
    begun, freed = m[rep + HIST], m[rep + HIST] + size
    place = residue(m, rep, m[rep + STEPS] - 1)
    for _ in range(1, min(steps, size)):
        used += m[freed + place] - m[begun + place]
        tokens += m[freed + place] * size - each_step
        m[rep + PEAK] = max(m[rep + PEAK], used)
        m[rep + PEAK_TOKENS] = max(m[rep + PEAK_TOKENS], tokens)
        place = place - 1 if place > 0 else size - 1


@inlined
def _tokens(m: IntArray, rep: int, steps: int, total_ps: int) -> int:
    """Adds tokens held x time; returns the tokens at the end. Every step adds one to each table."""
    each_step = m[rep + DECODING] * m[rep + BLOCK_TABLES]
    first = tokens_in_blocks(m, rep, m[rep + CONTEXT] + rare(m, rep + AWAY_TOKENS) + m[rep + DECODING])
    sum_j = steps * (steps - 1) >> 1
    sum_jj = sum_j * (2 * steps - 1) // 3
    add_product(m, rep + KV_TOKENS_HIGH, first, total_ps)
    add_product(m, rep + KV_TOKENS_HIGH, each_step, m[rep + FIRST_PS] * sum_j + m[rep + RISE_PS] * sum_jj)
    return int(first + each_step * (steps - 1))


@inlined
def run_stretch(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """The planned stretch has ended: its steps are counted, and those finish whose last token came out in the last."""
    steps, decoding = m[rep + PLANNED], m[rep + DECODING]
    total_ps = m[rep + END] - m[rep + NOW]
    begun = _blocks_and_area(m, rep, steps, total_ps)
    tokens = _tokens(m, rep, steps, total_ps)
    if rare(m, rep + TABLE_WINDOWS) > 0:
        take(m, w, rep, begun)
        slide_over_stretch(m, w, rep, steps, begun, total_ps)
        begun = 0
        tokens = tokens_in_blocks(m, rep, m[rep + CONTEXT] + steps * decoding)
    elif rare(m, rep + WINDOW_COUNT) > 0:
        tokens -= m[rep + BLOCK_SIZE] * _free_over_stretch(m, rep, steps, total_ps)
    add_product(m, rep + SEAT_HIGH, decoding, total_ps)
    add_gaps(m, rep, m[rep + FIRST_PS], m[rep + RISE_PS], steps, decoding)
    m[rep + BUSY] += total_ps
    m[rep + DECODED] += steps * decoding
    m[rep + STEPS] += steps
    if rare(m, rep + ASKS) == ESTIMATE:
        expect_less(m, rep, steps)
    m[rep + CONTEXT] += steps * decoding
    take(m, w, rep, begun)
    if rare(m, rep + WINDOW_COUNT) > 0:
        m[rep + WINDOW_CONTEXT] += steps * rare(m, rep + BELOW)
        if rare(m, rep + TABLE_WINDOWS) == 0:
            _note_peaks(m, rep, steps, tokens)
    note_peak(m, rep, tokens)
    finish_due(m, w, times, counts, rep, m[rep + ORDER])
