"""The end of a step: prompts completed, sequences finished."""

from simulator.kernels.accounts import add_gap
from simulator.kernels.arrive import end_request
from simulator.kernels.candidates import change_load
from simulator.kernels.compile import inlined, kernel
from simulator.kernels.endings import note_finish
from simulator.kernels.handed import hand_over
from simulator.kernels.late import stay_late, vacate
from simulator.kernels.lines import charge
from simulator.kernels.plain import rare
from simulator.kernels.power import measure_end, measure_first_token
from simulator.kernels.routers import KV_AWARE
from simulator.kernels.running import join_decoding, leave_decoding
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    ANSWERS,
    BASE,
    CACHING,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    CLOCK,
    COMPUTED,
    CONTROL,
    DECODING,
    FIRST_TOKEN,
    HANDS_OVER,
    HEAD,
    HEAP,
    KEPT,
    LAST_TOKEN,
    LENGTH,
    LIMITED,
    MADE,
    MIXED,
    NEXT,
    NOBODY,
    ORDERED,
    OVERLAPS,
    PENDING,
    RANK,
    REQUEST,
    ROUTER,
    SILENT,
    STEPS,
    TARGET,
)
from simulator.kernels.tables import offer_shared
from simulator.steptime import IntArray


@kernel
def _leave(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, row: int, computed: int) -> None:
    request = m[row + REQUEST]
    if rare(m, rep + OVERLAPS) > 0:
        stay_late(m, rep, row, computed)
    else:
        vacate(m, w, counts, rep, row, computed)
    change_load(m, counts, rep, request, -1)
    end_request(m, times, request, m[CLOCK])
    in_time = True
    if rare(m, LIMITED) > 0:
        in_time = note_finish(m, times, counts, request, m[CLOCK])
    if rare(m, CONTROL) > 0 and in_time:
        measure_end(m, times, counts, rep, request)


@kernel
def _offer_answers(m: IntArray, w: Int32Array, rep: int, rank: int) -> None:
    """Publish the blocks that decoding sequences up to a rank have filled."""
    row = m[rep + HEAD]
    while row != NOBODY and m[row + RANK] <= rank:
        offer_shared(m, w, rep, row, m[row + BASE] + m[rep + STEPS])
        row = m[row + NEXT]


@kernel
def finish_due(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, rank: int) -> None:
    """Decoding sequences up to a rank whose last token came out in the step that has just ended."""
    if rare(m, rep + ANSWERS) > 0:
        _offer_answers(m, w, rep, rank)
    heap = m[rep + HEAP]
    while m[rep + DECODING] > 0 and m[heap] == m[rep + STEPS] and m[m[heap + 1] + RANK] <= rank:
        row = m[heap + 1]
        _leave(m, w, times, counts, rep, row, leave_decoding(m, rep, row))


@inlined
def _emit(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, row: int) -> None:
    """The row's prompt is computed: a token comes out, and it decodes on or has finished."""
    if m[row + MADE] == 0:
        times[FIRST_TOKEN, m[row + REQUEST]] = m[CLOCK]
        if m[ROUTER] == KV_AWARE:
            m[rep + PENDING] -= counts[KEPT, m[row + REQUEST]]
        if rare(m, CONTROL) > 0:
            measure_first_token(m, times, rep, m[row + REQUEST])
    else:
        add_gap(m, rep, m[CLOCK] - m[row + LAST_TOKEN], 1)
    m[row + LAST_TOKEN] = m[CLOCK]
    m[row + MADE] += 1
    if rare(m, rep + ORDERED) > 0:
        charge(m, row, 1)
    if m[row + MADE] == m[row + LENGTH]:
        _leave(m, w, times, counts, rep, row, m[row + COMPUTED])
    elif rare(m, rep + HANDS_OVER) > 0:
        hand_over(m, times, counts, rep, row)
    else:
        join_decoding(m, rep, row)


@inlined
def finish_chunks(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """The chunks of this step are computed; sequences end in the order of the running list."""
    chunks = m[rep + CHUNKS]
    count = m[rep + CHUNK_COUNT]
    m[rep + CHUNK_COUNT] = 0
    for place in range(chunks, chunks + count):
        row = m[place]
        if rare(m, rep + MIXED) == 0:  # where prompts are computed first, they also end first
            finish_due(m, w, times, counts, rep, m[row + RANK])
        m[row + COMPUTED] += m[row + CHUNK]
        if rare(m, rep + CACHING) > 0:
            offer_shared(m, w, rep, row, m[row + COMPUTED])
        if m[row + COMPUTED] < m[row + TARGET]:
            m[chunks + m[rep + CHUNK_COUNT]] = row
            m[rep + CHUNK_COUNT] += 1
        elif rare(m, rep + HANDS_OVER) == SILENT:
            hand_over(m, times, counts, rep, row)
        else:
            _emit(m, w, times, counts, rep, row)
