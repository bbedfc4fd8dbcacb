"""Which replicas may take a request, and how much they are loaded.

Replicas are counted as gangs here: most are one engine, see `gangs.py`. GANGS holds two words for each, the record of
its first engine and its weight. The tree LOADS holds, by gang, what the router compares: requests outstanding, or the
prompt tokens of these.
"""

from typing import Final

from simulator.kernels.arrive import takes
from simulator.kernels.compile import kernel
from simulator.kernels.handed import FITS
from simulator.kernels.plain import rare
from simulator.kernels.power import accepts
from simulator.kernels.routers import LEAST_TOKENS
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BY_FIT,
    CHOOSY,
    CONTROL,
    EVEN,
    GANG_COUNT,
    GANG_NUMBER,
    GANGS,
    LOADS,
    NONE,
    OUTSTANDING,
    POOL_FIRST,
    POOL_REPLICAS,
    POOL_SIZE,
    POOLS,
    POOLS_END,
    PROMPT,
    ROUTER,
    TRANSFER,
)
from simulator.kernels.tree import tree_key, tree_set, tree_top
from simulator.steptime import IntArray

GANG_WORDS: Final = 2


@kernel
def _passes(m: IntArray, gang: int) -> bool:
    """The replica is on, and one that computes the arriving prompt itself if only such are asked."""
    if rare(m, CONTROL) > 0 and not accepts(m, gang):
        return False
    return bool(rare(m, CHOOSY) != BY_FIT or m[m[rare(m, TRANSFER) + FITS] + gang] > 0)


@kernel
def willing(m: IntArray, gang: int) -> bool:
    """Whether a candidate can be chosen now, where not all of them can."""
    return rare(m, CHOOSY) == 0 or _passes(m, gang)


@kernel
def candidates(m: IntArray, counts: Int32Array, request: int) -> int:
    """How many replicas may take the request, on or not."""
    total = 0
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if takes(m, counts, pool, request):
            total += m[pool + POOL_REPLICAS]
    return total


@kernel
def candidates_on(m: IntArray, counts: Int32Array, request: int) -> int:
    """How many of them are on."""
    total = 0
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if takes(m, counts, pool, request):
            for gang in range(m[pool + POOL_FIRST], m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]):
                if willing(m, gang):
                    total += 1
    return total


@kernel
def candidate(m: IntArray, counts: Int32Array, request: int, place: int) -> int:
    """The number of the candidate at `place` (from 0) among those that are on."""
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if not takes(m, counts, pool, request):
            continue
        if rare(m, CHOOSY) == 0 and place >= m[pool + POOL_REPLICAS]:
            place -= m[pool + POOL_REPLICAS]
            continue
        for gang in range(m[pool + POOL_FIRST], m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]):
            if rare(m, CHOOSY) == 0:
                return int(gang + place)
            if willing(m, gang):
                if place == 0:
                    return int(gang)
                place -= 1
    return NONE


@kernel
def weight_of(m: IntArray, gang: int) -> int:
    return int(m[m[GANGS] + GANG_WORDS * gang + 1])


@kernel
def load_of(m: IntArray, gang: int) -> int:
    return tree_key(m, m[LOADS], gang)


@kernel
def change_load(m: IntArray, counts: Int32Array, rep: int, request: int, sign: int) -> None:
    """The request was sent to the engine (1), or has ended there (-1)."""
    m[rep + OUTSTANDING] += sign
    gang = m[rep + GANG_NUMBER]
    change = int(counts[PROMPT, request]) if m[ROUTER] == LEAST_TOKENS else 1
    tree_set(m, m[LOADS], gang, load_of(m, gang) + sign * change)


@kernel
def lighter(m: IntArray, one: int, other: int) -> bool:
    """The first has less load for its weight."""
    return bool(load_of(m, one) * weight_of(m, other) < load_of(m, other) * weight_of(m, one))


@kernel
def least_loaded(m: IntArray, counts: Int32Array, request: int, count: int) -> int:
    """Of `count` candidates that are on, the one with the least load for its weight."""
    if m[EVEN] > 0 and count == m[GANG_COUNT]:
        return tree_top(m, m[LOADS])
    least = NONE
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if takes(m, counts, pool, request):
            for gang in range(m[pool + POOL_FIRST], m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]):
                if willing(m, gang) and (least == NONE or lighter(m, gang, least)):
                    least = gang
    return int(least)
