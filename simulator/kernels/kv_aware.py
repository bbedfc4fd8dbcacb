"""The KV-aware router, which asks engines what they hold at this instant."""

from simulator.kernels.arrive import takes
from simulator.kernels.candidates import willing
from simulator.kernels.compile import kernel
from simulator.kernels.lookup import look_up
from simulator.kernels.pool import take
from simulator.kernels.reached import list_reached
from simulator.kernels.running import growth
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BLOCK_SIZE,
    BLOCKS,
    CACHING,
    CLOCK,
    DECODING,
    END,
    EVENTS,
    FAR_PS,
    FIRST_PS,
    FIRST_TOKEN,
    FREE,
    GANG_NUMBER,
    HANDED_AT,
    HIT_TOKENS,
    KEPT,
    LINE_BLOCKS,
    NOBODY,
    NONE,
    NOW,
    NUMBER,
    OVERLAP_PERCENT,
    PENDING,
    PLANNED,
    POOL_FIRST_ENGINE,
    POOL_MEMBERS,
    POOL_REPLICAS,
    POOL_SIZE,
    POOLS,
    POOLS_END,
    PROMPT,
    RECORDS,
    RISE_PS,
    SETTLED,
    TRANSFER,
)
from simulator.kernels.step import begin_step, start_step
from simulator.kernels.stretch import run_stretch, steps_until, stretch_ps
from simulator.kernels.tree import tree_set
from simulator.steptime import IntArray


@kernel
def catch_up(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """Bring a replica in a stretch to this instant: what has ended is counted, the step under way becomes a full one.

    It computes what was planned: in a stretch nobody could enter, and whoever has come since waits for the step's end.
    """
    if m[rep + PLANNED] == 0 or m[rep + END] == FAR_PS:
        return
    at_ps, first_ps, rise_ps = m[CLOCK], m[rep + FIRST_PS], m[rep + RISE_PS]
    ended = steps_until(first_ps, rise_ps, at_ps + 1 - m[rep + NOW], m[rep + PLANNED]) - 1
    if ended > 0:
        m[rep + PLANNED] = ended
        m[rep + END] = m[rep + NOW] + stretch_ps(first_ps, rise_ps, ended)
        run_stretch(m, w, times, counts, rep)
        m[rep + NOW] = m[rep + SETTLED] = m[rep + END]
    if m[rep + NOW] == at_ps:  # the next step begins at this instant too, but behind what arrives
        m[rep + END] = FAR_PS
        list_reached(m, rep)
    elif m[TRANSFER] > 0:
        take(m, w, rep, growth(m, rep))
        start_step(m, rep, m[rep + DECODING], 0)
    else:
        begin_step(m, w, times, counts, rep)
    tree_set(m, m[EVENTS], m[rep + NUMBER], m[rep + END])


@kernel
def uncached_tokens(m: IntArray, w: Int32Array, rep: int, request: int, prompt: int) -> int:
    """Prompt tokens that the replica's cache does not hold."""
    if m[rep + CACHING] == 0:
        return prompt
    look_up(m, w, rep, request, NOBODY, prompt)
    return int(prompt - m[rep + HIT_TOKENS])


@kernel
def least_cost(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, request: int) -> int:
    """The record of the engine with the least cost; notes the prompt tokens that its cache lacks.

    Where the prompt has been computed elsewhere, only room counts, that promised to others included.
    """
    prefilled = m[TRANSFER] > 0 and times[HANDED_AT, request] >= 0
    prompt = int(counts[PROMPT, request])
    chosen, least, lacking = NONE, 0, 0
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if not takes(m, counts, pool, request):
            continue
        first = m[pool + POOL_FIRST_ENGINE]
        for number in range(first, first + m[pool + POOL_REPLICAS] * m[pool + POOL_MEMBERS]):
            rep = m[m[RECORDS] + number]
            if not willing(m, m[rep + GANG_NUMBER]):
                continue
            catch_up(m, w, times, counts, rep)
            room = (m[rep + BLOCKS] - m[rep + FREE] + m[rep + LINE_BLOCKS]) * m[rep + BLOCK_SIZE]
            uncached, cost = 0, 100 * room
            if not prefilled:
                uncached = uncached_tokens(m, w, rep, request, prompt)
                cost += m[OVERLAP_PERCENT] * (m[rep + PENDING] + uncached)
            if chosen == NONE or cost < least:
                chosen, least, lacking = rep, cost, uncached
    counts[KEPT, request] = lacking
    if times[FIRST_TOKEN, request] < 0:
        m[chosen + PENDING] += lacking
    return int(chosen)
