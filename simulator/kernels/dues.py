"""When the time of requests passes: a heap for each engine, by deadline or timeout (`simulator.admission`).

A pairing heap of requests, linked by columns: DUE_AT is what it is sorted by, DUE_CHILD the first of those below,
DUE_NEXT the next one beside. Nobody is taken out who has ended or was admitted in time: they are found when they come
up.
"""

from typing import Final

from simulator.kernels.compile import kernel
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    ADMITTED,
    ARRIVAL,
    DEADLINE_PS,
    DUE_AT,
    DUE_CHILD,
    DUE_NEXT,
    DUES,
    FAR_PS,
    FINISH,
    NONE,
    TIMEOUT,
)
from simulator.steptime import IntArray

NEVER_PS: Final = 2**62  # as in `simulator.admission` and `simulator.workload`: later than any run can last


@kernel
def due_ps(m: IntArray, times: IntArray, request: int) -> int:
    """The last instant at which the request may still wait, or run, once it was admitted."""
    wait_ps = m[TIMEOUT]
    if times[ADMITTED, request] < 0:
        wait_ps = min(wait_ps, times[DEADLINE_PS, request])
    return int(times[ARRIVAL, request] + wait_ps)


@kernel
def meld(times: IntArray, counts: Int32Array, one: int, other: int) -> int:
    """One heap of two, each told by its first request; NONE is an empty one."""
    if one == NONE:
        return other
    if other == NONE:
        return one
    if times[DUE_AT, other] < times[DUE_AT, one]:
        one, other = other, one
    counts[DUE_NEXT, other] = counts[DUE_CHILD, one]
    counts[DUE_CHILD, one] = other
    return one


@kernel
def put_due(times: IntArray, counts: Int32Array, heap: int, request: int, at_ps: int) -> int:
    """The heap with the request."""
    times[DUE_AT, request] = at_ps
    counts[DUE_CHILD, request] = counts[DUE_NEXT, request] = NONE
    return meld(times, counts, heap, request)


@kernel
def without_first(times: IntArray, counts: Int32Array, heap: int) -> int:
    """What is left of the heap without its first request."""
    below, pairs = int(counts[DUE_CHILD, heap]), NONE
    while below != NONE:
        one, other = below, int(counts[DUE_NEXT, below])
        below = int(counts[DUE_NEXT, other]) if other != NONE else NONE
        pair = meld(times, counts, one, other)
        counts[DUE_NEXT, pair] = pairs
        pairs = pair
    left = NONE
    while pairs != NONE:
        pair = pairs
        pairs = int(counts[DUE_NEXT, pair])
        left = meld(times, counts, left, pair)
    return left


@kernel
def watch(m: IntArray, times: IntArray, counts: Int32Array, rep: int, request: int) -> int:
    """The request has come to the engine; returns the last instant at which it may stay as it is."""
    last_ps = due_ps(m, times, request)
    if last_ps < NEVER_PS:
        m[rep + DUES] = put_due(times, counts, m[rep + DUES], request, last_ps)
    return last_ps


@kernel
def next_due_ps(m: IntArray, times: IntArray, counts: Int32Array, rep: int) -> int:
    """The last instant of the request here whose time passes next, which comes to stand first; FAR_PS: none."""
    while m[rep + DUES] != NONE:
        request = m[rep + DUES]
        gone = times[FINISH, request] >= 0
        if not gone and times[DUE_AT, request] == due_ps(m, times, request):
            return int(times[DUE_AT, request])
        m[rep + DUES] = without_first(times, counts, request)
        if not gone:
            watch(m, times, counts, rep, request)
    return FAR_PS
