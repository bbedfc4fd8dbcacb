"""Runs of blocks: what the fast engine's prefix cache is made of.

The reference has numbered blocks. Their numbers cannot be seen from outside: only how many are free, what content can
be found, who holds it, and in which order it is lost. So blocks are told apart by content alone, and those that are
alike are one record, a run: blocks LO to HI - 1 of a chain (counted from the prompt's beginning).

Blocks of a running request that nobody can find (its own text, a block that is not full) are no run but a number: see
`prefix.py`. A run is blocks that can be found, or could be, and blocks in the free queue:

  LO, HI         which blocks; of nameless ones only HI - LO counts
  HOLDERS        requests that hold them, all of them alike; 0: the run stands in the free queue
  HEAD           place of the list that finds them, 0: nobody finds them (any more)
  NEXT           the next run of that list, by LO; lists have gaps where blocks were lost, and no overlaps
  UPPER          the run that was split off above this one: tables that name this one go on there
  BEFORE, AFTER  neighbours in the free queue, the next to be taken first; within a run the last block is taken first
  BEGUN          the beginning that its first block has (`begun.py`), 0: none

Records are offsets in the int32 arena w. Every run has a block of the pool, so there are never more than blocks.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from simulator.kernels.compile import kernel
from simulator.kernels.state import BLOCKS, FREE, QUEUE, SHARED, UNUSED_RUN
from simulator.steptime import IntArray

Int32Array = npt.NDArray[np.int32]

LO: Final = 0
HI: Final = 1
HOLDERS: Final = 2
HEAD: Final = 3
NEXT: Final = 4
UPPER: Final = 5
BEFORE: Final = 6
AFTER: Final = 7
BEGUN: Final = 8
RUN_WORDS: Final = 9
NO_RUN: Final = 0


@kernel
def take_record(m: IntArray, w: Int32Array, unused: int, words: int, link: int) -> int:
    """A record of so many words of w: one given back, else the next one never used.

    Two words of m, from `unused` on, tell the first one never used and the last one given back; its field `link` the
    one given back before it.
    """
    record = m[unused + 1]
    if record != 0:
        m[unused + 1] = w[record + link]
    else:
        record = m[unused]
        m[unused] = record + words
    return int(record)


@kernel
def give_record_back(m: IntArray, w: Int32Array, unused: int, record: int, link: int) -> None:
    w[record + link] = m[unused + 1]
    m[unused + 1] = record


@kernel
def new_run(m: IntArray, w: Int32Array, rep: int, lo: int, hi: int) -> int:
    """A record for blocks lo to hi - 1, in no list and not in the queue."""
    run = take_record(m, w, rep + UNUSED_RUN, RUN_WORDS, NEXT)
    w[run + LO], w[run + HI] = lo, hi
    w[run + HOLDERS] = w[run + HEAD] = w[run + NEXT] = w[run + UPPER] = w[run + BEGUN] = 0
    return run


@kernel
def empty_queue(m: IntArray, w: Int32Array, rep: int) -> None:
    """All blocks are free and nameless, in one run: the state at the start, where w is zero."""
    end, run = m[rep + QUEUE], m[rep + UNUSED_RUN] - RUN_WORDS
    w[end + BEFORE] = w[end + AFTER] = run
    w[run + BEFORE] = w[run + AFTER] = end
    w[run + HI] = m[rep + BLOCKS]


@kernel
def _link(w: Int32Array, run: int, after: int) -> None:
    """Put the run into the queue, before `after`."""
    before = w[after + BEFORE]
    w[before + AFTER] = run
    w[run + BEFORE] = before
    w[run + AFTER] = after
    w[after + BEFORE] = run


@kernel
def _unlink(w: Int32Array, run: int) -> None:
    before, after = w[run + BEFORE], w[run + AFTER]
    w[before + AFTER] = after
    w[after + BEFORE] = before


@kernel
def lose_name(w: Int32Array, run: int) -> None:
    """Nobody finds the run any more."""
    place = w[run + HEAD]
    if place == 0:
        return
    while w[place] != run:
        place = w[place] + NEXT
    w[place] = w[run + NEXT]
    w[run + HEAD] = 0


@kernel
def split(m: IntArray, w: Int32Array, rep: int, run: int, at: int) -> None:
    """Cut the run before block `at`, which lies inside; the upper part is held, found and lost as it was."""
    upper = new_run(m, w, rep, at, w[run + HI])
    w[run + HI] = at
    w[upper + HOLDERS] = w[run + HOLDERS]
    w[upper + HEAD] = w[run + HEAD]
    w[upper + UPPER] = w[run + UPPER]
    w[run + UPPER] = upper
    if w[run + HEAD] != 0:
        w[upper + NEXT] = w[run + NEXT]
        w[run + NEXT] = upper
    if w[run + HOLDERS] == 0:
        _link(w, upper, run)


@kernel
def name_run(m: IntArray, w: Int32Array, rep: int, head: int, lo: int, hi: int) -> int:
    """A run that is found in the list of `head`; older copies of its blocks are not found any more."""
    place = head
    while w[place] != NO_RUN and w[w[place] + HI] <= lo:
        place = w[place] + NEXT
    if w[place] != NO_RUN and w[w[place] + LO] < lo:
        split(m, w, rep, w[place], lo)
        place = w[place] + NEXT
    while w[place] != NO_RUN and w[w[place] + LO] < hi:
        older = w[place]
        if w[older + HI] > hi:
            split(m, w, rep, older, hi)
        w[place] = w[older + NEXT]
        w[older + HEAD] = 0
    run = new_run(m, w, rep, lo, hi)
    w[run + HEAD] = head
    w[run + NEXT] = w[place]
    w[place] = run
    return run


@kernel
def hold_run(m: IntArray, w: Int32Array, rep: int, run: int) -> None:
    """One more holder."""
    blocks = w[run + HI] - w[run + LO]
    if w[run + HOLDERS] == 0:
        _unlink(w, run)
        m[rep + FREE] -= blocks
    else:
        m[rep + SHARED] += blocks
    w[run + HOLDERS] += 1


@kernel
def drop_run(m: IntArray, w: Int32Array, rep: int, run: int) -> None:
    """One holder less; without any the run comes to stand at the queue's end."""
    blocks = w[run + HI] - w[run + LO]
    w[run + HOLDERS] -= 1
    if w[run + HOLDERS] > 0:
        m[rep + SHARED] -= blocks
    else:
        free_run(m, w, rep, run)


@kernel
def free_run(m: IntArray, w: Int32Array, rep: int, run: int) -> None:
    """A run that nobody holds comes to stand at the queue's end."""
    _link(w, run, m[rep + QUEUE])
    m[rep + FREE] += w[run + HI] - w[run + LO]


@kernel
def free_nameless(m: IntArray, w: Int32Array, rep: int, blocks: int) -> None:
    """Blocks that nobody can find come to stand at the queue's end, together with such that are there."""
    last = w[m[rep + QUEUE] + BEFORE]
    if last != m[rep + QUEUE] and w[last + HEAD] == 0 and w[last + BEGUN] == 0:
        w[last + HI] += blocks
        m[rep + FREE] += blocks
    else:
        free_run(m, w, rep, new_run(m, w, rep, 0, blocks))


@kernel
def take_run(m: IntArray, w: Int32Array, rep: int, run: int) -> None:
    """All blocks of a free run become a running request's, and the run is no more."""
    m[rep + FREE] -= w[run + HI] - w[run + LO]
    _unlink(w, run)
    lose_name(w, run)
    give_record_back(m, w, rep + UNUSED_RUN, run, NEXT)
