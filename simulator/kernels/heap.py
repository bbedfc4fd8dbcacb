"""A binary heap of a replica's decoding rows by the step that ends them, earlier admitted first on a tie.

A place is two words, DUE and the row; DECODING counts the places.
"""

from simulator.kernels.compile import kernel
from simulator.kernels.state import DECODING, HEAP, HEAP_AT, RANK
from simulator.steptime import IntArray


@kernel
def _before(m: IntArray, due: int, row: int, place: int) -> bool:
    other = m[place]
    return bool(due < other or (due == other and m[row + RANK] < m[m[place + 1] + RANK]))


@kernel
def _put(m: IntArray, place: int, due: int, row: int) -> None:
    m[place] = due
    m[place + 1] = row
    m[row + HEAP_AT] = place


@kernel
def _rise(m: IntArray, heap: int, place: int, due: int, row: int) -> None:
    """Put the row where it belongs, at `place` or above."""
    while place > heap:
        parent = heap + (((place - heap - 2) >> 2) << 1)
        if not _before(m, due, row, parent):
            break
        _put(m, place, m[parent], m[parent + 1])
        place = parent
    _put(m, place, due, row)


@kernel
def _sink(m: IntArray, heap: int, end: int, place: int, due: int, row: int) -> None:
    """Put the row where it belongs, at `place` or below."""
    while True:
        child = 2 * place - heap + 2
        if child >= end:
            break
        if child + 2 < end and _before(m, m[child + 2], m[child + 3], child):
            child += 2
        if _before(m, due, row, child):
            break
        _put(m, place, m[child], m[child + 1])
        place = child
    _put(m, place, due, row)


@kernel
def heap_place(m: IntArray, rep: int, row: int, due: int, count: int) -> None:
    """Add a row whose RANK is set to the `count` that are there."""
    heap = m[rep + HEAP]
    _rise(m, heap, heap + 2 * count, due, row)


@kernel
def heap_hasten(m: IntArray, rep: int, row: int, due: int) -> None:
    """Let the row come earlier, with `due`."""
    _rise(m, m[rep + HEAP], m[row + HEAP_AT], due, row)


@kernel
def heap_remove(m: IntArray, rep: int, row: int) -> None:
    """Take a row out, wherever it stands, before DECODING no longer counts it."""
    heap, place = m[rep + HEAP], m[row + HEAP_AT]
    last = heap + 2 * (m[rep + DECODING] - 1)
    if place == last:
        return
    due, moved = m[last], m[last + 1]
    if place > heap and _before(m, due, moved, heap + (((place - heap - 2) >> 2) << 1)):
        _rise(m, heap, place, due, moved)
    else:
        _sink(m, heap, last, place, due, moved)
