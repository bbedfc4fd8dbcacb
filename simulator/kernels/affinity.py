"""Routers that keep together what belongs together: sessions by a hash, prompts by what was sent where before.

What the prefix-affine router remembers stands in w. SENT_SPANS + 2 * request: where in w the request's content is
named, or the number of its prefix group, and how many names or tokens it has. With groups, SENT holds for each group
and replica the tokens sent there; with recorded blocks, for each name a set of replicas, BITS of them to a word.
"""

from typing import Final

from simulator.hashing import mixed
from simulator.kernels.arrive import takes
from simulator.kernels.candidates import lighter, willing
from simulator.kernels.compile import kernel
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    GANG_COUNT,
    KEPT,
    NONE,
    POOL_FIRST,
    POOL_REPLICAS,
    POOL_SIZE,
    POOLS,
    POOLS_END,
    PROMPT,
    SENT,
    SENT_KIND,
    SENT_SPANS,
    SENT_TOKENS,
    SENT_WORDS,
)
from simulator.steptime import IntArray

NOTHING: Final = 0
GROUPS: Final = 1
CHAINS: Final = 2
BITS: Final = 30

_mixed = kernel(mixed)


@kernel
def session_home(m: IntArray, counts: Int32Array, request: int) -> int:
    """The candidate with the highest hash of session and replica."""
    home, highest, key = NONE, -1, _mixed(int(counts[KEPT, request]))
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if takes(m, counts, pool, request):
            for gang in range(m[pool + POOL_FIRST], m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]):
                value = _mixed(int(key ^ gang))
                if value > highest and willing(m, gang):
                    home, highest = gang, value
    return int(home)


@kernel
def _matched(m: IntArray, w: Int32Array, request: int, prompt: int, gang: int) -> int:
    """Leading prompt tokens of the request that were sent to the replica before."""
    span = m[SENT_SPANS] + 2 * request
    first, length = w[span], w[span + 1]
    if length == 0:
        return 0
    if m[SENT_KIND] == GROUPS:
        return int(min(length, w[m[SENT] + first * m[GANG_COUNT] + gang]))
    place, bit = gang // BITS, gang % BITS
    known = 0
    while known < length and (w[m[SENT] + w[first + known] * m[SENT_WORDS] + place] >> bit) & 1 == 1:
        known += 1
    return int(min(prompt, known * m[SENT_TOKENS]))


@kernel
def longest_match(m: IntArray, w: Int32Array, counts: Int32Array, request: int) -> tuple[int, int]:
    """(Candidate that was sent the most of this prompt, the less loaded one on a tie; tokens of it)."""
    best, most = NONE, -1
    if m[SENT_KIND] == NOTHING:
        return best, most
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if takes(m, counts, pool, request):
            for gang in range(m[pool + POOL_FIRST], m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]):
                if not willing(m, gang):
                    continue
                matched = _matched(m, w, request, int(counts[PROMPT, request]), gang)
                if matched > most or (matched == most and lighter(m, gang, best)):
                    best, most = gang, matched
    return best, most


@kernel
def note_sent(m: IntArray, w: Int32Array, request: int, gang: int) -> None:
    """The request is sent to the replica."""
    if m[SENT_KIND] == NOTHING:
        return
    span = m[SENT_SPANS] + 2 * request
    first, length = w[span], w[span + 1]
    if m[SENT_KIND] == GROUPS:
        if length > 0:
            tokens = m[SENT] + first * m[GANG_COUNT] + gang
            w[tokens] = max(w[tokens], length)
        return
    place, bit = gang // BITS, gang % BITS
    for entry in range(first, first + length):
        w[m[SENT] + w[entry] * m[SENT_WORDS] + place] |= 1 << bit
