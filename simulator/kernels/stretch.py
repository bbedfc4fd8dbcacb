"""Run to the next change: a stretch in which only the same sequences decode is one closed form.

With n decoding sequences and S tokens of context, step j of the stretch lasts a + d*j, where a is the time of its first
step and d = context_ps[n]*n: every step adds n tokens of context. So k steps last k*a + d*k(k-1)/2.
"""

import math

from simulator.kernels.accounts import add_area, add_gaps
from simulator.kernels.compile import kernel
from simulator.kernels.running import growth
from simulator.kernels.state import (
    BLOCK_SIZE,
    BLOCKS,
    BUSY,
    CONTEXT,
    DECODING,
    DUE,
    FREE,
    MAX_JUMP,
    NOW,
    STEPS,
)
from simulator.steptime import IntArray


@kernel
def stretch_ps(first_ps: int, rise_ps: int, steps: int) -> int:
    """Time of `steps` steps: exact, as steps*(steps - 1) is even."""
    return steps * first_ps + rise_ps * ((steps * (steps - 1)) >> 1)


@kernel
def steps_until(first_ps: int, rise_ps: int, gap_ps: int, most: int) -> int:
    """The first step that ends at or after `gap_ps`, at most `most`: a root in floats, put right in integers."""
    if first_ps >= gap_ps:
        return 1
    if stretch_ps(first_ps, rise_ps, most) < gap_ps:
        return most
    half = first_ps - 0.5 * rise_ps
    steps = int(2.0 * gap_ps / (half + math.sqrt(half * half + 2.0 * rise_ps * gap_ps)))
    steps = min(max(steps, 1), most)
    while stretch_ps(first_ps, rise_ps, steps) < gap_ps:
        steps += 1
    while steps > 1 and stretch_ps(first_ps, rise_ps, steps - 1) >= gap_ps:
        steps -= 1
    return steps


@kernel
def steps_before_exhaustion(st: IntArray, hist: IntArray, most: int) -> int:
    """How many steps (at most `most`) the free blocks last: each round of block_size steps takes one per sequence."""
    size, decoding, free = st[BLOCK_SIZE], st[DECODING], st[FREE]
    if decoding * ((most + size - 1) // size) <= free:
        return most
    rounds = free // decoding
    left = free - rounds * decoding
    steps = rounds * size
    while steps < most:
        left -= growth(st, hist, st[STEPS] + steps)
        if left < 0:
            break
        steps += 1
    return int(min(steps, most))


@kernel
def plan_stretch(
    st: IntArray, seat: IntArray, heap: IntArray, hist: IntArray, first_ps: int, rise_ps: int, deadline_ps: int
) -> int:
    """Steps until the batch changes: a finish, the pool's end, or the first step end at or after `deadline_ps`."""
    most = min(seat[heap[0], DUE] - st[STEPS], st[MAX_JUMP])
    most = steps_before_exhaustion(st, hist, most)
    if most == 0:
        return 0
    return int(steps_until(first_ps, rise_ps, deadline_ps - st[NOW], most))


@kernel
def _blocks_and_area(st: IntArray, hist: IntArray, first_ps: int, rise_ps: int, steps: int, total_ps: int) -> int:
    """Blocks begun during the stretch; adds blocks x time, each block from the start of the step that begins it.

    The sequences of one residue begin blocks in steps j, j + block_size, ...: the starts of these sum in closed form.
    """
    size = st[BLOCK_SIZE]
    begun = 0
    add_area(st, st[BLOCKS] - st[FREE], total_ps)
    for offset in range(min(steps, size)):
        sequences = growth(st, hist, st[STEPS] + offset)
        if sequences == 0:
            continue
        times = (steps - offset + size - 1) // size
        begun += sequences * times
        if times == 1:
            held_ps = total_ps - stretch_ps(first_ps, rise_ps, offset)
        else:
            pairs = times * (times - 1) // 2
            sum_j = times * offset + size * pairs
            sum_jj = times * offset * offset + 2 * offset * size * pairs + size * size * pairs * (2 * times - 1) // 3
            held_ps = times * total_ps - first_ps * sum_j - rise_ps * ((sum_jj - sum_j) >> 1)
        add_area(st, sequences, held_ps)
    return int(begun)


@kernel
def run_stretch(st: IntArray, hist: IntArray, itl: IntArray, first_ps: int, rise_ps: int, steps: int) -> int:
    """Advance the clock by `steps` decode-only steps; returns the blocks begun, for the caller to take."""
    total_ps = stretch_ps(first_ps, rise_ps, steps)
    begun = _blocks_and_area(st, hist, first_ps, rise_ps, steps, total_ps)
    add_gaps(st, itl, first_ps, rise_ps, steps, st[DECODING])
    st[NOW] += total_ps
    st[BUSY] += total_ps
    st[STEPS] += steps
    st[CONTEXT] += steps * st[DECODING]
    return int(begun)
