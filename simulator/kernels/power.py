"""Which replicas are on, as routers and requests meet it: the records that `control.py` works on.

Where nothing is controlled, m[CONTROL] is 0. Else it is the offset of a record:

  m[control + ...]  the line of stranded requests, the scalers, the outages ahead, the starts to be reported
  m[power + ...]    one record per replica, by gang, from POWERS on
  m[saved + ...]    one record per engine, by number, from SAVES on
  m[scaler + ...]   one record per autoscaled pool, from SCALERS to SCALERS_END

Outages are records of OUTAGE_SIZE words in order of time, and once more in order of warning.
"""

from typing import Final

from simulator.kernels.arrive import takes
from simulator.kernels.compile import kernel
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import ARRIVAL, CONTROL, FINISH, FIRST_TOKEN, GANG_NUMBER, OUTPUT
from simulator.steptime import IntArray

# --- control ----------------------------------------------------------------------------------------------------
STRANDED: Final = 0  # line of requests that found no replica on: three words
SCALERS: Final = 3
SCALERS_END: Final = 4
OUTAGES: Final = 5  # the next outage, and the end of the list
OUTAGES_END: Final = 6
WARNINGS: Final = 7
WARNINGS_END: Final = 8
STARTS: Final = 9  # [.., 3] replica, asked, ready: taken out between calls
STARTS_COUNT: Final = 10
POWERS: Final = 11
SAVES: Final = 12
CONTROL_SIZE: Final = 13

OUTAGE_AT: Final = 0  # in the list of warnings: when the warning comes
OUTAGE_NUMBER: Final = 1
OUTAGE_RELOAD: Final = 2
OUTAGE_SIZE: Final = 3

STATE: Final = 0
READY_AT: Final = 1
SINCE: Final = 2
PAID: Final = 3
WARNED: Final = 4
POWER_SIZE: Final = 5
OFF: Final = 0
STARTING: Final = 1
ON: Final = 2
LEAVING: Final = 3

START: Final = 0  # what the engine's record said at the start, to begin anew after a loss
CACHE_AT: Final = 1  # its part of w
CACHE_END: Final = 2
SAVED_SIZE: Final = 3

SCALER_FIRST: Final = 0  # number of the pool's first replica
SCALER_COUNT: Final = 1
METRIC: Final = 2
GOAL: Final = 3
INTERVAL: Final = 4
UP_TICKS: Final = 5  # ticks before this one that a window reaches back
DOWN_TICKS: Final = 6
COLD: Final = 7
MINIMUM: Final = 8
TOLERANCE: Final = 9
SCHEDULE: Final = 10
SCHEDULE_COUNT: Final = 11
SCHEDULE_STEP: Final = 12
NEXT_TICK: Final = 13
SUM: Final = 14
SAMPLES: Final = 15
HISTORY: Final = 16  # ring of the numbers wanted at the last ticks
HISTORY_ROOM: Final = 17
HISTORY_COUNT: Final = 18
SCALER_POOL: Final = 19
SCALER_SIZE: Final = 20
QUEUE_METRIC: Final = 0
CONCURRENCY_METRIC: Final = 1
KV_METRIC: Final = 2
TTFT_METRIC: Final = 3
TPOT_METRIC: Final = 4

MOST_STARTS: Final = 4096  # reported per call, before it returns


@kernel
def power_of(m: IntArray, number: int) -> int:
    """Offset of the replica's power record."""
    return int(m[m[CONTROL] + POWERS] + number * POWER_SIZE)


@kernel
def accepts(m: IntArray, number: int) -> bool:
    """Whether the router may send to the replica now."""
    power = power_of(m, number)
    return bool(m[power + STATE] == ON and m[power + WARNED] == 0)


@kernel
def note_start(m: IntArray, number: int, now_ps: int) -> None:
    control = m[CONTROL]
    at = m[control + STARTS] + 3 * m[control + STARTS_COUNT]
    m[at], m[at + 1], m[at + 2] = number, now_ps, m[power_of(m, number) + READY_AT]
    m[control + STARTS_COUNT] += 1


@kernel
def alive_in(m: IntArray, scaler: int) -> int:
    alive = 0
    for number in range(m[scaler + SCALER_FIRST], m[scaler + SCALER_FIRST] + m[scaler + SCALER_COUNT]):
        state = m[power_of(m, number) + STATE]
        if state in (STARTING, ON):
            alive += 1
    return alive


@kernel
def switch_on(m: IntArray, scaler: int, count: int, now_ps: int) -> None:
    """Those that are leaving come back first; then the lowest numbers that are off start."""
    first = m[scaler + SCALER_FIRST]
    for state in (LEAVING, OFF):
        for number in range(first, first + m[scaler + SCALER_COUNT]):
            power = power_of(m, number)
            if count == 0 or m[power + STATE] != state:
                continue
            count -= 1
            if state == LEAVING:
                m[power + STATE] = ON
                continue
            m[power + STATE] = STARTING
            m[power + SINCE] = now_ps
            m[power + READY_AT] = now_ps + m[scaler + COLD]
            note_start(m, number, now_ps)


@kernel
def wake(m: IntArray, counts: Int32Array, request: int, now_ps: int) -> None:
    """The request found no replica on: start one in the first pool that takes it and has none on or starting."""
    control = m[CONTROL]
    for scaler in range(m[control + SCALERS], m[control + SCALERS_END], SCALER_SIZE):
        if takes(m, counts, m[scaler + SCALER_POOL], request) and alive_in(m, scaler) == 0:
            switch_on(m, scaler, 1, now_ps)
            return


@kernel
def measure(m: IntArray, rep: int, metric: int, value_ps: int) -> None:
    """A request of the replica has had its first token, or its last, after this time (per token)."""
    control, number = m[CONTROL], m[rep + GANG_NUMBER]
    for scaler in range(m[control + SCALERS], m[control + SCALERS_END], SCALER_SIZE):
        if m[scaler + METRIC] == metric and 0 <= number - m[scaler + SCALER_FIRST] < m[scaler + SCALER_COUNT]:
            m[scaler + SUM] += value_ps
            m[scaler + SAMPLES] += 1


@kernel
def measure_first_token(m: IntArray, times: IntArray, rep: int, request: int) -> None:
    measure(m, rep, TTFT_METRIC, times[FIRST_TOKEN, request] - times[ARRIVAL, request])


@kernel
def measure_end(m: IntArray, times: IntArray, counts: Int32Array, rep: int, request: int) -> None:
    if counts[OUTPUT, request] > 1:
        gaps_ps = times[FINISH, request] - times[FIRST_TOKEN, request]
        measure(m, rep, TPOT_METRIC, gaps_ps // (counts[OUTPUT, request] - 1))
