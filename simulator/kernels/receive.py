"""Arrivals: a request is routed and joins the waiting line of its replica."""

from simulator.kernels.arrive import end_request, next_request
from simulator.kernels.compile import kernel
from simulator.kernels.power import STRANDED, wake
from simulator.kernels.route import NONE_ON, change_load, route
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    CONTROL,
    END,
    EVENTS,
    FAR_PS,
    LINE,
    LISTED,
    NONE,
    NUMBER,
    OPEN,
    PLANNED,
    REACHED,
    REACHED_COUNT,
    RECORDS,
    REPLICA,
)
from simulator.kernels.stretch import cut_stretch
from simulator.kernels.tree import tree_set
from simulator.kernels.waiting import LENGTH as LINE_LENGTH
from simulator.kernels.waiting import pop_front, push_back
from simulator.steptime import IntArray


@kernel
def list_reached(m: IntArray, rep: int) -> None:
    """The replica may begin a step at this instant."""
    if m[rep + LISTED] == 0:
        m[rep + LISTED] = 1
        m[m[REACHED] + m[REACHED_COUNT]] = rep
        m[REACHED_COUNT] += 1


@kernel
def reach(m: IntArray, rep: int, at_ps: int) -> None:
    """Something has come to the replica: an idle one may begin, a stretch that this changes is cut short."""
    if m[rep + END] == FAR_PS:
        list_reached(m, rep)
    elif m[rep + PLANNED] > 0 and m[rep + OPEN] > 0:
        m[rep + OPEN] = 0
        cut_stretch(m, rep, at_ps)
        tree_set(m, m[EVENTS], m[rep + NUMBER], m[rep + END])


@kernel
def dispatch(m: IntArray, times: IntArray, counts: Int32Array, draws: IntArray, request: int, at_ps: int) -> None:
    """Send the request to a replica; without any on it is stranded, and one that no replica can serve ends here."""
    number = route(m, counts, draws, request)
    if number == NONE:
        end_request(m, times, request, at_ps)
        return
    if number == NONE_ON:
        push_back(m, counts, m[CONTROL] + STRANDED, request)
        wake(m, counts, request, at_ps)
        return
    rep = m[m[RECORDS] + number]
    counts[REPLICA, request] = number
    change_load(m, counts, rep, request, 1)
    push_back(m, counts, rep + LINE, request)
    reach(m, rep, at_ps)


@kernel
def receive(m: IntArray, times: IntArray, counts: Int32Array, draws: IntArray, at_ps: int) -> None:
    """Take in the next request; one that no replica can serve ends here."""
    dispatch(m, times, counts, draws, next_request(m, times, at_ps), at_ps)


@kernel
def open_gate(m: IntArray, times: IntArray, counts: Int32Array, draws: IntArray, at_ps: int) -> None:
    """Route those that were stranded, in order; some may stay."""
    stranded = m[CONTROL] + STRANDED
    for _ in range(m[stranded + LINE_LENGTH]):
        dispatch(m, times, counts, draws, pop_front(m, counts, stranded), at_ps)
