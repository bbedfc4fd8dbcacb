"""Admission: may the head of the waiting line enter, and with how many tokens?"""

from simulator.kernels.accounts import add_product, choose_slice
from simulator.kernels.compile import inlined, kernel
from simulator.kernels.lines import BY_PREFIX, arrange, hits_may_shrink, owner_of, steps_in_order, take_next
from simulator.kernels.lookup import look_up
from simulator.kernels.plain import rare
from simulator.kernels.pool import blocks_for, most_blocks, take_at_admission
from simulator.kernels.promises import promise, room_expected, room_for_all
from simulator.kernels.rows import take_row
from simulator.kernels.running import join_running
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    ADMITTED,
    ARRIVAL,
    ASKED,
    ASKS,
    BATCH_LEFT,
    BEHIND,
    BLOCK_TABLES,
    BLOCKS,
    CACHED,
    CACHING,
    CARRIED,
    CARRIES,
    CHUNK,
    CHUNKED,
    COMPUTED,
    DRAFT_TOKENS,
    ESTIMATE,
    EXPIRES,
    FINISH,
    FREE,
    FREE_HITS,
    GREATEST,
    HIT_TOKENS,
    HITS,
    IN_ORDER,
    INCOMING,
    LAST_AT,
    LAST_TOKEN,
    LENGTH,
    LINE,
    LONGEST_CHUNK,
    LOOKAHEAD,
    LOOSE,
    MADE,
    MATCHED,
    MAX_LEN,
    MAX_SEQS,
    NOBODY,
    NONE,
    NOW,
    ORDERED,
    OUTPUT,
    PAYER,
    PREEMPTED,
    PREEMPTED_PS,
    PRESENT_NEED,
    PROMPT,
    REQUEST,
    RESERVE_WHOLE,
    SEAT,
    STATIC,
    STOPPED_AT,
    STRANDED_AT,
    TABLE_WINDOWS,
    TARGET,
    WAITED_HIGH,
    WATERMARK,
    WHOLE,
)
from simulator.kernels.waiting import FIRST, pop_front, skip_ended
from simulator.kernels.waiting import LENGTH as LINE_LENGTH
from simulator.kernels.windows import lacking_blocks
from simulator.steptime import IntArray


@kernel
def anyone_waiting(m: IntArray, rep: int) -> bool:
    return bool(m[rep + LINE + LINE_LENGTH] > 0)


@kernel
def seat_open(m: IntArray, rep: int, running: int, budget: int) -> bool:
    """A seat and tokens are left, and a static batch still takes members."""
    if running + rare(m, rep + INCOMING) >= m[rep + MAX_SEQS] or budget <= 0:
        return False
    return bool(rare(m, rep + STATIC) == 0 or rare(m, rep + BATCH_LEFT) > 0)


@kernel
def _row_of(m: IntArray, counts: Int32Array, rep: int, request: int) -> int:
    """The row that a waiting request kept when it was preempted, NOBODY for one that was never admitted."""
    return int(counts[SEAT, request]) if m[rep + PREEMPTED] > 0 else NOBODY


@kernel
def _asked_with_windows(m: IntArray, rep: int, running: int, target: int, end: int) -> int:
    """Blocks beyond its HITS that the head asks for: for its first chunk, and, of the whole prompt, those that its
    windows ever hold."""
    hits, tables = rare(m, rep + HITS), m[rep + BLOCK_TABLES]
    asked = blocks_for(m, rep, end) - hits * tables
    if m[rep + RESERVE_WHOLE] > 0:
        asked = max(asked, lacking_blocks(m, rep, blocks_for(m, rep, target) // tables, hits))
    return int(asked + rare(m, rep + FREE_HITS) + (m[rep + WATERMARK] if running > 0 else 0))


@kernel
def head_chunk(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, running: int, budget: int) -> int:
    """Tokens of the first chunk of the first waiting request, 0 if it cannot enter; sets HITS, FREE_HITS, and ASKED
    if it only lacks blocks."""
    request = m[rep + LINE + FIRST]
    row = _row_of(m, counts, rep, request)
    if row != NOBODY:
        target = m[row + TARGET]
    else:
        target = int(counts[PROMPT, request])
        if rare(m, CARRIES) > 0:
            target += int(counts[CARRIED, request])
    cached = 0
    if rare(m, rep + CACHING) > 0:
        look_up(m, w, rep, request, row, target)
        cached = rare(m, rep + HIT_TOKENS)
    if m[rep + CHUNKED] == 0 and target - cached > budget:
        return 0
    tokens = min(target - cached, m[rep + LONGEST_CHUNK], budget)
    if rare(m, rep + ASKS) == ESTIMATE:
        return int(tokens) if room_expected(m, counts, rep, request, target, cached + tokens) else 0
    asked = most_blocks(m, rep, target) if m[rep + RESERVE_WHOLE] > 0 else blocks_for(m, rep, cached + tokens)
    if running > 0:
        asked += m[rep + WATERMARK]
    if rare(m, rep + ASKS) == GREATEST:
        asked = room_for_all(m, counts, rep, request)
    asked -= rare(m, rep + HITS) * m[rep + BLOCK_TABLES] - rare(m, rep + FREE_HITS)
    if rare(m, rep + TABLE_WINDOWS) > 0:
        asked = _asked_with_windows(m, rep, running, target, cached + tokens)
    m[rep + ASKED] = asked
    return int(tokens) if asked <= m[rep + FREE] else 0


@kernel
def stays_blocked(m: IntArray, rep: int) -> bool:
    """Decoding alone cannot let the blocked head in: it takes free blocks, and evicts none that the head has hit."""
    return not hits_may_shrink(m, rep)


@kernel
def stays_in_order(
    m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, running: int, budget: int
) -> bool:
    """As `stays_blocked`, where the head of an ORDERED line cannot enter, and nobody else becomes the head."""
    arrange(m, w, times, counts, rep)
    if head_chunk(m, w, counts, rep, running, budget) > 0 or not stays_blocked(m, rep):
        return False
    m[rep + IN_ORDER] = steps_in_order(m, rep)
    return bool(rare(m, rep + ORDERED) != BY_PREFIX or m[rep + MATCHED] == 0 or m[rep + LOOSE] == 0)


@kernel
def form_static_batch(m: IntArray, times: IntArray, counts: Int32Array, rep: int) -> None:
    """Let in as many waiting requests as have seats and room for their final lengths together."""
    room, members, request = m[rep + BLOCKS], 0, m[rep + LINE + FIRST]
    for _ in range(m[rep + LINE + LINE_LENGTH]):
        while times[FINISH, request] >= 0:  # it has left the line
            request = int(counts[BEHIND, request])
        tokens = counts[PROMPT, request] + counts[OUTPUT, request] - 1
        room -= most_blocks(
            m, rep, min(tokens + rare(m, rep + DRAFT_TOKENS) + rare(m, rep + LOOKAHEAD), m[rep + MAX_LEN])
        )
        if members == m[rep + MAX_SEQS] or room < 0:
            break
        members += 1
        request = int(counts[BEHIND, request])
    m[rep + BATCH_LEFT] = members


@kernel
def _admit_again(m: IntArray, times: IntArray, counts: Int32Array, rep: int, request: int, row: int) -> None:
    """The request ran before, here or on a lost replica, and brings along its tokens."""
    m[row + MADE] = counts[CARRIED, request]
    m[row + TARGET] += m[row + MADE]
    m[row + LAST_TOKEN] = times[LAST_AT, request]
    lost_ps = m[rep + NOW] - times[STRANDED_AT, request]
    times[STRANDED_AT, request] = NONE
    times[PREEMPTED_PS, request] += lost_ps
    add_product(m, WAITED_HIGH, 1, lost_ps)


@inlined
def _first_admission(m: IntArray, times: IntArray, counts: Int32Array, rep: int, request: int) -> int:
    row = take_row(m, rep)
    m[row + REQUEST] = request
    m[row + TARGET] = counts[PROMPT, request]
    m[row + LENGTH] = counts[OUTPUT, request]
    m[row + MADE] = 0
    if rare(m, rep + ORDERED) > 0:
        m[row + PAYER] = owner_of(m, counts, rep, request)
    if times[ADMITTED, request] >= 0:
        _admit_again(m, times, counts, rep, request, row)
        return row
    times[ADMITTED, request] = m[rep + NOW]
    add_product(m, WAITED_HIGH, 1, m[rep + NOW] - times[ARRIVAL, request])
    if rare(m, rep + HIT_TOKENS) > 0:
        counts[CACHED, request] = rare(m, rep + HIT_TOKENS)
    choose_slice(m, rep, request)
    return row


@kernel
def _resume(m: IntArray, times: IntArray, counts: Int32Array, rep: int, request: int, row: int) -> None:
    counts[SEAT, request] = NOBODY
    m[rep + PREEMPTED] -= 1
    stopped_ps = m[rep + NOW] - m[row + STOPPED_AT]
    times[PREEMPTED_PS, request] += stopped_ps
    add_product(m, WAITED_HIGH, 1, stopped_ps)


@inlined
def _admit_head(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, tokens: int) -> None:
    if rare(m, rep + ORDERED) > 0:
        request = take_next(m, times, counts, rep)
    else:
        request = pop_front(m, counts, rep + LINE)
        if rare(m, EXPIRES) > 0:
            skip_ended(m, times, counts, rep + LINE)
    row = _row_of(m, counts, rep, request)
    if row != NOBODY:
        _resume(m, times, counts, rep, request, row)
    else:
        row = _first_admission(m, times, counts, rep, request)
    cached = rare(m, rep + HIT_TOKENS)
    take_at_admission(m, w, rep, row, m[row + TARGET] if rare(m, rep + WHOLE) > 0 else cached + tokens)
    if rare(m, rep + ASKS) != PRESENT_NEED:
        promise(m, counts, rep, row)
    m[row + COMPUTED] = cached
    m[row + CHUNK] = tokens
    join_running(m, rep, row)
    if rare(m, rep + BATCH_LEFT) > 0:
        m[rep + BATCH_LEFT] -= 1


@inlined
def admit(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, running: int, budget: int) -> int:
    """Let waiting requests in beside `running` ones while they may; returns how many run."""
    while anyone_waiting(m, rep) and seat_open(m, rep, running, budget):
        tokens = head_chunk(m, w, counts, rep, running, budget)
        if tokens == 0:
            break
        _admit_head(m, w, times, counts, rep, tokens)
        budget -= tokens
        running += 1
    return running
