"""What the prefix cache holds of a request: how far its beginning is found, and how much of that nobody holds."""

from simulator.kernels.begun import (
    NO_BEGINNING,
    TOKENS,
    beginning,
)
from simulator.kernels.compile import kernel
from simulator.kernels.prefix import first_attended, own_list, shared_blocks, whole_blocks
from simulator.kernels.runs import (
    HI,
    HOLDERS,
    LO,
    NEXT,
    NO_RUN,
    Int32Array,
)
from simulator.kernels.state import (
    BEGINNINGS,
    BLOCK_SIZE,
    BLOCK_TABLES,
    FREE_HITS,
    HEADS,
    HIT_TOKENS,
    HITS,
    NAMES,
    NOBODY,
    OWN,
    PARTS,
    SPANS,
    TABLE_WINDOWS,
)
from simulator.steptime import IntArray


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
def _found(m: IntArray, w: Int32Array, rep: int, request: int, row: int, table: int, first: int, limit: int) -> int:
    """How far, at most to `limit`, the table with this number has the request's blocks from `first` on; counts
    FREE_HITS."""
    shared = shared_blocks(m, w, rep, request)
    upto, heads = min(limit, shared), m[rep + HEADS] + table * m[rep + NAMES]
    entry, edge, index = first // m[rep + PARTS], first, first
    while index < upto and index == edge:
        edge = min(upto, (entry + 1) * m[rep + PARTS])
        index = _reach(m, w, rep, w[heads + w[w[m[rep + SPANS] + 2 * request] + entry]], index, edge)
        entry += 1
    if index >= shared and (row != NOBODY or m[rep + OWN] > 0):
        index = _reach(m, w, rep, w[own_list(m, rep, request, row, table)], index, limit)
    return int(index)


@kernel
def _window_of(m: IntArray, rep: int, number: int) -> int:
    """The window of the table with this number; 0: none."""
    return int(m[m[rep + TABLE_WINDOWS] + number]) if m[rep + TABLE_WINDOWS] > 0 else 0


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
    shared = min(index, shared_blocks(m, w, rep, request))
    behind = max(first, shared)
    if behind < index:
        own = NO_RUN if row == NOBODY and m[rep + OWN] == 0 else w[own_list(m, rep, request, row, table)]
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
            first = first_attended(m, rep, table, index * m[rep + BLOCK_SIZE])
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
        first = first_attended(m, rep, table, index * m[rep + BLOCK_SIZE])
        _found(m, w, rep, request, row, table, first, index)
    return index


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
def look_up(m: IntArray, w: Int32Array, rep: int, request: int, row: int, target: int) -> None:
    """Set HITS, FREE_HITS and HIT_TOKENS; a hit leaves at least one of `target` tokens to compute.

    `row`: the request's row if it was preempted and kept it, else NOBODY.
    """
    m[rep + FREE_HITS] = 0
    limit = whole_blocks(m, rep, target - 1)
    if m[rep + BLOCK_TABLES] == 1 and m[rep + TABLE_WINDOWS] == 0:
        index = _found(m, w, rep, request, row, 0, 0, limit)
    else:
        index = _found_in_all(m, w, rep, request, row, limit)
    m[rep + HITS] = index
    m[rep + HIT_TOKENS] = index * m[rep + BLOCK_SIZE]
    if m[rep + BEGINNINGS] > 0:
        m[rep + HIT_TOKENS] += _copied(m, w, rep, request, index, target)
