"""How wide the interval is once runs of one's own are known: held by the shipped one, then by held-out runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

SHIPPED_COUNTS_AS = 8.0
"""Runs that the shipped interval counts as, before any of one's own. Assumed."""
LEAST_HELD_OUT = 3
"""Of fewer held-out errors nothing is said: the interval stays as shipped."""
LEAST_SPAN = 4.0
"""Largest over smallest number of requests in flight, of the runs: one load tells nothing of others."""
INSIDE_SHARE = 0.8
Ratios = tuple[float, float]


def calibrated_interval(shipped: Ratios, held_out: Sequence[float], span: float) -> Ratios:
    """Measured over predicted, tenth and ninetieth percentile.

    shipped: before any run. held_out: logarithms of measured over predicted of runs held out of the fit. span: of their
    loads. Each side w becomes sqrt((8·w² + n·q²) / (8 + n)) in the logarithm, q the error that eight of ten held-out
    figures stay within; of eight figures or more at least q. Of fewer, one bad run cannot make the interval useless.
    """
    count = len(held_out)
    if count < LEAST_HELD_OUT or span < LEAST_SPAN:
        return shipped
    off = eight_of_ten(held_out)
    low, high = (_side(abs(math.log(end)), off, count) for end in shipped)
    return math.exp(-low), math.exp(high)


def eight_of_ten(errors: Sequence[float]) -> float:
    """The error that a further row stays within eight times of ten: of n errors the ⌈0.8·(n + 1)⌉-th smallest size, the
    largest where there are too few (split conformal prediction)."""
    sizes = sorted(abs(error) for error in errors)
    return sizes[min(len(sizes), math.ceil(INSIDE_SHARE * (len(sizes) + 1))) - 1]


def _side(width: float, off: float, count: int) -> float:
    mixed = math.sqrt((SHIPPED_COUNTS_AS * width**2 + count * off**2) / (SHIPPED_COUNTS_AS + count))
    return max(mixed, off) if count >= SHIPPED_COUNTS_AS else mixed
