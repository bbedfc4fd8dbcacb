"""The prefix cache of the fast engine: the reference's BlockPool in the int32 arena `w`.

As in `m`, an id is the offset of a record's first word, and 0 is none. A block's record:

  BEFORE, AFTER  neighbours in the free queue, the next to be taken first; QUEUE is the record of its end. Blocks never
                 used stand before all others and are not linked: they are the records from UNUSED_BLOCK to UNUSED_END
  HOLDERS        sequences that hold it
  CONTENT        the place in w that finds this block, 0 if it cannot be found

A place that finds a block is one of
  - the replica's WHERE + name, for shared content (beginnings of prompts);
  - entry WIDTH + i of a row's table, for block i of what a preempted request left behind, which it may find again.
Only these can be asked for. Blocks that decoding sequences begin are anonymous, a number and no owner, until one of
these sequences is preempted or ends: which of them got which block cannot be told apart from outside.

A row's table: WIDTH blocks that it holds, then WIDTH places for its own content. SPANS + 2 * request: the first of the
request's entries in the list of names, and how many shared blocks it has; each entry names PARTS blocks in a row.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from simulator.kernels.compile import kernel
from simulator.kernels.state import (
    ANONYMOUS,
    BLOCK_SIZE,
    COMPUTED,
    FREE,
    FREE_HITS,
    HITS,
    NOBODY,
    OFFERED,
    PARTS,
    QUEUE,
    REQUEST,
    SHARED,
    SPANS,
    TABLE,
    TABLED,
    UNUSED_BLOCK,
    UNUSED_END,
    WHERE,
    WIDTH,
)
from simulator.steptime import IntArray

Int32Array = npt.NDArray[np.int32]

BEFORE: Final = 0
AFTER: Final = 1
HOLDERS: Final = 2
CONTENT: Final = 3
BLOCK_WORDS: Final = 4
NO_BLOCK: Final = 0


@kernel
def _unlink(w: Int32Array, block: int) -> None:
    before, after = w[block + BEFORE], w[block + AFTER]
    w[before + AFTER] = after
    w[after + BEFORE] = before


@kernel
def _forget(w: Int32Array, block: int) -> None:
    content = w[block + CONTENT]
    if content != 0:
        w[content] = NO_BLOCK
        w[block + CONTENT] = 0


@kernel
def _find_at(w: Int32Array, block: int, place: int) -> None:
    """From now on `place` finds the block, and no older copy."""
    older = w[place]
    if older == block:
        return
    if older != NO_BLOCK:
        w[older + CONTENT] = 0
    _forget(w, block)
    w[place] = block
    w[block + CONTENT] = place


@kernel
def _take(m: IntArray, w: Int32Array, rep: int) -> int:
    """The block at the head of the free queue; its content is lost."""
    block = m[rep + UNUSED_BLOCK]
    if block < m[rep + UNUSED_END]:
        m[rep + UNUSED_BLOCK] = block + BLOCK_WORDS
    else:
        block = int(w[m[rep + QUEUE] + AFTER])
        _unlink(w, block)
        _forget(w, block)
    w[block + HOLDERS] = 1
    m[rep + FREE] -= 1
    return int(block)


@kernel
def _hold(m: IntArray, w: Int32Array, rep: int, block: int) -> None:
    if w[block + HOLDERS] == 0:
        _unlink(w, block)
        m[rep + FREE] -= 1
    else:
        m[rep + SHARED] += 1
    w[block + HOLDERS] += 1


@kernel
def _drop(m: IntArray, w: Int32Array, rep: int, block: int) -> None:
    w[block + HOLDERS] -= 1
    if w[block + HOLDERS] > 0:
        m[rep + SHARED] -= 1
        return
    end = m[rep + QUEUE]
    last = w[end + BEFORE]
    w[last + AFTER] = block
    w[block + BEFORE] = last
    w[block + AFTER] = end
    w[end + BEFORE] = block
    m[rep + FREE] += 1


@kernel
def _shared_blocks(m: IntArray, w: Int32Array, rep: int, request: int) -> int:
    return int(w[m[rep + SPANS] + 2 * request + 1])


@kernel
def _place(m: IntArray, w: Int32Array, rep: int, request: int, row: int, index: int) -> int:
    """The place that finds block `index` of the request, 0 if there is none. `row`: its row if it has one."""
    span = m[rep + SPANS] + 2 * request
    if index < w[span + 1]:
        entry = index // m[rep + PARTS]
        return int(m[rep + WHERE] + w[w[span] + entry] + index - entry * m[rep + PARTS])
    return int(m[row + TABLE] + m[rep + WIDTH] + index) if row != NOBODY else 0


@kernel
def look_up(m: IntArray, w: Int32Array, rep: int, request: int, row: int, target: int) -> None:
    """Set HITS and FREE_HITS; a hit leaves at least one of `target` tokens to compute."""
    hits = free_hits = 0
    for index in range((target - 1) // m[rep + BLOCK_SIZE]):
        block = w[_place(m, w, rep, request, row, index)]  # w[0] is no block
        if block == NO_BLOCK:
            break
        hits += 1
        if w[block + HOLDERS] == 0:
            free_hits += 1
    m[rep + HITS] = hits
    m[rep + FREE_HITS] = free_hits


@kernel
def seat_blocks(m: IntArray, w: Int32Array, rep: int, row: int, blocks: int) -> None:
    """Fill the row's table: HITS cached blocks, then new ones up to `blocks`."""
    hits, table, request = m[rep + HITS], m[row + TABLE], m[row + REQUEST]
    for index in range(hits):
        block = int(w[_place(m, w, rep, request, row, index)])
        _hold(m, w, rep, block)
        w[table + index] = block
    for index in range(hits, blocks):
        w[table + index] = _take(m, w, rep)
    m[row + TABLED] = blocks
    m[row + OFFERED] = min(hits, _shared_blocks(m, w, rep, request))


@kernel
def extend_blocks(m: IntArray, w: Int32Array, rep: int, row: int, blocks: int) -> None:
    """New blocks for a prompt's next chunk, up to `blocks` in all."""
    for index in range(m[row + TABLED], blocks):
        w[m[row + TABLE] + index] = _take(m, w, rep)
    m[row + TABLED] = max(m[row + TABLED], blocks)


@kernel
def take_anonymous(m: IntArray, w: Int32Array, rep: int, blocks: int) -> None:
    """Blocks for decoding sequences that need a new one."""
    for _ in range(blocks):
        w[m[rep + ANONYMOUS]] = _take(m, w, rep)
        m[rep + ANONYMOUS] += 1


@kernel
def offer_shared(m: IntArray, w: Int32Array, rep: int, row: int) -> None:
    """Publish the shared blocks that are now full and computed: the newest copy of a content is what is found."""
    request = m[row + REQUEST]
    upto = min(_shared_blocks(m, w, rep, request), m[row + COMPUTED] // m[rep + BLOCK_SIZE])
    for index in range(m[row + OFFERED], upto):
        block = int(w[m[row + TABLE] + index])
        _find_at(w, block, _place(m, w, rep, request, row, index))
    m[row + OFFERED] = max(m[row + OFFERED], upto)


@kernel
def _leave_own(m: IntArray, w: Int32Array, rep: int, row: int, computed: int) -> None:
    """A preempted request's full blocks stay findable, by itself."""
    table = m[row + TABLE]
    for index in range(_shared_blocks(m, w, rep, m[row + REQUEST]), computed // m[rep + BLOCK_SIZE]):
        _find_at(w, int(w[table + index]), table + m[rep + WIDTH] + index)


@kernel
def forget_own(m: IntArray, w: Int32Array, rep: int, row: int, computed: int) -> None:
    """The request has ended: nobody will look for its own content again."""
    own = m[row + TABLE] + m[rep + WIDTH]
    for index in range(computed // m[rep + BLOCK_SIZE]):
        block = w[own + index]
        if block != NO_BLOCK:
            w[block + CONTENT] = 0
            w[own + index] = NO_BLOCK


@kernel
def release_blocks(m: IntArray, w: Int32Array, rep: int, row: int, computed: int, preempted: bool) -> None:
    """Free the row's blocks, the last one first; anonymous ones get their place in the table here."""
    table = m[row + TABLE]
    blocks = (computed + m[rep + BLOCK_SIZE] - 1) // m[rep + BLOCK_SIZE]
    for index in range(m[row + TABLED], blocks):
        m[rep + ANONYMOUS] -= 1
        w[table + index] = w[m[rep + ANONYMOUS]]
    if preempted:
        _leave_own(m, w, rep, row, computed)
    for index in range(blocks - 1, -1, -1):
        _drop(m, w, rep, int(w[table + index]))
    m[row + TABLED] = 0
