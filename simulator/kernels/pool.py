"""Taking and giving back KV blocks: a count where nothing is cached, named blocks where prefixes are."""

from simulator.kernels.compile import kernel
from simulator.kernels.prefix import Int32Array, extend_blocks, release_blocks, seat_blocks, take_anonymous
from simulator.kernels.state import BLOCK_BITS, BLOCK_SIZE, CACHING, CONTIGUOUS, FREE
from simulator.steptime import IntArray


@kernel
def blocks_for(m: IntArray, rep: int, tokens: int) -> int:
    """Blocks a sequence with `tokens` tokens holds."""
    if m[rep + CONTIGUOUS] > 0:
        return int(m[rep + CONTIGUOUS])
    if m[rep + BLOCK_BITS] >= 0:
        return int((tokens + m[rep + BLOCK_SIZE] - 1) >> m[rep + BLOCK_BITS])
    return int((tokens + m[rep + BLOCK_SIZE] - 1) // m[rep + BLOCK_SIZE])


@kernel
def take_at_admission(m: IntArray, w: Int32Array, rep: int, row: int, tokens: int) -> None:
    """Blocks for the first `tokens` tokens of a request that takes a seat; cached ones are shared."""
    if m[rep + CACHING] == 0:
        m[rep + FREE] -= blocks_for(m, rep, tokens)
    else:
        seat_blocks(m, w, rep, row, blocks_for(m, rep, tokens))


@kernel
def take_for_chunk(m: IntArray, w: Int32Array, rep: int, row: int, computed: int, tokens: int) -> None:
    """Blocks for a prompt's next `tokens` tokens after `computed`."""
    if m[rep + CACHING] == 0:
        m[rep + FREE] -= blocks_for(m, rep, computed + tokens) - blocks_for(m, rep, computed)
    else:
        extend_blocks(m, w, rep, row, blocks_for(m, rep, computed + tokens))


@kernel
def take_for_decode(m: IntArray, w: Int32Array, rep: int, blocks: int) -> None:
    """Blocks that decoding sequences begin."""
    if m[rep + CACHING] == 0:
        m[rep + FREE] -= blocks
    else:
        take_anonymous(m, w, rep, blocks)


@kernel
def give_back(m: IntArray, w: Int32Array, rep: int, row: int, computed: int, preempted: bool) -> None:
    """All blocks of a request that has computed `computed` tokens."""
    if m[rep + CACHING] == 0:
        m[rep + FREE] += blocks_for(m, rep, computed)
    else:
        release_blocks(m, w, rep, row, computed, preempted)
