"""Who may be sent when, and who has ended.

In a closed loop a user who has an answer asks again after thinking. The times at which users are ready stand in a heap
of READY_COUNT words at READY, the next one first.
"""

from simulator.kernels.compile import kernel
from simulator.kernels.plain import rare
from simulator.kernels.state import (
    ARRIVAL,
    CONCURRENCY,
    ENDED,
    FAR_PS,
    FINISH,
    OUTPUT,
    POOL_HIGH,
    POOL_LONGEST,
    POOL_LOW,
    POOL_ROLE,
    PREFILL,
    PROMPT,
    READY,
    READY_COUNT,
    RECEIVED,
    REQUESTS,
    SIDE,
    THINK,
    THINKING,
)
from simulator.kernels.waiting import Int32Array
from simulator.steptime import IntArray


@kernel
def _user_ready(m: IntArray, at_ps: int) -> None:
    ready, place = m[READY], m[READY_COUNT]
    m[READY_COUNT] += 1
    while place > 0:
        parent = (place - 1) >> 1
        if m[ready + parent] <= at_ps:
            break
        m[ready + place] = m[ready + parent]
        place = parent
    m[ready + place] = at_ps


@kernel
def _user_asks(m: IntArray) -> None:
    """Take out the user who was ready first."""
    ready = m[READY]
    count = m[READY_COUNT] - 1
    m[READY_COUNT] = count
    last_ps, place = m[ready + count], 0
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and m[ready + child + 1] < m[ready + child]:
            child += 1
        if last_ps <= m[ready + child]:
            break
        m[ready + place] = m[ready + child]
        place = child
    m[ready + place] = last_ps


@kernel
def end_request(m: IntArray, times: IntArray, request: int, at_ps: int) -> None:
    """The request has finished or was refused; in a closed loop its user will ask again while requests are left."""
    times[FINISH, request] = at_ps
    if m[CONCURRENCY] > 0:
        user = m[CONCURRENCY] + m[ENDED]
        if user < m[REQUESTS]:
            _user_ready(m, at_ps + times[THINK, user] if m[THINKING] > 0 else at_ps)
    m[ENDED] += 1


@kernel
def next_arrival_ps(m: IntArray, times: IntArray) -> int:
    """When the next request comes, FAR_PS if none does before another one ends."""
    request = m[RECEIVED]
    if request >= m[REQUESTS]:
        return FAR_PS
    if m[CONCURRENCY] == 0 or request < m[CONCURRENCY]:
        return int(times[ARRIVAL, request])
    return int(max(times[ARRIVAL, request], m[m[READY]])) if m[READY_COUNT] > 0 else FAR_PS


@kernel
def next_request(m: IntArray, times: IntArray, at_ps: int) -> int:
    """The number of the request that comes now."""
    request = m[RECEIVED]
    m[RECEIVED] += 1
    if m[CONCURRENCY] > 0 and request >= m[CONCURRENCY]:
        times[ARRIVAL, request] = at_ps
        _user_asks(m)
    return int(request)


@kernel
def takes(m: IntArray, counts: Int32Array, pool: int, request: int) -> bool:
    """Whether the pool's replicas take the request on this side: by its prompt, and as one that they can serve."""
    prompt = counts[PROMPT, request]
    if m[pool + POOL_ROLE] != rare(m, SIDE):
        return False
    output = counts[OUTPUT, request] if rare(m, SIDE) != PREFILL else 1
    return bool(m[pool + POOL_LOW] <= prompt <= m[pool + POOL_HIGH] and prompt + output <= m[pool + POOL_LONGEST])
