"""Beginnings: blocks that begin with shared content and go on with something else, for hits that end inside a block.

Of each shared block at most one beginning is remembered, the longest, the newest of equals. A beginning's record:

  INDEX   which block of the chain
  TOKENS  how many of the shared tokens it begins with
  OWNER   who has the block: a run in the free queue, of which it is the first (offset in w), or a running request's
          table (minus its offset in m)
  NEXT    the next beginning in the same list
  PLACE   the list's head

They stand in w as the runs do; each has a block of its own, so there are never more of them than blocks.
"""

from typing import Final

from simulator.kernels.compile import kernel
from simulator.kernels.runs import BEGUN, Int32Array, give_record_back, take_record
from simulator.kernels.state import UNUSED_BEGINNING
from simulator.steptime import IntArray

INDEX: Final = 0
TOKENS: Final = 1
OWNER: Final = 2
NEXT: Final = 3
PLACE: Final = 4
BEGINNING_WORDS: Final = 5
NO_BEGINNING: Final = 0

TABLE_BEGUN: Final = 2  # of a block table (see `prefix.py`): the beginning that the block behind its runs has; 0: none


@kernel
def beginning(w: Int32Array, place: int, index: int) -> int:
    """The beginning of block `index` in the list of `place`, NO_BEGINNING if there is none."""
    found = w[place]
    while found != NO_BEGINNING and w[found + INDEX] != index:
        found = w[found + NEXT]
    return int(found)


@kernel
def forget_beginning(m: IntArray, w: Int32Array, rep: int, begun: int) -> None:
    """The block has been taken for something else, or a longer beginning counts."""
    place = w[begun + PLACE]
    while w[place] != begun:
        place = w[place] + NEXT
    w[place] = w[begun + NEXT]
    give_record_back(m, w, rep + UNUSED_BEGINNING, begun, NEXT)


@kernel
def begin_block(m: IntArray, w: Int32Array, rep: int, table: int, place: int, index: int, tokens: int) -> None:
    """The table's block `index` begins with `tokens` tokens of the content whose beginnings `place` finds."""
    older = beginning(w, place, index)
    if older != NO_BEGINNING:
        if w[older + TOKENS] > tokens:
            return
        owner = w[older + OWNER]
        if owner > 0:
            w[owner + BEGUN] = NO_BEGINNING
        else:
            m[-owner + TABLE_BEGUN] = NO_BEGINNING
        forget_beginning(m, w, rep, older)
    begun = take_record(m, w, rep + UNUSED_BEGINNING, BEGINNING_WORDS, NEXT)
    w[begun + INDEX], w[begun + TOKENS], w[begun + OWNER] = index, tokens, -table
    w[begun + NEXT], w[begun + PLACE] = w[place], place
    w[place] = begun
    m[table + TABLE_BEGUN] = begun


@kernel
def free_with_run(m: IntArray, w: Int32Array, table: int, run: int) -> None:
    """The table gives up its blocks; the first of those in `run` is the one that it has begun, if any."""
    begun = m[table + TABLE_BEGUN]
    if begun != NO_BEGINNING:
        w[run + BEGUN] = begun
        w[begun + OWNER] = run
        m[table + TABLE_BEGUN] = NO_BEGINNING


@kernel
def take_with_run(m: IntArray, w: Int32Array, table: int, run: int) -> None:
    """The table takes up the blocks of a run that it left behind."""
    begun = w[run + BEGUN]
    if begun != NO_BEGINNING:
        w[run + BEGUN] = NO_BEGINNING
        w[begun + OWNER] = -table
        m[table + TABLE_BEGUN] = begun
