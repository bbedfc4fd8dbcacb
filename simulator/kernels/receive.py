"""Arrivals: a request is routed and joins the waiting line of its replica."""

from simulator.kernels.arrive import end_request, next_request
from simulator.kernels.candidates import change_load
from simulator.kernels.compile import kernel
from simulator.kernels.power import STRANDED, wake
from simulator.kernels.reached import list_reached
from simulator.kernels.route import NONE_ON, route
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    CONTROL,
    END,
    EVENTS,
    FAR_PS,
    LINE,
    NONE,
    NUMBER,
    OPEN,
    PLANNED,
    REPLICA,
)
from simulator.kernels.stretch import cut_stretch
from simulator.kernels.tree import tree_set
from simulator.kernels.waiting import LENGTH as LINE_LENGTH
from simulator.kernels.waiting import pop_front, push_back
from simulator.steptime import IntArray


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
def dispatch(
    m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, request: int, at_ps: int
) -> None:
    """Send the request to a replica; without any on it is stranded, and one that no replica can serve ends here."""
    rep = route(m, w, times, counts, draws, request, at_ps)
    if rep == NONE:
        end_request(m, times, request, at_ps)
        return
    if rep == NONE_ON:
        push_back(m, counts, m[CONTROL] + STRANDED, request)
        wake(m, counts, request, at_ps)
        return
    counts[REPLICA, request] = m[rep + NUMBER]
    change_load(m, counts, rep, request, 1)
    push_back(m, counts, rep + LINE, request)
    reach(m, rep, at_ps)


@kernel
def receive(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, at_ps: int) -> None:
    """Take in the next request; one that no replica can serve ends here."""
    dispatch(m, w, times, counts, draws, next_request(m, times, at_ps), at_ps)


@kernel
def open_gate(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, at_ps: int) -> None:
    """Route those that were stranded, in order; some may stay."""
    stranded = m[CONTROL] + STRANDED
    for _ in range(m[stranded + LINE_LENGTH]):
        dispatch(m, w, times, counts, draws, pop_front(m, counts, stranded), at_ps)
