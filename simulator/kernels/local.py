"""Where an arriving request's prompt is computed: on a prefill replica, or, if short, where it will be decoded."""

from simulator.kernels.arrive import takes
from simulator.kernels.candidates import candidates
from simulator.kernels.compile import kernel
from simulator.kernels.handed import FIRST_HERE, FITS, LOCAL_TOKENS, LOOKS
from simulator.kernels.kv_aware import catch_up, uncached_tokens
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BY_FIT,
    CACHING,
    CHOOSY,
    DECODE,
    OUTPUT,
    POOL_FIRST,
    POOL_FIRST_ENGINE,
    POOL_MEMBERS,
    POOL_REPLICAS,
    POOL_SIZE,
    POOLS,
    POOLS_END,
    PREFILL,
    PROMPT,
    RECORDS,
    SIDE,
    SPANS,
    TRANSFER,
)
from simulator.steptime import IntArray


@kernel
def _lacks_few(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, request: int) -> bool:
    """Whether the engine's cache lacks few enough of the prompt's tokens now."""
    prompt, limit = int(counts[PROMPT, request]), m[m[TRANSFER] + LOCAL_TOKENS]
    if m[rep + CACHING] == 0 or prompt - w[m[rep + SPANS] + 2 * request + 1] > limit:
        return False
    catch_up(m, w, times, counts, rep)
    return bool(uncached_tokens(m, w, rep, request, prompt) <= limit)


@kernel
def _note_fits(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, request: int) -> bool:
    """Note the decode replicas whose caches lack few of the prompt's tokens, on every engine; whether there is any."""
    found = False
    for pool in range(m[POOLS], m[POOLS_END], POOL_SIZE):
        if not takes(m, counts, pool, request):
            continue
        engine = m[pool + POOL_FIRST_ENGINE]
        for gang in range(m[pool + POOL_FIRST], m[pool + POOL_FIRST] + m[pool + POOL_REPLICAS]):
            fits = 1
            for member in range(engine, engine + m[pool + POOL_MEMBERS]):
                if fits > 0 and not _lacks_few(m, w, times, counts, m[m[RECORDS] + member], request):
                    fits = 0
            m[m[m[TRANSFER] + FITS] + gang] = fits
            found = found or fits > 0
            engine += m[pool + POOL_MEMBERS]
    return found


@kernel
def choose_side(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, request: int) -> bool:
    """Choose the side that an arriving request is sent to; False: its prompt or its output can never be computed.

    A decode replica computes a short prompt itself, whatever prefill replicas can serve.
    """
    transfer = m[TRANSFER]
    m[SIDE] = DECODE
    decoded = candidates(m, counts, request) > 0
    if decoded and counts[PROMPT, request] <= m[transfer + LOCAL_TOKENS]:
        return True
    m[SIDE] = PREFILL
    if candidates(m, counts, request) == 0:
        return False
    if decoded and m[transfer + LOOKS] > 0:
        m[SIDE] = DECODE
        if _note_fits(m, w, times, counts, request):
            m[CHOOSY] = BY_FIT
        else:
            m[SIDE] = PREFILL
    return bool(decoded or (counts[OUTPUT, request] == 1 and m[transfer + FIRST_HERE] > 0))
