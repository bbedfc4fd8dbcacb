"""Admission: may the head of the waiting line enter, and with how many tokens?"""

import numpy as np
import numpy.typing as npt

from simulator.kernels.compile import kernel
from simulator.kernels.pool import blocks_for, take_at_admission
from simulator.kernels.prefix import Cache, look_up
from simulator.kernels.state import (
    ADMISSIONS,
    ADMITTED,
    BATCH_LEFT,
    BLOCK_SIZE,
    BLOCKS,
    CACHED,
    CACHING,
    CHUNK,
    CHUNKED,
    COMPUTED,
    DECODING,
    FIRST_HITS,
    FREE,
    FREE_HITS,
    FRESH,
    HEAD,
    ITL_ROW,
    MADE,
    MAX_SEQS,
    NOBODY,
    NOW,
    OUTPUT,
    PARTIAL,
    PREEMPTED,
    PREEMPTED_PS,
    PROMPT,
    RECEIVED,
    REQUEST,
    REQUESTS,
    RESERVE_WHOLE,
    SPARE,
    STATIC,
    STOPPED_AT,
    TARGET,
    WATERMARK,
)
from simulator.records import ITL_SLICES
from simulator.steptime import IntArray


@kernel
def anyone_waiting(st: IntArray) -> bool:
    return bool(st[PREEMPTED] > 0 or st[HEAD] < st[RECEIVED])


@kernel
def seat_open(st: IntArray, running: int, budget: int) -> bool:
    """A seat and tokens are left, and a static batch still takes members."""
    if running >= st[MAX_SEQS] or budget <= 0:
        return False
    return bool(st[STATIC] == 0 or st[BATCH_LEFT] > 0)


@kernel
def head_chunk(
    st: IntArray, inp: IntArray, seat: IntArray, stack: IntArray, cache: Cache, running: int, budget: int
) -> int:
    """Tokens of the first chunk of the first waiting request, 0 if it cannot enter; sets FIRST_HITS, FREE_HITS."""
    row, request = NOBODY, st[HEAD]
    if st[PREEMPTED] > 0:
        row = stack[st[PREEMPTED] - 1]
        request = seat[row, REQUEST]
    target = seat[row, TARGET] if row != NOBODY else inp[PROMPT, request]
    cached = 0
    if st[CACHING] > 0:
        look_up(st, cache, request, row, target)
        cached = st[FIRST_HITS] * st[BLOCK_SIZE]
    if st[CHUNKED] == 0 and target - cached > budget:
        return 0
    tokens = min(target - cached, budget)
    asked = blocks_for(st, target if st[RESERVE_WHOLE] > 0 else cached + tokens)
    if running > 0:
        asked += st[WATERMARK]
    held = st[FIRST_HITS] - st[FREE_HITS]
    return int(tokens) if asked - held <= st[FREE] else 0


@kernel
def stays_blocked(st: IntArray) -> bool:
    """Decoding alone cannot let the blocked head in: it takes free blocks, and evicts none that the head has hit."""
    return bool(st[FREE_HITS] == 0)


@kernel
def form_static_batch(st: IntArray, inp: IntArray, reason: npt.NDArray[np.int8]) -> None:
    """Let in as many waiting requests as have seats and room for their final lengths together."""
    room, members = st[BLOCKS], 0
    for request in range(st[HEAD], st[RECEIVED]):
        if reason[request] != 0:
            continue
        room -= blocks_for(st, inp[PROMPT, request] + inp[OUTPUT, request] - 1)
        if members == st[MAX_SEQS] or room < 0:
            break
        members += 1
    st[BATCH_LEFT] = members


@kernel
def _first_admission(st: IntArray, inp: IntArray, out: IntArray, seat: IntArray, spare: IntArray) -> int:
    request = st[HEAD]
    st[HEAD] += 1
    st[SPARE] -= 1
    row = spare[st[SPARE]]
    seat[row, REQUEST] = request
    seat[row, TARGET] = inp[PROMPT, request]
    seat[row, MADE] = 0
    out[ADMITTED, request] = st[NOW]
    out[CACHED, request] = st[FIRST_HITS] * st[BLOCK_SIZE]
    st[ADMISSIONS] += 1
    st[ITL_ROW] = min(ITL_SLICES - 1, st[ADMISSIONS] * ITL_SLICES // st[REQUESTS])
    return int(row)


@kernel
def _resume(st: IntArray, out: IntArray, seat: IntArray, stack: IntArray) -> int:
    st[PREEMPTED] -= 1
    row = stack[st[PREEMPTED]]
    out[PREEMPTED_PS, seat[row, REQUEST]] += st[NOW] - seat[row, STOPPED_AT]
    return int(row)


@kernel
def _admit_head(
    st: IntArray,
    inp: IntArray,
    out: IntArray,
    reason: npt.NDArray[np.int8],
    seat: IntArray,
    spare: IntArray,
    stack: IntArray,
    fresh: IntArray,
    cache: Cache,
    tokens: int,
) -> None:
    if st[PREEMPTED] > 0:
        row = _resume(st, out, seat, stack)
    else:
        row = _first_admission(st, inp, out, seat, spare)
        while st[HEAD] < st[RECEIVED] and reason[st[HEAD]] != 0:
            st[HEAD] += 1
    cached = st[FIRST_HITS] * st[BLOCK_SIZE]
    take_at_admission(st, seat, cache, seat[row, REQUEST], row, cached + tokens)
    seat[row, COMPUTED] = cached
    seat[row, CHUNK] = tokens
    fresh[st[FRESH]] = row
    st[FRESH] += 1
    st[BATCH_LEFT] = max(0, st[BATCH_LEFT] - 1)


@kernel
def admit(
    st: IntArray,
    inp: IntArray,
    out: IntArray,
    reason: npt.NDArray[np.int8],
    seat: IntArray,
    spare: IntArray,
    stack: IntArray,
    fresh: IntArray,
    cache: Cache,
    budget: int,
) -> int:
    """Let waiting requests in while they may; returns the tokens left of the step's budget."""
    while anyone_waiting(st):
        running = st[DECODING] + st[FRESH]
        if st[PARTIAL] != NOBODY and st[FRESH] == 0:
            running += 1
        if not seat_open(st, running, budget):
            break
        tokens = head_chunk(st, inp, seat, stack, cache, running, budget)
        if tokens == 0:
            break
        _admit_head(st, inp, out, reason, seat, spare, stack, fresh, cache, tokens)
        budget -= tokens
    return budget
