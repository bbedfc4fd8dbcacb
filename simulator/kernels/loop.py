"""The fast engine's loop: from instant to instant, a bounded number of them per call.

At each instant, as in the reference: the steps that end there are settled, then what arrives there is received, then
every replica that has no step under way and something to compute begins one.
"""

from simulator.kernels.accounts import tell_series, turn_bin
from simulator.kernels.admit import anyone_waiting
from simulator.kernels.arrive import next_arrival_ps
from simulator.kernels.compile import entry, kernel
from simulator.kernels.prefix import Int32Array
from simulator.kernels.receive import list_reached, receive
from simulator.kernels.running import running_count
from simulator.kernels.state import (
    BEYOND_HORIZON,
    BIN_END,
    CLOCK,
    DONE,
    END,
    EVENTS,
    FAR_PS,
    LISTED,
    MORE,
    NOW,
    NUMBER,
    PLANNED,
    REACHED,
    REACHED_COUNT,
    RECORDS,
    REPLICAS,
    UNTIL,
)
from simulator.kernels.step import begin_step, settle_step
from simulator.kernels.stretch import plan_stretch, run_stretch
from simulator.kernels.tree import tree_key, tree_set, tree_top
from simulator.steptime import HORIZON_PS, IntArray


@kernel
def _settle(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    if m[rep + PLANNED] > 0:
        run_stretch(m, w, times, counts, rep)
    else:
        settle_step(m, w, times, counts, rep)
    m[rep + END] = FAR_PS
    tree_set(m, m[EVENTS], m[rep + NUMBER], FAR_PS)
    list_reached(m, rep)


@kernel
def _begin(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, now_ps: int) -> None:
    if running_count(m, rep) == 0 and not anyone_waiting(m, rep):
        return
    m[rep + NOW] = now_ps
    if now_ps >= m[rep + BIN_END]:
        turn_bin(m, rep, now_ps)
    if not plan_stretch(m, w, counts, rep):
        begin_step(m, w, times, counts, rep)
    tree_set(m, m[EVENTS], m[rep + NUMBER], m[rep + END])


@kernel
def _begin_reached(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, now_ps: int) -> None:
    for place in range(m[REACHED], m[REACHED] + m[REACHED_COUNT]):
        rep = m[place]
        m[rep + LISTED] = 0
        if now_ps < m[UNTIL]:
            _begin(m, w, times, counts, rep, now_ps)
    m[REACHED_COUNT] = 0


@entry
def advance(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, instants: int) -> int:
    """At most `instants` of them; answers MORE, DONE, or BEYOND_HORIZON when the clock nears the end of 64 bits."""
    events = m[EVENTS]
    for _ in range(instants):
        end_ps = tree_key(m, events, tree_top(m, events))
        arrival_ps = next_arrival_ps(m, times)
        now_ps = min(end_ps, arrival_ps)
        if end_ps == FAR_PS and (arrival_ps == FAR_PS or arrival_ps >= m[UNTIL]):
            if arrival_ps != FAR_PS:
                m[CLOCK] = max(m[CLOCK], m[UNTIL])
            for number in range(m[REPLICAS]):
                tell_series(m, m[m[RECORDS] + number])
            return DONE
        if now_ps >= HORIZON_PS:
            return BEYOND_HORIZON
        m[CLOCK] = now_ps
        while end_ps == now_ps:
            _settle(m, w, times, counts, m[m[RECORDS] + tree_top(m, events)])
            end_ps = tree_key(m, events, tree_top(m, events))
        while next_arrival_ps(m, times) <= now_ps:
            receive(m, times, counts, draws, now_ps)
        _begin_reached(m, w, times, counts, now_ps)
    return MORE
