"""The router: which replica an arriving request is sent to, by the rules of `simulator.fleet.Fleet`."""

from typing import Final

from simulator.hashing import mixed
from simulator.kernels.arrive import takes
from simulator.kernels.compile import kernel
from simulator.kernels.power import CHOICE, accepts
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    CONTROL,
    CREDITS,
    LOADS,
    NONE,
    NUMBER,
    POOL_FIRST,
    POOL_REPLICAS,
    POOL_SIZE,
    POOL_WEIGHT,
    POOLS,
    POOLS_END,
    PROMPT,
    REPLICAS,
    ROUTER,
    SESSION,
    WEIGHTED,
)
from simulator.kernels.tree import tree_key, tree_set, tree_top
from simulator.steptime import IntArray

ROUND_ROBIN: Final = 0
RANDOM: Final = 1
POWER_OF_TWO: Final = 2
LEAST_REQUESTS: Final = 3
LEAST_TOKENS: Final = 4
SESSION_AFFINE: Final = 5
NONE_ON: Final = -2
_mixed = kernel(mixed)


@kernel
def change_load(m: IntArray, counts: Int32Array, rep: int, request: int, change: int) -> None:
    """Count what was sent to the replica and has not ended: requests, or prompt tokens if the router goes by these."""
    number = m[rep + NUMBER]
    amount = int(counts[PROMPT, request]) if m[ROUTER] == LEAST_TOKENS else 1
    tree_set(m, m[LOADS], number, tree_key(m, m[LOADS], number) + change * amount)


@kernel
def _candidates(m: IntArray, counts: Int32Array, request: int) -> int:
    """How many replicas take the request."""
    total = 0
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if takes(m, counts, pool, request):
            total += m[pool + POOL_REPLICAS]
    return total


@kernel
def _choose_from_those_on(m: IntArray, counts: Int32Array, request: int) -> int:
    """Lists the replicas that take the request and are on; how many."""
    total, choice = 0, m[m[CONTROL] + CHOICE]
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if not takes(m, counts, pool, request):
            continue
        for number in range(m[pool + POOL_FIRST], m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]):
            if accepts(m, number):
                m[choice + total] = number
                total += 1
    return total


@kernel
def _candidate(m: IntArray, counts: Int32Array, request: int, place: int) -> int:
    """The number of the candidate at `place` (from 0) among them."""
    if m[CONTROL] > 0:
        return int(m[m[m[CONTROL] + CHOICE] + place])
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if takes(m, counts, pool, request):
            if place < m[pool + POOL_REPLICAS]:
                return int(m[pool + POOL_FIRST] + place)
            place -= m[pool + POOL_REPLICAS]
    return NONE


@kernel
def _weight(m: IntArray, number: int) -> int:
    pool = m[POOLS]
    while number >= m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]:
        pool += POOL_SIZE
    return int(m[pool + POOL_WEIGHT])


@kernel
def _less_loaded(m: IntArray, one: int, other: int) -> bool:
    one_load, other_load = tree_key(m, m[LOADS], one), tree_key(m, m[LOADS], other)
    return one_load * _weight(m, other) < other_load * _weight(m, one)


@kernel
def _next_in_turn(m: IntArray, counts: Int32Array, request: int, candidates: int) -> int:
    """Smooth weighted round robin: each is credited its weight, the one with the most credit pays for all."""
    chosen, paid = NONE, 0
    for place in range(candidates):
        number = _candidate(m, counts, request, place)
        weight = _weight(m, number)
        m[m[CREDITS] + number] += weight
        paid += weight
        if chosen == NONE or m[m[CREDITS] + number] > m[m[CREDITS] + chosen]:
            chosen = number
    m[m[CREDITS] + chosen] -= paid
    return chosen


@kernel
def _least_loaded(m: IntArray, counts: Int32Array, request: int, candidates: int) -> int:
    if candidates == m[REPLICAS] and m[WEIGHTED] == 0:
        return tree_top(m, m[LOADS])
    least = _candidate(m, counts, request, 0)
    for place in range(1, candidates):
        number = _candidate(m, counts, request, place)
        if _less_loaded(m, number, least):
            least = number
    return least


@kernel
def _drawn(m: IntArray, counts: Int32Array, draw: int, request: int, candidates: int) -> int:
    shares = 0
    for place in range(candidates):
        shares += _weight(m, _candidate(m, counts, request, place))
    share = draw % shares
    for place in range(candidates):
        number = _candidate(m, counts, request, place)
        share -= _weight(m, number)
        if share < 0:
            return number
    return NONE


@kernel
def _better_of_two(m: IntArray, counts: Int32Array, draws: IntArray, request: int, candidates: int) -> int:
    place = draws[request, 0] % candidates
    one = _candidate(m, counts, request, place)
    if candidates == 1:
        return one
    other_place = draws[request, 1] % (candidates - 1)
    if other_place >= place:
        other_place += 1
    other = _candidate(m, counts, request, other_place)
    return other if _less_loaded(m, other, one) else one


@kernel
def _highest_hash(m: IntArray, counts: Int32Array, request: int, candidates: int) -> int:
    """Rendezvous hashing."""
    session = _mixed(int(counts[SESSION, request]))
    chosen, highest = NONE, -1
    for place in range(candidates):
        number = _candidate(m, counts, request, place)
        score = _mixed(session ^ number)
        if score > highest:
            chosen, highest = number, score
    return chosen


@kernel
def route(m: IntArray, counts: Int32Array, draws: IntArray, request: int) -> int:
    """Number of the replica that the request is sent to; NONE: no replica takes it, NONE_ON: none that does is on."""
    candidates = _candidates(m, counts, request)
    if candidates == 0:
        return NONE
    if m[CONTROL] > 0:
        candidates = _choose_from_those_on(m, counts, request)
        if candidates == 0:
            return NONE_ON
    if m[REPLICAS] == 1:
        return 0
    router = m[ROUTER]
    if router == ROUND_ROBIN:
        return _next_in_turn(m, counts, request, candidates)
    if router == RANDOM:
        return _drawn(m, counts, draws[request, 0], request, candidates)
    if router == POWER_OF_TWO:
        return _better_of_two(m, counts, draws, request, candidates)
    if router == SESSION_AFFINE and counts[SESSION, request] >= 0:
        return _highest_hash(m, counts, request, candidates)
    return _least_loaded(m, counts, request, candidates)
