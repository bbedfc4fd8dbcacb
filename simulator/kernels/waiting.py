"""A waiting line: requests linked by the column BEHIND. A replica has one; nothing here keeps it from having several.

A line is three words at offset `line`: first and last request (NONE: empty), and how many.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from simulator.kernels.compile import kernel
from simulator.kernels.state import BEHIND, FINISH, NONE
from simulator.steptime import IntArray

Int32Array = npt.NDArray[np.int32]

FIRST: Final = 0
LAST: Final = 1
LENGTH: Final = 2


@kernel
def push_back(m: IntArray, counts: Int32Array, line: int, request: int) -> None:
    """The request comes to stand last."""
    counts[BEHIND, request] = NONE
    if m[line + LENGTH] == 0:
        m[line + FIRST] = request
    else:
        counts[BEHIND, m[line + LAST]] = request
    m[line + LAST] = request
    m[line + LENGTH] += 1


@kernel
def push_front(m: IntArray, counts: Int32Array, line: int, request: int) -> None:
    """The request comes to stand first."""
    counts[BEHIND, request] = m[line + FIRST]
    if m[line + LENGTH] == 0:
        counts[BEHIND, request] = NONE
        m[line + LAST] = request
    m[line + FIRST] = request
    m[line + LENGTH] += 1


@kernel
def pop_front(m: IntArray, counts: Int32Array, line: int) -> int:
    """Take out the first request of a line that is not empty."""
    request = m[line + FIRST]
    m[line + FIRST] = counts[BEHIND, request]
    m[line + LENGTH] -= 1
    return int(request)


@kernel
def skip_ended(m: IntArray, times: IntArray, counts: Int32Array, line: int) -> None:
    """Where requests may end in the line, whose LENGTH counts them no more: let one come first that has not."""
    while m[line + LENGTH] > 0 and times[FINISH, m[line + FIRST]] >= 0:
        m[line + FIRST] = counts[BEHIND, m[line + FIRST]]
