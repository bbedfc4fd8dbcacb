"""The prefix cache of the fast engine: the reference's KvManager over runs of blocks (`runs.py`).

Here stands what look-ups (`lookup.py`) and the block tables of running requests (`tables.py`) share.

A running request has OFFERED leading blocks that others can find, or could: they stand in its tables, in runs. Its
other blocks are only counted, as nobody asks which they are. When it ends they become nameless; when it is preempted,
the full ones among them that hold content of its own are a run that it alone can find, until they are taken.

What stands where in w:

  SPANS + 2 * request  first of the request's entries, and how many tokens it may share. An entry is the place of a
                       list of runs, relative to HEADS, and stands for PARTS blocks in a row
  HEADS                lists of the shared content's runs, NAMES of each table;  BEGINNINGS: of their beginnings, one
                       for each, or 0
  TABLE_AT of a table  WIDTH runs, then the list of what the request left behind, or freed behind a window, if that is
                       not in OWN
  SCRATCH              WIDTH words

A row has BLOCK_TABLES block tables: records in m from its TABLE on. All are equally long and stand for the same tokens,
but of one a block may be lost that another still has, and of a window's the first TABLE_GONE blocks are not held. Those
of the request's own content among them can still be found: they are runs in its own list.
"""

from typing import Final

from simulator.kernels.begun import (
    NO_BEGINNING,
    forget_beginning,
)
from simulator.kernels.compile import kernel
from simulator.kernels.runs import (
    AFTER,
    BEGUN,
    HI,
    LO,
    Int32Array,
    take_run,
)
from simulator.kernels.state import (
    BLOCK_BITS,
    BLOCK_SIZE,
    BLOCK_TABLES,
    FREE,
    OWN,
    QUEUE,
    SPANS,
    TABLE,
    TABLE_WINDOWS,
    WIDTH,
)
from simulator.steptime import IntArray

TABLE_AT: Final = 0  # of a block table: where its runs stand in w
TABLE_RUNS: Final = 1  # and how many stood there
TABLE_GONE: Final = 3  # leading blocks that it does not hold: they lie behind its window
TABLE_FIRST: Final = 4  # the first of its runs that it still holds
TABLE_SIZE: Final = 5


@kernel
def whole_blocks(m: IntArray, rep: int, tokens: int) -> int:
    """Full blocks of `tokens` tokens."""
    if m[rep + BLOCK_BITS] >= 0:
        return int(tokens >> m[rep + BLOCK_BITS])
    return int(tokens // m[rep + BLOCK_SIZE])


@kernel
def shared_blocks(m: IntArray, w: Int32Array, rep: int, request: int) -> int:
    """Full blocks of the request that others may have too."""
    return whole_blocks(m, rep, w[m[rep + SPANS] + 2 * request + 1])


@kernel
def own_list(m: IntArray, rep: int, request: int, row: int, table: int) -> int:
    """Place of the list of what the request left behind of the table with this number."""
    if m[rep + OWN] > 0:
        return int(m[rep + OWN] + request * m[rep + BLOCK_TABLES] + table)
    return int(m[m[row + TABLE] + table * TABLE_SIZE + TABLE_AT] + m[rep + WIDTH])


@kernel
def first_attended(m: IntArray, rep: int, number: int, computed: int) -> int:
    """The first block of the table with this number that a token after `computed` ones attends to."""
    if m[rep + TABLE_WINDOWS] == 0:
        return 0
    window = m[m[rep + TABLE_WINDOWS] + number]
    return whole_blocks(m, rep, max(0, computed - window + 1)) if window > 0 else 0


@kernel
def take_blocks(m: IntArray, w: Int32Array, rep: int, blocks: int) -> None:
    """Blocks from the head of the free queue; what they held is lost."""
    left = blocks
    while left > 0:
        run = w[m[rep + QUEUE] + AFTER]
        here = w[run + HI] - w[run + LO]
        if here > left:
            w[run + HI] -= left
            m[rep + FREE] -= left
            return
        if w[run + BEGUN] != NO_BEGINNING:
            forget_beginning(m, w, rep, w[run + BEGUN])
        take_run(m, w, rep, run)
        left -= here
