"""The prefix cache of the fast engine: the reference's KvManager for one block table, over runs of blocks (`runs.py`).

A running request has OFFERED leading blocks that others can find, or could: they stand in its table, in runs. Its other
blocks are only counted, as nobody asks which they are. When it ends they become nameless; when it is preempted, the
full ones among them that hold content of its own are a run that it alone can find, until they are taken.

What stands where in w:

  SPANS + 2 * request  first of the request's entries, and how many tokens it may share. An entry is the place of a
                       list of runs, relative to HEADS, and stands for PARTS blocks in a row
  HEADS                lists of the shared content's runs;  BEGINNINGS: of their beginnings, one for each, or 0
  TABLE of a row       WIDTH runs, then the list of what the row's request left behind
  SCRATCH              WIDTH words
"""

from simulator.kernels.begun import (
    NO_BEGINNING,
    TOKENS,
    begin_block,
    beginning,
    forget_beginning,
    free_with_run,
    take_with_run,
)
from simulator.kernels.compile import kernel
from simulator.kernels.runs import (
    AFTER,
    BEGUN,
    HI,
    HOLDERS,
    LO,
    NEXT,
    NO_RUN,
    UPPER,
    Int32Array,
    drop_run,
    free_nameless,
    free_run,
    hold_run,
    lose_name,
    name_run,
    new_run,
    split,
    take_run,
)
from simulator.kernels.state import (
    BEGINNINGS,
    BLOCK_BITS,
    BLOCK_SIZE,
    COMPUTED,
    FREE,
    FREE_HITS,
    HEADS,
    HIT_TOKENS,
    HITS,
    NOBODY,
    OFFERED,
    PARTS,
    QUEUE,
    REQUEST,
    ROW_BEGAN,
    ROW_BEGUN,
    RUNS,
    SCRATCH,
    SPANS,
    TABLE,
    WIDTH,
)
from simulator.steptime import IntArray


@kernel
def _whole(m: IntArray, rep: int, tokens: int) -> int:
    """Full blocks of `tokens` tokens."""
    if m[rep + BLOCK_BITS] >= 0:
        return int(tokens >> m[rep + BLOCK_BITS])
    return int(tokens // m[rep + BLOCK_SIZE])


@kernel
def _shared_blocks(m: IntArray, w: Int32Array, rep: int, request: int) -> int:
    """Full blocks of the request that others may have too."""
    return _whole(m, rep, w[m[rep + SPANS] + 2 * request + 1])


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


@kernel
def _reach(m: IntArray, w: Int32Array, rep: int, first: int, index: int, upto: int) -> int:
    """How far the list that begins with run `first` goes without a gap from block `index`; counts FREE_HITS."""
    run = first
    while run != NO_RUN and index < upto:
        if w[run + HI] > index:
            if w[run + LO] > index:
                break
            end = min(w[run + HI], upto)
            if w[run + HOLDERS] == 0:
                m[rep + FREE_HITS] += end - index
            index = end
        run = w[run + NEXT]
    return int(index)


@kernel
def look_up(m: IntArray, w: Int32Array, rep: int, request: int, row: int, target: int) -> None:
    """Set HITS, FREE_HITS and HIT_TOKENS; a hit leaves at least one of `target` tokens to compute.

    `row`: the request's row if it was preempted, which may find its own content, else NOBODY.
    """
    limit = _whole(m, rep, target - 1)
    shared = _shared_blocks(m, w, rep, request)
    upto = min(limit, shared)
    entry, edge, index = w[m[rep + SPANS] + 2 * request], 0, 0
    m[rep + FREE_HITS] = 0
    while index < upto and index == edge:
        edge = min(upto, edge + m[rep + PARTS])
        index = _reach(m, w, rep, w[m[rep + HEADS] + w[entry]], index, edge)
        entry += 1
    if index == shared and row != NOBODY:
        index = _reach(m, w, rep, w[m[row + TABLE] + m[rep + WIDTH]], index, limit)
    m[rep + HITS] = index
    m[rep + HIT_TOKENS] = index * m[rep + BLOCK_SIZE]
    if m[rep + BEGINNINGS] > 0:
        m[rep + HIT_TOKENS] += _copied(m, w, rep, request, index, target)


@kernel
def _copied(m: IntArray, w: Int32Array, rep: int, request: int, index: int, target: int) -> int:
    """Tokens with which some block begins as the request's block `index` does; the last of `target` is left out."""
    span = m[rep + SPANS] + 2 * request
    wanted = min(w[span + 1], target - 1) - index * m[rep + BLOCK_SIZE]
    if wanted <= 0:
        return 0
    head = w[w[span] + index // m[rep + PARTS]]
    run = w[m[rep + HEADS] + head]
    while run != NO_RUN and w[run + HI] <= index:
        run = w[run + NEXT]
    if run != NO_RUN and w[run + LO] <= index:
        return int(wanted)
    begun = beginning(w, m[rep + BEGINNINGS] + head, index)
    return int(min(wanted, w[begun + TOKENS])) if begun != NO_BEGINNING else 0


@kernel
def _seat_runs(m: IntArray, w: Int32Array, rep: int, row: int, first: int, upto: int) -> None:
    """Hold the runs of a list from block OFFERED of the row up to block `upto`, where all of them are."""
    run = first
    while m[row + OFFERED] < upto:
        if w[run + HI] > m[row + OFFERED]:
            if w[run + HI] > upto:
                split(m, w, rep, run, upto)
            hold_run(m, w, rep, run)
            w[m[row + TABLE] + m[row + RUNS]] = run
            m[row + RUNS] += 1
            m[row + OFFERED] = w[run + HI]
        run = w[run + NEXT]


@kernel
def seat_blocks(m: IntArray, w: Int32Array, rep: int, row: int, blocks: int) -> None:
    """The row takes its HITS, and new blocks up to `blocks` in all."""
    request = m[row + REQUEST]
    upto = min(m[rep + HITS], _shared_blocks(m, w, rep, request))
    entry, edge = w[m[rep + SPANS] + 2 * request], 0
    m[row + OFFERED] = m[row + RUNS] = m[row + ROW_BEGAN] = 0
    while edge < upto:
        edge = min(upto, edge + m[rep + PARTS])
        _seat_runs(m, w, rep, row, w[m[rep + HEADS] + w[entry]], edge)
        entry += 1
    own = m[row + TABLE] + m[rep + WIDTH]
    index = upto
    while index < m[rep + HITS]:
        run = w[own]
        while w[run + HI] <= index:
            run = w[run + NEXT]
        if w[run + HI] > m[rep + HITS]:
            split(m, w, rep, run, m[rep + HITS])
        index = w[run + HI]
        take_with_run(m, w, row, run)
        take_run(m, w, rep, run)
    take_blocks(m, w, rep, blocks - m[rep + HITS])


@kernel
def offer_shared(m: IntArray, w: Int32Array, rep: int, row: int) -> None:
    """Publish the shared blocks that are now full and computed, and the one in which the shared content ends."""
    span = m[rep + SPANS] + 2 * m[row + REQUEST]
    shared = _whole(m, rep, w[span + 1])
    upto = min(shared, _whole(m, rep, m[row + COMPUTED]))
    while m[row + OFFERED] < upto:
        entry = m[row + OFFERED] // m[rep + PARTS]
        edge = min(upto, (entry + 1) * m[rep + PARTS])
        run = name_run(m, w, rep, m[rep + HEADS] + w[w[span] + entry], m[row + OFFERED], edge)
        w[run + HOLDERS] = 1
        w[m[row + TABLE] + m[row + RUNS]] = run
        m[row + RUNS] += 1
        m[row + OFFERED] = edge
    rest = w[span + 1] - shared * m[rep + BLOCK_SIZE]
    if m[rep + BEGINNINGS] > 0 and rest > 0 and m[row + ROW_BEGAN] == 0 and m[row + COMPUTED] >= w[span + 1]:
        m[row + ROW_BEGAN] = 1
        place = m[rep + BEGINNINGS] + w[w[span] + shared // m[rep + PARTS]]
        begin_block(m, w, rep, row, place, shared, rest)


@kernel
def forget_own(m: IntArray, w: Int32Array, rep: int, row: int) -> None:
    """The request has ended: nobody will look for its own content again."""
    own = m[row + TABLE] + m[rep + WIDTH]
    while w[own] != NO_RUN:
        lose_name(w, w[own])


@kernel
def _free_counted(m: IntArray, w: Int32Array, rep: int, row: int, blocks: int, full: int) -> None:
    """Free the blocks behind the OFFERED ones, `blocks` in all; full: how many of the first are kept to be found."""
    first = m[row + OFFERED]
    if blocks - full > 0 and (full > 0 or m[row + ROW_BEGUN] == NO_BEGINNING):
        free_nameless(m, w, rep, blocks - full)
    if full > 0:
        run = name_run(m, w, rep, m[row + TABLE] + m[rep + WIDTH], first, first + full)
    elif blocks > 0 and m[row + ROW_BEGUN] != NO_BEGINNING:
        run = new_run(m, w, rep, 0, blocks)
    else:
        return
    free_with_run(m, w, row, run)
    free_run(m, w, rep, run)


@kernel
def _drop_table(m: IntArray, w: Int32Array, rep: int, row: int) -> None:
    """Give up the row's runs, the last one first; runs that were split since stand there with their lower part."""
    table, scratch = m[row + TABLE], m[rep + SCRATCH]
    entry, count, index, run = 0, 0, 0, NO_RUN
    while index < m[row + OFFERED]:
        if entry < m[row + RUNS] and w[w[table + entry] + LO] == index:
            run = w[table + entry]
            entry += 1
        else:
            run = w[run + UPPER]
        w[scratch + count] = run
        count += 1
        index = w[run + HI]
    while count > 0:
        count -= 1
        drop_run(m, w, rep, w[scratch + count])


@kernel
def release_blocks(m: IntArray, w: Int32Array, rep: int, row: int, blocks: int, computed: int, preempted: bool) -> None:
    """Free the row's blocks, the last one first: `blocks` in all, of which `computed` tokens fill the first."""
    full = 0
    if preempted:
        full = max(0, _whole(m, rep, computed) - _shared_blocks(m, w, rep, m[row + REQUEST]))
    _free_counted(m, w, rep, row, blocks - m[row + OFFERED], full)
    _drop_table(m, w, rep, row)
    m[row + OFFERED] = m[row + RUNS] = 0
