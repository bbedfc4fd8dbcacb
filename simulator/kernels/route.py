"""The router: which replica a request is sent to, by the rules of `simulator.fleet.Fleet`, and which engine of it."""

from typing import Final

from simulator.kernels.affinity import longest_match, note_sent, session_home
from simulator.kernels.arrive import takes
from simulator.kernels.candidates import (
    GANG_WORDS,
    candidate,
    candidates,
    candidates_on,
    least_loaded,
    lighter,
    load_of,
    weight_of,
    willing,
)
from simulator.kernels.compile import kernel
from simulator.kernels.endings import IN_TIME, lateness
from simulator.kernels.gangs import entry_of
from simulator.kernels.kv_aware import least_cost
from simulator.kernels.local import choose_side
from simulator.kernels.plain import rare
from simulator.kernels.routers import KV_AWARE, POWER_OF_TWO, PREFIX_AFFINE, RANDOM, ROUND_ROBIN, SESSION_AFFINE
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BY_POWER,
    CHOOSY,
    CLOCK,
    CONTROL,
    CREDITS,
    DECODE,
    EXPIRES,
    GANGS,
    KEPT,
    MATCH_PERCENT,
    NONE,
    POOL_FIRST,
    POOL_REPLICAS,
    POOL_SIZE,
    POOLS,
    POOLS_END,
    PROMPT,
    ROUTER,
    SIDE,
    TRANSFER,
    TURN,
    UNEVEN_PERCENT,
    UNEVEN_REQUESTS,
)
from simulator.steptime import IntArray

NONE_ON: Final = -2
LATE: Final = -3


@kernel
def _next_in_turn(m: IntArray, counts: Int32Array, request: int) -> int:
    """Every candidate is credited its weight, the one with the most credit pays for all."""
    credit, chosen, total = m[CREDITS], NONE, 0
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if takes(m, counts, pool, request):
            for gang in range(m[pool + POOL_FIRST], m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]):
                if willing(m, gang):
                    total += weight_of(m, gang)
                    m[credit + gang] += weight_of(m, gang)
                    if chosen == NONE or m[credit + gang] > m[credit + chosen]:
                        chosen = gang
    m[credit + chosen] -= total
    return int(chosen)


@kernel
def _in_turn(m: IntArray, counts: Int32Array, request: int, count: int) -> int:
    if rare(m, CONTROL) > 0 or m[POOLS] + POOL_SIZE < m[POOLS_END]:
        return _next_in_turn(m, counts, request)
    chosen = m[TURN]  # the candidates are always the same, and their weights alike: no need for credits
    m[TURN] = (chosen + 1) % count
    return int(chosen)


@kernel
def _at_share(m: IntArray, counts: Int32Array, request: int, share: int) -> tuple[int, int]:
    """(Candidate in whose part of all weights, laid end to end, `share` lies, NONE beyond; what is left of `share`)."""
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if takes(m, counts, pool, request):
            for gang in range(m[pool + POOL_FIRST], m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]):
                if willing(m, gang):
                    if share < weight_of(m, gang):
                        return int(gang), share
                    share -= weight_of(m, gang)
    return NONE, share


@kernel
def _drawn(m: IntArray, counts: Int32Array, request: int, draw: int) -> int:
    most = 2**62  # more than all weights
    total = most - _at_share(m, counts, request, most)[1]
    return _at_share(m, counts, request, draw % total)[0]


@kernel
def _draw(m: IntArray, draws: IntArray, request: int, place: int) -> int:
    """One of the request's random numbers: two for each of its ways."""
    return int(draws[request, place + 2 if rare(m, SIDE) == DECODE else place])


@kernel
def _better_of_two(m: IntArray, counts: Int32Array, draws: IntArray, request: int, count: int) -> int:
    place = _draw(m, draws, request, 0) % count
    one = candidate(m, counts, request, place)
    if count == 1:
        return one
    other_place = _draw(m, draws, request, 1) % (count - 1)
    if other_place >= place:
        other_place += 1
    other = candidate(m, counts, request, other_place)
    return other if lighter(m, other, one) else one


@kernel
def _uneven(m: IntArray, counts: Int32Array, request: int) -> bool:
    """Requests are spread so unevenly over the candidates that affinity must wait."""
    most = fewest = load_of(m, candidate(m, counts, request, 0))
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if takes(m, counts, pool, request):
            for gang in range(m[pool + POOL_FIRST], m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]):
                if willing(m, gang):
                    most, fewest = max(most, load_of(m, gang)), min(fewest, load_of(m, gang))
    return bool(most - fewest > m[UNEVEN_REQUESTS] and most * 100 > m[UNEVEN_PERCENT] * fewest)


@kernel
def _prefix_affine(m: IntArray, w: Int32Array, counts: Int32Array, request: int, count: int) -> int:
    chosen = NONE
    if not _uneven(m, counts, request):
        chosen, matched = longest_match(m, w, counts, request)
        if matched * 100 <= m[MATCH_PERCENT] * counts[PROMPT, request]:
            chosen = NONE
    if chosen == NONE:
        chosen = least_loaded(m, counts, request, count)
    note_sent(m, w, request, chosen)
    return chosen


@kernel
def _gang(m: IntArray, w: Int32Array, counts: Int32Array, draws: IntArray, request: int, count: int) -> int:
    router = m[ROUTER]
    if router == ROUND_ROBIN:
        return _in_turn(m, counts, request, count)
    if router == RANDOM:
        return _drawn(m, counts, request, _draw(m, draws, request, 0))
    if router == POWER_OF_TWO:
        return _better_of_two(m, counts, draws, request, count)
    if router == PREFIX_AFFINE:
        return _prefix_affine(m, w, counts, request, count)
    if router == SESSION_AFFINE and counts[KEPT, request] >= 0:
        return session_home(m, counts, request)
    return least_loaded(m, counts, request, count)


@kernel
def choose(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, request: int) -> int:
    """The record of the engine that takes the request; NONE: no replica can serve it, NONE_ON: none that can is on,
    LATE: its time has passed."""
    count = candidates(m, counts, request)
    if count == 0:
        return NONE
    if rare(m, CHOOSY) > 0:
        count = candidates_on(m, counts, request)
        if count == 0:
            return NONE_ON
    if rare(m, EXPIRES) > 0 and lateness(m, times, request, m[CLOCK]) != IN_TIME:
        return LATE
    if m[ROUTER] == KV_AWARE:
        return least_cost(m, w, times, counts, request)
    gang = _gang(m, w, counts, draws, request, count)
    return entry_of(m, m[m[GANGS] + GANG_WORDS * gang])


@kernel
def route(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, draws: IntArray, request: int) -> int:
    """As `choose`, for an arriving request."""
    if rare(m, TRANSFER) == 0:
        return choose(m, w, times, counts, draws, request)
    if not choose_side(m, w, times, counts, request):
        return NONE
    rep = choose(m, w, times, counts, draws, request)
    m[CHOOSY] = BY_POWER if rare(m, CONTROL) > 0 else 0
    return rep
