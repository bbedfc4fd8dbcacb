"""The prefix cache of the fast engine: the reference's KvManager over runs of blocks (`runs.py`).

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
    TABLE_BEGUN,
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
    BLOCK_TABLES,
    FREE,
    FREE_HITS,
    GONE,
    HEADS,
    HIT_TOKENS,
    HITS,
    NAMES,
    NOBODY,
    OFFERED,
    OWN,
    PARTS,
    QUEUE,
    REQUEST,
    ROW_BEGAN,
    ROW_GONE,
    SCRATCH,
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
def _first_attended(m: IntArray, rep: int, number: int, computed: int) -> int:
    """The first block of the table with this number that a token after `computed` ones attends to."""
    if m[rep + TABLE_WINDOWS] == 0:
        return 0
    window = m[m[rep + TABLE_WINDOWS] + number]
    return _whole(m, rep, max(0, computed - window + 1)) if window > 0 else 0


@kernel
def _window_of(m: IntArray, rep: int, number: int) -> int:
    """The window of the table with this number; 0: none."""
    return int(m[m[rep + TABLE_WINDOWS] + number]) if m[rep + TABLE_WINDOWS] > 0 else 0


@kernel
def _own(m: IntArray, rep: int, request: int, row: int, table: int) -> int:
    """Place of the list of what the request left behind of the table with this number."""
    if m[rep + OWN] > 0:
        return int(m[rep + OWN] + request * m[rep + BLOCK_TABLES] + table)
    return int(m[m[row + TABLE] + table * TABLE_SIZE + TABLE_AT] + m[rep + WIDTH])


@kernel
def _found(m: IntArray, w: Int32Array, rep: int, request: int, row: int, table: int, first: int, limit: int) -> int:
    """How far, at most to `limit`, the table with this number has the request's blocks from `first` on; counts
    FREE_HITS."""
    shared = _shared_blocks(m, w, rep, request)
    upto, heads = min(limit, shared), m[rep + HEADS] + table * m[rep + NAMES]
    entry, edge, index = first // m[rep + PARTS], first, first
    while index < upto and index == edge:
        edge = min(upto, (entry + 1) * m[rep + PARTS])
        index = _reach(m, w, rep, w[heads + w[w[m[rep + SPANS] + 2 * request] + entry]], index, edge)
        entry += 1
    if index >= shared and (row != NOBODY or m[rep + OWN] > 0):
        index = _reach(m, w, rep, w[_own(m, rep, request, row, table)], index, limit)
    return int(index)


@kernel
def _last_gap(w: Int32Array, run: int, index: int, upto: int) -> int:
    """Where the last gap begins, between blocks `index` and `upto`, of the list that begins with `run`; upto: none."""
    gap = upto
    while index < upto:
        while run != NO_RUN and w[run + HI] <= index:
            run = w[run + NEXT]
        if run == NO_RUN or w[run + LO] >= upto:
            return index
        if w[run + LO] > index:
            gap = index
        index = w[run + HI]
    return gap


@kernel
def _last_in_window(
    m: IntArray, w: Int32Array, rep: int, request: int, row: int, table: int, first: int, index: int
) -> int:
    """`index` if the table has all blocks from `first` to there, else where a gap begins behind which it has none."""
    shared = min(index, _shared_blocks(m, w, rep, request))
    behind = max(first, shared)
    if behind < index:
        own = NO_RUN if row == NOBODY and m[rep + OWN] == 0 else w[_own(m, rep, request, row, table)]
        gap = _last_gap(w, own, behind, index)
        if gap < index:
            return gap
    heads, upto = m[rep + HEADS] + table * m[rep + NAMES], shared
    while upto > first:
        entry = (upto - 1) // m[rep + PARTS]
        edge = max(first, entry * m[rep + PARTS])
        gap = _last_gap(w, w[heads + w[w[m[rep + SPANS] + 2 * request] + entry]], edge, upto)
        if gap < upto:
            return gap
        upto = edge
    return index


@kernel
def _found_in_windows(m: IntArray, w: Int32Array, rep: int, request: int, row: int, index: int) -> int:
    """The longest hit, of `index` blocks at most, whose last blocks all windows have.

    A shorter one that ends behind the beginning of a gap would need a block of the gap.
    """
    table = 0
    while table < m[rep + BLOCK_TABLES] and index > 0:
        gap = index
        if _window_of(m, rep, table) > 0:
            first = _first_attended(m, rep, table, index * m[rep + BLOCK_SIZE])
            gap = _last_in_window(m, w, rep, request, row, table, first, index)
        table = table + 1 if gap == index else 0
        index = gap
    return index


@kernel
def _found_in_all(m: IntArray, w: Int32Array, rep: int, request: int, row: int, index: int) -> int:
    """How many of the first `index` blocks all tables have; sets FREE_HITS to those of them."""
    for table in range(m[rep + BLOCK_TABLES]):
        if _window_of(m, rep, table) == 0:
            index = _found(m, w, rep, request, row, table, 0, index)
    if m[rep + TABLE_WINDOWS] > 0:
        index = _found_in_windows(m, w, rep, request, row, index)
    m[rep + FREE_HITS] = 0
    for table in range(m[rep + BLOCK_TABLES]):
        first = _first_attended(m, rep, table, index * m[rep + BLOCK_SIZE])
        _found(m, w, rep, request, row, table, first, index)
    return index


@kernel
def look_up(m: IntArray, w: Int32Array, rep: int, request: int, row: int, target: int) -> None:
    """Set HITS, FREE_HITS and HIT_TOKENS; a hit leaves at least one of `target` tokens to compute.

    `row`: the request's row if it was preempted and kept it, else NOBODY.
    """
    m[rep + FREE_HITS] = 0
    limit = _whole(m, rep, target - 1)
    if m[rep + BLOCK_TABLES] == 1 and m[rep + TABLE_WINDOWS] == 0:
        index = _found(m, w, rep, request, row, 0, 0, limit)
    else:
        index = _found_in_all(m, w, rep, request, row, limit)
    m[rep + HITS] = index
    m[rep + HIT_TOKENS] = index * m[rep + BLOCK_SIZE]
    if m[rep + BEGINNINGS] > 0:
        m[rep + HIT_TOKENS] += _copied(m, w, rep, request, index, target)


@kernel
def _copied(m: IntArray, w: Int32Array, rep: int, request: int, index: int, target: int) -> int:
    """Tokens with which some block of every table begins as the request's block `index` does; the last of `target` is
    left out."""
    span = m[rep + SPANS] + 2 * request
    wanted = min(w[span + 1], target - 1) - index * m[rep + BLOCK_SIZE]
    if wanted <= 0:
        return 0
    first = w[w[span] + index // m[rep + PARTS]]
    for head in range(first, first + m[rep + BLOCK_TABLES] * m[rep + NAMES], m[rep + NAMES]):
        run = w[m[rep + HEADS] + head]
        while run != NO_RUN and w[run + HI] <= index:
            run = w[run + NEXT]
        if run == NO_RUN or w[run + LO] > index:
            begun = beginning(w, m[rep + BEGINNINGS] + head, index)
            wanted = min(wanted, w[begun + TOKENS]) if begun != NO_BEGINNING else 0
    return int(wanted)


@kernel
def _add_run(m: IntArray, w: Int32Array, table: int, run: int) -> None:
    w[m[table + TABLE_AT] + m[table + TABLE_RUNS]] = run
    m[table + TABLE_RUNS] += 1


@kernel
def _between(m: IntArray, w: Int32Array, rep: int, run: int, index: int, upto: int) -> int:
    """The part of a run that can be found that lies between blocks `index` and `upto`."""
    if w[run + LO] < index:
        split(m, w, rep, run, index)
        run = w[run + NEXT]
    if w[run + HI] > upto:
        split(m, w, rep, run, upto)
    return int(run)


@kernel
def _seat_runs(m: IntArray, w: Int32Array, rep: int, table: int, first: int, index: int, upto: int) -> None:
    """Hold the runs of a list from block `index` to block `upto`, where all of them are."""
    run = first
    while index < upto:
        if w[run + HI] > index:
            run = _between(m, w, rep, run, index, upto)
            hold_run(m, w, rep, run)
            _add_run(m, w, table, run)
            index = w[run + HI]
        run = w[run + NEXT]


@kernel
def _take_own(m: IntArray, w: Int32Array, rep: int, own: int, table: int, index: int) -> None:
    """Take what the request left behind, from block `index` up to its HITS."""
    while index < m[rep + HITS]:
        run = w[own]
        while w[run + HI] <= index:
            run = w[run + NEXT]
        run = _between(m, w, rep, run, index, m[rep + HITS])
        index = w[run + HI]
        take_with_run(m, w, table, run)
        take_run(m, w, rep, run)


@kernel
def seat_blocks(m: IntArray, w: Int32Array, rep: int, row: int, blocks: int) -> None:
    """The row takes its HITS, and new blocks up to `blocks` in all."""
    request = m[row + REQUEST]
    upto = min(m[rep + HITS], _shared_blocks(m, w, rep, request))
    m[row + OFFERED], m[row + ROW_BEGAN] = upto, 0
    for number in range(m[rep + BLOCK_TABLES]):
        table, heads = m[row + TABLE] + number * TABLE_SIZE, m[rep + HEADS] + number * m[rep + NAMES]
        m[table + TABLE_RUNS] = m[table + TABLE_FIRST] = 0
        index = _first_attended(m, rep, number, m[rep + HITS] * m[rep + BLOCK_SIZE])
        m[table + TABLE_GONE] = index
        m[row + ROW_GONE] += index
        m[rep + GONE] += index
        while index < upto:
            entry = index // m[rep + PARTS]
            edge = min(upto, (entry + 1) * m[rep + PARTS])
            _seat_runs(m, w, rep, table, w[heads + w[w[m[rep + SPANS] + 2 * request] + entry]], index, edge)
            index = edge
        _take_own(m, w, rep, _own(m, rep, request, row, number), table, index)
    take_blocks(m, w, rep, blocks - m[rep + HITS] * m[rep + BLOCK_TABLES])


@kernel
def _offer_blocks(m: IntArray, w: Int32Array, rep: int, table: int, head: int, lo: int, hi: int) -> None:
    """Publish these blocks of the table in the list of `head`."""
    run = name_run(m, w, rep, head, lo, hi)
    w[run + HOLDERS] = 1
    _add_run(m, w, table, run)


@kernel
def offer_shared(m: IntArray, w: Int32Array, rep: int, row: int, computed: int) -> None:
    """Publish the shared blocks that `computed` tokens fill, and the one in which the shared content ends."""
    span = m[rep + SPANS] + 2 * m[row + REQUEST]
    shared = _whole(m, rep, w[span + 1])
    upto = min(shared, _whole(m, rep, computed))
    while m[row + OFFERED] < upto:
        entry = m[row + OFFERED] // m[rep + PARTS]
        edge, head = min(upto, (entry + 1) * m[rep + PARTS]), m[rep + HEADS] + w[w[span] + entry]
        for number in range(m[rep + BLOCK_TABLES]):
            table = m[row + TABLE] + number * TABLE_SIZE
            _offer_blocks(m, w, rep, table, head + number * m[rep + NAMES], m[row + OFFERED], edge)
        m[row + OFFERED] = edge
    rest = w[span + 1] - shared * m[rep + BLOCK_SIZE]
    if m[rep + BEGINNINGS] > 0 and rest > 0 and m[row + ROW_BEGAN] == 0 and computed >= w[span + 1]:
        m[row + ROW_BEGAN] = 1
        place = m[rep + BEGINNINGS] + w[w[span] + shared // m[rep + PARTS]]
        for number in range(m[rep + BLOCK_TABLES]):
            table = m[row + TABLE] + number * TABLE_SIZE
            begin_block(m, w, rep, table, place + number * m[rep + NAMES], shared, rest)


@kernel
def forget_own(m: IntArray, w: Int32Array, rep: int, row: int) -> None:
    """The request has ended: nobody will look for its own content again."""
    for number in range(m[rep + BLOCK_TABLES]):
        own = _own(m, rep, m[row + REQUEST], row, number)
        while w[own] != NO_RUN:
            lose_name(w, w[own])


@kernel
def forget_lists(m: IntArray, w: Int32Array, rep: int, request: int) -> None:
    """The cache is lost with the replica."""
    for number in range(m[rep + BLOCK_TABLES] if m[rep + OWN] > 0 else 0):
        w[_own(m, rep, request, NOBODY, number)] = NO_RUN


@kernel
def _free_counted(
    m: IntArray, w: Int32Array, rep: int, own: int, table: int, first: int, blocks: int, full: int
) -> None:
    """Free `blocks` blocks from `first` on, which are in no run; full: how many of the first are kept to be found."""
    if blocks - full > 0 and (full > 0 or m[table + TABLE_BEGUN] == NO_BEGINNING):
        free_nameless(m, w, rep, blocks - full)
    if full > 0:
        run = name_run(m, w, rep, own, first, first + full)
    elif blocks > 0 and m[table + TABLE_BEGUN] != NO_BEGINNING:
        run = new_run(m, w, rep, 0, blocks)
    else:
        return
    free_with_run(m, w, table, run)
    free_run(m, w, rep, run)


@kernel
def _drop_runs(m: IntArray, w: Int32Array, rep: int, table: int, upto: int, offered: int) -> None:
    """Give up the table's runs up to block `upto` of those offered, the last one first.

    Runs that were split since stand there with their lower part.
    """
    runs, scratch = m[table + TABLE_AT], m[rep + SCRATCH]
    entry, count, index, run = m[table + TABLE_FIRST], 0, m[table + TABLE_GONE], NO_RUN
    while index < upto:
        if entry < m[table + TABLE_RUNS] and w[w[runs + entry] + LO] == index:
            run = w[runs + entry]
            entry += 1
        else:
            run = w[run + UPPER]
        if w[run + HI] > upto:
            split(m, w, rep, run, upto)
        w[scratch + count] = run
        count += 1
        index = w[run + HI]
    if count > 0 and index < offered and (entry == m[table + TABLE_RUNS] or w[w[runs + entry] + LO] != index):
        entry -= 1
        w[runs + entry] = w[run + UPPER]
    m[table + TABLE_FIRST] = entry
    while count > 0:
        count -= 1
        drop_run(m, w, rep, w[scratch + count])


@kernel
def slide_tables(m: IntArray, w: Int32Array, rep: int, row: int, computed: int) -> None:
    """Free what lies behind the row's windows before a step that begins with `computed` tokens, the last one first."""
    offered = m[row + OFFERED]
    for number in range(m[rep + BLOCK_TABLES]):
        table, first = m[row + TABLE] + number * TABLE_SIZE, _first_attended(m, rep, number, computed)
        freed = first - m[table + TABLE_GONE]
        if freed <= 0:
            continue
        counted = max(offered, m[table + TABLE_GONE])
        if first > counted:
            own = _own(m, rep, m[row + REQUEST], row, number)
            free_run(m, w, rep, name_run(m, w, rep, own, counted, first))
        _drop_runs(m, w, rep, table, min(first, offered), offered)
        m[table + TABLE_GONE] = first
        m[row + ROW_GONE] += freed
        m[rep + GONE] += freed


@kernel
def release_blocks(m: IntArray, w: Int32Array, rep: int, row: int, blocks: int, computed: int, preempted: bool) -> None:
    """Free the row's blocks, the last one of each table first: `blocks` in all with those behind windows, of which
    `computed` tokens fill the first."""
    offered = m[row + OFFERED]
    for number in range(m[rep + BLOCK_TABLES]):
        table = m[row + TABLE] + number * TABLE_SIZE
        first = max(offered, m[table + TABLE_GONE])
        full = max(0, _whole(m, rep, computed) - first) if preempted else 0
        own = _own(m, rep, m[row + REQUEST], row, number)
        _free_counted(m, w, rep, own, table, first, blocks // m[rep + BLOCK_TABLES] - first, full)
        _drop_runs(m, w, rep, table, offered, offered)
    m[row + OFFERED] = 0
