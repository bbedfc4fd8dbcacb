"""The list of decoding sequences in order of admission: who stands last is preempted first."""

from simulator.kernels.compile import kernel
from simulator.kernels.heap import heap_push, heap_remove
from simulator.kernels.state import (
    BASE,
    BLOCK_SIZE,
    CONTEXT,
    CONTIGUOUS,
    DECODING,
    DUE,
    NEXT,
    NOBODY,
    ORDER,
    PREV,
    RANK,
    STEPS,
    TAIL,
    TARGET,
)
from simulator.steptime import IntArray


@kernel
def join_decoding(st: IntArray, seat: IntArray, heap: IntArray, hist: IntArray, row: int, tokens_left: int) -> None:
    """The row's prompt is computed and its token out: from the next step on it decodes, `tokens_left` more tokens."""
    seat[row, DUE] = st[STEPS] + tokens_left
    seat[row, BASE] = seat[row, TARGET] - st[STEPS]
    st[ORDER] += 1
    seat[row, RANK] = st[ORDER]
    seat[row, PREV] = st[TAIL]
    seat[row, NEXT] = NOBODY
    if st[TAIL] != NOBODY:
        seat[st[TAIL], NEXT] = row
    st[TAIL] = row
    heap_push(st, seat, heap, row)
    st[DECODING] += 1
    st[CONTEXT] += seat[row, TARGET]
    if st[CONTIGUOUS] == 0:
        hist[seat[row, BASE] % st[BLOCK_SIZE]] += 1


@kernel
def leave_decoding(st: IntArray, seat: IntArray, heap: IntArray, hist: IntArray, row: int) -> int:
    """Take a finished or preempted row out of the list; returns the tokens it has computed."""
    before, after = seat[row, PREV], seat[row, NEXT]
    if before != NOBODY:
        seat[before, NEXT] = after
    if after != NOBODY:
        seat[after, PREV] = before
    else:
        st[TAIL] = before
    heap_remove(st, seat, heap, row)
    computed = seat[row, BASE] + st[STEPS]
    st[DECODING] -= 1
    st[CONTEXT] -= computed
    if st[CONTIGUOUS] == 0:
        hist[seat[row, BASE] % st[BLOCK_SIZE]] -= 1
    return int(computed)


@kernel
def growth(st: IntArray, hist: IntArray, step: int) -> int:
    """Blocks that the decoding sequences begin in step number `step`."""
    return int(hist[-step % st[BLOCK_SIZE]])
