"""Taking and giving back KV blocks: a count, and where prefixes are cached a queue of free ones with their content."""

from simulator.kernels.compile import kernel
from simulator.kernels.plain import rare
from simulator.kernels.prefix import take_blocks
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    ASKS,
    BLOCK_BITS,
    BLOCK_SIZE,
    BLOCK_TABLES,
    CACHING,
    CONTIGUOUS,
    FREE,
    FULL,
    GONE,
    GREATEST,
    PROMISED,
    ROW_GONE,
    ROW_HELD,
    ROW_PROMISED,
    WINDOW_COUNT,
)
from simulator.kernels.tables import release_blocks, seat_blocks
from simulator.kernels.windows import lacking_blocks
from simulator.steptime import IntArray


@kernel
def blocks_for(m: IntArray, rep: int, tokens: int) -> int:
    """Blocks that a sequence with `tokens` tokens takes in all."""
    if rare(m, rep + CONTIGUOUS) > 0:
        return int(rare(m, rep + CONTIGUOUS))
    if m[rep + BLOCK_BITS] >= 0:
        return int(((tokens + m[rep + BLOCK_SIZE] - 1) >> m[rep + BLOCK_BITS]) * m[rep + BLOCK_TABLES])
    return int((tokens + m[rep + BLOCK_SIZE] - 1) // m[rep + BLOCK_SIZE] * m[rep + BLOCK_TABLES])


@kernel
def most_blocks(m: IntArray, rep: int, tokens: int) -> int:
    """Most blocks that a sequence of `tokens` tokens holds at a time."""
    blocks = blocks_for(m, rep, tokens)
    if rare(m, rep + WINDOW_COUNT) == 0 or rare(m, rep + CONTIGUOUS) > 0:
        return blocks
    return lacking_blocks(m, rep, blocks // m[rep + BLOCK_TABLES], 0)


@kernel
def take_at_admission(m: IntArray, w: Int32Array, rep: int, row: int, tokens: int) -> None:
    """Blocks for the first `tokens` tokens of a request that takes a seat; cached ones are shared."""
    m[row + ROW_HELD] = blocks_for(m, rep, tokens)
    m[row + ROW_GONE] = 0
    if rare(m, rep + CACHING) == 0:
        m[rep + FREE] -= m[row + ROW_HELD]
    else:
        seat_blocks(m, w, rep, row, m[row + ROW_HELD])


@kernel
def take(m: IntArray, w: Int32Array, rep: int, blocks: int) -> None:
    """Blocks for what running sequences compute next."""
    if rare(m, rep + CACHING) == 0:
        m[rep + FREE] -= blocks
    else:
        take_blocks(m, w, rep, blocks)


@kernel
def give_back(m: IntArray, w: Int32Array, rep: int, row: int, computed: int, preempted: bool) -> None:
    """All blocks of a request that has computed `computed` tokens."""
    blocks = max(m[row + ROW_HELD], blocks_for(m, rep, computed))
    m[rep + GONE] -= m[row + ROW_GONE]
    if rare(m, rep + ASKS) == GREATEST:
        m[rep + PROMISED] -= m[row + ROW_PROMISED]
    m[rep + FULL] = 0
    if rare(m, rep + CACHING) == 0:
        m[rep + FREE] += blocks - m[row + ROW_GONE]
    else:
        release_blocks(m, w, rep, row, blocks, computed, preempted)
