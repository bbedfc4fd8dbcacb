"""Waiting lines in another order than first come first served, as `simulator.reference.lines`.

An engine that is ORDERED has a table of owners: a record for each class, or each tenant, of the workload; where the
longest prefix goes first, a single one. Each has a line of its own, in which those that ran before stand in front. Of
LINE only LENGTH counts, which is that of all, and FIRST, who is next as `arrange` and `take_next` leave it.

A tenant's counter is SERVED + STEPS x DECODERS x UNIT: those that decode get a token in every step, so nothing changes
with the steps. Classes and prefixes have the unit 0.

  SERVED    the part of the counter that does not rise with the steps
  DECODERS  its decoding sequences
  UNIT      what a token counts
  OWN_LINE  three words
  PLACE     its place in WAITERS, a list of those with a line that is not empty
"""

from typing import Final

from simulator.kernels.compile import kernel
from simulator.kernels.lookup import look_up
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    ADMITTED,
    BEHIND,
    BLOCK_SIZE,
    CARRIED,
    FAR_PS,
    FINISH,
    FREE_HITS,
    HIT_TOKENS,
    HITS,
    JOINED,
    JOINS,
    LAST_EMPTIED,
    LINE,
    LOOSE,
    MATCH,
    MATCHED,
    MOST_MATCHED,
    NEXT_BEFORE,
    NEXT_OWNER,
    NOBODY,
    NONE,
    ORDERED,
    OWNER_COLUMN,
    OWNER_COUNT,
    OWNERS,
    PAYER,
    PROMPT,
    STEPS,
    WAITER_COUNT,
    WAITERS,
)
from simulator.kernels.waiting import FIRST, LAST, LENGTH, pop_front, push_back, push_front, skip_ended
from simulator.steptime import IntArray

BY_CLASS: Final = 1
BY_TENANT: Final = 2
BY_PREFIX: Final = 3

SERVED: Final = 0
DECODERS: Final = 1
UNIT: Final = 2
OWN_LINE: Final = 3
PLACE: Final = 6
OWNER_SIZE: Final = 7


@kernel
def owner_of(m: IntArray, counts: Int32Array, rep: int, request: int) -> int:
    """The record of the request's class or tenant."""
    if m[rep + ORDERED] == BY_PREFIX:
        return int(m[rep + OWNERS])
    return int(m[rep + OWNERS] + OWNER_SIZE * counts[m[rep + OWNER_COLUMN], request])


@kernel
def _served(m: IntArray, owner: int, steps: int) -> int:
    return int(m[owner + SERVED] + steps * m[owner + DECODERS] * m[owner + UNIT])


@kernel
def count_decoder(m: IntArray, rep: int, row: int, change: int) -> None:
    """The row begins to decode (1) or ends (-1): its tenant's counter is the same just now."""
    owner = m[row + PAYER]
    m[owner + DECODERS] += change
    m[owner + SERVED] -= change * m[rep + STEPS] * m[owner + UNIT]


@kernel
def charge(m: IntArray, row: int, tokens: int) -> None:
    """The row's tenant was served these tokens, beside one for each decoding sequence and step."""
    m[m[row + PAYER] + SERVED] += tokens * m[m[row + PAYER] + UNIT]


@kernel
def _least_served(m: IntArray, rep: int, steps: int) -> int:
    """The owner who is next: the least counter, the lowest number on a tie."""
    waiters = m[rep + WAITERS]
    least, counter = m[waiters], _served(m, m[waiters], steps)
    for place in range(waiters + 1, waiters + m[rep + WAITER_COUNT]):
        other = m[place]
        served = _served(m, other, steps)
        if served < counter or (served == counter and other < least):
            least, counter = other, served
    return int(least)


@kernel
def _lift(m: IntArray, rep: int, owner: int, steps: int) -> None:
    """The tenant comes to wait: it has no credit from the time when nobody of it did."""
    if m[rep + WAITER_COUNT] > 0:
        least = _served(m, _least_served(m, rep, steps), steps)
    elif m[rep + LAST_EMPTIED] != 0:
        least = _served(m, m[rep + LAST_EMPTIED], steps)
    else:
        least = 0
    m[owner + SERVED] += max(0, least - _served(m, owner, steps))


@kernel
def _begin_waiting(m: IntArray, rep: int, owner: int) -> None:
    place = m[rep + WAITERS] + m[rep + WAITER_COUNT]
    m[place] = owner
    m[owner + PLACE] = place
    m[rep + WAITER_COUNT] += 1


@kernel
def _note_left(m: IntArray, rep: int, owner: int) -> None:
    """One has left the owner's line."""
    m[rep + LINE + LENGTH] -= 1
    if m[owner + OWN_LINE + LENGTH] > 0:
        return
    m[rep + LAST_EMPTIED] = owner
    m[rep + WAITER_COUNT] -= 1
    last = m[m[rep + WAITERS] + m[rep + WAITER_COUNT]]
    m[m[owner + PLACE]] = last
    m[last + PLACE] = m[owner + PLACE]


@kernel
def _insert(m: IntArray, times: IntArray, counts: Int32Array, line: int, request: int) -> None:
    """Put a request that ran before behind those that did and joined the engine before it."""
    before, after = NONE, m[line + FIRST] if m[line + LENGTH] > 0 else NONE
    while after != NONE and times[ADMITTED, after] >= 0 and counts[JOINED, after] < counts[JOINED, request]:
        before, after = after, int(counts[BEHIND, after])
    if before == NONE:
        push_front(m, counts, line, request)
    elif after == NONE:
        push_back(m, counts, line, request)
    else:
        counts[BEHIND, request] = after
        counts[BEHIND, before] = request
        m[line + LENGTH] += 1


@kernel
def note_joined(m: IntArray, counts: Int32Array, rep: int, request: int) -> None:
    """A request comes to the engine."""
    counts[JOINED, request] = m[rep + JOINS]
    m[rep + JOINS] += 1


@kernel
def stand_last(m: IntArray, times: IntArray, counts: Int32Array, rep: int, request: int, steps: int) -> None:
    """The request comes to stand last in its line; `steps`: how many have ended by now."""
    owner = owner_of(m, counts, rep, request)
    if m[owner + OWN_LINE + LENGTH] == 0:
        if m[owner + UNIT] > 0:
            _lift(m, rep, owner, steps)
        _begin_waiting(m, rep, owner)
    if m[rep + ORDERED] == BY_PREFIX and times[ADMITTED, request] >= 0:
        _insert(m, times, counts, owner + OWN_LINE, request)
    else:
        push_back(m, counts, owner + OWN_LINE, request)
    m[rep + LINE + LENGTH] += 1


@kernel
def rejoin_line(m: IntArray, times: IntArray, counts: Int32Array, rep: int, request: int) -> None:
    """A request was preempted."""
    owner = owner_of(m, counts, rep, request)
    if m[owner + OWN_LINE + LENGTH] == 0:
        _begin_waiting(m, rep, owner)
    if m[rep + ORDERED] == BY_PREFIX:
        _insert(m, times, counts, owner + OWN_LINE, request)
    else:
        push_front(m, counts, owner + OWN_LINE, request)
    m[rep + LINE + LENGTH] += 1


@kernel
def drop_from_line(m: IntArray, counts: Int32Array, rep: int, request: int) -> None:
    """The request ends in the line: it stays linked there, and is passed over."""
    owner = owner_of(m, counts, rep, request)
    m[owner + OWN_LINE + LENGTH] -= 1
    _note_left(m, rep, owner)


@kernel
def _match(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """Ask for the cached prefix of everybody who waits, if they are not too many; notes whether decoding could change
    any of them."""
    line = m[rep + OWNERS] + OWN_LINE
    m[rep + MATCHED] = m[rep + LOOSE] = 0
    if m[line + LENGTH] > m[rep + MOST_MATCHED]:
        return
    m[rep + MATCHED] = 1
    request, seen = m[line + FIRST], 0
    while seen < m[line + LENGTH]:
        if times[FINISH, request] < 0:
            seen += 1
            target = int(counts[PROMPT, request] + counts[CARRIED, request])
            look_up(m, w, rep, request, NOBODY, target)
            counts[MATCH, request] = m[rep + HIT_TOKENS]
            if hits_may_shrink(m, rep):
                m[rep + LOOSE] = 1
        request = int(counts[BEHIND, request])


@kernel
def hits_may_shrink(m: IntArray, rep: int) -> bool:
    """What was just looked up is in part held by nobody: who decodes on may take it."""
    return bool(m[rep + FREE_HITS] > 0 or m[rep + HIT_TOKENS] != m[rep + HITS] * m[rep + BLOCK_SIZE])


@kernel
def _longest(m: IntArray, times: IntArray, counts: Int32Array, rep: int, line: int) -> int:
    """The first of those with the longest prefix; notes who stands before it."""
    chosen, before = m[line + FIRST], NONE
    m[rep + NEXT_BEFORE] = NONE
    request, seen = chosen, 0
    while m[rep + MATCHED] > 0 and seen < m[line + LENGTH]:
        if times[FINISH, request] < 0:
            seen += 1
            if counts[MATCH, request] > counts[MATCH, chosen]:
                chosen = request
                m[rep + NEXT_BEFORE] = before
        before, request = request, int(counts[BEHIND, request])
    return int(chosen)


@kernel
def _choose(m: IntArray, times: IntArray, counts: Int32Array, rep: int) -> None:
    """Who is next?"""
    if m[rep + LINE + LENGTH] == 0:
        return
    owner = _least_served(m, rep, m[rep + STEPS])
    line = owner + OWN_LINE
    skip_ended(m, times, counts, line)
    m[rep + NEXT_OWNER] = owner
    m[rep + LINE + FIRST] = m[line + FIRST]
    if m[rep + ORDERED] == BY_PREFIX:
        m[rep + LINE + FIRST] = _longest(m, times, counts, rep, line)


@kernel
def arrange(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """A step is about to be scheduled or planned."""
    if m[rep + LINE + LENGTH] > 0:
        if m[rep + ORDERED] == BY_PREFIX:
            _match(m, w, times, counts, rep)
        _choose(m, times, counts, rep)


@kernel
def take_next(m: IntArray, times: IntArray, counts: Int32Array, rep: int) -> int:
    """Take out who is next; a tenant pays for the prompt of a request that never ran."""
    owner, request = m[rep + NEXT_OWNER], m[rep + LINE + FIRST]
    line = owner + OWN_LINE
    if m[rep + ORDERED] == BY_PREFIX and m[rep + NEXT_BEFORE] != NONE:
        before = m[rep + NEXT_BEFORE]
        counts[BEHIND, before] = counts[BEHIND, request]
        if m[line + LAST] == request:
            m[line + LAST] = before
        m[line + LENGTH] -= 1
    else:
        pop_front(m, counts, line)
    _note_left(m, rep, owner)
    if times[ADMITTED, request] < 0:
        m[owner + SERVED] += m[owner + UNIT] * counts[PROMPT, request]
    _choose(m, times, counts, rep)
    return int(request)


@kernel
def steps_in_order(m: IntArray, rep: int) -> int:
    """How many steps can begin, this one included, before another tenant than the one arranged for is next."""
    steps, first = FAR_PS, m[rep + NEXT_OWNER]
    for place in range(m[rep + WAITERS], m[rep + WAITERS] + m[rep + WAITER_COUNT]):
        other = m[place]
        rise = m[first + UNIT] * m[first + DECODERS] - m[other + UNIT] * m[other + DECODERS]
        if rise > 0:
            apart = _served(m, other, m[rep + STEPS]) - _served(m, first, m[rep + STEPS])
            if other < first:
                apart -= 1
            steps = min(steps, apart // rise + 1)
    return int(steps)


@kernel
def empty_lines(m: IntArray, rep: int) -> None:
    """The engine begins anew: nobody waits, nobody was served anything."""
    for number in range(m[rep + OWNER_COUNT]):
        owner = m[rep + OWNERS] + OWNER_SIZE * number
        m[owner + SERVED] = m[owner + DECODERS] = m[owner + OWN_LINE + LENGTH] = 0
