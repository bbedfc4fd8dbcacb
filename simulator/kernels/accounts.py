"""Sums over time: by replica, by bin of the series, and gaps between tokens by size."""

from simulator.kernels.compile import inlined, kernel
from simulator.kernels.plain import rare
from simulator.kernels.state import (
    BIN_END,
    BIN_PS,
    BLOCKS,
    FREE,
    GAP_FROM,
    GAP_SHIFT,
    GAP_SLICE,
    GAP_UPTO,
    GAPS,
    PEAK,
    PEAK_TOKENS,
    REQUESTS,
    SERIES,
    SHIFT,
    STALLS,
    STEPS,
    SUMS,
    TOLD,
)
from simulator.records import ITL_BINS, ITL_SLICES, ITL_SUB_BITS, SERIES_BINS
from simulator.steptime import IntArray

_HALF = 31
_MASK = 2**_HALF - 1
_FULL = 2 ** (ITL_SUB_BITS + 1)
_LEAST = 2**ITL_SUB_BITS


@kernel
def add_product(m: IntArray, at: int, count: int, time_ps: int) -> None:
    """Add count x time_ps to the sum kept in two words from `at`: the product alone can exceed 64 bits."""
    low = m[at + 1] + count * (time_ps & _MASK)
    m[at] += count * (time_ps >> _HALF) + (low >> _HALF)
    m[at + 1] = low & _MASK


@kernel
def note_peak(m: IntArray, rep: int, tokens: int) -> None:
    """Blocks held now, and `tokens` in them."""
    used = m[rep + BLOCKS] - m[rep + FREE]
    if used > m[rep + PEAK]:
        m[rep + PEAK] = used
    if tokens > m[rep + PEAK_TOKENS]:
        m[rep + PEAK_TOKENS] = tokens


@kernel
def tell_series(m: IntArray, rep: int) -> None:
    """Add what the replica has done since the last time to the bin that its steps belong to."""
    bin_at = m[SERIES] + SUMS * (m[rep + BIN_PS] >> m[SHIFT])
    for index in range(SUMS):
        total = m[rep + STEPS + index]
        if index == 0:
            total += rare(m, rep + STALLS)
        m[bin_at + index] += total - m[rep + TOLD + index]
        m[rep + TOLD + index] = total


@kernel
def _double_bins(m: IntArray) -> None:
    series = m[SERIES]
    for index in range(SERIES_BINS * SUMS):
        place, word = index // SUMS, index % SUMS
        both = 0
        if 2 * place < SERIES_BINS:
            both = m[series + 2 * place * SUMS + word] + m[series + (2 * place + 1) * SUMS + word]
        m[series + index] = both
    m[SHIFT] += 1


@kernel
def turn_bin(m: IntArray, rep: int, now_ps: int) -> None:
    """A step begins at or after BIN_END: it belongs to another bin than the steps before it."""
    tell_series(m, rep)
    while now_ps >> m[SHIFT] >= SERIES_BINS:
        _double_bins(m)
    m[rep + BIN_PS] = now_ps
    m[rep + BIN_END] = ((now_ps >> m[SHIFT]) + 1) << m[SHIFT]


@kernel
def choose_slice(m: IntArray, rep: int, request: int) -> None:
    """The replica has admitted the request: from now on it counts gaps in that request's slice."""
    if m[rep + GAP_FROM] <= request < m[rep + GAP_UPTO]:
        return
    share = min(ITL_SLICES - 1, (request + 1) * ITL_SLICES // m[REQUESTS])
    m[rep + GAP_SLICE] = m[GAPS] + share * ITL_BINS
    # A slice's first request is the least whose (request + 1) * ITL_SLICES reaches slice * REQUESTS.
    m[rep + GAP_FROM] = (share * m[REQUESTS] + ITL_SLICES - 1) // ITL_SLICES - 1
    m[rep + GAP_UPTO] = ((share + 1) * m[REQUESTS] + ITL_SLICES - 1) // ITL_SLICES - 1


@kernel
def _shift_for(m: IntArray, rep: int, gap_ps: int) -> int:
    """As `records.itl_bin`, by a search from the last shift: successive gaps are alike."""
    shift = m[rep + GAP_SHIFT]
    leading = gap_ps >> shift
    if leading < _LEAST or leading >= _FULL:
        while gap_ps >> shift >= _FULL:
            shift += 1
        while shift > 0 and gap_ps >> shift < _LEAST:
            shift -= 1
        m[rep + GAP_SHIFT] = shift
    return int(shift)


@kernel
def add_gap(m: IntArray, rep: int, gap_ps: int, count: int) -> None:
    """`count` gaps of `gap_ps`."""
    shift = _shift_for(m, rep, gap_ps)
    m[m[rep + GAP_SLICE] + (shift << ITL_SUB_BITS) + (gap_ps >> shift)] += count


@inlined
def add_gaps(m: IntArray, rep: int, first_ps: int, rise_ps: int, steps: int, count: int) -> None:
    """`count` gaps in each of `steps` steps lasting first_ps, first_ps + rise_ps, ...: bin by bin, not step by step."""
    gap, left = first_ps, steps
    while left > 0:
        shift = _shift_for(m, rep, gap)
        leading = gap >> shift
        inside = left
        if (gap + (left - 1) * rise_ps) >> shift != leading:
            inside = (((leading + 1) << shift) - 1 - gap) // rise_ps + 1
        m[m[rep + GAP_SLICE] + (shift << ITL_SUB_BITS) + leading] += inside * count
        gap += inside * rise_ps
        left -= inside
