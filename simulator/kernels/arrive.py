"""Arrivals and ends: who may be sent, who has come, who is gone."""

import numpy as np
import numpy.typing as npt

from simulator.kernels.compile import kernel
from simulator.kernels.state import (
    ARRIVAL,
    CONCURRENCY,
    ENDED,
    FINISH,
    HAS_UNSERVABLE,
    HEAD,
    NOW,
    RECEIVED,
    REQUESTS,
)
from simulator.steptime import HORIZON_PS, IntArray

FAR_PS = HORIZON_PS  # the loop stops before the clock gets there


@kernel
def end_request(st: IntArray, inp: IntArray, out: IntArray, request: int, at_ps: int) -> None:
    """The request has finished or was refused; in a closed loop the next one may be sent."""
    out[FINISH, request] = at_ps
    if st[CONCURRENCY] > 0:
        released = st[CONCURRENCY] + st[ENDED]
        if released < st[REQUESTS]:
            inp[ARRIVAL, released] = max(inp[ARRIVAL, released], at_ps)
    st[ENDED] += 1


@kernel
def next_arrival_ps(st: IntArray, inp: IntArray) -> int:
    """When the next request comes, FAR_PS if none does before another one ends."""
    request = st[RECEIVED]
    if request >= st[REQUESTS]:
        return FAR_PS
    if st[CONCURRENCY] > 0 and request >= st[CONCURRENCY] + st[ENDED]:
        return FAR_PS
    return int(inp[ARRIVAL, request])


@kernel
def receive(st: IntArray, inp: IntArray, out: IntArray, reason: npt.NDArray[np.int8]) -> None:
    """Take in what has arrived; unservable requests end at their arrival. HEAD then stands on a servable request."""
    while next_arrival_ps(st, inp) <= st[NOW]:
        request = st[RECEIVED]
        st[RECEIVED] += 1
        if reason[request] != 0:
            end_request(st, inp, out, request, inp[ARRIVAL, request])
    if st[HAS_UNSERVABLE] > 0:
        while st[HEAD] < st[RECEIVED] and reason[st[HEAD]] != 0:
            st[HEAD] += 1
