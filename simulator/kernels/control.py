"""Replicas that come and go: the fast twin of `simulator.reference.control`, and what becomes of a lost one's requests.

The records stand in `power.py`.
"""

from simulator.kernels.accounts import add_gap, add_product, note_peak
from simulator.kernels.candidates import GANG_WORDS
from simulator.kernels.compile import kernel
from simulator.kernels.gangs import empty_stages, hold
from simulator.kernels.late import retire
from simulator.kernels.lines import empty_lines
from simulator.kernels.pool import take
from simulator.kernels.power import (
    CACHE_AT,
    CACHE_END,
    CONCURRENCY_METRIC,
    DOWN_TICKS,
    GOAL,
    HISTORY,
    HISTORY_COUNT,
    HISTORY_ROOM,
    INTERVAL,
    KV_METRIC,
    LEAVING,
    METRIC,
    MINIMUM,
    NEXT_TICK,
    OFF,
    ON,
    OUTAGE_AT,
    OUTAGE_NUMBER,
    OUTAGE_RELOAD,
    OUTAGE_SIZE,
    OUTAGES,
    OUTAGES_END,
    PAID,
    QUEUE_METRIC,
    READY_AT,
    SAMPLES,
    SAVED_SIZE,
    SAVES,
    SCALER_COUNT,
    SCALER_FIRST,
    SCALER_SIZE,
    SCALERS,
    SCALERS_END,
    SCHEDULE,
    SCHEDULE_COUNT,
    SCHEDULE_STEP,
    SINCE,
    START,
    STARTING,
    STATE,
    STRANDED,
    SUM,
    TOLERANCE,
    TPOT_METRIC,
    TTFT_METRIC,
    UP_TICKS,
    WARNED,
    WARNINGS,
    WARNINGS_END,
    alive_in,
    note_start,
    power_of,
    switch_on,
)
from simulator.kernels.preempt import carry
from simulator.kernels.running import growth, running_count, tokens_in_blocks, tokens_made, tokens_out
from simulator.kernels.runs import Int32Array, empty_queue
from simulator.kernels.state import (
    AREA_HIGH,
    BEGINNINGS,
    BLOCK_SIZE,
    BLOCKS,
    BUSY,
    CACHING,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    CLOCK,
    COMPUTED,
    CONTEXT,
    CONTROL,
    DECODED,
    DECODING,
    END,
    EVENTS,
    FAILOVERS,
    FAR_PS,
    FINISH,
    FIRST_PS,
    FREE,
    GANG,
    GANG_COUNT,
    GANG_NUMBER,
    GANGS,
    GAP_SHIFT,
    HEAD,
    HEAP,
    HIST,
    INBOX,
    KV_TOKENS_HIGH,
    LAST_TOKEN,
    LINE,
    LOADS,
    MADE,
    MEMBERS,
    NOBODY,
    NOW,
    NUMBER,
    ORDERED,
    OUTSTANDING,
    PEAK,
    PLANNED,
    RECEIVED,
    RECORDS,
    REPLICA,
    REPLICA_SIZE,
    RISE_PS,
    SEAT,
    SEAT_HIGH,
    SETTLED,
    STALLS,
    STEPS,
    STOPPED_AT,
    WALKS,
    WINDOW_COUNT,
)
from simulator.kernels.stretch import begun_blocks, run_stretch, steps_until, stretch_ps
from simulator.kernels.tables import forget_lists
from simulator.kernels.tree import tree_set
from simulator.kernels.waiting import LENGTH as LINE_LENGTH
from simulator.kernels.waiting import push_back
from simulator.kernels.windows import free_behind_decoding
from simulator.steptime import IntArray


@kernel
def next_control_ps(m: IntArray) -> int:
    """When the next outage, warning, tick or readiness comes; FAR_PS: none."""
    control = m[CONTROL]
    earliest = FAR_PS
    if m[control + OUTAGES] < m[control + OUTAGES_END]:
        earliest = min(earliest, m[m[control + OUTAGES] + OUTAGE_AT])
    if m[control + WARNINGS] < m[control + WARNINGS_END]:
        earliest = min(earliest, m[m[control + WARNINGS] + OUTAGE_AT])
    for number in range(m[GANG_COUNT]):
        power = power_of(m, number)
        if m[power + STATE] == STARTING:
            earliest = min(earliest, m[power + READY_AT])
    for scaler in range(m[control + SCALERS], m[control + SCALERS_END], SCALER_SIZE):
        earliest = min(earliest, m[scaler + NEXT_TICK])
    return int(earliest)


@kernel
def _off(m: IntArray, power: int, now_ps: int) -> None:
    m[power + PAID] += now_ps - m[power + SINCE]
    m[power + STATE] = OFF


@kernel
def _first_engine(m: IntArray, number: int) -> int:
    """The number of a replica's first engine: it has all from there to `_engines_end`."""
    return int(m[m[m[GANGS] + GANG_WORDS * number] + NUMBER])


@kernel
def _engines_end(m: IntArray, number: int) -> int:
    gang = m[m[m[GANGS] + GANG_WORDS * number] + GANG]
    return int(_first_engine(m, number) + (m[gang + MEMBERS] if gang != 0 else 1))


@kernel
def _outstanding(m: IntArray, number: int) -> int:
    """Requests sent to the replica that have not ended."""
    total = 0
    for engine in range(_first_engine(m, number), _engines_end(m, number)):
        total += m[m[m[RECORDS] + engine] + OUTSTANDING]
    return int(total)


@kernel
def _switch_off_empty(m: IntArray, w: Int32Array, counts: Int32Array, now_ps: int) -> None:
    """Those that are leaving and have nobody left; late rows go too, before a step is computed in vain."""
    for number in range(m[GANG_COUNT]):
        power = power_of(m, number)
        if m[power + STATE] == LEAVING and _outstanding(m, number) == 0:
            for engine in range(_first_engine(m, number), _engines_end(m, number)):
                retire(m, w, counts, m[m[RECORDS] + engine])
            _off(m, power, now_ps)


@kernel
def _fewer(m: IntArray, scaler: int, count: int) -> None:
    """Those that are starting go first, then those that are on, the highest numbers first."""
    first = m[scaler + SCALER_FIRST]
    for state in (STARTING, ON):
        for number in range(first + m[scaler + SCALER_COUNT] - 1, first - 1, -1):
            power = power_of(m, number)
            if count > 0 and m[power + STATE] == state:
                count -= 1
                m[power + STATE] = LEAVING


@kernel
def _measured(m: IntArray, scaler: int, now_ps: int) -> int:
    """The metric now, -1 where nothing was measured."""
    metric, total, blocks = m[scaler + METRIC], 0, 0
    if metric in (TTFT_METRIC, TPOT_METRIC):
        mean_ps = m[scaler + SUM] // m[scaler + SAMPLES] if m[scaler + SAMPLES] > 0 else -1
        m[scaler + SUM] = m[scaler + SAMPLES] = 0
        return int(mean_ps)
    for number in range(m[scaler + SCALER_FIRST], m[scaler + SCALER_FIRST] + m[scaler + SCALER_COUNT]):
        if m[power_of(m, number) + STATE] != ON:
            continue
        for engine in range(_first_engine(m, number), _engines_end(m, number)):
            rep = m[m[RECORDS] + engine]
            if metric == QUEUE_METRIC:
                total += m[rep + LINE + LINE_LENGTH] + m[rep + INBOX + LINE_LENGTH]
            elif metric == CONCURRENCY_METRIC:
                total += m[rep + OUTSTANDING]
            else:
                total += m[rep + BLOCKS] - m[rep + FREE] + begun_blocks(m, rep, now_ps)
                blocks += m[rep + BLOCKS]
    if metric == KV_METRIC:
        return int(total * 10**6 // blocks) if blocks > 0 else -1
    return int(total + m[m[CONTROL] + STRANDED + LINE_LENGTH])


@kernel
def _wanted(m: IntArray, scaler: int, measured: int, alive: int) -> int:
    """As `Autoscaling.wanted`."""
    goal = m[scaler + GOAL]
    if measured < 0:
        return alive
    if m[scaler + METRIC] == QUEUE_METRIC or m[scaler + METRIC] == CONCURRENCY_METRIC:
        return int((measured + goal - 1) // goal)
    apart = abs(measured - goal)
    if apart < goal and apart * 10**6 <= m[scaler + TOLERANCE] * goal:
        return alive
    if apart == goal and m[scaler + TOLERANCE] == 10**6:
        return alive
    whole, rest = measured // goal, measured % goal
    if whole > 2**20:
        return 2**30  # more than any pool has
    return int(alive * whole + (alive * rest + goal - 1) // goal)


@kernel
def _stabilised(m: IntArray, scaler: int, wanted: int, alive: int) -> int:
    """Notes the wanted number; upwards the least of its window counts, downwards the most."""
    room, count = m[scaler + HISTORY_ROOM], m[scaler + HISTORY_COUNT]
    m[m[scaler + HISTORY] + count % room] = wanted
    m[scaler + HISTORY_COUNT] = count + 1
    up = wanted > alive
    back = min(count, m[scaler + UP_TICKS] if up else m[scaler + DOWN_TICKS])
    for tick in range(count - back, count):
        former = m[m[scaler + HISTORY] + tick % room]
        wanted = min(wanted, former) if up else max(wanted, former)
    return int(max(alive, wanted) if up else min(alive, wanted))


@kernel
def _tick(m: IntArray, w: Int32Array, counts: Int32Array, scaler: int, now_ps: int) -> None:
    m[scaler + NEXT_TICK] += m[scaler + INTERVAL]
    alive = alive_in(m, scaler)
    wanted = _stabilised(m, scaler, _wanted(m, scaler, _measured(m, scaler, now_ps), alive), alive)
    least = m[scaler + MINIMUM]
    if m[m[CONTROL] + STRANDED + LINE_LENGTH] > 0:
        least = max(least, 1)
    if m[scaler + SCHEDULE_COUNT] > 0:
        step = now_ps // m[scaler + SCHEDULE_STEP] % m[scaler + SCHEDULE_COUNT]
        least = max(least, m[m[scaler + SCHEDULE] + step])
    wanted = min(max(wanted, least), m[scaler + SCALER_COUNT])
    if wanted > alive:
        switch_on(m, scaler, wanted - alive, now_ps)
    else:
        _fewer(m, scaler, alive - wanted)
        _switch_off_empty(m, w, counts, now_ps)


@kernel
def _cut_stretch_short(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, now_ps: int) -> int:
    """Run the steps that have ended, and begin the one under way (returns 1, or 0 without one), which lasts until now
    and gives no tokens."""
    ended = steps_until(m[rep + FIRST_PS], m[rep + RISE_PS], now_ps + 1 - m[rep + NOW], m[rep + PLANNED]) - 1
    if ended > 0:
        m[rep + PLANNED] = ended
        m[rep + END] = m[rep + NOW] + stretch_ps(m[rep + FIRST_PS], m[rep + RISE_PS], ended)
        run_stretch(m, w, times, counts, rep)
        m[rep + NOW] = m[rep + SETTLED] = m[rep + END]
    left_ps = now_ps - m[rep + NOW]
    if left_ps == 0:
        return 0
    take(m, w, rep, growth(m, rep))
    if m[rep + WINDOW_COUNT] > 0:
        free_behind_decoding(m, rep)
    tokens = tokens_in_blocks(m, rep, m[rep + CONTEXT] + m[rep + DECODING])
    note_peak(m, rep, tokens)
    m[rep + BUSY] += left_ps
    m[rep + DECODED] += m[rep + DECODING]
    add_product(m, rep + SEAT_HIGH, m[rep + DECODING], left_ps)
    add_product(m, rep + AREA_HIGH, m[rep + BLOCKS] - m[rep + FREE], left_ps)
    add_product(m, rep + KV_TOKENS_HIGH, tokens, left_ps)
    return 1


@kernel
def _cut_step_short(m: IntArray, rep: int, now_ps: int) -> None:
    """The full step under way was counted to its end: take back what lies after now, and the tokens' gaps."""
    left_ps = m[rep + END] - now_ps
    computed = m[rep + CONTEXT] + tokens_out(m, rep)
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        computed += m[m[place] + COMPUTED] + m[m[place] + CHUNK]
    m[rep + BUSY] -= left_ps
    add_product(m, rep + SEAT_HIGH, running_count(m, rep), -left_ps)
    add_product(m, rep + AREA_HIGH, m[rep + BLOCKS] - m[rep + FREE], -left_ps)
    add_product(m, rep + KV_TOKENS_HIGH, tokens_in_blocks(m, rep, computed), -left_ps)
    if m[rep + DECODING] > 0 and m[rep + WALKS] == 0:
        add_gap(m, rep, m[rep + END] - m[rep + SETTLED], -m[rep + DECODING])


@kernel
def _carry_all(m: IntArray, times: IntArray, counts: Int32Array, rep: int, now_ps: int) -> None:
    heap = m[rep + HEAP]
    for place in range(m[rep + DECODING]):
        row = m[heap + 2 * place + 1]
        last_ps = m[rep + SETTLED] if m[rep + WALKS] == 0 else m[row + LAST_TOKEN]
        carry(m, times, counts, row, tokens_made(m, rep, row), last_ps, now_ps)
    chunks = m[rep + CHUNKS]
    for place in range(m[rep + CHUNK_COUNT]):
        row = m[chunks + place]
        carry(m, times, counts, row, m[row + MADE], m[row + LAST_TOKEN], now_ps)


@kernel
def _strand_all(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, number: int) -> None:
    """The replica's requests, in order, join the stranded."""
    first, end = _first_engine(m, number), _engines_end(m, number)
    for request in range(m[RECEIVED]):
        engine = counts[REPLICA, request]
        if not first <= engine < end or times[FINISH, request] >= 0:
            continue
        row = counts[SEAT, request]
        if row != NOBODY:
            carry(m, times, counts, row, m[row + MADE], m[row + LAST_TOKEN], m[row + STOPPED_AT])
            counts[SEAT, request] = NOBODY
        forget_lists(m, w, m[m[RECORDS] + engine], request)
        counts[FAILOVERS, request] += 1
        counts[REPLICA, request] = -2 - engine
        push_back(m, counts, m[CONTROL] + STRANDED, request)


@kernel
def _empty(m: IntArray, w: Int32Array, rep: int) -> None:
    """The engine begins anew, without requests, KV and cache: its state is as at the start, but for what it has
    measured."""
    saved = m[m[CONTROL] + SAVES] + SAVED_SIZE * m[rep + NUMBER]
    start = m[saved + START]
    for word in range(HEAD, STEPS):
        if word < GAP_SHIFT or word > PEAK:
            m[rep + word] = m[start + word]
    for word in range(BEGINNINGS, REPLICA_SIZE):
        if word != STALLS:
            m[rep + word] = m[start + word]
    for place in range(2 * m[rep + BLOCK_SIZE]):
        m[m[rep + HIST] + place] = 0
    for place in range(m[saved + CACHE_AT], m[saved + CACHE_END]):
        w[place] = 0
    if m[rep + CACHING] > 0:
        empty_queue(m, w, rep)
    if m[rep + ORDERED] > 0:
        empty_lines(m, rep)
    tree_set(m, m[EVENTS], m[rep + NUMBER], FAR_PS)
    tree_set(m, m[LOADS], m[rep + GANG_NUMBER], 0)


@kernel
def _stop_engine(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, now_ps: int) -> None:
    """What the engine has under way ends now, without result; its requests take along what they have."""
    cut = 0
    if m[rep + END] == FAR_PS:
        hold(m, rep, now_ps)
        m[rep + NOW] = now_ps
    elif m[rep + PLANNED] > 0:
        cut = _cut_stretch_short(m, w, times, counts, rep, now_ps)
    else:
        cut = 1
        _cut_step_short(m, rep, now_ps)
    _carry_all(m, times, counts, rep, now_ps)
    m[rep + STEPS] += cut


@kernel
def _lose(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, outage: int, now_ps: int) -> None:
    number = m[outage + OUTAGE_NUMBER]
    power = power_of(m, number)
    m[power + WARNED] = 0
    if m[power + STATE] == OFF or m[power + STATE] == STARTING:
        return
    empty_stages(m, m[m[m[GANGS] + GANG_WORDS * number] + GANG], now_ps)
    for engine in range(_first_engine(m, number), _engines_end(m, number)):
        _stop_engine(m, w, times, counts, m[m[RECORDS] + engine], now_ps)
    _strand_all(m, w, times, counts, number)
    for engine in range(_first_engine(m, number), _engines_end(m, number)):
        _empty(m, w, m[m[RECORDS] + engine])
    if m[power + STATE] == LEAVING:
        _off(m, power, now_ps)
    else:
        m[power + STATE] = STARTING
        m[power + READY_AT] = now_ps + m[outage + OUTAGE_RELOAD]
        note_start(m, number, now_ps)


@kernel
def act(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array) -> None:
    """Outages, then replicas that become ready, then the autoscalers' ticks that fall on this instant."""
    control, now_ps = m[CONTROL], m[CLOCK]
    _switch_off_empty(m, w, counts, now_ps)
    while m[control + WARNINGS] < m[control + WARNINGS_END] and m[m[control + WARNINGS] + OUTAGE_AT] <= now_ps:
        m[power_of(m, m[m[control + WARNINGS] + OUTAGE_NUMBER]) + WARNED] = 1
        m[control + WARNINGS] += OUTAGE_SIZE
    while m[control + OUTAGES] < m[control + OUTAGES_END] and m[m[control + OUTAGES] + OUTAGE_AT] <= now_ps:
        _lose(m, w, times, counts, m[control + OUTAGES], now_ps)
        m[control + OUTAGES] += OUTAGE_SIZE
    for number in range(m[GANG_COUNT]):
        power = power_of(m, number)
        if m[power + STATE] == STARTING and m[power + READY_AT] <= now_ps:
            m[power + STATE] = ON
    for scaler in range(m[control + SCALERS], m[control + SCALERS_END], SCALER_SIZE):
        if m[scaler + NEXT_TICK] <= now_ps:
            _tick(m, w, counts, scaler, now_ps)
