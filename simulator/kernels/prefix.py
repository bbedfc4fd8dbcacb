"""The prefix cache of the fast engine: the reference's BlockPool over arrays.

Only content that somebody can ask for has a name: shared beginnings, and what a preempted request left behind, which it
may find again itself. Blocks that decoding sequences begin are anonymous, a number and no owner, until one of these
sequences is preempted or ends: which of them got which block cannot be told apart from outside.

A block's content: NO_CONTENT; k >= 0, the shared block named k; or OWN - (row * width + index), block `index` of the
request in seat `row`.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.kernels.compile import kernel
from simulator.kernels.state import (
    ANONYMOUS,
    BLOCK_SIZE,
    FIRST_HITS,
    FREE,
    FREE_HITS,
    NOBODY,
    OFFERED,
    TABLED,
)
from simulator.steptime import IntArray

Int32Array = npt.NDArray[np.int32]

NO_CONTENT: Final = -1
OWN: Final = -2
BEFORE: Final = 0
BEHIND: Final = 1
HOLDERS: Final = 0
CONTENT: Final = 1
FIRST: Final = 0
COUNT: Final = 1


class Cache(NamedTuple):
    """Arrays of the prefix cache, int32 (one entry each where caching is off).

    link       [2, num_blocks + 1]  the free queue, next to be taken first: BEFORE and BEHIND; last column: its end
    block      [2, num_blocks]  HOLDERS and CONTENT of each block
    table      [max_num_seqs, width]  blocks of the request in each seat
    own        [max_num_seqs, width]  where the own content of the request in each seat can be found, -1: nowhere
    where      [names]  block that holds the shared content of this name, -1: none
    names      recorded names, each of `parts` blocks;  span: [2, n] FIRST entry in `names` and COUNT of shared blocks
    anonymous  [num_blocks]  stack of blocks that decoding sequences hold together
    parts      [1]  blocks per recorded name
    """

    link: Int32Array
    block: Int32Array
    table: Int32Array
    own: Int32Array
    where: Int32Array
    names: Int32Array
    span: IntArray
    anonymous: Int32Array
    parts: Int32Array


@kernel
def _unlink(cache: Cache, block: int) -> None:
    before, behind = cache.link[BEFORE, block], cache.link[BEHIND, block]
    cache.link[BEHIND, before] = behind
    cache.link[BEFORE, behind] = before


@kernel
def _forget(cache: Cache, block: int) -> None:
    content = cache.block[CONTENT, block]
    if content >= 0:
        cache.where[content] = NOBODY
    elif content <= OWN:
        width = cache.own.shape[1]
        place = OWN - content
        cache.own[place // width, place % width] = NOBODY
    cache.block[CONTENT, block] = NO_CONTENT


@kernel
def _take(st: IntArray, cache: Cache) -> int:
    """The block at the head of the free queue; its content is lost."""
    end = cache.link.shape[1] - 1
    block = cache.link[BEHIND, end]
    _unlink(cache, block)
    _forget(cache, block)
    cache.block[HOLDERS, block] = 1
    st[FREE] -= 1
    return int(block)


@kernel
def _hold(st: IntArray, cache: Cache, block: int) -> None:
    if cache.block[HOLDERS, block] == 0:
        _unlink(cache, block)
        st[FREE] -= 1
    cache.block[HOLDERS, block] += 1


@kernel
def _drop(st: IntArray, cache: Cache, block: int) -> None:
    cache.block[HOLDERS, block] -= 1
    if cache.block[HOLDERS, block] > 0:
        return
    end = cache.link.shape[1] - 1
    last = cache.link[BEFORE, end]
    cache.link[BEHIND, last] = block
    cache.link[BEFORE, block] = last
    cache.link[BEHIND, block] = end
    cache.link[BEFORE, end] = block
    st[FREE] += 1


@kernel
def _name(cache: Cache, request: int, index: int) -> int:
    parts = cache.parts[0]
    return int(cache.names[cache.span[FIRST, request] + index // parts] * parts + index % parts)


@kernel
def _cached_block(cache: Cache, request: int, row: int, index: int) -> int:
    """The block that holds block `index` of the request's tokens, -1: none. `row`: its seat, -1 if it has none."""
    if index < cache.span[COUNT, request]:
        return int(cache.where[_name(cache, request, index)])
    return int(cache.own[row, index]) if row != NOBODY else NOBODY


@kernel
def look_up(st: IntArray, cache: Cache, request: int, row: int, target: int) -> None:
    """Set FIRST_HITS and FREE_HITS; a hit leaves at least one of `target` tokens to compute."""
    st[FIRST_HITS] = st[FREE_HITS] = 0
    for index in range((target - 1) // st[BLOCK_SIZE]):
        block = _cached_block(cache, request, row, index)
        if block == NOBODY:
            break
        st[FIRST_HITS] += 1
        if cache.block[HOLDERS, block] == 0:
            st[FREE_HITS] += 1


@kernel
def seat_blocks(st: IntArray, seat: IntArray, cache: Cache, request: int, row: int, blocks: int) -> None:
    """Fill the row's table: FIRST_HITS cached blocks, then new ones up to `blocks`."""
    hits = st[FIRST_HITS]
    for index in range(hits):
        block = _cached_block(cache, request, row, index)
        _hold(st, cache, block)
        cache.table[row, index] = block
    for index in range(hits, blocks):
        cache.table[row, index] = _take(st, cache)
    seat[row, TABLED] = blocks
    seat[row, OFFERED] = min(hits, cache.span[COUNT, request])


@kernel
def extend_blocks(st: IntArray, seat: IntArray, cache: Cache, row: int, blocks: int) -> None:
    """New blocks for a prompt's next chunk, up to `blocks` in all."""
    for index in range(seat[row, TABLED], blocks):
        cache.table[row, index] = _take(st, cache)
    seat[row, TABLED] = max(seat[row, TABLED], blocks)


@kernel
def take_anonymous(st: IntArray, cache: Cache, blocks: int) -> None:
    """Blocks for decoding sequences that need a new one."""
    for _ in range(blocks):
        cache.anonymous[st[ANONYMOUS]] = _take(st, cache)
        st[ANONYMOUS] += 1


@kernel
def offer_shared(st: IntArray, seat: IntArray, cache: Cache, request: int, row: int, computed: int) -> None:
    """Publish the shared blocks that are now full and computed: the newest copy of a content is what is found."""
    upto = min(cache.span[COUNT, request], computed // st[BLOCK_SIZE])
    for index in range(seat[row, OFFERED], upto):
        block, name = cache.table[row, index], _name(cache, request, index)
        older = cache.where[name]
        if older != NOBODY:
            cache.block[CONTENT, older] = NO_CONTENT
        _forget(cache, block)
        cache.where[name] = block
        cache.block[CONTENT, block] = name
    seat[row, OFFERED] = max(seat[row, OFFERED], upto)


@kernel
def _leave_own(st: IntArray, cache: Cache, request: int, row: int, computed: int) -> None:
    """A preempted request's full blocks stay findable, by itself."""
    width = cache.own.shape[1]
    for index in range(cache.span[COUNT, request], computed // st[BLOCK_SIZE]):
        block, older = cache.table[row, index], cache.own[row, index]
        if older == block:
            continue
        if older != NOBODY:
            cache.block[CONTENT, older] = NO_CONTENT
        cache.own[row, index] = block
        cache.block[CONTENT, block] = OWN - (row * width + index)


@kernel
def forget_own(st: IntArray, cache: Cache, row: int, tokens: int) -> None:
    """The request has ended: nobody will look for its own content again."""
    for index in range(tokens // st[BLOCK_SIZE]):
        block = cache.own[row, index]
        if block != NOBODY:
            cache.block[CONTENT, block] = NO_CONTENT
            cache.own[row, index] = NOBODY


@kernel
def release_blocks(
    st: IntArray, seat: IntArray, cache: Cache, request: int, row: int, computed: int, preempted: bool
) -> None:
    """Free the row's blocks, the last one first; anonymous ones get their place in the table here."""
    blocks = (computed + st[BLOCK_SIZE] - 1) // st[BLOCK_SIZE]
    for index in range(seat[row, TABLED], blocks):
        st[ANONYMOUS] -= 1
        cache.table[row, index] = cache.anonymous[st[ANONYMOUS]]
    if preempted:
        _leave_own(st, cache, request, row, computed)
    for index in range(blocks - 1, -1, -1):
        _drop(st, cache, cache.table[row, index])
    seat[row, TABLED] = 0
