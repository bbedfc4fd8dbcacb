"""Arrivals: a request is routed and joins the waiting line of its replica."""

from simulator.kernels.arrive import end_request, next_request
from simulator.kernels.candidates import candidates, change_load
from simulator.kernels.compile import kernel
from simulator.kernels.dues import watch
from simulator.kernels.endings import IN_TIME, REJECTED_CAP, REJECTED_KV, REJECTED_QUEUE, end_without, lateness
from simulator.kernels.gate import hold_at_gate, leave_gate, lets_in, next_held
from simulator.kernels.handed import HANDED
from simulator.kernels.intake import receive_prefilled
from simulator.kernels.lines import note_joined, stand_last
from simulator.kernels.plain import rare
from simulator.kernels.power import STRANDED, wake
from simulator.kernels.reached import list_reached
from simulator.kernels.route import LATE, NONE_ON, choose, route
from simulator.kernels.routers import KV_AWARE
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BLOCKS,
    CONTROL,
    DECODE,
    END,
    EVENTS,
    EXPIRES,
    FAR_PS,
    FREE,
    HANDS_OVER,
    HOLDS,
    INBOX,
    KEPT,
    KV_LIMIT,
    LIMITED,
    LINE,
    MAX_WAITING,
    NONE,
    NUMBER,
    OPEN,
    ORDERED,
    OVERLAPS,
    PENDING,
    PLANNED,
    PREFILLED_BY,
    REPLICA,
    ROUTER,
    SIDE,
    STEPS,
    TENANTS,
    TRANSFER,
)
from simulator.kernels.stretch import begun_blocks, cut_stretch, ended_steps
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
def _refusal(m: IntArray, counts: Int32Array, rep: int, request: int, at_ps: int) -> int:
    """How the engine that was chosen turns the request away, IN_TIME: it does not; who was at one before is taken."""
    if counts[REPLICA, request] != NONE:
        return IN_TIME
    if m[rep + LINE + LINE_LENGTH] + m[rep + INBOX + LINE_LENGTH] >= m[MAX_WAITING]:
        return REJECTED_QUEUE
    if m[rep + KV_LIMIT] > m[rep + BLOCKS]:
        return IN_TIME
    held = m[rep + BLOCKS] - m[rep + FREE] + begun_blocks(m, rep, at_ps)
    return REJECTED_KV if held >= m[rep + KV_LIMIT] else IN_TIME


@kernel
def _turned_away(m: IntArray, times: IntArray, counts: Int32Array, rep: int, request: int, at_ps: int) -> bool:
    """The request, routed to the engine or LATE, ends here if its time has passed or the engine refuses it."""
    if rep == LATE:
        ending = lateness(m, times, request, at_ps)
    else:
        ending = _refusal(m, counts, rep, request, at_ps)
        if ending != IN_TIME and m[ROUTER] == KV_AWARE:
            m[rep + PENDING] -= counts[KEPT, request]
    if ending == IN_TIME:
        return False
    end_without(m, times, counts, request, ending, at_ps)
    leave_gate(m, counts, request)
    return True


@kernel
def _watch(m: IntArray, times: IntArray, counts: Int32Array, rep: int, request: int) -> None:
    """The request has come to an engine: a stretch there ends when its time has passed."""
    due_ps = watch(m, times, counts, rep, request)
    if m[rep + END] != FAR_PS and m[rep + PLANNED] > 0 and due_ps < m[rep + END]:
        cut_stretch(m, rep, due_ps + 1)
        tree_set(m, m[EVENTS], m[rep + NUMBER], m[rep + END])


@kernel
def _enters(m: IntArray, times: IntArray, counts: Int32Array, request: int, at_ps: int) -> bool:
    """Whether the request passes the gate, by its tenant's cap; who does not is held, or ends here."""
    if candidates(m, counts, request) == 0 or lets_in(m, counts, request):
        return True
    if rare(m, HOLDS) > 0:
        hold_at_gate(m, counts, request)
    else:
        end_without(m, times, counts, request, REJECTED_CAP, at_ps)
    return False


@kernel
def dispatch(
    m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, request: int, at_ps: int
) -> None:
    """Send the request to a replica; without any on it is stranded, and one that no replica can serve ends here."""
    rep = route(m, w, times, counts, draws, request)
    if rare(m, LIMITED) > 0 and rep != NONE and rep != NONE_ON and _turned_away(m, times, counts, rep, request, at_ps):
        return
    if rep == NONE:
        end_request(m, times, request, at_ps)
        return
    if rep == NONE_ON:
        push_back(m, counts, rare(m, CONTROL) + STRANDED, request)
        wake(m, counts, request, at_ps)
        return
    counts[REPLICA, request] = m[rep + NUMBER]
    if rare(m, rep + HANDS_OVER) > 0:
        counts[PREFILLED_BY, request] = m[rep + NUMBER]
    change_load(m, counts, rep, request, 1)
    if rare(m, rep + ORDERED) > 0:
        note_joined(m, counts, rep, request)
    if rare(m, rep + OVERLAPS) > 0:
        push_back(m, counts, rep + INBOX, request)
    elif rare(m, rep + ORDERED) > 0:
        stand_last(m, times, counts, rep, request, m[rep + STEPS] + ended_steps(m, rep, at_ps))
    else:
        push_back(m, counts, rep + LINE, request)
    reach(m, rep, at_ps)
    if rare(m, EXPIRES) > 0:
        _watch(m, times, counts, rep, request)


@kernel
def receive(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, at_ps: int) -> None:
    """Take in the next request; one that no replica can serve, or that may not enter, ends here."""
    request = next_request(m, times, at_ps)
    if rare(m, TENANTS) == 0 or _enters(m, times, counts, request, at_ps):
        dispatch(m, w, times, counts, draws, request, at_ps)


@kernel
def let_in_held(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, at_ps: int) -> None:
    """Route those held at the gate whose tenants have room again."""
    while rare(m, HOLDS) > 0:
        request = next_held(m, counts)
        if request == NONE:
            return
        dispatch(m, w, times, counts, draws, request, at_ps)


@kernel
def open_gate(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, at_ps: int) -> None:
    """Route those that were stranded, in order; some may stay."""
    stranded = rare(m, CONTROL) + STRANDED
    for _ in range(m[stranded + LINE_LENGTH]):
        dispatch(m, w, times, counts, draws, pop_front(m, counts, stranded), at_ps)


@kernel
def hand_on(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, at_ps: int) -> None:
    """Route what has been prefilled, in order."""
    handed = rare(m, TRANSFER) + HANDED
    m[SIDE] = DECODE
    for _ in range(m[handed + LINE_LENGTH]):
        request = pop_front(m, counts, handed)
        receive_prefilled(m, counts, choose(m, w, times, counts, draws, request), request, at_ps)
