"""Sums over time: blocks held, and gaps between tokens by size."""

from simulator.kernels.compile import kernel
from simulator.kernels.state import AREA_HIGH, AREA_LOW, BLOCKS, FREE, ITL_ROW, ITL_SHIFT, PEAK
from simulator.records import ITL_SUB_BITS
from simulator.steptime import IntArray

_HALF = 31
_MASK = 2**_HALF - 1
_FULL = 2 ** (ITL_SUB_BITS + 1)
_LEAST = 2**ITL_SUB_BITS


@kernel
def add_area(st: IntArray, blocks: int, time_ps: int) -> None:
    """Add blocks x picoseconds to a sum kept in two words: the product alone can exceed 64 bits."""
    low = st[AREA_LOW] + blocks * (time_ps & _MASK)
    st[AREA_HIGH] += blocks * (time_ps >> _HALF) + (low >> _HALF)
    st[AREA_LOW] = low & _MASK


@kernel
def note_peak(st: IntArray) -> None:
    used = st[BLOCKS] - st[FREE]
    if used > st[PEAK]:
        st[PEAK] = used


@kernel
def _shift_for(st: IntArray, gap_ps: int) -> int:
    """As `records.itl_bin`, by a search from the last shift: successive gaps are alike."""
    shift = st[ITL_SHIFT]
    while gap_ps >> shift >= _FULL:
        shift += 1
    while shift > 0 and gap_ps >> shift < _LEAST:
        shift -= 1
    st[ITL_SHIFT] = shift
    return int(shift)


@kernel
def add_gap(st: IntArray, itl: IntArray, gap_ps: int, count: int) -> None:
    """`count` gaps of `gap_ps`."""
    shift = _shift_for(st, gap_ps)
    itl[st[ITL_ROW], (shift << ITL_SUB_BITS) + (gap_ps >> shift)] += count


@kernel
def add_gaps(st: IntArray, itl: IntArray, first_ps: int, rise_ps: int, steps: int, count: int) -> None:
    """`count` gaps in each of `steps` steps lasting first_ps, first_ps + rise_ps, ...: bin by bin, not step by step."""
    done = 0
    while done < steps:
        gap = first_ps + done * rise_ps
        shift = _shift_for(st, gap)
        inside = steps - done
        if rise_ps > 0:
            upper = (((gap >> shift) + 1) << shift) - 1
            inside = min(inside, (upper - gap) // rise_ps + 1)
        itl[st[ITL_ROW], (shift << ITL_SUB_BITS) + (gap >> shift)] += inside * count
        done += inside
