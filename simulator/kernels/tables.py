"""Block tables of a row in the prefix cache: they take hits and new blocks, offer what is computed, slide, and end."""

from simulator.kernels.begun import (
    NO_BEGINNING,
    TABLE_BEGUN,
    begin_block,
    free_with_run,
    take_with_run,
)
from simulator.kernels.compile import kernel
from simulator.kernels.prefix import (
    TABLE_AT,
    TABLE_FIRST,
    TABLE_GONE,
    TABLE_RUNS,
    TABLE_SIZE,
    first_attended,
    own_list,
    shared_blocks,
    take_blocks,
    whole_blocks,
)
from simulator.kernels.runs import (
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
    BLOCK_SIZE,
    BLOCK_TABLES,
    GONE,
    HEADS,
    HITS,
    NAMES,
    NOBODY,
    OFFERED,
    OWN,
    PARTS,
    REQUEST,
    ROW_BEGAN,
    ROW_GONE,
    SCRATCH,
    SPANS,
    TABLE,
)
from simulator.steptime import IntArray


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
    upto = min(m[rep + HITS], shared_blocks(m, w, rep, request))
    m[row + OFFERED], m[row + ROW_BEGAN] = upto, 0
    for number in range(m[rep + BLOCK_TABLES]):
        table, heads = m[row + TABLE] + number * TABLE_SIZE, m[rep + HEADS] + number * m[rep + NAMES]
        m[table + TABLE_RUNS] = m[table + TABLE_FIRST] = 0
        index = first_attended(m, rep, number, m[rep + HITS] * m[rep + BLOCK_SIZE])
        m[table + TABLE_GONE] = index
        m[row + ROW_GONE] += index
        m[rep + GONE] += index
        while index < upto:
            entry = index // m[rep + PARTS]
            edge = min(upto, (entry + 1) * m[rep + PARTS])
            _seat_runs(m, w, rep, table, w[heads + w[w[m[rep + SPANS] + 2 * request] + entry]], index, edge)
            index = edge
        _take_own(m, w, rep, own_list(m, rep, request, row, number), table, index)
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
    shared = whole_blocks(m, rep, w[span + 1])
    upto = min(shared, whole_blocks(m, rep, computed))
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
        own = own_list(m, rep, m[row + REQUEST], row, number)
        while w[own] != NO_RUN:
            lose_name(w, w[own])


@kernel
def forget_lists(m: IntArray, w: Int32Array, rep: int, request: int) -> None:
    """The cache is lost with the replica."""
    for number in range(m[rep + BLOCK_TABLES] if m[rep + OWN] > 0 else 0):
        w[own_list(m, rep, request, NOBODY, number)] = NO_RUN


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
        table, first = m[row + TABLE] + number * TABLE_SIZE, first_attended(m, rep, number, computed)
        freed = first - m[table + TABLE_GONE]
        if freed <= 0:
            continue
        counted = max(offered, m[table + TABLE_GONE])
        if first > counted:
            own = own_list(m, rep, m[row + REQUEST], row, number)
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
        full = max(0, whole_blocks(m, rep, computed) - first) if preempted else 0
        own = own_list(m, rep, m[row + REQUEST], row, number)
        _free_counted(m, w, rep, own, table, first, blocks // m[rep + BLOCK_TABLES] - first, full)
        _drop_runs(m, w, rep, table, offered, offered)
    m[row + OFFERED] = 0
