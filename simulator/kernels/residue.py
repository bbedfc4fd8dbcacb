"""Step numbers by where they fall in the round in which every sequence begins a block."""

from simulator.kernels.compile import kernel
from simulator.kernels.state import BLOCK_BITS, BLOCK_SIZE
from simulator.steptime import IntArray


@kernel
def residue(m: IntArray, rep: int, number: int) -> int:
    """number mod block size, from 0."""
    if m[rep + BLOCK_BITS] >= 0:
        return int(number & (m[rep + BLOCK_SIZE] - 1))
    return int(number % m[rep + BLOCK_SIZE])
