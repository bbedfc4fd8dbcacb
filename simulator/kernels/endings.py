"""Ends without an answer in time: turned away, dropped, or finished too late (`simulator.admission`).

The column ENDING holds outcome and reason in one number.
"""

from typing import Final

from simulator.kernels.accounts import add_product
from simulator.kernels.arrive import end_request
from simulator.kernels.compile import kernel
from simulator.kernels.gate import leave_gate
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    ADMITTED,
    ARRIVAL,
    CARRIED,
    CARRIES,
    DEADLINE_PS,
    ENDING,
    GOT,
    NONE,
    OUTPUT,
    PREEMPTED_PS,
    STRANDED_AT,
    TIMEOUT,
    WAITED_HIGH,
)
from simulator.records import DEADLINE, KV_FULL, QUEUE_FULL, REJECTED, TENANT_CAP, TIMED_OUT
from simulator.steptime import IntArray

OUTCOME_UNIT: Final = 16
REJECTED_QUEUE: Final = REJECTED * OUTCOME_UNIT + QUEUE_FULL
REJECTED_KV: Final = REJECTED * OUTCOME_UNIT + KV_FULL
REJECTED_DEADLINE: Final = REJECTED * OUTCOME_UNIT + DEADLINE
REJECTED_CAP: Final = REJECTED * OUTCOME_UNIT + TENANT_CAP
TOO_LATE: Final = TIMED_OUT * OUTCOME_UNIT
IN_TIME: Final = 0


@kernel
def lateness(m: IntArray, times: IntArray, request: int, at_ps: int) -> int:
    """How a request ends whose time has passed, IN_TIME if it has not: the deadline goes before the timeout."""
    after_ps = at_ps - times[ARRIVAL, request]
    if times[ADMITTED, request] < 0 and after_ps > times[DEADLINE_PS, request]:
        return REJECTED_DEADLINE
    return TOO_LATE if after_ps > m[TIMEOUT] else IN_TIME


@kernel
def note_finish(m: IntArray, times: IntArray, counts: Int32Array, request: int, at_ps: int) -> bool:
    """The request's last token has come; says whether it came in time."""
    leave_gate(m, counts, request)
    if at_ps - times[ARRIVAL, request] <= m[TIMEOUT]:
        return True
    counts[ENDING, request], counts[GOT, request] = TOO_LATE, counts[OUTPUT, request]
    return False


@kernel
def count_wait(m: IntArray, times: IntArray, request: int, since_ps: int, at_ps: int) -> None:
    """The request has been without its seat since then."""
    times[PREEMPTED_PS, request] += at_ps - since_ps
    add_product(m, WAITED_HIGH, 1, at_ps - since_ps)


@kernel
def end_without(m: IntArray, times: IntArray, counts: Int32Array, request: int, ending: int, at_ps: int) -> None:
    """The request, which runs nowhere any more and had GOT so many tokens, ends."""
    counts[ENDING, request] = ending
    if times[ADMITTED, request] < 0:
        add_product(m, WAITED_HIGH, 1, at_ps - times[ARRIVAL, request])
    elif m[CARRIES] > 0 and times[STRANDED_AT, request] != NONE:
        count_wait(m, times, request, times[STRANDED_AT, request], at_ps)
        times[STRANDED_AT, request] = NONE
        counts[GOT, request] = counts[CARRIED, request]
    end_request(m, times, request, at_ps)
