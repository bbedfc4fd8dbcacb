"""Preemption by recompute: when the pool cannot hold the next step, the tail of the running list gives way."""

from simulator.kernels.compile import inlined, kernel
from simulator.kernels.fresh import drop_fresh
from simulator.kernels.lines import rejoin_line
from simulator.kernels.plain import rare
from simulator.kernels.pool import blocks_for, give_back
from simulator.kernels.residue import residue
from simulator.kernels.rows import give_row_back
from simulator.kernels.running import growth, leave_chunks, leave_decoding, tokens_made
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BASE,
    BLOCK_TABLES,
    BUDGET,
    CARRIED,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    COMPUTED,
    DECODING,
    FREE,
    LAST_AT,
    LAST_OUT,
    LAST_TOKEN,
    LINE,
    LONGEST_CHUNK,
    MADE,
    NOBODY,
    NOW,
    ORDERED,
    PREEMPTED,
    PREEMPTIONS,
    PROMPT,
    RANK,
    REQUEST,
    RESTED,
    ROW_FRESH,
    ROW_HELD,
    SEAT,
    SETTLED,
    STEPS,
    STOPPED_AT,
    STRANDED_AT,
    TAIL,
    TARGET,
    VAIN,
    WALKS,
    WHOLE,
)
from simulator.kernels.waiting import push_front
from simulator.steptime import IntArray


@kernel
def carry(m: IntArray, times: IntArray, counts: Int32Array, row: int, made: int, last_ps: int, stopped_ps: int) -> None:
    """What a request keeps when it loses its row: its tokens, and since when it is without a seat."""
    request = m[row + REQUEST]
    counts[CARRIED, request] = made
    times[LAST_AT, request] = last_ps
    times[STRANDED_AT, request] = stopped_ps


@kernel
def _stop(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, row: int, computed: int) -> None:
    """The row's blocks are freed and its request waits in front; it keeps the row, first come first served."""
    request = m[row + REQUEST]
    give_back(m, w, rep, row, computed, True)
    if rare(m, rep + ORDERED) > 0:
        counts[PREEMPTIONS, request] += 1
        carry(m, times, counts, row, m[row + MADE], m[row + LAST_TOKEN], m[rep + NOW])
        give_row_back(m, rep, row)
        rejoin_line(m, times, counts, rep, request)
        return
    m[row + TARGET] = counts[PROMPT, request] + m[row + MADE]
    m[row + STOPPED_AT] = m[rep + NOW]
    counts[PREEMPTIONS, request] += 1
    counts[SEAT, request] = row
    push_front(m, counts, rep + LINE, request)
    m[rep + PREEMPTED] += 1


@kernel
def last_chunk(m: IntArray, rep: int) -> int:
    """The last of those that compute a prompt."""
    count = m[rep + CHUNK_COUNT]
    return int(m[m[rep + CHUNKS] + count - 1]) if count > 0 else NOBODY


@kernel
def last_token_ps(m: IntArray, rep: int, row: int) -> int:
    """When a decoding row had its last token, where rows that decode had one with every step but those of prompts."""
    return int(m[rep + SETTLED] if rare(m, rep + RESTED) == 0 else max(m[rep + LAST_OUT], m[row + LAST_TOKEN]))


@kernel
def stop_decoding(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, row: int) -> None:
    m[row + MADE] = tokens_made(m, rep, row)
    if m[row + ROW_FRESH] > 0:
        drop_fresh(m, rep, row, blocks_for(m, rep, m[row + BASE] + m[rep + STEPS]))
    elif rare(m, rep + WALKS) == 0:
        m[row + LAST_TOKEN] = last_token_ps(m, rep, row)
    _stop(m, w, times, counts, rep, row, leave_decoding(m, rep, row))


@kernel
def stop_chunk(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, place: int) -> None:
    """Who computes a prompt at this place of CHUNKS falls."""
    row = m[place]
    leave_chunks(m, rep, place)
    _stop(m, w, times, counts, rep, row, m[row + COMPUTED])


@kernel
def stop_last(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> int:
    """The last of the running list falls; returns its row."""
    row, last = m[rep + TAIL], last_chunk(m, rep)
    if last != NOBODY and (row == NOBODY or m[last + RANK] > m[row + RANK]):
        stop_chunk(m, w, times, counts, rep, m[rep + CHUNKS] + m[rep + CHUNK_COUNT] - 1)
        return last
    stop_decoding(m, w, times, counts, rep, row)
    return int(row)


@kernel
def plan_chunks(m: IntArray, rep: int) -> int:
    """Share out the budget among the prompts that are partly computed; returns the blocks that these begin."""
    budget, begun = m[rep + BUDGET] - m[rep + DECODING] - rare(m, rep + VAIN), 0
    chunks = m[rep + CHUNKS]
    for place in range(chunks, chunks + m[rep + CHUNK_COUNT]):
        row = m[place]
        m[row + CHUNK] = min(m[row + TARGET] - m[row + COMPUTED], m[rep + LONGEST_CHUNK], budget)
        budget -= m[row + CHUNK]
        begun += chunk_blocks(m, rep, row)
    return int(begun)


@kernel
def chunk_tokens(m: IntArray, rep: int) -> int:
    """Tokens of the planned chunks."""
    tokens = 0
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        tokens += m[m[place] + CHUNK]
    return int(tokens)


@kernel
def chunk_blocks(m: IntArray, rep: int, row: int) -> int:
    """Blocks that the row's chunk begins."""
    if rare(m, rep + WHOLE) > 0:
        return 0
    computed = m[row + COMPUTED]
    return blocks_for(m, rep, computed + m[row + CHUNK]) - blocks_for(m, rep, computed)


@kernel
def _begun_by(m: IntArray, rep: int, row: int) -> int:
    """Blocks that the decoding row takes for the next step: those that it begins and does not have yet."""
    computed = m[row + BASE] + m[rep + STEPS]
    if residue(m, rep, computed) > 0 or m[row + ROW_HELD] > blocks_for(m, rep, computed):
        return 0
    return int(m[rep + BLOCK_TABLES])


@inlined
def make_room(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> bool:
    """Preempt from the tail until what is left of the running list has its blocks; says whether anyone fell.

    The scheduler walks the list from its head and preempts the tail whenever a sequence finds no block. What falls in
    the end is the shortest tail without which the rest fits: that is what is looked for here.
    """
    needed = growth(m, rep) + plan_chunks(m, rep)
    fell = False
    while needed > m[rep + FREE]:
        tail, last = m[rep + TAIL], last_chunk(m, rep)
        if last != NOBODY and (tail == NOBODY or m[last + RANK] > m[tail + RANK]):
            needed -= chunk_blocks(m, rep, last)
            stop_chunk(m, w, times, counts, rep, m[rep + CHUNKS] + m[rep + CHUNK_COUNT] - 1)
        else:
            needed -= _begun_by(m, rep, tail)
            stop_decoding(m, w, times, counts, rep, tail)
        fell = True
    return fell
