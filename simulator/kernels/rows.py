"""Rows: the records of those who have a seat, taken and given back."""

from simulator.kernels.compile import kernel
from simulator.kernels.prefix import TABLE_SIZE
from simulator.kernels.state import BLOCK_TABLES, FREE_ROW, NEXT, NOBODY, ROW_SIZE, TABLE, TABLES, UNUSED_ROW
from simulator.steptime import IntArray


@kernel
def take_row(m: IntArray, rep: int) -> int:
    """A row that no request has."""
    row = m[rep + FREE_ROW]
    if row != NOBODY:
        m[rep + FREE_ROW] = m[row + NEXT]
        return int(row)
    row = m[rep + UNUSED_ROW]
    m[rep + UNUSED_ROW] = row + ROW_SIZE
    m[row + TABLE] = m[rep + TABLES]
    m[rep + TABLES] += m[rep + BLOCK_TABLES] * TABLE_SIZE
    return int(row)


@kernel
def give_row_back(m: IntArray, rep: int, row: int) -> None:
    """Its request has no seat any more, and stands in no list of rows."""
    m[row + NEXT] = m[rep + FREE_ROW]
    m[rep + FREE_ROW] = row
