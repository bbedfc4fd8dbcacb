"""Replicas of several engines: ranks that step together, and lanes of a pipeline. All their steps are full ones.

A gang's record is referred to by its engines as GANG; an engine alone has none.
"""

from typing import Final

from simulator.kernels.accounts import add_product, tell_series, turn_bin
from simulator.kernels.compile import kernel
from simulator.kernels.intake import busy, join_come, plan_apart
from simulator.kernels.plain import rare
from simulator.kernels.running import running_count, seats_taken
from simulator.kernels.runs import Int32Array
from simulator.kernels.sglang import start_anew
from simulator.kernels.state import (
    AREA_HIGH,
    BIN_END,
    BLOCKS,
    CLOCK,
    DUMMY_PS,
    END,
    EVENTS,
    FAR_PS,
    FREE,
    GANG,
    GANG_TURN,
    HELD,
    IN_STEP,
    INBOX,
    INCOMING,
    INTAKE,
    KIND,
    KV_TOKENS_HIGH,
    LEADER,
    LINE,
    MEMBERS,
    NOW,
    NUMBER,
    OUTSTANDING,
    PLAN_PS,
    PLAN_RUNNING,
    RECORDS,
    REPLICAS,
    SEAT_HIGH,
    SETTLED,
    STAGES,
    TRANSFER,
    UNTIL,
)
from simulator.kernels.step import NO_STEP, plan_step, planned_ps, start_step, tokens_held
from simulator.kernels.tree import tree_set
from simulator.kernels.waiting import LENGTH as LINE_LENGTH
from simulator.steptime import IntArray

WAITING_WEIGHT: Final = 4


@kernel
def member(m: IntArray, gang: int, place: int) -> int:
    return int(m[m[RECORDS] + m[m[gang + LEADER] + NUMBER] + place])


@kernel
def entry_of(m: IntArray, leader: int) -> int:
    """The engine that takes the next request sent to a replica, which is told by its first engine."""
    gang = m[leader + GANG]
    if gang == 0:
        return leader
    chosen, least = leader, 0
    for place in range(m[gang + MEMBERS]):
        rep = member(m, gang, place)
        score = m[rep + OUTSTANDING]
        if m[gang + KIND] == IN_STEP:
            waiting = m[rep + LINE + LINE_LENGTH] + m[rep + INBOX + LINE_LENGTH] + m[rep + INTAKE + LINE_LENGTH]
            score = WAITING_WEIGHT * waiting + seats_taken(m, rep) + rare(m, rep + INCOMING)
        if place == 0 or score < least:
            chosen, least = rep, score
    return int(chosen)


@kernel
def _plan(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, now_ps: int) -> int:
    """Schedule a step of the engine: how long it would take alone, 0 where nobody can compute anything."""
    if not busy(m, rep):
        start_anew(m, rep)
        return 0
    m[rep + NOW] = now_ps
    if rare(m, TRANSFER) > 0:
        join_come(m, w, times, counts, rep)
        m[rep + PLAN_RUNNING] = plan_apart(m, w, times, counts, rep)
    else:
        m[rep + PLAN_RUNNING] = plan_step(m, w, times, counts, rep)
    if m[rep + PLAN_RUNNING] == NO_STEP:
        return 0
    return planned_ps(m, rep)


@kernel
def _start(m: IntArray, rep: int, duration_ps: int) -> None:
    if m[rep + NOW] >= m[rep + BIN_END]:
        turn_bin(m, rep, m[rep + NOW])
    start_step(m, rep, m[rep + PLAN_RUNNING], duration_ps)
    tree_set(m, m[EVENTS], m[rep + NUMBER], m[rep + END])


@kernel
def _begin_in_step(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, gang: int, now_ps: int) -> None:
    members = m[gang + MEMBERS]
    for place in range(members):
        if m[member(m, gang, place) + END] != FAR_PS:
            return
    longest_ps, working = 0, 0
    for place in range(members):
        rep = member(m, gang, place)
        m[rep + PLAN_PS] = _plan(m, w, times, counts, rep, now_ps)
        if m[rep + PLAN_PS] > 0:
            working += 1
            longest_ps = max(longest_ps, m[rep + PLAN_PS])
    if working < members:
        longest_ps = max(longest_ps, m[gang + DUMMY_PS])
    for place in range(members):
        rep = member(m, gang, place)
        if m[rep + PLAN_PS] > 0:
            _start(m, rep, longest_ps)


@kernel
def hold(m: IntArray, rep: int, now_ps: int) -> None:
    """Who runs has kept seat and blocks since the last step ended; that belongs to the bin in which it began."""
    running, since_ps = running_count(m, rep), max(m[rep + SETTLED], m[rep + HELD])
    held_ps = now_ps - since_ps
    if running > 0 and held_ps > 0:
        if since_ps >= m[rep + BIN_END]:
            turn_bin(m, rep, since_ps)
        add_product(m, rep + SEAT_HIGH, running, held_ps)
        add_product(m, rep + AREA_HIGH, m[rep + BLOCKS] - m[rep + FREE], held_ps)
        add_product(m, rep + KV_TOKENS_HIGH, tokens_held(m, rep), held_ps)
        m[rep + HELD] = now_ps


@kernel
def _pass_ps(m: IntArray, gang: int, now_ps: int, duration_ps: int) -> int:
    """Until a micro-batch of `duration_ps` that enters now has left the last stage."""
    stages, members = m[gang + STAGES], m[gang + MEMBERS]
    whole_ps, rest_ps = duration_ps // members, duration_ps % members
    end_ps = now_ps
    for stage in range(members):
        end_ps = max(end_ps, m[stages + stage]) + whole_ps
        if stage < rest_ps:
            end_ps += 1
        m[stages + stage] = end_ps
    return int(end_ps - now_ps)


@kernel
def _enter_lanes(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, gang: int, now_ps: int) -> None:
    members, turn = m[gang + MEMBERS], m[gang + GANG_TURN]
    for place in range(members):
        rep = member(m, gang, place)
        if not busy(m, rep):
            start_anew(m, rep)
    for offset in range(members):
        place = (turn + offset) % members
        rep = member(m, gang, place)
        if m[m[gang + STAGES]] > now_ps:
            break
        if m[rep + END] != FAR_PS:
            continue
        hold(m, rep, now_ps)
        duration_ps = _plan(m, w, times, counts, rep, now_ps)
        if duration_ps > 0:
            _start(m, rep, _pass_ps(m, gang, now_ps, duration_ps))
            m[gang + GANG_TURN] = (place + 1) % members


@kernel
def _wait_for_stage(m: IntArray, gang: int, now_ps: int) -> None:
    """Let the gang be looked at again when the first stage gets free, if a lane waits for it."""
    free_ps = m[m[gang + STAGES]]
    for place in range(m[gang + MEMBERS]):
        rep = member(m, gang, place)
        if m[rep + END] == FAR_PS and busy(m, rep):
            if now_ps < free_ps < m[UNTIL]:
                tree_set(m, m[EVENTS], m[rep + NUMBER], free_ps)
            return


@kernel
def empty_stages(m: IntArray, gang: int, now_ps: int) -> None:
    """The gang is lost: a pipeline's stages are empty."""
    if gang == 0 or m[gang + KIND] == IN_STEP:
        return
    for place in range(m[gang + MEMBERS]):
        m[m[gang + STAGES] + place] = now_ps


@kernel
def close_books(m: IntArray, rep: int) -> None:
    """The run ends, stopped while other engines computed longer: seats are counted up to here."""
    hold(m, rep, m[CLOCK])
    tell_series(m, rep)


@kernel
def work_waits(m: IntArray) -> bool:
    """Somebody in a pipeline waits for its first stage to get free."""
    for number in range(m[REPLICAS]):
        rep = m[m[RECORDS] + number]
        gang = rare(m, rep + GANG)
        if gang == 0 or m[gang + KIND] == IN_STEP or m[rep + END] != FAR_PS or m[m[gang + STAGES]] <= m[CLOCK]:
            continue
        if busy(m, rep):
            return True
    return False


@kernel
def begin_gang(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, gang: int, now_ps: int) -> None:
    """Begin what steps the gang can begin."""
    if m[gang + KIND] == IN_STEP:
        _begin_in_step(m, w, times, counts, gang, now_ps)
    else:
        _enter_lanes(m, w, times, counts, gang, now_ps)
        _wait_for_stage(m, gang, now_ps)
