"""Requests whose time has passed are let go between two steps, as `simulator.reference.expiry` says.

Steps that end within a stretch are such instants too: so a stretch ends with the first step whose end lies behind the
next one's time (`dues.py`). Who leaves the middle of a waiting line stays linked there, and is passed over.
"""

from simulator.kernels.candidates import change_load
from simulator.kernels.compile import kernel
from simulator.kernels.dues import next_due_ps, put_due, without_first
from simulator.kernels.endings import count_wait, end_without, lateness
from simulator.kernels.gangs import hold, member
from simulator.kernels.gate import leave_gate
from simulator.kernels.late import give_up_row, vacate
from simulator.kernels.lines import drop_from_line
from simulator.kernels.routers import KV_AWARE
from simulator.kernels.running import leave_chunks, leave_decoding, tokens_made
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BATCH_LEFT,
    BEHIND,
    CHUNK_COUNT,
    CHUNKS,
    COMPUTED,
    DECODING,
    DUES,
    END,
    FAR_PS,
    FINISH,
    FIRST_TOKEN,
    GANG,
    GOT,
    HEAP,
    IN_STEP,
    KEPT,
    KIND,
    LINE,
    MADE,
    MEMBERS,
    NOBODY,
    NONE,
    ORDERED,
    PENDING,
    PREEMPTED,
    REACHED,
    REACHED_COUNT,
    REQUEST,
    ROUTER,
    SEAT,
    STAGES,
    STOPPED_AT,
    UNTIL,
)
from simulator.kernels.waiting import FIRST, skip_ended
from simulator.kernels.waiting import LENGTH as LINE_LENGTH
from simulator.steptime import IntArray


@kernel
def _stop_decoding(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, request: int) -> bool:
    """Let the request go if it decodes here."""
    heap = m[rep + HEAP]
    for place in range(m[rep + DECODING]):
        row = m[heap + 2 * place + 1]
        if m[row + REQUEST] == request:
            counts[GOT, request] = tokens_made(m, rep, row)
            vacate(m, w, counts, rep, row, leave_decoding(m, rep, row))
            return True
    return False


@kernel
def _stop_prompt(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, request: int) -> bool:
    """Let the request go if it computes its prompt here."""
    first, count = m[rep + CHUNKS], m[rep + CHUNK_COUNT]
    for place in range(first, first + count):
        row = m[place]
        if m[row + REQUEST] == request:
            leave_chunks(m, rep, place)
            counts[GOT, request] = m[row + MADE]
            vacate(m, w, counts, rep, row, m[row + COMPUTED])
            return True
    return False


@kernel
def _leave_batch(m: IntArray, times: IntArray, counts: Int32Array, rep: int, request: int) -> None:
    """One less of a static batch has still to enter, if the request is among them: they are the first in line."""
    other, seen = m[rep + LINE + FIRST], 0
    while seen < m[rep + BATCH_LEFT]:
        if other == request:
            m[rep + BATCH_LEFT] -= 1
            return
        if times[FINISH, other] < 0:
            seen += 1
        other = int(counts[BEHIND, other])


@kernel
def _leave_line(
    m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, request: int, now_ps: int
) -> None:
    if m[rep + ORDERED] > 0:
        drop_from_line(m, counts, rep, request)
        return
    _leave_batch(m, times, counts, rep, request)
    m[rep + LINE + LINE_LENGTH] -= 1
    row = int(counts[SEAT, request])
    if row == NOBODY:
        return
    counts[SEAT, request] = NOBODY
    m[rep + PREEMPTED] -= 1
    count_wait(m, times, request, m[row + STOPPED_AT], now_ps)
    counts[GOT, request] = m[row + MADE]
    give_up_row(m, w, counts, rep, row)


@kernel
def _drop(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, request: int, now_ps: int) -> None:
    """Let the request go, wherever it stands here."""
    if not _stop_decoding(m, w, counts, rep, request) and not _stop_prompt(m, w, counts, rep, request):
        _leave_line(m, w, times, counts, rep, request, now_ps)
    if m[ROUTER] == KV_AWARE and times[FIRST_TOKEN, request] < 0:
        m[rep + PENDING] -= counts[KEPT, request]
    change_load(m, counts, rep, request, -1)
    end_without(m, times, counts, request, lateness(m, times, request, now_ps), now_ps)
    leave_gate(m, counts, request)


@kernel
def _expire(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, now_ps: int) -> None:
    """Let go of the engine's requests whose time has passed, in order of their numbers."""
    late = NONE
    while next_due_ps(m, times, counts, rep) < now_ps:
        request = m[rep + DUES]
        m[rep + DUES] = without_first(times, counts, request)
        late = put_due(times, counts, late, request, request)
    while late != NONE:
        request = late
        late = without_first(times, counts, late)
        _drop(m, w, times, counts, rep, request, now_ps)
    if m[rep + ORDERED] == 0:
        skip_ended(m, times, counts, rep + LINE)


@kernel
def _expire_gang(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, gang: int, now_ps: int) -> None:
    """Ranks let go when none has a step under way, lanes when they may enter the first stage."""
    for place in range(m[gang + MEMBERS]):
        if m[gang + KIND] == IN_STEP and m[member(m, gang, place) + END] != FAR_PS:
            return
    if m[gang + KIND] != IN_STEP and m[m[gang + STAGES]] > now_ps:
        return
    for place in range(m[gang + MEMBERS]):
        rep = member(m, gang, place)
        if m[rep + END] == FAR_PS and next_due_ps(m, times, counts, rep) < now_ps:
            if m[gang + KIND] != IN_STEP:
                hold(m, rep, now_ps)
            _expire(m, w, times, counts, rep, now_ps)


@kernel
def expire_reached(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, now_ps: int) -> None:
    """Engines whose step has ended let go of requests whose time has passed; none after the end of the run."""
    if now_ps >= m[UNTIL]:
        return
    for place in range(m[REACHED], m[REACHED] + m[REACHED_COUNT]):
        rep = m[place]
        if m[rep + GANG] != 0:
            _expire_gang(m, w, times, counts, m[rep + GANG], now_ps)
        else:
            _expire(m, w, times, counts, rep, now_ps)
