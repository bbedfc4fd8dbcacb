"""The fast engine's loop: from change to change, a bounded number of them per call."""

import numpy as np
import numpy.typing as npt

from simulator.kernels.accounts import note_peak
from simulator.kernels.admit import anyone_waiting, head_chunk, seat_open, stays_blocked
from simulator.kernels.arrive import next_arrival_ps, receive
from simulator.kernels.compile import entry, kernel
from simulator.kernels.finish import finish_due
from simulator.kernels.pool import take_for_decode
from simulator.kernels.prefix import Cache
from simulator.kernels.state import (
    ARRIVAL,
    BEYOND_HORIZON,
    BUDGET,
    CONCURRENCY,
    CONTEXT,
    DECODING,
    DONE,
    HAS_UNSERVABLE,
    MORE,
    NOBODY,
    NOW,
    PARTIAL,
    RECEIVED,
    REQUESTS,
    UNTIL,
)
from simulator.kernels.step import full_step
from simulator.kernels.stretch import plan_stretch, run_stretch
from simulator.steptime import HORIZON_PS, IntArray


@kernel
def _deadline_ps(st: IntArray, inp: IntArray, seat: IntArray, stack: IntArray, cache: Cache) -> int:
    """Until when a decode-only stretch may run if the batch does not change before; 0: it may not."""
    running, budget = st[DECODING], st[BUDGET] - st[DECODING]
    open_seat = seat_open(st, running, budget)
    if open_seat and anyone_waiting(st):
        if head_chunk(st, inp, seat, stack, cache, running, budget) > 0 or not stays_blocked(st):
            return 0
        open_seat = False
    # Without a seat an arrival changes nothing, but where refused requests let the next ones in, order of ends matters.
    if open_seat or (st[CONCURRENCY] > 0 and st[HAS_UNSERVABLE] > 0):
        return int(min(next_arrival_ps(st, inp), st[UNTIL]))
    return int(st[UNTIL])


@entry
def advance(
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
    events: int,
) -> int:
    """At most `events` changes; answers MORE, DONE, or BEYOND_HORIZON when the clock nears the end of 64 bits."""
    for _ in range(events):
        if st[NOW] >= HORIZON_PS:
            return BEYOND_HORIZON
        receive(st, inp, out, reason)
        if st[NOW] >= st[UNTIL]:
            return DONE
        decoding = st[DECODING]
        if decoding == 0 and st[PARTIAL] == NOBODY and not anyone_waiting(st):
            if st[RECEIVED] == st[REQUESTS]:
                return DONE
            st[NOW] = min(inp[ARRIVAL, st[RECEIVED]], st[UNTIL])
            continue
        steps = 0
        if decoding > 0 and st[PARTIAL] == NOBODY:
            deadline_ps = _deadline_ps(st, inp, seat, stack, cache)
            if deadline_ps > 0:
                rise_ps = context_ps[decoding] * decoding
                first_ps = tokens_ps[decoding] + seats_ps[decoding] + context_ps[decoding] * st[CONTEXT]
                steps = plan_stretch(st, seat, heap, hist, first_ps, rise_ps, deadline_ps)
        if steps > 0:
            begun = run_stretch(st, hist, itl, first_ps, rise_ps, steps)
            take_for_decode(st, cache, begun)
            note_peak(st)
            finish_due(st, inp, out, seat, spare, heap, hist, cache)
        else:
            full_step(
                st,
                inp,
                out,
                reason,
                seat,
                spare,
                stack,
                fresh,
                heap,
                hist,
                itl,
                tokens_ps,
                seats_ps,
                context_ps,
                cache,
            )
    return MORE
