"""The fast engine's loop: from instant to instant, a bounded number of them per call.

At each instant, as in the reference: the steps that end there are settled, KV comes in, requests whose time has passed
are let go, replicas come and go, then what has been prefilled, stands at the gate or arrives there is received, then
every replica that has no step under way and something to compute begins one.
"""

from simulator.kernels.accounts import turn_bin
from simulator.kernels.admit import anyone_waiting
from simulator.kernels.arrive import next_arrival_ps
from simulator.kernels.compile import entry, inlined, kernel, plain_entry
from simulator.kernels.control import act, next_control_ps
from simulator.kernels.expire import expire_reached
from simulator.kernels.gangs import begin_gang, close_books, work_waits
from simulator.kernels.intake import begin_apart, come_in
from simulator.kernels.late import all_known
from simulator.kernels.plain import rare
from simulator.kernels.pointers import arena, columns
from simulator.kernels.power import MOST_STARTS, STARTS_COUNT
from simulator.kernels.reached import list_reached, order_reached
from simulator.kernels.receive import hand_on, let_in_held, open_gate, receive
from simulator.kernels.running import running_count
from simulator.kernels.runs import Int32Array
from simulator.kernels.sglang import start_anew
from simulator.kernels.state import (
    BEYOND_HORIZON,
    BIN_END,
    CLOCK,
    CONTROL,
    DONE,
    END,
    ENDED,
    EVENTS,
    EXPIRES,
    FAR_PS,
    GANG,
    LIMITED,
    LISTED,
    MORE,
    NEXT_SENT,
    NOW,
    NUMBER,
    PLANNED,
    REACHED,
    REACHED_COUNT,
    RECEIVED,
    RECORDS,
    REPLICAS,
    SETTLED,
    TENANTS,
    TRANSFER,
    UNTIL,
)
from simulator.kernels.step import NO_STEP, plan_step, settle_step, start_step
from simulator.kernels.stretch import plan_stretch, run_stretch
from simulator.kernels.tree import tree_key, tree_set, tree_top
from simulator.steptime import HORIZON_PS, IntArray


@inlined
def _settle(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    if m[rep + END] == FAR_PS:  # a pipeline's first stage has got free
        tree_set(m, m[EVENTS], m[rep + NUMBER], FAR_PS)
        list_reached(m, rep)
        return
    if m[rep + PLANNED] > 0:
        run_stretch(m, w, times, counts, rep)
    else:
        settle_step(m, w, times, counts, rep)
    m[rep + SETTLED] = m[rep + END]
    m[rep + END] = FAR_PS
    tree_set(m, m[EVENTS], m[rep + NUMBER], FAR_PS)
    list_reached(m, rep)


@inlined
def _begin(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, now_ps: int) -> None:
    if running_count(m, rep) == 0 and not anyone_waiting(m, rep) and all_known(m, rep):
        start_anew(m, rep)
        return
    m[rep + NOW] = now_ps
    stretches = plan_stretch(m, w, times, counts, rep)
    running = 0 if stretches else plan_step(m, w, times, counts, rep)
    if running == NO_STEP:
        return
    if now_ps >= m[rep + BIN_END]:  # then a stretch was cut after its first step
        turn_bin(m, rep, now_ps)
    if not stretches:
        start_step(m, rep, running, 0)
    tree_set(m, m[EVENTS], m[rep + NUMBER], m[rep + END])


@inlined
def _begin_reached(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, now_ps: int) -> None:
    if rare(m, TRANSFER) > 0:
        order_reached(m)
    for place in range(m[REACHED], m[REACHED] + m[REACHED_COUNT]):
        rep = m[place]
        m[rep + LISTED] = 0
        if now_ps < m[UNTIL]:
            if rare(m, rep + GANG) != 0:
                begin_gang(m, w, times, counts, rare(m, rep + GANG), now_ps)
            elif rare(m, TRANSFER) > 0:
                begin_apart(m, w, times, counts, rep, now_ps)
            else:
                _begin(m, w, times, counts, rep, now_ps)
    m[REACHED_COUNT] = 0


@inlined
def _control_ps(m: IntArray, end_ps: int, arrival_ps: int) -> int:
    """When replicas come or go next; FAR_PS where none does, or nobody is left who could notice."""
    if rare(m, CONTROL) == 0 or (end_ps == FAR_PS and arrival_ps == FAR_PS and m[ENDED] == m[RECEIVED]):
        return FAR_PS
    return next_control_ps(m)


@kernel
def _before_arrivals(
    m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, now_ps: int
) -> None:
    """Whose time has passed is let go, replicas come and go, and who was prefilled or stands at the gate enters."""
    if rare(m, EXPIRES) > 0:
        expire_reached(m, w, times, counts, now_ps)
    if rare(m, CONTROL) > 0:
        act(m, w, times, counts)
    if rare(m, TRANSFER) > 0:
        hand_on(m, w, times, counts, draws, now_ps)
    if rare(m, CONTROL) > 0:
        open_gate(m, w, times, counts, draws, now_ps)
    if rare(m, TENANTS) > 0:
        let_in_held(m, w, times, counts, draws, now_ps)


@kernel
def _advance(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, instants: int) -> int:
    events = m[EVENTS]
    for _ in range(instants):
        end_ps = tree_key(m, events, tree_top(m, events))
        arrival_ps = next_arrival_ps(m, times)
        other_ps = min(arrival_ps, m[NEXT_SENT], _control_ps(m, end_ps, arrival_ps))
        now_ps = min(end_ps, other_ps)
        if end_ps == FAR_PS and (other_ps == FAR_PS or other_ps >= m[UNTIL]):
            if other_ps != FAR_PS or work_waits(m):
                m[CLOCK] = max(m[CLOCK], m[UNTIL])
            for number in range(m[REPLICAS]):
                close_books(m, m[m[RECORDS] + number])
            return DONE
        if now_ps >= HORIZON_PS:
            return BEYOND_HORIZON
        m[CLOCK] = now_ps
        while end_ps == now_ps:
            _settle(m, w, times, counts, m[m[RECORDS] + tree_top(m, events)])
            end_ps = tree_key(m, events, tree_top(m, events))
        if m[NEXT_SENT] <= now_ps:
            come_in(m, w, times, counts, now_ps)
        if rare(m, LIMITED) > 0 or rare(m, CONTROL) > 0 or rare(m, TRANSFER) > 0:
            _before_arrivals(m, w, times, counts, draws, now_ps)
        while next_arrival_ps(m, times) <= now_ps:
            receive(m, w, times, counts, draws, now_ps)
        _begin_reached(m, w, times, counts, now_ps)
        if rare(m, CONTROL) > 0 and m[rare(m, CONTROL) + STARTS_COUNT] > MOST_STARTS:
            return MORE
    return MORE


@entry
def advance(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, instants: int) -> int:
    """At most `instants` of them; answers MORE, DONE, or BEYOND_HORIZON when the clock nears the end of 64 bits."""
    return _advance(arena(m), arena(w), columns(times), columns(counts), columns(draws), instants)


@plain_entry
def advance_plain(
    m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, instants: int
) -> int:
    """As `advance`, for runs that `plain.is_plain`."""
    return _advance(arena(m), arena(w), columns(times), columns(counts), columns(draws), instants)
