"""A binary heap of the decoding rows by the step that ends them, earlier admitted first on a tie."""

from simulator.kernels.compile import kernel
from simulator.kernels.state import DUE, HEAP_AT, HEAPED, RANK
from simulator.steptime import IntArray


@kernel
def _before(seat: IntArray, one: int, other: int) -> bool:
    if seat[one, DUE] != seat[other, DUE]:
        return bool(seat[one, DUE] < seat[other, DUE])
    return bool(seat[one, RANK] < seat[other, RANK])


@kernel
def _rise(seat: IntArray, heap: IntArray, at: int) -> None:
    row = heap[at]
    while at > 0:
        parent = (at - 1) >> 1
        if not _before(seat, row, heap[parent]):
            break
        heap[at] = heap[parent]
        seat[heap[at], HEAP_AT] = at
        at = parent
    heap[at] = row
    seat[row, HEAP_AT] = at


@kernel
def _sink(seat: IntArray, heap: IntArray, at: int, size: int) -> None:
    row = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _before(seat, heap[child + 1], heap[child]):
            child += 1
        if not _before(seat, heap[child], row):
            break
        heap[at] = heap[child]
        seat[heap[at], HEAP_AT] = at
        at = child
    heap[at] = row
    seat[row, HEAP_AT] = at


@kernel
def heap_push(st: IntArray, seat: IntArray, heap: IntArray, row: int) -> None:
    """Add a row whose DUE and RANK are set."""
    at = st[HEAPED]
    heap[at] = row
    st[HEAPED] = at + 1
    _rise(seat, heap, at)


@kernel
def heap_remove(st: IntArray, seat: IntArray, heap: IntArray, row: int) -> None:
    """Take a row out, wherever it stands."""
    at = seat[row, HEAP_AT]
    size = st[HEAPED] - 1
    st[HEAPED] = size
    if at == size:
        return
    moved = heap[size]
    heap[at] = moved
    seat[moved, HEAP_AT] = at
    if at > 0 and _before(seat, moved, heap[(at - 1) >> 1]):
        _rise(seat, heap, at)
    else:
        _sink(seat, heap, at, size)
