"""Taking and giving back KV blocks: a count where nothing is cached, named blocks where prefixes are."""

from simulator.kernels.compile import kernel
from simulator.kernels.prefix import Cache, extend_blocks, release_blocks, seat_blocks, take_anonymous
from simulator.kernels.state import BLOCK_SIZE, CACHING, CONTIGUOUS, FREE
from simulator.steptime import IntArray


@kernel
def blocks_for(st: IntArray, tokens: int) -> int:
    """Blocks a sequence with `tokens` tokens holds."""
    if st[CONTIGUOUS] > 0:
        return int(st[CONTIGUOUS])
    return int((tokens + st[BLOCK_SIZE] - 1) // st[BLOCK_SIZE])


@kernel
def take_at_admission(st: IntArray, seat: IntArray, cache: Cache, request: int, row: int, tokens: int) -> None:
    """Blocks for the first `tokens` tokens of a request that takes a seat; cached ones are shared."""
    if st[CACHING] == 0:
        st[FREE] -= blocks_for(st, tokens)
    else:
        seat_blocks(st, seat, cache, request, row, blocks_for(st, tokens))


@kernel
def take_for_chunk(st: IntArray, seat: IntArray, cache: Cache, row: int, computed: int, tokens: int) -> None:
    """Blocks for a prompt's next `tokens` tokens after `computed`."""
    if st[CACHING] == 0:
        st[FREE] -= blocks_for(st, computed + tokens) - blocks_for(st, computed)
    else:
        extend_blocks(st, seat, cache, row, blocks_for(st, computed + tokens))


@kernel
def take_for_decode(st: IntArray, cache: Cache, blocks: int) -> None:
    """Blocks that decoding sequences begin."""
    if st[CACHING] == 0:
        st[FREE] -= blocks
    else:
        take_anonymous(st, cache, blocks)


@kernel
def give_back(
    st: IntArray, seat: IntArray, cache: Cache, request: int, row: int, computed: int, preempted: bool
) -> None:
    """All blocks of a request that has computed `computed` tokens."""
    if st[CACHING] == 0:
        st[FREE] += blocks_for(st, computed)
    else:
        release_blocks(st, seat, cache, request, row, computed, preempted)
