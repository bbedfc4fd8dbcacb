"""Decode engines: requests that another engine has prefilled get room here, their KV comes, and they run.

A request in INTAKE waits for a seat and blocks; then it has a row, whose KV is under way (`handed.py`), and after that
it is among those that have COME. When a step begins these join the decoding sequences: fresh ones, as their last token,
if they have one, did not come out of this engine's last step. So a step with fresh rows is a full one.
"""

from simulator.kernels.accounts import choose_slice, turn_bin
from simulator.kernels.admit import anyone_waiting
from simulator.kernels.candidates import change_load
from simulator.kernels.compile import kernel
from simulator.kernels.handed import FIRST_HERE, count_transfer_wait, start_transfer, take_ended, target_tokens
from simulator.kernels.late import all_known
from simulator.kernels.lookup import look_up
from simulator.kernels.pool import blocks_for, give_back, take_at_admission
from simulator.kernels.reached import list_reached
from simulator.kernels.rows import give_row_back, take_row
from simulator.kernels.running import join_decoding, running_count
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    AWAY_TOKENS,
    BIN_END,
    BLOCK_TABLES,
    CACHING,
    CHUNK_COUNT,
    CHUNKS,
    COME,
    COME_LAST,
    COMPUTED,
    END,
    EVENTS,
    FAR_PS,
    FREE,
    FREE_HITS,
    FRESH,
    FRESH_COUNT,
    HANDED_AT,
    HELD_ROW,
    HIT_TOKENS,
    HITS,
    INCOMING,
    INTAKE,
    LAST_TOKEN,
    LENGTH,
    LINE_BLOCKS,
    MADE,
    MAX_SEQS,
    NEXT,
    NEXT_SENT,
    NOBODY,
    NOW,
    NUMBER,
    ORDER,
    OUTPUT,
    PLANNED,
    PREEMPTED,
    PREEMPTIONS,
    PREFILLED_BY,
    PREPAID,
    PREV,
    PROMPT,
    RANK,
    RECORDS,
    REPLICA,
    REQUEST,
    ROW_FRESH,
    ROW_HELD,
    SENT_PS,
    TAIL,
    TARGET,
    TRANSFER,
    WALKS,
    WATERMARK,
)
from simulator.kernels.step import NO_STEP, schedule_step, start_step
from simulator.kernels.stretch import cut_stretch, plan_stretch
from simulator.kernels.tables import forget_own, offer_shared
from simulator.kernels.tree import tree_set
from simulator.kernels.waiting import FIRST, pop_front, push_back
from simulator.kernels.waiting import LENGTH as LINE_LENGTH
from simulator.steptime import IntArray


@kernel
def _cut_at(m: IntArray, rep: int, at_ps: int) -> None:
    """What has come changes the engine's next step: an idle one may begin, a stretch ends with the step under way."""
    if m[rep + END] == FAR_PS:
        list_reached(m, rep)
    elif m[rep + PLANNED] > 0:
        cut_stretch(m, rep, at_ps)
        tree_set(m, m[EVENTS], m[rep + NUMBER], m[rep + END])


@kernel
def _seat_free(m: IntArray, rep: int) -> bool:
    """Room may be kept for the line: a seat is free, and nobody waits who was preempted."""
    return bool(m[rep + PREEMPTED] == 0 and running_count(m, rep) + m[rep + INCOMING] < m[rep + MAX_SEQS])


@kernel
def receive_prefilled(m: IntArray, counts: Int32Array, rep: int, request: int, at_ps: int) -> None:
    """The request joins the line of those that want room for their KV."""
    counts[REPLICA, request] = m[rep + NUMBER]
    change_load(m, counts, rep, request, 1)
    m[rep + LINE_BLOCKS] += blocks_for(m, rep, target_tokens(m, int(counts[PROMPT, request])))
    first = m[rep + INTAKE + LINE_LENGTH] == 0
    push_back(m, counts, rep + INTAKE, request)
    if m[rep + END] == FAR_PS or (first and _seat_free(m, rep)):
        _cut_at(m, rep, at_ps)


@kernel
def _finds_room(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> bool:
    """Whether the first in line gets a seat, and blocks beside the watermark; sets HITS, FREE_HITS and HIT_TOKENS."""
    if m[rep + INTAKE + LINE_LENGTH] == 0 or not _seat_free(m, rep):
        return False
    request = m[rep + INTAKE + FIRST]
    target = target_tokens(m, int(counts[PROMPT, request]))
    asked = blocks_for(m, rep, target)
    if m[rep + CACHING] > 0:
        look_up(m, w, rep, request, NOBODY, target)
        asked -= m[rep + HITS] * m[rep + BLOCK_TABLES] - m[rep + FREE_HITS]
    if running_count(m, rep) > 0:
        asked += m[rep + WATERMARK]
    return bool(asked <= m[rep + FREE])


@kernel
def _reserve(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> None:
    """The first in line gets a seat and blocks for what its first step here will have computed; its KV is sent."""
    request = pop_front(m, counts, rep + INTAKE)
    prompt = int(counts[PROMPT, request])
    target = target_tokens(m, prompt)
    row = take_row(m, rep)
    m[row + REQUEST] = request
    m[row + LENGTH] = counts[OUTPUT, request]
    m[row + MADE] = m[m[TRANSFER] + FIRST_HERE]
    take_at_admission(m, w, rep, row, target)
    m[row + COMPUTED] = m[rep + HIT_TOKENS]
    m[rep + AWAY_TOKENS] += m[row + COMPUTED]
    m[rep + INCOMING] += 1
    m[rep + LINE_BLOCKS] -= blocks_for(m, rep, target)
    start_transfer(m, counts, rep, row, prompt - m[row + COMPUTED], m[rep + NOW])


@kernel
def _let_go(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, row: int) -> None:
    """The KV of a request that was handed over has left."""
    request = m[row + REQUEST]
    give_back(m, w, rep, row, m[row + COMPUTED], False)
    if m[rep + CACHING] > 0 and counts[PREEMPTIONS, request] > 0:
        forget_own(m, w, rep, row)
    m[rep + AWAY_TOKENS] -= m[row + COMPUTED]
    give_row_back(m, rep, row)
    change_load(m, counts, rep, request, -1)
    if m[rep + END] == FAR_PS:
        list_reached(m, rep)


@kernel
def come_in(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, now_ps: int) -> None:
    """The transfers that end now: the blocks that KV came from are free, and its request runs with the next step."""
    while m[NEXT_SENT] <= now_ps:
        row = take_ended(m)
        request = m[row + REQUEST]
        times[SENT_PS, request] = now_ps - times[HANDED_AT, request]
        _let_go(m, w, counts, m[m[RECORDS] + counts[PREFILLED_BY, request]], int(counts[HELD_ROW, request]))
        rep = m[m[RECORDS] + counts[REPLICA, request]]
        m[row + TARGET] = target_tokens(m, int(counts[PROMPT, request])) - 1
        m[row + NEXT] = NOBODY
        if m[rep + COME] == NOBODY:
            m[rep + COME] = row
        else:
            m[m[rep + COME_LAST] + NEXT] = row
        m[rep + COME_LAST] = row
        _cut_at(m, rep, now_ps)


@kernel
def _make_way(m: IntArray, rep: int, count: int) -> int:
    """Ranks for `count` rows before the first of those that compute a prompt; returns the rank before the first."""
    before = m[rep + ORDER]
    m[rep + ORDER] += count
    if m[rep + CHUNK_COUNT] == 0:
        return int(before)
    before = m[m[m[rep + CHUNKS]] + RANK] - 1
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        m[m[place] + RANK] += count
    row = m[rep + TAIL]
    while row != NOBODY and m[row + RANK] > before:
        m[row + RANK] += count
        row = m[row + PREV]
    return int(before)


@kernel
def _join(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, row: int, rank: int) -> None:
    request = m[row + REQUEST]
    count_transfer_wait(m, times, counts, request, m[rep + NOW])
    choose_slice(m, rep, request)
    m[rep + INCOMING] -= 1
    m[rep + AWAY_TOKENS] -= m[row + COMPUTED]
    m[row + COMPUTED] = m[row + TARGET]
    m[row + LAST_TOKEN] = times[HANDED_AT, request]
    m[row + RANK] = rank
    if m[rep + CACHING] > 0:
        offer_shared(m, w, rep, row, m[row + COMPUTED])
    join_decoding(m, rep, row)
    m[row + ROW_FRESH] = 1 if m[rep + WALKS] == 0 or m[row + MADE] == 0 else 0
    if m[rep + WALKS] == 0:
        m[m[rep + FRESH] + m[rep + FRESH_COUNT]] = row
        m[rep + FRESH_COUNT] += 1
        m[rep + PREPAID] += m[row + ROW_HELD] - blocks_for(m, rep, m[row + COMPUTED])


@kernel
def join_come(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """Those whose KV has come run from now on, behind those that decode and before prompts being computed."""
    count, row = 0, m[rep + COME]
    if row == NOBODY:
        return
    while row != NOBODY:
        count += 1
        row = m[row + NEXT]
    rank, row = _make_way(m, rep, count), m[rep + COME]
    while row != NOBODY:
        following, rank = m[row + NEXT], rank + 1
        _join(m, w, times, counts, rep, row, rank)
        row = following
    m[rep + COME] = NOBODY


@kernel
def plan_apart(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> int:
    """Schedule a full step, then keep room for the line unless it preempted; returns how many run, or NO_STEP.

    Blocks that are kept for others can bring it about that all fall: then waiting ones are asked again.
    """
    preempted, running = m[rep + PREEMPTED], schedule_step(m, w, times, counts, rep)
    while running == 0 and m[rep + PREEMPTED] > preempted:
        preempted, running = m[rep + PREEMPTED], schedule_step(m, w, times, counts, rep)
    m[rep + PREPAID] = 0
    if m[rep + PREEMPTED] <= preempted:
        while _finds_room(m, w, counts, rep):
            _reserve(m, w, counts, rep)
    return int(running) if running > 0 else NO_STEP


@kernel
def busy(m: IntArray, rep: int) -> bool:
    """Whether there is anything to do for the engine."""
    if running_count(m, rep) > 0 or anyone_waiting(m, rep) or not all_known(m, rep):
        return True
    return bool(m[rep + COME] != NOBODY or m[rep + INTAKE + LINE_LENGTH] > 0)


@kernel
def begin_apart(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, now_ps: int) -> None:
    """Begin a step of a prefill or decode engine alone, if anyone can compute anything."""
    if not busy(m, rep):
        return
    m[rep + NOW] = now_ps
    join_come(m, w, times, counts, rep)
    steady = m[rep + FRESH_COUNT] == 0 and not _finds_room(m, w, counts, rep)
    if not (steady and plan_stretch(m, w, times, counts, rep)):
        running = plan_apart(m, w, times, counts, rep)
        if running == NO_STEP:
            return
        if now_ps >= m[rep + BIN_END]:
            turn_bin(m, rep, now_ps)
        start_step(m, rep, running, 0)
    elif now_ps >= m[rep + BIN_END]:
        turn_bin(m, rep, now_ps)
    tree_set(m, m[EVENTS], m[rep + NUMBER], m[rep + END])
